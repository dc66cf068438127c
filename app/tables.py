"""The lesson on your own data: takes a table, gives it back, and what training on it came to.

A table comes by a form, pasted or as a file, and is kept by what it is; the page's address then names it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path as FolderPath
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import RedirectResponse, Response

from app.errors import conflict, from_input_error, missing
from app.lessons.own_data import LESSON
from app.lessons.own_data_script import Phase, script
from app.pages import forget, html_page
from app.run_store import Run
from app.schemas import Identifier
from app.services import Services, Shared, find_model, run
from app.training_forms import refuse_other_sites
from app.upload import part_of_form
from engine.data import tables
from engine.data.table import MOST_ROWS
from engine.errors import InputError
from engine.experiments.own_data import MODEL, fitted, traced
from engine.tracefile import dump
from engine.training.tables import TableRecipe, activation_of

router = APIRouter(include_in_schema=False, prefix=f"/lessons/{LESSON.slug}")
RunId = Annotated[Identifier, Path()]
FORM = "your-table"
MOST_SHOWN = 20_000
"""So many characters of what was pasted stand in the form again when it cannot be read."""


@router.post("/table")
async def take(request: Request, services: Shared) -> Response:
    """Keeps a table and shows the page with it; of one that cannot be read, says why."""
    refuse_other_sites(request)
    pasted = b""
    try:
        body, kind = await request.body(), request.headers.get("content-type", "")
        pasted = part_of_form(body, kind, "text")
        content = part_of_form(body, kind, "file") or pasted
        number = await asyncio.to_thread(_kept, content, services)
    except InputError as error:
        text = pasted.decode("utf-8", "replace")[:MOST_SHOWN]
        notice = {"status": 422, "message": str(error), "elsewhere": True, "text": text}
        return await html_page(services, request, "lesson", LESSON.slug, "", notice)
    return RedirectResponse(f"/lessons/{LESSON.slug}{f'?data={number}' if number else ''}#{FORM}", 303)


@router.get("/table")
async def form() -> Response:
    """Where the form is."""
    return RedirectResponse(f"/lessons/{LESSON.slug}#{FORM}", 303)


@router.get("/table/{number}.csv")
async def give_back(number: Annotated[int, Path(ge=0, le=tables.LARGEST)]) -> Response:
    """The file as it came."""
    try:
        content = await asyncio.to_thread(tables.content_of, number)
    except InputError as error:
        raise missing("table", str(number)) from error
    return _file(content, f"table-{number}.csv", "text/csv; charset=utf-8")


@router.get("/training/{run_id}/script.py")
async def script_of(run_id: RunId, services: Shared) -> Response:
    """Plain PyTorch that comes to the same parameters."""

    def work() -> str:
        record, step, _ = _found(services, run_id)
        phases = [Phase(step, TableRecipe.read(record.recipe))]
        while record.parent is not None:
            until, record = record.fork_step or 0, services.runs.find(record.parent)
            phases.insert(0, Phase(until, TableRecipe.read(record.recipe)))
        recipe, seed = phases[-1].recipe, record.request.get("seed") or 0
        activation = activation_of(find_model(MODEL), record.request)
        return script(phases, recipe.prepared(seed), tables.find(recipe.table), activation, seed)

    text = await _answered(services, work)
    return _file(text.encode(), "reproduce.py", "text/x-python; charset=utf-8")


@router.get("/training/{run_id}/row")
async def trace_row(run_id: RunId, services: Shared, row: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 1) -> Response:
    """One row's run through the trained network, as a trace on the stage."""

    def work() -> str:
        record, _, parameters = _found(services, run_id)
        found = fitted(record.request, record.recipe, {name: one.numpy() for name, one in parameters.items()})
        count = len(found.data.inputs)
        if row > count:
            raise InputError("row", f"be a row from 1 to {count}", row)
        return services.store.add_file(dump(traced(found, row - 1))).id

    return RedirectResponse(f"/traces/{await _answered(services, work)}", 303)


def _kept(content: bytes, services: Services) -> int:
    number = tables.keep(content, FolderPath(services.settings.data_dir))
    forget()
    return number


async def _answered(services: Services, work: Any) -> str:
    """Raises Problem for what does not fit."""
    try:
        found: str = await run(services, lambda _: work())
    except InputError as error:
        raise from_input_error(error) from error
    return found


def _found(services: Services, run_id: str) -> tuple[Run, int, dict[str, Any]]:
    """A run on a table, the step of its last checkpoint, and the parameters there. Raises Problem 404, 409."""
    record = services.runs.find(run_id)
    if record.model != MODEL:
        raise missing("run", run_id)
    kept = services.runs.checkpoint(run_id)
    if kept is None:
        raise conflict("run", "have a checkpoint", "none yet")
    return record, len(kept["losses"]) - 1, kept["state"]["parameters"]


def _file(content: bytes, name: str, kind: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
    return Response(content, 200, headers, kind)
