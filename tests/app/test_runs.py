"""Training runs in real processes: left and gone on with to the bit, branched, stopped, bounded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.errors import Problem
from app.jobs import LaneFull
from app.run_store import CANCELLED, DONE, FAILED, PAUSED
from app.runs import MOST_CHECKPOINTS, Runs
from engine.errors import InputError
from engine.training.training import loops
from tests.app.training_runs import SLOW, assert_same, losses, opened, parameters, start, wait_for


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    one = opened(tmp_path_factory.mktemp("data"))
    yield one
    one.close()


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


@pytest.mark.parametrize("model", loops())
def test_a_fork_whose_changes_do_not_fit_its_state_fails_and_says_why(runs: Runs, model: str) -> None:
    live = runs.start(model, {}, steps=1, recipe={})
    assert live.ended.wait(60)
    fork = runs.fork(live.run.id, 1, {"recipe": {"hidden": "7"}, "steps": 2})
    wait_for(lambda: runs.find(fork.id).state == FAILED)
    assert runs.find(fork.id).note.startswith("the run cannot go on with what is changed: the state's ")
