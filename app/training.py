"""Training a model by gradient descent: JSON lines of progress, then the trained parameters."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from starlette.responses import Response

from app import answer_schemas as answers
from app import responses
from app.jobs import LaneFull, TooLarge
from app.limits import StrictRoute
from app.models import ModelName
from app.run_lines import RunLines, run_data
from app.schemas import TrainRequest, as_request
from app.services import Services, Shared, as_problem, estimate_flops, find_model
from app.streams import RequestStreams
from app.wire import API, dumps

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
    chosen = find_model(model)
    wanted = as_request(body)
    _refuse_large(services, estimate_flops(chosen, wanted, passes=body.steps))
    try:
        live = await asyncio.to_thread(
            services.runs.start, chosen.name, wanted, steps=body.steps, recipe=dict(body.recipe)
        )
    except LaneFull as error:
        raise as_problem(error) from error
    if body.background:
        headers = {"location": run_data(live.run)["links"]["self"], "cache-control": "no-store"}
        return Response(dumps(run_data(live.run)), 202, headers, "application/json")
    return await streams.send(RunLines(services.runs, live.run, live, after=-1, pause_when_left=True))


def _refuse_large(services: Services, estimate: int) -> None:
    limit = services.settings.heavy_flops
    if estimate > limit:
        raise as_problem(TooLarge(estimate, limit))
