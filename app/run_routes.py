"""Training runs over HTTP: list, record, curve (whole, or as it comes), parameters; pause, resume, cancel, fork."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from app import answer_schemas as answers
from app import responses
from app.errors import conflict, invalid
from app.jobs import LaneFull
from app.limits import StrictRoute
from app.run_lines import RunLines, run_data
from app.run_store import Run
from app.schemas import ForkRequest, Identifier, ResumeRequest, as_request
from app.services import Shared, as_problem
from app.streams import RequestStreams, wanted_lines
from app.wire import API, dumps, nonfinite_cells, values_data
from engine.training.checkpoint import tensor_file

router = APIRouter(prefix=API, tags=["runs"], route_class=StrictRoute)
RunId = Annotated[Identifier, Path(description="A run's id.", examples=["0123456789abcdef0123456789abcdef"])]
MAX_LISTED = 200
MAX_JSON_VALUES = 2**20


@router.get(
    "/runs", operation_id="list_runs", summary="The latest training runs", responses=responses.json(answers.RunList)
)
async def list_runs(
    services: Shared,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED, description="At most so many.", examples=[20])] = 50,
) -> Response:
    """The newest first. Old runs go when there are more than are kept."""
    found = await asyncio.to_thread(services.runs.store.latest, limit)
    return _json({"runs": [run_data(run) for run in found]})


@router.get(
    "/runs/{run_id}",
    operation_id="get_run",
    summary="A training run",
    responses=responses.json(answers.RunAnswer),
)
async def get_run(run_id: RunId, services: Shared) -> Response:
    """What was asked, how far it came, and why it rests where it does."""
    return _json(run_data(await asyncio.to_thread(services.runs.find, run_id)))


@router.get(
    "/runs/{run_id}/progress",
    operation_id="run_progress",
    summary="A run's curve, whole or as it comes",
    responses=responses.json(answers.RunProgress, lines=answers.TrainLine),
)
async def run_progress(
    run_id: RunId,
    request: Request,
    services: Shared,
    streams: RequestStreams,
    since: Annotated[int, Query(ge=-1, le=2**31 - 1, description="Only later steps than this.", examples=[10])] = -1,
) -> Response:
    """The points so far; as JSON lines (by the Accept header) also those to come, until the run rests, ended as by
    `train`. Watching and leaving does nothing to the run.
    """
    runs = services.runs
    live = runs.live(run_id)
    run = await asyncio.to_thread(runs.find, run_id)
    if wanted_lines(request):
        return await streams.send(RunLines(runs, run, live, after=since, pause_when_left=False))
    points = await asyncio.to_thread(runs.points, run_id, since)
    return _json({"run": run_data(run), "points": points})


@router.get(
    "/runs/{run_id}/parameters",
    operation_id="run_parameters",
    summary="A run's parameters as they are now",
    responses=responses.json_or_bytes(answers.RunParameters, "The parameters.") | responses.CONFLICT,
)
async def run_parameters(
    run_id: RunId,
    services: Shared,
    enc: Annotated[
        Literal["json", "b64", "file"],
        Query(description="Numbers, base64 of their bytes, or a .safetensors file.", examples=["json"]),
    ] = "json",
) -> Response:
    """Those of the last checkpoint: while the run goes on, at most a second old."""

    def work() -> Response:
        step, parameters = _parameters(services.runs.checkpoint(run_id))
        if enc == "file":
            headers = {"content-disposition": f'attachment; filename="{run_id}-{step}.safetensors"', **_NO_STORE}
            return Response(tensor_file(parameters), 200, headers, "application/octet-stream")
        size = sum(value.numel() for value in parameters.values())
        if enc == "json" and size > MAX_JSON_VALUES:
            raise invalid("enc", f"be b64 or file for more than {MAX_JSON_VALUES:,} values", size)
        tensors = {name: _tensor(value.numpy(), enc) for name, value in parameters.items()}
        return _json({"run": run_id, "step": step, "tensors": tensors})

    return await asyncio.to_thread(work)


@router.post(
    "/runs/{run_id}/pause",
    operation_id="pause_run",
    summary="Pause a run",
    responses=responses.json(answers.RunAnswer) | responses.CONFLICT,
)
async def pause_run(run_id: RunId, services: Shared) -> Response:
    """Keeps its state and frees its process, within a second."""
    return await _changed(lambda: services.runs.pause(run_id))


@router.post(
    "/runs/{run_id}/resume",
    operation_id="resume_run",
    summary="Go on with a paused run",
    responses=responses.json(answers.RunAnswer) | responses.CONFLICT,
)
async def resume_run(run_id: RunId, services: Shared, body: ResumeRequest | None = None) -> Response:
    """From its last checkpoint, to the bit as if it had not paused; `steps` goes only so far and pauses again."""
    return await _changed(lambda: services.runs.resume(run_id, body.steps if body else None))


@router.post(
    "/runs/{run_id}/cancel",
    operation_id="cancel_run",
    summary="End a run",
    responses=responses.json(answers.RunAnswer) | responses.CONFLICT,
)
async def cancel_run(run_id: RunId, services: Shared) -> Response:
    """Frees its process within a second. It cannot be gone on with; it can be forked."""
    return await _changed(lambda: services.runs.cancel(run_id))


@router.post(
    "/runs/{run_id}/fork",
    status_code=201,
    operation_id="fork_run",
    summary="Branch a run off at a step",
    responses=responses.created(answers.RunAnswer, "The new run.") | responses.CONFLICT,
)
async def fork_run(run_id: RunId, services: Shared, body: ForkRequest) -> Response:
    """A new run that has this one's past up to `step` and goes on from there in the background, with what is changed.
    A step without a checkpoint is computed again first.
    """
    run = await asyncio.to_thread(services.runs.find, run_id)
    given = as_request(body)
    changes: dict[str, Any] = {"recipe": {**run.recipe, **body.recipe}, "steps": body.steps or run.steps}
    if "update" in given:
        changes["request"] = {**run.request, "update": given["update"]}
    return await _changed(lambda: services.runs.fork(run_id, body.step, changes), 201)


async def _changed(work: Callable[[], Run], status: int = 200) -> Response:
    try:
        run = await asyncio.to_thread(work)
    except LaneFull as error:
        raise as_problem(error) from error
    return _json(run_data(run), status)


def _parameters(kept: dict[str, Any] | None) -> tuple[int, dict[str, Any]]:
    if kept is None:
        raise conflict("run", "have a checkpoint", "none yet")
    return len(kept["losses"]) - 1, kept["state"]["parameters"]


def _tensor(array: Any, enc: str) -> dict[str, Any]:
    data: dict[str, Any] = {"dtype": str(array.dtype), "shape": list(array.shape)}
    if enc == "b64":
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        return {**data, "bdata": base64.b64encode(little.tobytes()).decode("ascii")}
    data["data"] = values_data(array)
    if found := nonfinite_cells(array):
        data["nonfinite"] = found
    return data


def _json(data: dict[str, Any], status: int = 200) -> Response:
    return Response(dumps(data), status, _NO_STORE, "application/json")


_NO_STORE = {"cache-control": "no-store"}
