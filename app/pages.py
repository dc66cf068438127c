"""The pages: HTML for people, and the same page object as JSON at the same address with `.json`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app import templating, wire
from app.errors import Problem, missing
from app.inline import cell_name
from app.lessons import catalogue
from app.models import describe_model
from app.openapi import operations
from app.page import source
from app.page.source import Page
from app.scene import network
from app.services import Services, Shared, find_trace, run
from app.upload import uploaded_file
from engine.models import catalogue as models

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

HEADERS = {"cache-control": "no-cache", "vary": "accept-encoding"}
LIVE = {**HEADERS, "cache-control": "no-store"}


@router.get("/")
async def home(request: Request, services: Shared) -> Response:
    """A live network, the lessons and the models."""
    query = request.url.query
    page, html = await run(services, lambda _: _home(query))
    services.store.put(page.trace)
    return HTMLResponse(html, page.status, HEADERS)


@router.get("/.json")
async def home_json(request: Request, services: Shared) -> Response:
    """The page object of the home page's network, and what there is to see."""
    query = request.url.query
    page, _ = await run(services, lambda _: _home(query))
    lessons = [{"slug": one.slug, "title": one.title, "summary": one.summary} for one in catalogue().values()]
    found = [{"name": one.name, "title": one.title, "summary": one.summary} for one in models().values()]
    return _json(replace(page, data={**page.data, "lessons": lessons, "models": found}))


@router.get("/lessons/{slug}.json")
async def lesson_json(slug: str, request: Request, services: Shared) -> Response:
    """A lesson's page object."""
    return _json(await _page(services, request, "lesson", slug))


@router.get("/lessons/{slug}")
async def lesson(slug: str, request: Request, services: Shared) -> Response:
    """A lesson, in the state that the query names."""
    return await html_page(services, request, "lesson", slug, request.url.query)


@router.get("/models")
async def models_list() -> Response:
    """What can be traced."""
    return HTMLResponse(_models(), headers=HEADERS)


@router.get("/models.json")
async def models_json() -> Response:
    """The same as data."""
    return Response(wire.dumps({"models": _described()}), 200, HEADERS, "application/json")


@router.get("/models/{name}.json")
async def model_json(name: str, request: Request, services: Shared) -> Response:
    """A model's page object."""
    return _json(await _page(services, request, "model", name))


@router.get("/models/{name}")
async def model(name: str, request: Request, services: Shared) -> Response:
    """A model by itself: the stage, with every field."""
    return await html_page(services, request, "model", name, request.url.query)


@router.get("/traces/{trace_id}.json")
async def trace_json(trace_id: str, request: Request, services: Shared) -> Response:
    """The page object of a stored trace."""
    trace = await find_trace(services, trace_id)
    return _json(await run(services, lambda _: source.of_trace(trace, request.url.query, _origin(request))))


@router.get("/traces/{trace_id}")
async def trace(trace_id: str, request: Request, services: Shared) -> Response:
    """Any stored trace on the stage, also one opened from a file."""
    found = await find_trace(services, trace_id)

    def work() -> tuple[str, int]:
        page = source.of_trace(found, request.url.query, _origin(request))
        return _render(page, "trace.html", "open"), page.status

    html, status = await run(services, lambda _: work())
    return HTMLResponse(html, status, HEADERS)


@router.get("/open")
async def open_form() -> Response:
    """The form that takes a trace file."""
    return HTMLResponse(_open(""), headers=HEADERS)


@router.post("/open")
async def open_file(request: Request, services: Shared) -> Response:
    """Keeps a trace file and shows it."""
    try:
        content = await uploaded_file(request)
        trace = await run(services, lambda _: services.store.add_file(content))
    except ValueError as error:
        return HTMLResponse(_open(f"This file can't be opened: {error}"), 422, HEADERS)
    except Problem as problem:
        return HTMLResponse(_open(f"This file can't be opened: {problem.detail}"), problem.status, HEADERS)
    return RedirectResponse(f"/traces/{trace.id}", 303)


@router.get("/api")
async def api(request: Request) -> Response:
    """The API on one page, with five lines that use it."""
    context = {"title": "API", "here": "api", "origin": _origin(request), "operations": operations(request.app)}
    return HTMLResponse(show("api.html", context), headers=HEADERS)


def show(template: str, context: Mapping[str, Any]) -> str:
    """A page's HTML; every page's foot leads to every lesson and model."""
    site = {"lessons": list(catalogue().values()), "models": list(models().values())}
    return templating.render(template, {**context, "site": site})


def warm_up() -> None:
    """The first lesson's page as it opens, and the home page: templates compiled, the runs that the text names made."""
    for slug in list(catalogue())[:1]:
        _rendered("lesson", slug, "", "")
    _home("")


def warm_up_later() -> list[Callable[[], object]]:
    """The other lessons' pages as they open, one by one."""
    return [functools.partial(_rendered, "lesson", slug, "", "") for slug in list(catalogue())[1:]]


def forget() -> None:
    """Makes pages anew: what an address names has come to be that was not there before."""
    _rendered.cache_clear()
    source.page.cache_clear()


def error_page(request: Request, problem: Problem) -> Response | None:
    """A problem as a page, for browsers."""
    context = {"title": f"{problem.status}", "here": "", "problem": problem.data(), "path": request.url.path}
    html = show("error.html", context)
    return HTMLResponse(html, problem.status, {**HEADERS, **problem.headers})


async def _page(services: Services, request: Request, kind: str, name: str) -> Page:
    query, origin = request.url.query, _origin(request)

    def work() -> Page | None:
        page = source.page(kind, name, query, origin)
        return source.with_training(page, name, services.runs) if page and page.state.run else page

    return _found(services, await run(services, lambda _: work()), kind, name)


async def html_page(
    services: Services, request: Request, kind: str, name: str, query: str, notice: Mapping[str, Any] | None = None
) -> Response:
    """A lesson or a model at a query. notice: {status, message, retry} of what went wrong in the training panel."""
    origin = _origin(request)

    def work() -> tuple[Page, bytes] | None:
        page = source.page(kind, name, query, origin)
        if page is None or not (page.state.run or notice):
            return _rendered(kind, name, query, origin)
        page = source.with_training(page, name, services.runs, notice)
        return page, _render(page, _template(kind, name), "lessons").encode()

    rendered = await run(services, lambda _: work())
    page = _found(services, rendered and rendered[0], kind, name)
    status = notice["status"] if notice else page.status
    return HTMLResponse(rendered and rendered[1], status, LIVE if notice or page.state.run else HEADERS)


def _found(services: Services, page: Page | None, kind: str, name: str) -> Page:
    """The page, with its trace in the store. Raises Problem 404."""
    if page is None:
        raise missing(kind, name, catalogue() if kind == "lesson" else models())
    services.store.put(page.trace)
    return page


@functools.lru_cache(maxsize=source.KEPT_PAGES)
def _rendered(kind: str, name: str, query: str, origin: str) -> tuple[Page, bytes] | None:
    page = source.page(kind, name, query, origin)
    if page is None:
        return None
    return page, _render(page, _template(kind, name), "lessons" if kind == "lesson" else "models").encode()


def _template(kind: str, name: str) -> str:
    own = f"lessons/{name}.html" if kind == "lesson" else "model.html"
    return own if templating.has(own) else "lesson.html"


def _render(page: Page, template: str, here: str) -> str:
    title = page.data["lesson"]["title"]
    return show(template, {"page": page.data, "state": page.state, "title": title, "here": here})


@functools.lru_cache(maxsize=source.KEPT_PAGES)
def _home(query: str) -> tuple[Page, bytes]:
    lessons = list(catalogue().values())
    kind, name = ("lesson", lessons[0].slug) if lessons else ("model", next(iter(models())))
    page = source.page(kind, name, query, "")
    if page is None:
        raise KeyError(name)
    picture = network.draw(page.trace, small=True) if network.fits(page.trace) else None
    given = {record.name for record in page.trace.tensors.values() if record.kind == "input"}
    fields = [group for group in page.data["forms"]["groups"] if group["name"] in given]
    context = {
        "title": "Neural networks in longhand", "here": "lessons", "lessons": lessons, "state": page.state,
        "models": list(models().values()), "scene": picture, "first": page.data, "fields": fields,
        "cell_name": cell_name,
    }  # fmt: skip
    return page, show("home.html", context).encode()


@functools.cache
def _models() -> str:
    return show("models.html", {"title": "Models", "here": "models", "models": _described()})


@functools.cache
def _described() -> list[dict[str, Any]]:
    return [describe_model(name, values=False) for name in models()]


def _open(error: str) -> str:
    return show("open.html", {"title": "Open a trace", "here": "open", "error": error})


def _json(page: Page) -> Response:
    nonfinite: list[dict[str, str]] = []
    data = wire.plain(page.data, nonfinite)
    data["nonfinite"] = nonfinite
    return Response(wire.dumps(data), page.status, HEADERS, "application/json")


def _origin(request: Request) -> str:
    return str(request.base_url).rstrip("/")
