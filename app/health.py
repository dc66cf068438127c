"""What machines ask: alive, ready, and the counters."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from app import metrics
from app.errors import Problem
from app.services import Shared

router = APIRouter(tags=["service"], include_in_schema=False)


@router.get("/healthz")
async def healthz() -> Response:
    """The process answers."""
    return JSONResponse({"status": "ok"}, headers=_NO_STORE)


@router.get("/readyz")
async def readyz(request: Request) -> Response:
    """The models are loaded and one has run; 503 before that and once the server is stopping."""
    if not request.app.state.ready:
        raise Problem(503, "starting or stopping", headers={"retry-after": "1"})
    return JSONResponse({"status": "ready"}, headers=_NO_STORE)


@router.get("/metrics")
async def metrics_page(request: Request, services: Shared) -> Response:
    """Prometheus' text form."""
    text = services.counters.text(
        lane_jobs=services.lane.busy,
        training_runs=services.runs.lane.busy,
        stored_traces=len(services.store),
        warming_up=int(request.app.state.warming.is_alive()),
    )
    return Response(text, media_type=metrics.MEDIA_TYPE, headers=_NO_STORE)


_NO_STORE = {"cache-control": "no-store"}
