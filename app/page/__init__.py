"""The page object: one plain-data description of a page, from which both its HTML and its .json are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.fields import FieldError
from app.inline import cell_name
from app.page import changes, forms, longhand, matrices, paints, results, scenes, settings, take, timeline
from app.page.run import Data, Recorded, Run
from app.space import split_cell
from app.state import State
from engine.trace import Trace

SCHEMA = "longhand.page/1"


def placed(state: State, trace: Trace) -> State:
    """The state with a step and a cell that the trace has; what does not fit is an error and falls back."""
    errors = list(state.errors)
    last = max(0, len(trace.steps) - 1)
    step = state.step
    if step > last:
        errors.append(
            FieldError("step", "step", f"be from 0 to {last}, as this run has {last + 1} steps", str(step), str(last))
        )
        step = last
    cell = _as_rows(trace, state) if state.cell else ""
    if cell and not _has(trace, cell):
        errors.append(
            FieldError("cell", "cell", "be a cell of this run, such as loss", f"“{cell[:80]}”", "the step's own")
        )
        cell = ""
    return replace(state, step=step, cell=cell, errors=tuple(errors))


def build(run: Run, *, heading: Mapping[str, Any], origin: str) -> Data:
    """The page of a run whose state is `placed`. heading: the lesson, model or trace the page is about."""
    state = run.state
    if not state.cell:
        run = replace(run, state=replace(state, cell=_first_cell(run)))
    marks = timeline.timeline(run)
    links = replace(run, state=state)  # what was not asked for is not in a link
    return {
        "schema": SCHEMA,
        "lesson": dict(heading),
        "state": _state(run, state),
        "errors": [{"field": one.field, "message": one.message, "got": one.got} for one in state.errors],
        "trace": run.recorded.data,
        "baseline": run.recorded.baseline_data,
        "summary": results.summary(run),
        "announce": results.announcement(run),
        "edits": changes.edits(links),
        "reset": changes.reset(links),
        "limits": changes.limits(run),
        "comparison": changes.comparison(run),
        "timeline": marks,
        "phases": timeline.phases(marks),
        "step": timeline.current(links),
        "views": scenes.views(run.trace),
        "scene": scenes.scene(run),
        "legend": scenes.legend(run),
        "matrices": matrices.matrices(run) if scenes.view(run) == "matrices" else None,
        "results": results.results(links),
        "prediction": results.prediction(run),
        "longhand": longhand.longhand(run),
        "made_of": longhand.made_of(run),
        "forms": forms.forms(run),
        "paints": paints.paints(run),
        "settings": settings.settings(state),
        "lab": {},
        "training": None,
        "plane": None,
        "prose": {},
        "exercises": [],
        "take": take.take(links, origin),
    }


def _first_cell(run: Run) -> str:
    tensor = longhand.first_cell(run.step) or next(iter(run.trace.tensors), "")
    if not tensor:
        return ""
    shape = run.trace.tensors[tensor].shape
    return f"{tensor}[{','.join('0' * len(shape))}]" if shape else tensor


def _as_rows(trace: Trace, state: State) -> str:
    """The chosen cell, named as this run names it: of the example drawn where there are several now, of the only one
    where there were several before."""
    tensor, index = split_cell(state.cell)
    axes = trace.tensors[tensor].axes if tensor in trace.tensors else ()
    if index and len(axes) == len(index) + 1 and axes[0].name == "example":
        return cell_name(tensor, (state.example, *index))
    if index and len(axes) == len(index) - 1 and state.rows == 1:
        return cell_name(tensor, index[1:])
    return state.cell


def _has(trace: Trace, cell: str) -> bool:
    tensor, index = split_cell(cell)
    shape = trace.tensors[tensor].shape if tensor in trace.tensors and index is not None else None
    return (
        shape is not None
        and len(shape) == len(index or ())
        and all(at < size for at, size in zip(index or (), shape, strict=True))
    )


def _state(run: Run, state: State) -> Data:
    """What is looked at; `cell` is the one that is shown, chosen or not."""
    names = ("step", "of", "view", "rows", "prove", "predict", "guess", "example", "flip", "seed", "run")
    return {name: getattr(state, name) for name in names} | {
        "view": scenes.view(run), "cell": run.state.cell, "chosen": bool(state.cell), "lr": state.rate,
        "options": dict(state.options),
        "asking": run.asking, "path": state.space.path,
    }  # fmt: skip


__all__ = ["Recorded", "Run", "build", "placed"]
