"""A process that trains, one run at a time: `python -m app.training_worker`, started by heavy_lane.py.

Commands come in as JSON lines: {"do": "train", ...} (a TrainJob), {"do": "pause"}, {"do": "cancel"}. Out go `open` or
`refused`, then `progress` (at most 20 a second, whatever the speed) and `checkpoint` (once a second, after its file is
whole), and at the end `ended` or `failed`. When the server is gone, so is this process, at once.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import math
import os
import queue
import resource
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from app.wire import line, plain, word
from engine.data import tables
from engine.errors import InputError, RunError
from engine.models import catalogue
from engine.training import checkpoint
from engine.training.training import Progress, Training, loops, prepare

PROGRESS_SECONDS = 0.05
CHECKPOINT_SECONDS = 1.0
NICENESS = 10  # pages come first
CPU_GRACE_SECONDS = 5  # what a single step may take beyond the limit before the system ends the process
logger = logging.getLogger("longhand.training")

Emit = Callable[[dict[str, Any]], None]


@dataclasses.dataclass(frozen=True)
class Question:
    """What is trained. resume: the checkpoint to go on from; empty for the start."""

    model: str
    request: dict[str, Any]
    steps: int
    recipe: dict[str, Any]
    resume: str

    def training(self) -> tuple[Training, array[float]]:
        """The training, not yet begun, and the loss after every step so far. Raises InputError.

        A checkpoint that is gone means the start: the same steps come again.
        """
        training = prepare(self.model, self.request, steps=self.steps, recipe=self.recipe)
        losses = array("d")
        if self.resume and Path(self.resume).exists():
            kept = checkpoint.load(Path(self.resume))
            training.resume(kept["state"])
            losses.extend(kept["losses"].tolist())
        return training, losses


@dataclasses.dataclass(frozen=True)
class TrainJob:
    """folder: for checkpoints, named by their step; two levels below the data folder.

    pause_at: the step to pause after by itself.

    fork: the run to branch off, at its step `fork_step`.
    """

    question: Question
    folder: str
    cpu_seconds: int
    memory_bytes: int
    fork: Question | None = None
    fork_step: int = 0
    pause_at: int | None = None

    def command(self) -> dict[str, Any]:
        return {"do": "train", **dataclasses.asdict(self)}

    @classmethod
    def read(cls, command: dict[str, Any]) -> TrainJob:
        fields = {key: value for key, value in command.items() if key not in ("do", "question", "fork")}
        fork = command["fork"] and Question(**command["fork"])
        return cls(Question(**command["question"]), fork=fork, **fields)


class Limited(Exception):
    """The job used more than it may; its text says of what."""


class Misfit(Exception):
    """What a fork changes does not go with the state that it begins with; its text says why."""


class Asked(Exception):
    """The server asked for an end before the run has a state of its own; its text is what it asked for."""


class Worker:
    """The job in hand, as its thread and the one that listens for commands share it."""

    def __init__(self, emit: Emit) -> None:
        self.emit = emit
        self.asked = ""  # pause or cancel, by the server
        self.jobs: queue.SimpleQueue[TrainJob] = queue.SimpleQueue()

    def listen(self, commands: BinaryIO) -> None:
        """Until the server closes its end, by will or by its death."""
        for text in commands:
            command = json.loads(text)
            if command["do"] == "train":
                self.asked = ""
                self.jobs.put(TrainJob.read(command))
            else:
                self.asked = command["do"]
        os._exit(0)

    def serve(self, job: TrainJob) -> None:
        """One job from its first line to its last."""
        try:
            _limit(job)
            tables.look_in(Path(job.folder).parents[1])
            self._train(job)
        except InputError as error:
            self.emit({"type": "refused", "field": error.field, "expected": error.expected, "got": str(error.got)})
        except Asked as asked:
            self.emit({"type": "ended", "how": str(asked)})
        except RunError as error:
            out_of_memory = isinstance(error.__cause__, MemoryError)
            self.emit({"type": "failed", "message": _meaning(error.__cause__, job) if out_of_memory else str(error)})
        except (Limited, Misfit) as error:
            self.emit({"type": "failed", "message": str(error)})
        except Exception as error:
            logger.exception("a training failed")
            self.emit({"type": "failed", "message": _meaning(error, job)})

    def _train(self, job: TrainJob) -> None:
        if job.fork is None:
            training, losses = job.question.training()
        else:
            next(iter(job.question.training()[0]))  # refuses what does not fit before the way there is computed
            self.emit({"type": "open"})
            training, losses = self._branched(job, job.fork)
        told = kept = -math.inf  # a branch has its first checkpoint at once
        ended = ""
        for number, progress in enumerate(self._within(job, training)):
            if number == 0 and job.fork is None:
                self.emit({"type": "open"})
                kept = time.monotonic()
            if progress.step == len(losses):
                losses.append(progress.loss)
            ended = self.asked or ("pause" if progress.step == job.pause_at else "")
            now = time.monotonic()
            if ended or now - told >= PROGRESS_SECONDS:
                told = now
                self.emit(progress_data(progress))
                if ended or now - kept >= CHECKPOINT_SECONDS:
                    kept = now
                    self._keep(job, training, losses)
            if ended:
                break
        if not ended:
            self.emit(progress_data(progress))
            self._keep(job, training, losses)
        self.emit({"type": "ended", "how": ended or "done"})

    def _keep(self, job: TrainJob, training: Training, losses: array[float]) -> None:
        step = len(losses) - 1
        content = {"state": training.state(), "losses": np.array(losses)}
        checkpoint.save(content, checkpoint_path(Path(job.folder), step))
        self.emit({"type": "checkpoint", "step": step})

    def _branched(self, job: TrainJob, parent: Question) -> tuple[Training, array[float]]:
        """The job's training at the state that its parent had after `fork_step`, computed again where not kept.

        Raises Asked where the server asks for an end before that.
        """
        before, losses = parent.training()
        for progress in self._within(job, before):
            if progress.step == len(losses):
                losses.append(progress.loss)
            if progress.step == job.fork_step:
                break
            if self.asked:
                raise Asked(self.asked)
        training, _ = dataclasses.replace(job.question, resume="").training()
        try:
            training.resume(before.state())
        except ValueError as error:
            raise Misfit(f"the run cannot go on with what is changed: {error}") from error
        return training, losses

    def _within(self, job: TrainJob, training: Training) -> Iterator[Progress]:
        """The training's progress. Raises Limited when its CPU time is used up."""
        limit = time.process_time() + job.cpu_seconds
        for progress in training:
            yield progress
            if time.process_time() > limit:
                raise Limited(f"the run used its {job.cpu_seconds} s of CPU time; fork it to go on")


def progress_data(progress: Progress) -> dict[str, Any]:
    """A progress line: step, loss and the other fields that are plain data; tensors by name are left out."""
    data: dict[str, Any] = {"type": "progress"}
    for field in dataclasses.fields(progress):  # type: ignore[arg-type]
        value = getattr(progress, field.name)
        if isinstance(value, bool | int | float | str | list | tuple) or value is None:
            data[field.name] = plain(value)
            if isinstance(value, float) and not math.isfinite(value):
                data[f"{field.name}_nonfinite"] = word(value)
    return data


def checkpoint_path(folder: Path, step: int) -> Path:
    return folder / f"{step}.safetensors"


def _limit(job: TrainJob) -> None:
    """The system's own limits: they hold where one step alone takes too much."""
    resource.setrlimit(resource.RLIMIT_DATA, (job.memory_bytes, resource.RLIM_INFINITY))
    cpu_seconds = int(time.process_time()) + job.cpu_seconds + CPU_GRACE_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, resource.RLIM_INFINITY))


def _meaning(error: BaseException | None, job: TrainJob) -> str:
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return f"the run needs more memory than the {job.memory_bytes:,} bytes that it may have"
    return f"the training met an error of its own: {type(error).__name__}"


def main() -> None:
    """Serves jobs until the server is gone. What anything prints goes to stderr: stdout is the server's."""
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    os.nice(NICENESS)
    logging.basicConfig(level="INFO", format="%(levelname)s %(name)s: %(message)s")

    def emit(data: dict[str, Any]) -> None:
        out.write(line(data))

    worker = Worker(emit)
    threading.Thread(target=worker.listen, args=(sys.stdin.buffer,), daemon=True).start()
    catalogue(), loops()
    while True:
        worker.serve(worker.jobs.get())


if __name__ == "__main__":
    main()
