"""The training panel's forms and its part of the page: what the API's runs do, for who reads a lesson.

Each form is a POST that leads back to the page, so that all of it works without scripts; each sends the page's whole
state, as its other forms do. A script asks for the panel alone while a run goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi import APIRouter, Path, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app import templating, training, wire
from app.errors import Problem, clipped, from_input_error, invalid, missing, shown
from app.jobs import LaneFull
from app.lessons import Training, catalogue
from app.page import source
from app.page.source import MAX_FIELDS, Page
from app.page.training import STRIDES
from app.pages import LIVE, html_page
from app.query import read
from app.schemas import Identifier, TrainRequest, as_request
from app.services import Services, Shared, as_problem, find_model, run
from app.state import State
from engine.errors import InputError

router = APIRouter(include_in_schema=False, prefix="/lessons/{slug}/training")
RunId = Annotated[Identifier, Path()]
BUTTON = "go"
"""The name of buttons that send a number of steps, one of STRIDES."""
SHORT_SECONDS = 0.3
"""What comes to rest within this is shown so at once."""


@dataclass(frozen=True)
class Asked:
    """What a form of the panel sent. pairs: without the button; steps: of the button that was pressed, None for all."""

    panel: Training
    state: State
    pairs: list[tuple[str, str]]
    steps: int | None

    @property
    def body(self) -> TrainRequest:
        """The run that the settings ask for."""
        return TrainRequest.model_validate(dict(self.panel.body(self.state.chosen)))


@router.post("")
async def start(slug: str, request: Request, services: Shared) -> Response:
    """A new run with the settings sent; by a button's steps it pauses after so many."""
    asked = await _asked(slug, request)

    async def begin() -> str:
        await _put_aside(services, asked.state.run)
        live = await training.begin(services, find_model(asked.panel.model), asked.body, pause_at=asked.steps)
        return live.run.id

    return await _answered(services, request, slug, asked, begin)


@router.get("")
async def panel_page(slug: str, request: Request) -> Response:
    """Where the panel is."""
    return _back_to(f"/lessons/{slug}?{request.url.query}")


@router.get("/{run_id}.json")
async def panel_json(slug: str, run_id: RunId, request: Request, services: Shared) -> Response:
    """The panel's data."""
    page = await _panel(slug, run_id, request, services)
    nonfinite: list[dict[str, str]] = []
    data = wire.plain(page.data["training"], nonfinite)
    return Response(wire.dumps({**data, "nonfinite": nonfinite}), 200, LIVE, "application/json")


@router.get("/{run_id}")
async def panel_alone(slug: str, run_id: RunId, request: Request, services: Shared) -> Response:
    """The panel as a part of the page, as the run stands now."""
    page = await _panel(slug, run_id, request, services)
    return HTMLResponse(templating.render("training.html", {"page": page.data, "state": page.state}), 200, LIVE)


@router.post("/{run_id}/pause")
async def pause(slug: str, run_id: RunId, request: Request, services: Shared) -> Response:
    return await _change(slug, run_id, request, services, lambda _: services.runs.pause(run_id))


@router.post("/{run_id}/resume")
async def resume(slug: str, run_id: RunId, request: Request, services: Shared) -> Response:
    """To the end, or by a button's steps only so far."""
    return await _change(slug, run_id, request, services, lambda steps: services.runs.resume(run_id, steps))


@router.post("/{run_id}/cancel")
async def cancel(slug: str, run_id: RunId, request: Request, services: Shared) -> Response:
    return await _change(slug, run_id, request, services, lambda _: services.runs.cancel(run_id))


@router.post("/{run_id}/again")
async def again(slug: str, run_id: RunId, request: Request, services: Shared) -> Response:
    """The same run once more, from the same start."""
    asked = await _asked(slug, request)

    async def begin() -> str:
        await _put_aside(services, run_id)
        old = await asyncio.to_thread(services.runs.find, run_id)
        body = TrainRequest.model_validate({**old.request, "recipe": old.recipe, "steps": old.steps})
        return (await training.begin(services, find_model(old.model), body)).run.id

    return await _answered(services, request, slug, asked, begin)


@router.post("/{run_id}/fork")
async def fork(slug: str, run_id: RunId, request: Request, services: Shared) -> Response:
    """A new run that has this one's past and goes on with the settings sent, for as many steps as they say."""
    asked = await _asked(slug, request)

    async def begin() -> str:
        await _put_aside(services, run_id)
        old, body = await asyncio.to_thread(services.runs.find, run_id), asked.body
        changes = {"request": as_request(body), "recipe": dict(body.recipe), "steps": old.step + body.steps}
        return (await asyncio.to_thread(services.runs.fork, run_id, old.step, changes)).id

    return await _answered(services, request, slug, asked, begin)


async def _change(
    slug: str, run_id: str, request: Request, services: Services, work: Callable[[int | None], Any]
) -> Response:
    """What a button asks of a run. One that is already where it was to be taken, or gone, is shown as it is."""
    asked = await _asked(slug, request)

    async def change() -> str:
        try:
            await asyncio.to_thread(work, asked.steps)
        except Problem as problem:
            if problem.status not in (404, 409):
                raise
        return run_id

    return await _answered(services, request, slug, asked, change)


async def _answered(
    services: Services, request: Request, slug: str, asked: Asked, work: Callable[[], Awaitable[str]]
) -> Response:
    """Back to the page with the run that the work gives, or with the fields that could not be read; what the work
    refuses is said in the page's panel.
    """
    if asked.state.errors:
        return _back_to(f"{asked.state.space.path}?{urlencode(asked.pairs)}")
    try:
        run_id = await work()
        if live := services.runs.live(run_id):
            await asyncio.to_thread(live.ended.wait, SHORT_SECONDS)
        return _back_to(asked.state.link(run=run_id))
    except Problem as error:
        problem = error
    except LaneFull as error:
        problem = as_problem(error)
    except InputError as error:
        problem = from_input_error(error)
    notice = {"status": problem.status, "message": problem.detail}
    return await html_page(services, request, "lesson", slug, asked.state.address.partition("?")[2], notice)


async def _put_aside(services: Services, run_id: str) -> None:
    """Pauses a run that goes on, so that another takes its place. Nothing of it is lost."""
    if services.runs.live(run_id) is not None:
        try:
            await asyncio.to_thread(services.runs.pause, run_id)
        except Problem as problem:
            if problem.status != 409:
                raise


async def _asked(slug: str, request: Request) -> Asked:
    """What a form asks. Raises Problem 403, 404, 415, 422."""
    refuse_other_sites(request)
    panel, subject = _training(slug)
    sent = await _pairs(request)
    pairs = [pair for pair in sent if pair[0] != BUTTON]
    steps = next((int(value) for name, value in sent if name == BUTTON and value in map(str, STRIDES)), None)
    return Asked(panel, read(subject.space, pairs), pairs, steps)


def _training(slug: str) -> tuple[Training, source.Subject]:
    subject = source.lesson(slug)
    if subject is None or subject.lesson is None or subject.lesson.training is None:
        raise missing("lesson", slug, [name for name, lesson in catalogue().items() if lesson.training])
    return subject.lesson.training, subject


async def _panel(slug: str, run_id: str, request: Request, services: Services) -> Page:
    _training(slug)
    pairs = parse_qsl(request.url.query, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    query = urlencode([*(pair for pair in pairs if pair[0] != "run"), ("run", run_id)])

    def work() -> Page:
        page = source.page("lesson", slug, query, "")
        if page is None:
            raise missing("lesson", slug, catalogue())
        return source.with_training(page, slug, services.runs)

    return await run(services, lambda _: work())


async def _pairs(request: Request) -> list[tuple[str, str]]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if body and kind != "application/x-www-form-urlencoded":
        raise Problem(415, f"Content-Type must be application/x-www-form-urlencoded; got {shown(kind)}")
    try:
        text = body.decode("ascii")
        return parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError as error:
        raise invalid("body", f"be a form of at most {MAX_FIELDS} fields", clipped(str(error), 80)) from error


def refuse_other_sites(request: Request) -> None:
    """403 for a form of another site's page: what starts work here is asked for here. Programs send neither header."""
    site, origin = request.headers.get("sec-fetch-site", "same-origin"), request.headers.get("origin")
    elsewhere = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if site not in ("same-origin", "none") or elsewhere:
        raise Problem(403, f"the form must come from a page of this site; got one from {shown(origin or site)}")


def _back_to(address: str) -> Response:
    return RedirectResponse(f"{address}#training", 303)
