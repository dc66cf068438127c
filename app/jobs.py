"""Where models run: the light lane, a few threads with a bounded queue, and cancellation between steps.

Short jobs take turns on a thread of their own: two at once only slow each other, since Python runs one thread at a
time, and there no long job or stream stands before them.

A job whose estimate is above the lane's bound is refused with the estimate and the bound. Nothing here knows HTTP,
traces or JSON: a job is a function that takes its `Job` and either returns a value or emits lines.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
SHORT_FLOPS = 10_000_000  # some milliseconds of one core


class Cancelled(Exception):
    """The job was told to stop; its text says why."""


class LaneFull(Exception):
    """As many jobs wait as may."""


class TooLarge(ValueError):
    """The estimate is above what the lane takes."""

    def __init__(self, estimate_flops: int, limit_flops: int) -> None:
        super().__init__(f"estimated {estimate_flops:,} floating-point operations; the limit is {limit_flops:,}")
        self.estimate_flops = estimate_flops
        self.limit_flops = limit_flops


class Job:
    """One piece of work, as seen from both sides: the asker cancels, the worker checks between steps."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self._reason = "cancelled"

    def cancel(self, reason: str = "cancelled") -> None:
        """From any thread; the first reason stands."""
        if not self._cancelled.is_set():
            self._reason = reason
            self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    def check(self) -> None:
        """Raises Cancelled if the job was told to stop."""
        if self._cancelled.is_set():
            raise Cancelled(self._reason)


class Stream(Generic[T]):
    """What a running job emits, in order; iterating ends with the job. An exception of the job is raised at the end."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[T | None] = asyncio.Queue()
        self._future: Future[None] | None = None

    def emit(self, item: T) -> None:
        """From the worker's thread. Raises Cancelled if nobody wants more."""
        self.job.check()
        self._loop.call_soon_threadsafe(self._items.put_nowait, item)

    def attach(self, future: Future[None]) -> None:
        self._future = future
        future.add_done_callback(self._ended)

    def cancel(self, reason: str = "cancelled") -> None:
        """The worker stops at its next check; a job that still waits never starts."""
        self.job.cancel(reason)
        if self._future is not None:
            self._future.cancel()

    def _ended(self, _: object) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._items.put_nowait, None)

    async def __aiter__(self) -> AsyncIterator[T]:
        while (item := await self._items.get()) is not None:
            yield item
        if self._future is None or self._future.cancelled():
            self.job.check()
            raise Cancelled("cancelled")
        self._future.result()


class JobRunner(Protocol):
    """What the routes need of a lane."""

    @property
    def busy(self) -> int:
        """Jobs that run or wait."""

    async def run(self, work: Callable[[Job], T], *, estimate_flops: int = 0) -> T:
        """The value of work(job). Raises LaneFull, TooLarge, Cancelled, and what the work raises."""

    def stream(self, work: Callable[[Job, Callable[[T], None]], None], *, estimate_flops: int = 0) -> Stream[T]:
        """Starts work(job, emit). Raises LaneFull and TooLarge at once."""

    def stop(self, reason: str) -> None:
        """Cancels all that runs or waits. From any thread."""

    def close(self) -> None:
        """Stops all and ends the threads; the next job starts them again."""


class LightLane:
    """Threads of this process. threads: those for long jobs and streams, beside one for short jobs.

    queue: how many jobs may wait.
    """

    def __init__(self, *, threads: int, queue: int, limit_flops: int) -> None:
        self.limit_flops = limit_flops
        self._places = threading.BoundedSemaphore(threads + queue)
        self._threads = {"short": 1, "long": threads}
        self._pools: dict[str, ThreadPoolExecutor] = {}
        self._jobs: set[Job] = set()
        self._lock = threading.Lock()

    @property
    def busy(self) -> int:
        return len(self._jobs)

    async def run(self, work: Callable[[Job], T], *, estimate_flops: int = 0) -> T:
        job = Job()
        kind = "short" if estimate_flops <= SHORT_FLOPS else "long"
        future = self._submit(kind, job, lambda: work(job), estimate_flops)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            job.cancel("the client left")
            raise

    def stream(self, work: Callable[[Job, Callable[[T], None]], None], *, estimate_flops: int = 0) -> Stream[T]:
        stream: Stream[T] = Stream(Job())
        stream.attach(self._submit("long", stream.job, lambda: work(stream.job, stream.emit), estimate_flops))
        return stream

    def stop(self, reason: str) -> None:
        with self._lock:
            jobs = list(self._jobs)
        for job in jobs:
            job.cancel(reason)

    def close(self) -> None:
        self.stop("the server is stopping")
        with self._lock:
            pools, self._pools = self._pools, {}
        for pool in pools.values():
            pool.shutdown(wait=True)

    def _submit(self, kind: str, job: Job, work: Callable[[], T], estimate_flops: int) -> Future[T]:
        if estimate_flops > self.limit_flops:
            raise TooLarge(estimate_flops, self.limit_flops)
        if not self._places.acquire(blocking=False):
            raise LaneFull

        def start() -> T:
            job.check()
            return work()

        with self._lock:
            self._jobs.add(job)
            if kind not in self._pools:
                self._pools[kind] = ThreadPoolExecutor(self._threads[kind], thread_name_prefix=f"light-{kind}")
            future = self._pools[kind].submit(start)
        future.add_done_callback(lambda _: self._release(job))
        return future

    def _release(self, job: Job) -> None:
        with self._lock:
            self._jobs.discard(job)
        self._places.release()
