"""Training runs in real processes: left and gone on with to the bit, killed, branched, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.errors import Problem
from app.heavy_lane import HeavyLane
from app.jobs import LaneFull
from app.live_run import LiveRun
from app.run_store import CANCELLED, DONE, FAILED, PAUSED, RUNNING, RunStore
from app.runs import MOST_CHECKPOINTS, Runs
from engine.errors import InputError

ROOT = Path(__file__).parents[2]
LONG = 100_000
SLOW = {"update": {"rule": "sgd", "learning_rate": 1e-6}}


def opened(folder: Path, **limits: int) -> Runs:
    """The runs of one data folder, as a server that starts has them."""
    given = {"cpu_seconds": 600, "memory_bytes": 2**31, "kept": 100, **limits}
    runs = Runs(RunStore(f"sqlite:///{folder / 'runs.sqlite'}"), HeavyLane(workers=1), folder, **given)
    runs.recover()
    return runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    one = opened(tmp_path_factory.mktemp("data"))
    yield one
    one.close()


def start(runs: Runs, steps: int = LONG, **request: Any) -> LiveRun:
    return runs.start("tiny_network", {**SLOW, **request}, steps=steps, recipe={})


def wait_for(condition: Callable[[], object], seconds: float = 30) -> float:
    """Seconds until the condition holds; fails the test after `seconds`."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < seconds, "waited too long"
        time.sleep(0.005)
    return time.monotonic() - started


def losses(runs: Runs, run_id: str) -> list[float]:
    kept = runs.checkpoint(run_id)
    assert kept is not None
    return kept["losses"].tolist()


def parameters(runs: Runs, run_id: str) -> dict[str, np.ndarray]:
    kept = runs.checkpoint(run_id)
    assert kept is not None
    return {name: value.numpy() for name, value in kept["state"]["parameters"].items()}


def assert_same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert np.array_equal(value, other[name]), name


def test_a_run_ends_with_its_curve_and_its_losses(runs: Runs) -> None:
    live = start(runs, 300)
    assert live.ended.wait(30)
    run = runs.find(live.run.id)
    assert (run.state, run.step, run.note) == (DONE, 300, "")
    curve = runs.points(run.id)
    assert curve[0] == {"step": 0, "loss": 1.125}
    assert curve[-1] == run.last == {"step": 300, "loss": losses(runs, run.id)[-1]}
    assert len(losses(runs, run.id)) == 301
    assert runs.points(run.id, after=299) == [curve[-1]]


def test_paused_and_gone_on_with_it_ends_where_it_would_have(runs: Runs) -> None:
    whole = start(runs, 2000)
    assert whole.ended.wait(60)
    live = start(runs, 2000)
    wait_for(lambda: len(live.points) > 2)
    paused = runs.pause(live.run.id)
    assert paused.state == PAUSED
    assert 0 < paused.step < 2000
    assert runs.lane.busy == 0
    again = runs.resume(paused.id, steps=10)
    wait_for(lambda: runs.live(again.id) is None)
    stepped = runs.find(again.id)
    assert (stepped.state, stepped.step) == (PAUSED, paused.step + 10)
    runs.resume(paused.id)
    wait_for(lambda: runs.find(paused.id).state == DONE)
    assert losses(runs, paused.id) == losses(runs, whole.run.id)
    assert_same(parameters(runs, paused.id), parameters(runs, whole.run.id))
    steps = [point["step"] for point in runs.points(paused.id)]
    assert steps == sorted(set(steps))


@pytest.mark.parametrize("step", [0, 7, 400])
def test_a_fork_without_changes_is_the_original_gone_on_with(runs: Runs, step: int) -> None:
    live = start(runs, 400)
    assert live.ended.wait(30)
    fork = runs.fork(live.run.id, step, {})
    assert (fork.parent, fork.fork_step) == (live.run.id, step)
    wait_for(lambda: runs.find(fork.id).state == DONE)
    assert losses(runs, fork.id) == losses(runs, live.run.id)
    assert_same(parameters(runs, fork.id), parameters(runs, live.run.id))


def test_a_fork_with_another_rate_differs_from_its_step_on(runs: Runs) -> None:
    live = start(runs, 30)
    assert live.ended.wait(30)
    fast = {**SLOW, "update": {"rule": "sgd", "learning_rate": 0.01}}
    fork = runs.fork(live.run.id, 10, {"request": fast, "steps": 40})
    wait_for(lambda: runs.find(fork.id).state == DONE)
    ours, theirs = losses(runs, fork.id), losses(runs, live.run.id)
    assert ours[:11] == theirs[:11]
    assert ours[11] != theirs[11]
    assert len(ours) == 41
    before = runs.fork(fork.id, 4, {"steps": 12})
    assert before.parent == live.run.id
    wait_for(lambda: runs.find(before.id).state == DONE)
    assert losses(runs, before.id) == theirs[:13]
    later = runs.fork(fork.id, 15, {})
    wait_for(lambda: runs.find(later.id).state == DONE)
    assert losses(runs, later.id) == ours


def test_a_fork_beyond_the_last_step_is_refused(runs: Runs) -> None:
    live = start(runs, 5)
    assert live.ended.wait(30)
    with pytest.raises(Problem, match="step must be at most 5, the last that the run has; got 6"):
        runs.fork(live.run.id, 6, {})
    with pytest.raises(Problem, match="steps must be at least 3, where the fork begins; got 2"):
        runs.fork(live.run.id, 3, {"steps": 2})


def test_what_does_not_fit_is_refused_and_leaves_no_run(runs: Runs) -> None:
    before = len(runs.store.latest(1000))
    with pytest.raises(InputError, match=r"inputs\.x must have 2 numbers; got 1"):
        start(runs, inputs={"x": [1]})
    assert len(runs.store.latest(1000)) == before
    assert runs.lane.busy == 0


def test_a_full_lane_refuses_and_takes_runs_again_later(runs: Runs) -> None:
    live = start(runs)
    with pytest.raises(LaneFull):
        start(runs)
    assert runs.cancel(live.run.id).state == CANCELLED
    assert runs.cancel(live.run.id).state == CANCELLED
    assert start(runs, 1).ended.wait(30)


def test_only_what_is_in_a_state_for_it_is_changed(runs: Runs) -> None:
    live = start(runs, 1)
    assert live.ended.wait(30)
    run_id = live.run.id
    for change, message in [
        (runs.pause, "run must be running to be paused; got done"),
        (runs.resume, "run must be paused to be gone on with; got done"),
        (runs.cancel, "run must be running or paused to be cancelled; got done"),
    ]:
        with pytest.raises(Problem, match=message) as caught:
            change(run_id)
        assert caught.value.status == 409
    with pytest.raises(Problem, match="run must exist; got 'none'"):
        runs.find("none")


def memory_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_twenty_started_and_cancelled_leave_no_process_and_no_memory_behind(runs: Runs) -> None:
    def started_and_cancelled() -> int:
        live = start(runs)
        pid = live.worker.pid
        began = time.monotonic()
        runs.cancel(live.run.id)
        assert time.monotonic() - began < 1
        assert runs.lane.busy == 0
        return pid

    pid = started_and_cancelled()
    before = memory_bytes(pid)
    assert {started_and_cancelled() for _ in range(20)} == {pid}
    assert memory_bytes(pid) - before < 2**24
    assert runs._live == {}


def test_a_worker_that_does_not_obey_is_killed_within_a_second(runs: Runs) -> None:
    live = start(runs)
    wait_for(lambda: live.saved)
    pid = live.worker.pid
    os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    run = runs.cancel(live.run.id)
    assert time.monotonic() - began < 1.2
    assert (run.state, runs.lane.busy) == (CANCELLED, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_killed_worker_loses_at_most_a_second_and_says_so(runs: Runs) -> None:
    live = start(runs)
    wait_for(lambda: live.saved)
    wait_for(lambda: live.points[-1]["step"] > runs.store.find(live.run.id).step + 5)  # type: ignore[union-attr]
    os.kill(live.worker.pid, signal.SIGKILL)
    assert live.ended.wait(5)
    run = runs.find(live.run.id)
    assert run.state == PAUSED
    assert run.note == "its process ended without warning (signal 9); what came after the last checkpoint is lost"
    assert runs.points(run.id)[-1]["step"] == run.step == len(losses(runs, run.id)) - 1
    assert runs.resume(run.id).state == RUNNING
    wait_for(lambda: runs.find(run.id).step > run.step)
    runs.cancel(run.id)


SERVER = """
import sys, time
from pathlib import Path
from tests.app.test_runs import opened, start
runs = opened(Path(sys.argv[1]))
live = start(runs)
while not (runs.store.find(live.run.id).step and len(live.points) > live.saved):
    time.sleep(0.005)
print(live.run.id, live.worker.pid, live.points[-1]["step"], flush=True)
time.sleep(60)
"""


def test_a_killed_server_loses_at_most_a_second_says_so_and_leaves_no_process(tmp_path: Path) -> None:
    server = [sys.executable, "-c", SERVER, str(tmp_path)]
    with subprocess.Popen(server, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        run_id, pid, _ = process.stdout.readline().split()
        process.kill()
    wait_for(lambda: not Path(f"/proc/{pid}").exists())
    runs = opened(tmp_path)
    run = runs.find(run_id)
    assert (run.state, run.step > 0) == (PAUSED, True)
    assert run.note == "the server ended without warning; what came after the last checkpoint is lost"
    assert runs.points(run_id)[-1]["step"] == run.step == len(losses(runs, run_id)) - 1
    runs.resume(run_id, steps=3)
    wait_for(lambda: runs.live(run_id) is None)
    assert len(losses(runs, run_id)) == run.step + 4
    runs.close()


def test_runs_pause_when_the_server_stops_and_go_on_after_its_next_start(tmp_path: Path) -> None:
    first = opened(tmp_path)
    live = start(first)
    wait_for(lambda: len(live.points) > 1)
    pid = live.worker.pid
    first.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    second = opened(tmp_path)
    run = second.find(live.run.id)
    assert (run.state, run.note) == (PAUSED, "the server stopped; nothing is lost")
    assert run.step >= live.points[-1]["step"]
    second.resume(run.id)
    wait_for(lambda: second.find(run.id).step > run.step)
    second.close()


def test_checkpoints_are_thinned_and_runs_beyond_the_bound_go_with_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = opened(tmp_path, kept=2)
    live = start(runs, 1)
    assert live.ended.wait(30)
    for step in range(2, 60):
        (tmp_path / "runs" / live.run.id / f"{step}.safetensors").touch()
        runs._keep(live, step)
    kept = runs._checkpoints(live.run.id)
    assert len(kept) <= MOST_CHECKPOINTS
    assert (kept[0], kept[-1]) == (1, 59)
    for _ in range(3):
        assert start(runs, 1).ended.wait(30)
    assert live.run.id not in [run.id for run in runs.store.latest(10)]
    assert not (tmp_path / "runs" / live.run.id).exists()
    runs.close()


def test_a_run_that_uses_up_its_time_or_memory_fails_and_says_of_what(tmp_path: Path) -> None:
    runs = opened(tmp_path, cpu_seconds=1)
    live = start(runs)
    assert live.ended.wait(60)
    run = runs.find(live.run.id)
    assert run.state == FAILED
    assert run.note == "the run used its 1 s of CPU time; fork it to go on"
    runs.close()
    small = opened(tmp_path, memory_bytes=2**20)
    with pytest.raises(Problem, match=r"memory|ended"):
        start(small, inputs={"x": [[0.5, 0.25]] * 256}, target=[1.0] * 256)
    small.close()
