"""The light lane: bounds, order, cancellation, and that a place is always given back."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from app.jobs import Cancelled, Job, LaneFull, LightLane, Stream, TooLarge


@pytest.fixture
def lane() -> Iterator[LightLane]:
    one = LightLane(threads=1, queue=1, limit_flops=100)
    yield one
    one.close()


def test_work_runs_in_another_thread_and_gives_its_value(lane: LightLane) -> None:
    async def main() -> tuple[str, int]:
        return await lane.run(lambda _: (threading.current_thread().name, 7))

    name, value = asyncio.run(main())
    assert name.startswith("light")
    assert value == 7
    assert lane.busy == 0


def test_what_the_work_raises_is_raised(lane: LightLane) -> None:
    def fail(_: Job) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        asyncio.run(lane.run(fail))


def test_an_estimate_above_the_bound_is_refused_with_both_numbers(lane: LightLane) -> None:
    with pytest.raises(TooLarge, match="estimated 1,000 floating-point operations; the limit is 100"):
        asyncio.run(lane.run(lambda _: 1, estimate_flops=1000))
    assert asyncio.run(lane.run(lambda _: 1, estimate_flops=100)) == 1


def test_a_full_lane_refuses_and_takes_work_again_later(lane: LightLane) -> None:
    gate = threading.Event()

    async def main() -> int:
        held = [asyncio.create_task(lane.run(lambda _: gate.wait(5))) for _ in range(2)]
        await asyncio.sleep(0.05)
        with pytest.raises(LaneFull):
            await lane.run(lambda _: 1)
        gate.set()
        await asyncio.gather(*held)
        return await lane.run(lambda _: 2)

    assert asyncio.run(main()) == 2


def test_a_stream_gives_items_in_order_and_ends_with_the_work(lane: LightLane) -> None:
    def work(_: Job, emit: Callable[[int], None]) -> None:
        for number in range(5):
            emit(number)

    async def main() -> list[int]:
        stream: Stream[int] = lane.stream(work)
        return [item async for item in stream]

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]


def test_a_stream_raises_what_the_work_raised_after_its_items(lane: LightLane) -> None:
    def work(_: Job, emit: Callable[[int], None]) -> None:
        emit(1)
        raise ValueError("half way")

    seen = []

    async def main() -> None:
        async for item in lane.stream(work):
            seen.append(item)

    with pytest.raises(ValueError, match="half way"):
        asyncio.run(main())
    assert seen == [1]


def endless(_: Job, emit: Callable[[int], None]) -> None:
    while True:
        emit(0)
        time.sleep(0.002)


def test_cancelling_a_stream_stops_its_worker_at_its_next_step(lane: LightLane) -> None:
    async def main() -> float:
        stream: Stream[int] = lane.stream(endless)
        await anext(aiter(stream))
        stream.cancel("the client left")
        started = time.monotonic()
        while lane.busy:
            await asyncio.sleep(0.001)
        with pytest.raises(Cancelled, match="the client left"):
            async for _ in stream:
                pass
        return time.monotonic() - started

    assert asyncio.run(main()) < 1


def test_a_short_job_does_not_wait_for_a_stream(lane: LightLane) -> None:
    async def main() -> int:
        stream: Stream[int] = lane.stream(endless)
        await anext(aiter(stream))
        value = await asyncio.wait_for(lane.run(lambda _: 4), 1)
        stream.cancel("enough")
        return value

    assert asyncio.run(main()) == 4


def test_short_jobs_take_turns() -> None:
    lane = LightLane(threads=2, queue=8, limit_flops=100)
    at_once = threading.BoundedSemaphore(1)

    def work(_: Job) -> bool:
        with at_once:
            time.sleep(0.002)
        return at_once.acquire(blocking=False) and not at_once.release()

    async def main() -> list[bool]:
        return await asyncio.gather(*(lane.run(work) for _ in range(6)))

    assert asyncio.run(main()) == [True] * 6
    lane.close()


def test_a_job_that_waits_and_is_cancelled_never_starts(lane: LightLane) -> None:
    gate = threading.Event()
    ran = []

    async def main() -> None:
        first = asyncio.create_task(lane.run(lambda _: gate.wait(5)))
        await asyncio.sleep(0.02)
        second = asyncio.create_task(lane.run(lambda _: ran.append(1)))
        await asyncio.sleep(0.02)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        gate.set()
        await first

    asyncio.run(main())
    assert ran == []
    assert lane.busy == 0


def test_stopping_cancels_all_with_the_reason(lane: LightLane) -> None:
    async def main() -> None:
        stream: Stream[int] = lane.stream(endless)
        items = aiter(stream)
        await anext(items)
        lane.stop("the server is stopping")
        with pytest.raises(Cancelled, match="the server is stopping"):
            async for _ in items:
                pass

    asyncio.run(main())


def test_a_closed_lane_starts_again(lane: LightLane) -> None:
    lane.close()
    assert asyncio.run(lane.run(lambda _: 3)) == 3
