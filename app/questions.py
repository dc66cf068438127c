"""What can be asked about a trace: where a cell comes from, whether it is right, what differs, along which paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import Response

import engine
from app import question_schemas as answers
from app import responses
from app.answers import comparison_data, explanation_data, paths_data, verification_data
from app.limits import StrictRoute
from app.schemas import CompareRequest, ExplainRequest, Identifier, PathsRequest, VerifyRequest
from app.services import Services, Shared, find_trace, run
from app.wire import API, dumps

router = APIRouter(prefix=API, tags=["traces"], route_class=StrictRoute)

TraceId = Annotated[Identifier, Path(description="A trace's id.", examples=["0123456789abcdef0123456789abcdef"])]


@router.post(
    "/traces/{trace_id}/explain",
    operation_id="explain_cell",
    summary="The expression that made one cell",
    responses=responses.json(answers.Explanation),
)
async def explain_cell(trace_id: TraceId, services: Shared, body: ExplainRequest) -> Response:
    """One scalar expression down to cells of other tensors, in float64, with the rounding residual to the captured
    value; for a gradient, one expression a step that sends to the cell. Sums keep their `limit` largest terms and one
    exact rest.
    """
    trace = await find_trace(services, trace_id)

    def work() -> dict[str, Any]:
        found = engine.explain(trace, body.tensor, tuple(body.index), what=body.what, limit=body.limit)
        return explanation_data(found, trace)

    return await _answer(services, work)


@router.post(
    "/traces/{trace_id}/verify",
    operation_id="verify_cell",
    summary="One cell recomputed in float64",
    responses=responses.json(answers.Verification),
)
async def verify_cell(trace_id: TraceId, services: Shared, body: VerifyRequest) -> Response:
    """The step that made the cell runs again in float64; a gradient is also checked by finite differences."""
    trace = await find_trace(services, trace_id)

    def work() -> dict[str, Any]:
        return verification_data(engine.verify(trace, body.tensor, tuple(body.index), what=body.what))

    return await _answer(services, work)


@router.post(
    "/traces/{trace_id}/paths",
    operation_id="gradient_paths",
    summary="The gradient of one cell, path by path",
    responses=responses.json(answers.Paths),
)
async def gradient_paths(trace_id: TraceId, services: Shared, body: PathsRequest) -> Response:
    """Every way from the cell to the loss as a product of local derivatives; their sum is the gradient."""
    trace = await find_trace(services, trace_id)
    return await _answer(
        services, lambda: paths_data(engine.paths(trace, body.tensor, tuple(body.index), limit=body.limit))
    )


@router.post(
    "/traces/{trace_id}/compare",
    operation_id="compare_traces",
    summary="Where two traces differ",
    responses=responses.json(answers.Comparison),
)
async def compare_traces(trace_id: TraceId, services: Shared, body: CompareRequest) -> Response:
    """The cells that differ from the other trace, values and gradients, in order of the timeline; the first difference
    by name, and tensors that only one of them has.
    """
    trace = await find_trace(services, trace_id)
    other = await find_trace(services, body.other)
    return await _answer(services, lambda: comparison_data(engine.compare(trace, other)))


async def _answer(services: Services, work: Callable[[], dict[str, Any]]) -> Response:
    return Response(await run(services, lambda _: dumps(work())), media_type="application/json")
