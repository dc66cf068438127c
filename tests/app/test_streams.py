"""Streams on a real server: the first line at once, a client that hangs up, a server that is told to stop."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from fastapi import APIRouter
from starlette.responses import Response

from app.jobs import Job
from app.main import create_app
from app.settings import Settings
from app.streams import RequestStreams

ROOT = Path(__file__).parents[2]
slow = APIRouter()


def count_slowly(job: Job, emit: Callable[[dict[str, Any]], None]) -> None:
    for number in range(3000):
        job.check()
        emit({"type": "progress", "number": number})
        time.sleep(0.02)


@slow.post("/slow")
async def slowly(streams: RequestStreams) -> Response:
    """A job of a minute."""
    return await streams.respond(count_slowly)


class Running:
    """The app on a port of its own, in this process."""

    def __init__(self, folder: Path) -> None:
        self.app = create_app(Settings(data_dir=str(folder), light_threads=1, light_queue=1))
        self.app.include_router(slow)
        config = uvicorn.Config(self.app, host="127.0.0.1", port=0, log_level="error")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)

    def start(self) -> str:
        self.thread.start()
        wait_for(lambda: self.server.started)
        return f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}"

    @property
    def busy(self) -> int:
        return self.app.state.services.lane.busy


def wait_for(condition: Callable[[], object], seconds: float = 20) -> float:
    """Seconds until the condition holds; fails the test after `seconds`."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < seconds, "waited too long"
        time.sleep(0.005)
    return time.monotonic() - started


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Running]]:
    one = Running(tmp_path_factory.mktemp("data"))
    url = one.start()
    yield url, one
    one.server.should_exit = True
    one.thread.join(10)


def test_lines_come_while_the_work_goes_on(running: tuple[str, Running]) -> None:
    url, server = running
    with httpx2.stream("POST", f"{url}/slow", headers={"accept-encoding": "gzip"}) as response:
        lines = response.iter_lines()
        assert [json.loads(next(lines))["number"] for _ in range(3)] == [0, 1, 2]
        assert server.busy == 1
    wait_for(lambda: server.busy == 0)


def test_a_client_that_hangs_up_frees_the_worker_within_a_second(running: tuple[str, Running]) -> None:
    url, server = running
    with httpx2.stream("POST", f"{url}/slow") as response:
        next(response.iter_lines())
        assert server.busy == 1
    assert wait_for(lambda: server.busy == 0) < 1
    assert httpx2.post(f"{url}/api/v1/models/tiny_network/trace", json={}).status_code == 200


def test_a_client_that_reads_nothing_and_leaves_frees_the_worker_too(running: tuple[str, Running]) -> None:
    url, server = running
    with httpx2.stream("POST", f"{url}/slow"):
        time.sleep(0.3)
    assert wait_for(lambda: server.busy == 0) < 1


def test_a_full_lane_answers_503_and_says_when_to_try_again(running: tuple[str, Running]) -> None:
    url, server = running
    held: list[threading.Thread] = []
    leave = threading.Event()

    def hold() -> None:
        with httpx2.stream("POST", f"{url}/slow", timeout=30) as response:
            for _ in response.iter_lines():
                if leave.is_set():
                    return

    held = [threading.Thread(target=hold) for _ in range(2)]
    for number, thread in enumerate(held, 1):
        thread.start()
        wait_for(lambda number=number: server.busy == number)
    response = httpx2.post(f"{url}/api/v1/models/tiny_network/trace", json={})
    assert response.status_code == 503
    assert response.headers["retry-after"] == "1"
    assert response.json()["detail"] == "every place in the queue is taken; try again"
    leave.set()
    for thread in held:
        thread.join(20)
    wait_for(lambda: server.busy == 0)


@pytest.fixture
def process(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`python -m app` on a free port."""
    environment = {**os.environ, "PORT": "0", "HOST": "127.0.0.1", "LONGHAND_DATA_DIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-m", "app"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None
        address = re.fullmatch(r"Longhand: (http://127\.0\.0\.1:\d+)\n", started.stdout.readline())
        assert address is not None
        yield address[1], started
        started.kill()


def test_sigterm_ends_an_open_stream_with_an_error_line_and_stops(
    process: tuple[str, subprocess.Popen[str]],
) -> None:
    url, server = process
    rows = {"inputs": {"x": [[0.01 * row, 0.02] for row in range(256)]}, "steps": 2000}
    body = {**rows, "update": {"learning_rate": 1e-5}}
    with httpx2.stream("POST", f"{url}/api/v1/models/tiny_network/train", json=body, timeout=30) as response:
        lines = response.iter_lines()
        assert json.loads(next(lines))["type"] == "open"
        server.send_signal(signal.SIGTERM)
        started = time.monotonic()
        last = json.loads(list(lines)[-1])
    assert last["type"] == "error"
    assert last["problem"]["status"] == 503
    assert "the server is stopping" in last["problem"]["detail"]
    assert server.wait(10) in (0, -signal.SIGTERM)
    assert time.monotonic() - started < 5


def test_a_bad_setting_ends_the_start_with_a_sentence() -> None:
    environment = {**os.environ, "PORT": "http"}
    ended = subprocess.run(
        [sys.executable, "-m", "app"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr.strip() == "PORT must be a whole number; got 'http'"
