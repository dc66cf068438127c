"""What ends a run from outside: a cancel, a worker that does not obey, a kill of the worker or of the server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.run_store import CANCELLED, PAUSED, RUNNING
from app.runs import Runs
from tests.app.training_runs import losses, opened, start, wait_for

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    one = opened(tmp_path_factory.mktemp("data"))
    yield one
    one.close()


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
from tests.app.training_runs import opened, start
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
