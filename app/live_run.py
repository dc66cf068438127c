"""A training run while a worker has it: what it tells, who watches, and asking it to end."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from app.errors import RETRY, Problem
from app.heavy_lane import WorkerLost, WorkerProcess
from app.run_store import Point, Run
from app.training_worker import TrainJob
from engine.errors import InputError

START_SECONDS = 60  # a worker that is not warm loads torch first
OBEY_SECONDS = 0.7  # then it is killed


class LiveRun:
    """A run that a worker has in hand. points: its curve in this stretch, in order; only ever added to.

    error: what ended it from outside, for those who watch.
    """

    def __init__(self, run: Run, worker: WorkerProcess) -> None:
        self.run = run
        self.worker = worker
        self.points: list[Point] = []
        self.saved = 0  # how many of the points the store has
        self.ended = threading.Event()
        self.error: Exception | None = None
        self.asked = ""
        self.reason = ""
        self.deadline: float | None = None
        self._last_step = -1 if run.last is None else run.last["step"]
        self._watchers: list[Callable[[], None]] = []

    def hand_over(self, job: TrainJob) -> None:
        """Returns when the worker has begun. Raises InputError for what does not fit, and Problem."""
        try:
            self.worker.send(job.command())
            told = self.worker.receive(START_SECONDS)
        except WorkerLost as lost:
            raise Problem(503, f"the worker ended ({lost}); try again", headers=RETRY) from lost
        if told is None:
            raise Problem(503, "the worker did not answer in time; try again", headers=RETRY)
        if told["type"] == "refused":
            raise refusal(told)
        if told["type"] != "open":
            raise Problem(422, told.get("message", "the run ended before it began"))

    def ask(self, what: str, reason: str = "") -> None:
        """Tells the worker to `pause` or `cancel`, once; from any thread. reason: why it is not the run's own end."""
        if not self.asked and not self.ended.is_set():
            self.asked, self.reason = what, reason
            self.deadline = time.monotonic() + OBEY_SECONDS
            with contextlib.suppress(WorkerLost):
                self.worker.send({"do": what})

    def watch(self, watcher: Callable[[], None]) -> None:
        """watcher() is called, in another thread, whenever there is more to see, and at the end."""
        self._watchers.append(watcher)

    def unwatch(self, watcher: Callable[[], None]) -> None:
        self._watchers.remove(watcher)

    def add(self, point: Point) -> None:
        """A stretch begins with the point that the one before it ended with; that is left out."""
        if point["step"] > self._last_step:
            self._last_step = point["step"]
            self.points.append(point)
            self.tell()

    def tell(self) -> None:
        for watcher in list(self._watchers):
            watcher()


def refusal(told: Mapping[str, Any]) -> InputError:
    """What a worker refused, as it was raised there."""
    return InputError(told["field"], told["expected"], told["got"])
