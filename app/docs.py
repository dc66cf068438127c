"""The API's documentation at /docs: Swagger UI out of node_modules, so that it works offline and under the CSP."""

from __future__ import annotations

from html import escape

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from app.assets import asset_url, assets
from app.errors import Problem

router = APIRouter(include_in_schema=False)
_SHEET = "swagger-ui-dist/swagger-ui.css"
_BUNDLE = "swagger-ui-dist/swagger-ui-bundle.js"
_ICON = "swagger-ui-dist/favicon-32x32.png"


@router.get("/docs")
async def docs() -> Response:
    """One page; with scripts off it leads to the description itself. 503 where the browser files are not installed."""
    if _BUNDLE not in assets():
        raise Problem(503, "the browser files are not installed; run make install. The description is /openapi.json")
    return HTMLResponse(
        _PAGE.format(sheet=escape(asset_url(_SHEET)), bundle=escape(asset_url(_BUNDLE)), icon=escape(asset_url(_ICON)))
    )


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>API · Longhand</title>
<link rel="icon" href="{icon}">
<link rel="stylesheet" href="{sheet}">
<link rel="stylesheet" href="/static/docs/docs.css">
<script defer src="{bundle}"></script>
<script type="module" src="/static/docs/docs.js"></script>
</head>
<body>
<a class="back" href="/">Longhand</a>
<main id="swagger"><noscript><p>This page is drawn by a script. The same description as data:
<a href="/openapi.json">/openapi.json</a>.</p></noscript></main>
</body>
</html>
"""
