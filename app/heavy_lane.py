"""The heavy lane: worker processes that stay warm, one job each, told what to do and answering through a pipe.

Nothing here knows what is trained, or HTTP. A worker that does not do as asked in time is killed.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import orjson

from app.jobs import LaneFull
from app.wire import line

ROOT = Path(__file__).resolve().parent.parent
MODULE = "app.training_worker"
_READ_BYTES = 2**16


class WorkerLost(Exception):
    """The process ended by itself; its text says how."""


class WorkerProcess:
    """One process, as its owner sees it. Only `send` and `kill` may be called while another thread receives."""

    def __init__(self) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        # A session of its own: what ends the server from a keyboard reaches the worker through the server only.
        self._process = subprocess.Popen(
            [sys.executable, "-m", MODULE],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._received = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def send(self, command: dict[str, Any]) -> None:
        """Raises WorkerLost."""
        if self._process.stdin is None:
            raise RuntimeError("a worker is started with a pipe")
        try:
            self._process.stdin.write(line(command))
        except (OSError, ValueError) as error:
            raise WorkerLost(self._how_it_ended()) from error

    def receive(self, timeout_s: float) -> dict[str, Any] | None:
        """The next line, or None if none came in time. Raises WorkerLost at the end of the pipe."""
        if self._process.stdout is None:
            raise RuntimeError("a worker is started with a pipe")
        while b"\n" not in self._received:
            ready, _, _ = select.select([self._process.stdout], [], [], timeout_s)
            if not ready:
                return None
            more = os.read(self._process.stdout.fileno(), _READ_BYTES)
            if not more:
                raise WorkerLost(self._how_it_ended())
            self._received += more
        first, _, self._received = self._received.partition(b"\n")
        found: dict[str, Any] = orjson.loads(first)
        return found

    def kill(self) -> None:
        """At once; nothing is left of the process."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Kills it and lets go of the pipes. Only when nobody receives any more."""
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _how_it_ended(self) -> str:
        code = self._process.wait()
        return f"signal {-code}" if code < 0 else f"exit code {code}"


class HeavyLane:
    """At most `workers` processes; each is started when first needed, or by `warm_up`, and kept for the next job."""

    def __init__(self, *, workers: int) -> None:
        self.workers = workers
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()
        self._lock = threading.Lock()

    @property
    def busy(self) -> int:
        return len(self._busy)

    def take(self) -> WorkerProcess:
        """A worker for one job, to be given back. It may still be starting: what is sent waits for it.

        Raises LaneFull when all are busy.
        """
        with self._lock:
            if len(self._busy) >= self.workers:
                raise LaneFull
            while self._idle:
                worker = self._idle.pop()
                if worker.alive:
                    break
                worker.close()
            else:
                worker = WorkerProcess()
            self._busy.add(worker)
            return worker

    def give_back(self, worker: WorkerProcess, *, usable: bool) -> None:
        """usable: whether it ended its job as it should; else it is killed."""
        with self._lock:
            self._busy.discard(worker)
            if usable and worker.alive:
                self._idle.append(worker)
                return
        worker.close()

    def warm_up(self) -> None:
        """Starts the processes that are not there yet, and does not wait for them."""
        with self._lock:
            while len(self._idle) + len(self._busy) < self.workers:
                self._idle.insert(0, WorkerProcess())

    def close(self) -> None:
        """Ends the idle ones; the busy ones end when they are given back."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()
