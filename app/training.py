"""Training a model by gradient descent: JSON lines of progress, then the trained parameters."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from app import answer_schemas as answers
from app import responses
from app.jobs import Job
from app.limits import StrictRoute
from app.models import ModelName
from app.schemas import TrainRequest, as_request
from app.services import estimate_flops, find_model
from app.streams import RequestStreams
from app.wire import API, plain, values_data, word
from engine.models.model import Model
from engine.training.descent import Descending, Descent

router = APIRouter(prefix=API, tags=["models"], route_class=StrictRoute)
PROGRESS_SECONDS = 0.05


@router.post(
    "/models/{model}/train",
    operation_id="train_model",
    summary="Train a model by gradient descent",
    responses=responses.only_lines(answers.TrainLine),
)
async def train_model(model: ModelName, streams: RequestStreams, body: TrainRequest | None = None) -> Response:
    """Repeats the update that a trace shows, `steps` times, from the edited parameters.

    JSON lines: `open`, `progress` with step and loss (at most 20 a second), then `done` with the loss after every step
    and the trained parameters, or `error`. The model itself keeps its parameters; send the trained ones back as edits
    to trace them.
    """
    chosen = find_model(model)
    body = body or TrainRequest()
    wanted = as_request(body)
    work = functools.partial(stream_training, chosen, wanted, body.steps)
    return await streams.respond(work, estimate_flops=estimate_flops(chosen, wanted, passes=body.steps))


def stream_training(
    model: Model, wanted: Mapping[str, Any], steps: int, job: Job, emit: Callable[[dict[str, Any]], None]
) -> None:
    """Emits a training run as lines. Raises InputError before the first line, and Cancelled."""
    losses: list[float] = []
    last_told = time.monotonic()
    state: Descent | None = None
    for state in Descending(model, wanted, steps=steps):
        job.check()
        losses.append(state.loss)
        if state.step == 0:
            emit({"type": "open", "model": {"name": model.name, "title": model.title}, "steps": steps})
            emit(_progress(state))
        elif time.monotonic() - last_told >= PROGRESS_SECONDS:
            last_told = time.monotonic()
            emit(_progress(state))
    if state is None:
        raise RuntimeError("a descent yields its start at least")
    nonfinite: list[dict[str, str]] = []
    done = {
        "type": "done",
        "steps": state.step,
        "losses": plain(losses, nonfinite, "losses"),
        "parameters": {name: values_data(value.numpy()) for name, value in state.parameters.items()},
    }
    emit({**done, "nonfinite": nonfinite} if nonfinite else done)


def _progress(state: Descent) -> dict[str, Any]:
    line: dict[str, Any] = {"type": "progress", "step": state.step, "loss": plain(state.loss)}
    if line["loss"] is None:
        line["loss_nonfinite"] = word(state.loss)
    return line
