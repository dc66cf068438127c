"""The training panel: what can be chosen, and how far the run that the address names has come."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from app.curves import Curve, figure
from app.errors import Problem
from app.inline import cell_name
from app.lessons import Lesson
from app.numbers import single, text
from app.page.run import Data
from app.query import LARGEST
from app.run_lines import run_data
from app.run_store import CANCELLED, DONE, FAILED, PAUSED, RUNNING, Point, Run
from app.runs import Runs
from app.space import indices
from app.state import State
from app.wire import word
from engine.models import catalogue

MOST_POINTS = 240
MOST_ROWS = 12
STRIDES = (1, 10, 100)
"""How many steps the panel's buttons take."""
MOST_SET = 64
"""Parameters that an address can carry."""
PLACES = ("step", "epoch", "measured")
"""What of a point says where it is; all other numbers are metrics."""
WORDS = {
    RUNNING: "training", PAUSED: "paused", DONE: "done", CANCELLED: "ended early", FAILED: "failed",
}  # fmt: skip


def panel(
    lesson: Lesson, state: State, runs: Runs | None = None, notice: Mapping[str, Any] | None = None
) -> Data | None:
    """None where nothing can be trained, else {names, title, path, strides, notice, gone, run} and, where there is a
    run, {epoch, metrics, diverged, figures, table, shown, stage, file, said}.

    gone: whether the address names a run that is not there. metrics: of the last point, by name. diverged: the first
    step whose loss is no number. stage: the link that sets the stage's parameters to the trained ones. notice: {status,
    message} of what went wrong; `elsewhere` in it where the page says it in another place.
    """
    training = lesson.training
    if training is None:
        return None
    data: Data = {
        "names": [one.name for one in training.settings],
        "title": catalogue()[training.model].title,
        "path": f"{state.space.path}/training",
        "strides": list(STRIDES),
        "notice": notice and dict(notice),
        "gone": False,
        "run": None,
    }
    if runs is None or not state.run:
        return data
    try:
        run = runs.find(state.run)
        kept = runs.checkpoint(state.run)
        points = runs.points(state.run)
    except Problem:
        return data | {"gone": True}
    if run.model != training.model:
        return data | {"gone": True}
    parameters = {} if kept is None else {name: one.numpy() for name, one in kept["state"]["parameters"].items()}
    losses = np.array([]) if kept is None else kept["losses"].numpy()
    record = run_data(run) | {"checkpoint": max(0, len(losses) - 1), "word": WORDS[run.state]}
    drawn = _thinned(_filled(points, losses), MOST_POINTS)
    last = points[-1] if points else run.last or {}
    metrics = [name for name, value in last.items() if _is_metric(name, value)]
    rows = drawn if metrics == ["loss"] else points
    return data | {
        "run": record,
        "epoch": last.get("epoch"),
        "metrics": {name: _value(last, name) for name in metrics},
        "diverged": _diverged(losses, points),
        "figures": _figures(drawn, metrics),
        "table": {
            "names": ["step", *map(_words, metrics)],
            "rows": [[one["step"], *(_value(one, name) for name in metrics)] for one in _thinned(rows, MOST_ROWS)],
        },
        "shown": dict(training.show(record, _thinned(points, MOST_POINTS), parameters)),
        "stage": _on_stage(state, run, parameters) if run.model == lesson.model and training.on_stage(record) else None,
        "file": f"{record['links']['parameters']}?enc=file" if parameters else None,
        "said": _said(record, last),
    }


def _filled(points: Sequence[Point], losses: np.ndarray) -> list[Point]:
    """The points, and between them the loss of other steps, so that a run which took a moment has a curve too.

    losses: after every step up to the last checkpoint.
    """
    chosen = {round(at * (len(losses) - 1) / (MOST_POINTS - 1)) for at in range(MOST_POINTS)} if len(losses) else ()
    known = {step: _point(step, float(losses[step])) for step in chosen} | {one["step"]: one for one in points}
    return [known[step] for step in sorted(known)]


def _point(step: int, loss: float) -> Point:
    if math.isfinite(loss):
        return {"step": step, "loss": loss}
    return {"step": step, "loss": None, "loss_nonfinite": word(loss)}


def _thinned(points: Sequence[Point], most: int) -> list[Point]:
    """At most so many of the points, evenly chosen, the first and the last among them."""
    if len(points) <= most:
        return list(points)
    return [points[round(at * (len(points) - 1) / (most - 1))] for at in range(most)]


def _figures(points: Sequence[Point], names: Sequence[str]) -> list[Data]:
    """One figure for all metrics of a kind: the last word of their names."""
    kinds = dict.fromkeys(name.rpartition("_")[2] for name in names)
    found = []
    for kind in kinds:
        curves = [_curve(points, name) for name in names if name.rpartition("_")[2] == kind]
        summary = "; ".join(_ends(curve) for curve in curves)
        found.append({"name": kind, "figure": figure(curves, "step", kind), "summary": f"{summary}."})
    return found


def _curve(points: Sequence[Point], name: str) -> Curve:
    known = [one for one in points if name in one]
    return Curve(_words(name), [one["step"] for one in known], [_value(one, name) for one in known])


def _is_metric(name: str, value: Any) -> bool:
    if name in PLACES or isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (name == "loss" and value is None)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _ends(curve: Curve) -> str:
    return f"{curve.name} by step: from {text(curve.y[0])} to {text(curve.y[-1])}"


def _value(point: Point, name: str) -> float | None:
    """A metric at a point; NaN and the infinities, which JSON has no numbers for, stand there in words."""
    word = point.get(f"{name}_nonfinite")
    return point.get(name) if word is None else float(word)


def _diverged(losses: np.ndarray, points: Sequence[Point]) -> int | None:
    wrong = [
        *np.flatnonzero(~np.isfinite(losses))[:1].tolist(),
        *(one["step"] for one in points if one["loss"] is None),
    ]
    return min(wrong, default=None)


def _said(run: Mapping[str, Any], last: Point) -> str:
    """Where the run is, for who does not see it."""
    return f"Step {text(run['step'])} of {text(run['steps'])}, {run['word']}. Loss {text(_value(last, 'loss'))}."


def _on_stage(state: State, run: Run, parameters: Mapping[str, Any]) -> str | None:
    """The page with the trained parameters as edits; None where they are too many or do not go with its run."""
    known = state.space.parameters
    if not 0 < sum(values.size for values in parameters.values()) <= MOST_SET:
        return None
    if any(name not in known or known[name].shape != values.shape for name, values in parameters.items()):
        return None
    cells = {
        cell_name(name, index): single(float(values[index]))
        for name, values in parameters.items()
        for index in indices(values.shape)
    }
    if not all(abs(value) <= LARGEST for value in cells.values()):
        return None
    options = catalogue()[run.model].canonical({"options": run.request.get("options") or {}})["options"]
    return state.link(set=cells, options=options)
