"""Training a model by gradient descent: JSON lines of progress, then the trained parameters."""

from __future__ import annotations

import asyncio
import functools

from fastapi import APIRouter
from starlette.responses import Response

from app import answer_schemas as answers
from app import responses
from app.errors import from_input_error
from app.jobs import LaneFull, TooLarge
from app.limits import StrictRoute
from app.live_run import LiveRun
from app.models import ModelName
from app.run_lines import RunLines, run_data
from app.schemas import TrainRequest, as_request
from app.services import Services, Shared, as_problem, estimate_flops, find_model
from app.streams import RequestStreams
from app.wire import API, dumps
from engine.errors import InputError
from engine.models.model import Model

router = APIRouter(prefix=API, tags=["models"], route_class=StrictRoute)


@router.post(
    "/models/{model}/train",
    operation_id="train_model",
    summary="Train a model by gradient descent",
    responses=responses.only_lines(answers.TrainLine)
    | responses.accepted(answers.RunAnswer, "Begun in the background; watch it by its links."),
)
async def train_model(
    model: ModelName, services: Shared, streams: RequestStreams, body: TrainRequest | None = None
) -> Response:
    """Repeats the update that a trace shows, `steps` times, from the edited parameters.

    JSON lines: `open` with the run's id, `progress` with step and loss (at most 20 a second), then `done` with the loss
    after every step and the trained parameters, or `error`. The model itself keeps its parameters; send the trained
    ones back as edits to trace them. The run is kept under its id: hanging up pauses it, `background` lets it go on.
    """
    body = body or TrainRequest()
    live = await begin(services, find_model(model), body)
    if body.background:
        headers = {"location": run_data(live.run)["links"]["self"], "cache-control": "no-store"}
        return Response(dumps(run_data(live.run)), 202, headers, "application/json")
    return await streams.send(RunLines(services.runs, live.run, live, after=-1, pause_when_left=True))


async def begin(services: Services, model: Model, body: TrainRequest, *, pause_at: int | None = None) -> LiveRun:
    """A new run, begun. pause_at: the step to pause after. Raises Problem: 422 for what does not fit, 503."""
    wanted = as_request(body)
    estimate, limit = estimate_flops(model, wanted, passes=body.steps), services.settings.heavy_flops
    if estimate > limit:
        raise as_problem(TooLarge(estimate, limit))
    start = functools.partial(services.runs.start, steps=body.steps, recipe=dict(body.recipe), pause_at=pause_at)
    try:
        return await asyncio.to_thread(start, model.name, wanted)
    except LaneFull as error:
        raise as_problem(error) from error
    except InputError as error:
        raise from_input_error(error) from error
