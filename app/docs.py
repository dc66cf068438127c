"""The API's description at /openapi.json, and drawn at /docs: Swagger UI from node_modules, under the CSP."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from app import openapi
from app.assets import asset_url, assets
from app.errors import Problem
from app.pages import show

router = APIRouter(include_in_schema=False)
_SHEET = "swagger-ui-dist/swagger-ui.css"
_BUNDLE = "swagger-ui-dist/swagger-ui-bundle.js"


@router.get("/docs")
async def docs() -> Response:
    """One page; with scripts off it leads to the description itself. 503 where the browser files are not installed."""
    if _BUNDLE not in assets():
        raise Problem(503, "the browser files are not installed; run make install. The description is /openapi.json")
    context = {"title": "API, all operations", "here": "api", "sheet": asset_url(_SHEET), "bundle": asset_url(_BUNDLE)}
    return HTMLResponse(show("docs.html", context))


@router.get("/openapi.json")
async def description(request: Request) -> Response:
    """The description, its example with this site's own address."""
    found = request.app.openapi()
    text = openapi.description(str(request.base_url).rstrip("/"))
    return JSONResponse(
        {**found, "info": {**found["info"], "description": text}}, headers={"cache-control": "no-cache"}
    )
