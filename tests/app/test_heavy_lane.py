"""Worker processes: bounded, kept warm, replaced when they die."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from app.heavy_lane import HeavyLane, WorkerLost
from app.jobs import LaneFull


@pytest.fixture
def lane() -> Iterator[HeavyLane]:
    one = HeavyLane(workers=2)
    yield one
    one.close()


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_as_many_as_may_are_given_out_and_warm_ones_again(lane: HeavyLane) -> None:
    first, second = lane.take(), lane.take()
    assert lane.busy == 2
    with pytest.raises(LaneFull):
        lane.take()
    lane.give_back(second, usable=True)
    assert lane.take() is second
    lane.give_back(first, usable=False)
    assert gone(first.pid)
    lane.give_back(second, usable=True)
    assert lane.busy == 0


def test_warming_up_starts_what_is_missing_and_closing_leaves_none(lane: HeavyLane) -> None:
    first = lane.take()
    lane.warm_up()
    lane.warm_up()
    second = lane.take()
    lane.give_back(first, usable=True)
    lane.give_back(second, usable=True)
    lane.close()
    assert gone(first.pid) and gone(second.pid)


def test_a_worker_that_died_idle_is_replaced(lane: HeavyLane) -> None:
    first = lane.take()
    lane.give_back(first, usable=True)
    os.kill(first.pid, signal.SIGKILL)
    while first.alive:
        time.sleep(0.005)
    second = lane.take()
    assert second is not first
    assert second.alive
    lane.give_back(second, usable=True)


def test_a_silent_worker_times_out_and_a_dead_one_says_how_it_ended(lane: HeavyLane) -> None:
    worker = lane.take()
    assert worker.receive(0.05) is None
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerLost, match="signal 9"):
        worker.receive(5)
    with pytest.raises(WorkerLost, match="signal 9"):
        worker.send({"do": "pause"})
    lane.give_back(worker, usable=False)
