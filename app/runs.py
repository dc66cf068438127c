"""Training runs: started, watched, paused, gone on with, branched; each in a worker, its record in the run store.

A run's curve and its checkpoint are kept together once a second, so what is kept always fits together; what ends a
worker or the server without warning loses what came after. Every method may block for as long as a worker needs to
answer, but for `live` and `stop`.
"""

from __future__ import annotations

import dataclasses
import logging
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from app.errors import conflict, invalid, missing
from app.heavy_lane import HeavyLane, WorkerLost
from app.jobs import Cancelled
from app.live_run import LiveRun, refusal
from app.run_store import CANCELLED, DONE, FAILED, PAUSED, RUNNING, Point, Run, RunStore
from app.training_worker import Question, TrainJob, checkpoint_path
from engine.errors import InputError
from engine.training import checkpoint

MOST_CHECKPOINTS = 16
_POLL_SECONDS = 0.1
_LOST = "what came after the last checkpoint is lost"
_ENDS = {"done": DONE, "pause": PAUSED, "cancel": CANCELLED}
logger = logging.getLogger("longhand")


class Runs:
    """folder: for checkpoints, in a folder a run. kept: how many runs that do not run are kept."""

    def __init__(
        self, store: RunStore, lane: HeavyLane, folder: Path, *, cpu_seconds: int, memory_bytes: int, kept: int
    ) -> None:
        self.store = store
        self.lane = lane
        self.folder = folder.resolve() / "runs"
        self.kept = kept
        self._cpu_seconds = cpu_seconds
        self._memory_bytes = memory_bytes
        self._live: dict[str, LiveRun] = {}

    def start(
        self,
        model: str,
        request: Mapping[str, Any],
        *,
        steps: int,
        recipe: Mapping[str, Any],
        pause_at: int | None = None,
    ) -> LiveRun:
        """A new run; pause_at: the step to pause after. Raises LaneFull, InputError for what does not fit, Problem for
        what the model could not run.
        """
        run = Run(uuid.uuid4().hex, model, request, recipe, steps)
        return self._begin(run, lambda: self.store.add(run), pause_at)

    def resume(self, run_id: str, steps: int | None = None) -> Run:
        """Goes on from the last checkpoint; steps: only so many, then it pauses again."""
        run = self.find(run_id)
        if run.state != PAUSED or run_id in self._live:
            raise conflict("run", "be paused to be gone on with", run.state)
        pause_at = None if steps is None else run.step + steps
        self._begin(run, lambda: self.store.set_state(run_id, RUNNING), pause_at)
        return self.find(run_id)

    def fork(self, run_id: str, step: int, changes: Mapping[str, Any]) -> Run:
        """A new run that is this one up to `step`. changes: request, recipe or steps that hold from there on."""
        parent = self.find(run_id)
        if step > parent.step:
            raise invalid("step", f"be at most {parent.step}, the last that the run has", step)
        curve = [point for point in self.points(run_id) if point["step"] <= step]
        while parent.parent is not None and step < (parent.fork_step or 0):
            parent = self.find(parent.parent)
        given = {"model": parent.model, "request": parent.request, "recipe": parent.recipe, "steps": parent.steps}
        last = curve[-1] if curve else None
        run = Run(uuid.uuid4().hex, **{**given, **changes}, step=step, last=last, parent=parent.id, fork_step=step)
        if run.steps < step:
            raise invalid("steps", f"be at least {step}, where the fork begins", run.steps)
        self._begin(run, lambda: self.store.add(run, curve))
        return self.find(run.id)

    def pause(self, run_id: str) -> Run:
        """As it is when the worker is free again."""
        live = self._live.get(run_id)
        if live is None:
            raise conflict("run", "be running to be paused", self.find(run_id).state)
        live.ask("pause")
        live.ended.wait()
        return self.find(run_id)

    def cancel(self, run_id: str) -> Run:
        """Ends it for good; its checkpoints stay, so that it can be forked. A cancelled run stays as it is."""
        live = self._live.get(run_id)
        if live is not None:
            live.ask("cancel")
            live.ended.wait()
        run = self.find(run_id)
        if run.state == PAUSED:
            self.store.set_state(run_id, CANCELLED)
        elif run.state != CANCELLED:
            raise conflict("run", "be running or paused to be cancelled", run.state)
        return self.find(run_id)

    def find(self, run_id: str) -> Run:
        """Raises Problem 404. Of a live run, with what is not kept yet."""
        live = self._live.get(run_id)
        run = self.store.find(run_id)
        if run is None:
            raise missing("run", run_id)
        if live is not None and live.points:
            return dataclasses.replace(run, step=live.points[-1]["step"], last=live.points[-1])
        return run

    def live(self, run_id: str) -> LiveRun | None:
        """The run while a worker has it."""
        return self._live.get(run_id)

    def points(self, run_id: str, after: int = -1) -> list[Point]:
        """The curve so far, of later steps than `after`."""
        live = self._live.get(run_id)
        kept = self.store.points(run_id, after)
        last = kept[-1]["step"] if kept else after
        return kept + [point for point in (live.points if live else []) if point["step"] > last]

    def checkpoint(self, run_id: str) -> dict[str, Any] | None:
        """The last one: {state, losses}; None before the first. Raises Problem 404."""
        run = self.store.find(run_id)
        if run is None:
            raise missing("run", run_id)
        try:
            return checkpoint.load(self._path(run.id, run.step))
        except FileNotFoundError:
            return None

    def recover(self) -> None:
        """At a start: what still counts as running was cut off."""
        for run in self.store.in_state(RUNNING):
            note = f"the server ended without warning; {_LOST}"
            self.store.set_state(run.id, PAUSED, note)

    def stop(self, reason: str) -> None:
        """Pauses all that runs, for a server that ends. From any thread, signal handlers too."""
        for live in list(self._live.values()):
            live.error = live.error or Cancelled(reason)
            live.ask("pause", "the server stopped; nothing is lost")

    def close(self) -> None:
        """Waits until all has stopped, and ends the processes."""
        self.stop("the server is stopping")
        for live in list(self._live.values()):
            live.ended.wait()
        self.lane.close()
        self.store.close()

    def _begin(self, run: Run, record: Callable[[], None], pause_at: int | None = None) -> LiveRun:
        """Gives the run to a worker; `record` notes it once the worker has taken it."""
        job = self._job(run, pause_at)
        live = LiveRun(run, self.lane.take())
        if self._live.setdefault(run.id, live) is not live:
            self.lane.give_back(live.worker, usable=True)
            raise conflict("run", "be paused to be gone on with", RUNNING)
        try:
            live.hand_over(job)
            record()
        except BaseException as error:
            self._let_go(live, usable=isinstance(error, InputError))
            raise
        threading.Thread(target=self._supervise, args=(live,), name=f"run-{run.id}", daemon=True).start()
        for gone in self.store.drop_beyond(self.kept):
            shutil.rmtree(self.folder / gone, ignore_errors=True)
        return live

    def _supervise(self, live: LiveRun) -> None:
        """In a thread of the run's own, until its worker is free."""
        usable = False
        try:
            state, note, usable = self._end_of(live)
            self.store.set_state(live.run.id, state, note)
        except Exception as error:
            logger.exception("the run %s cannot be kept", live.run.id)
            live.error = error
        finally:
            self._let_go(live, usable=usable)

    def _end_of(self, live: LiveRun) -> tuple[str, str, bool]:
        """Keeps what the worker tells; at the end the run's state, its note, and whether the worker is usable."""
        while True:
            if live.deadline is not None and time.monotonic() > live.deadline:
                return _ENDS[live.asked], f"{live.reason or 'as asked'}; one step took long, so {_LOST}", False
            try:
                told = live.worker.receive(_POLL_SECONDS)
            except WorkerLost as lost:
                if live.asked == "cancel":
                    return CANCELLED, "", False
                note = f"its process ended without warning ({lost}); {_LOST}"
                live.error = live.error or Cancelled(note)
                return PAUSED, note, False
            kind = None if told is None else told.pop("type")
            if told is None:
                continue
            if kind == "progress":
                live.add(told)
            elif kind == "checkpoint":
                self._keep(live, told["step"])
            elif kind == "ended":
                return _ENDS[told["how"]], live.reason if told["how"] == live.asked else "", True
            else:
                return FAILED, told.get("message") or refusal(told).args[0], True

    def _keep(self, live: LiveRun, step: int) -> None:
        fresh = live.points[live.saved :]
        self.store.advance(live.run.id, step, fresh)
        live.saved += len(fresh)
        kept = self._checkpoints(live.run.id)
        if len(kept) > MOST_CHECKPOINTS:
            for old in kept[1:-1:2]:  # the first and the last stay
                self._path(live.run.id, old).unlink(missing_ok=True)

    def _let_go(self, live: LiveRun, *, usable: bool) -> None:
        self.lane.give_back(live.worker, usable=usable)
        self._live.pop(live.run.id, None)
        live.ended.set()
        live.tell()

    def _job(self, run: Run, pause_at: int | None) -> TrainJob:
        """What a worker needs to go on with the run, or, where it has no checkpoint yet, to branch it off."""
        path = self._path(run.id, run.step)
        job = TrainJob(
            _question(run, str(path)), str(path.parent), self._cpu_seconds, self._memory_bytes, pause_at=pause_at
        )
        if run.parent is None or run.fork_step is None or path.exists():
            return job
        parent = self.store.find(run.parent)
        before = [step for step in self._checkpoints(run.parent) if step <= run.fork_step]
        if parent is None or (parent.parent is not None and not before):
            raise conflict("parent", "have a checkpoint to branch off from", "none")
        start = str(self._path(parent.id, before[-1])) if before else ""
        return dataclasses.replace(job, fork=_question(parent, start), fork_step=run.fork_step)

    def _path(self, run_id: str, step: int) -> Path:
        return checkpoint_path(self.folder / run_id, step)

    def _checkpoints(self, run_id: str) -> list[int]:
        """The steps that have one, in order."""
        return sorted(int(path.stem) for path in (self.folder / run_id).glob("*.safetensors"))


def _question(run: Run, resume: str) -> Question:
    return Question(run.model, dict(run.request), run.steps, dict(run.recipe), resume)
