"""Runs that a lesson names: the trace, and the address of the lesson's page that shows it.

One description serves both, so what a text says and what its link opens cannot differ.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from app import lessons
from app.inline import Part, cell_name, line
from app.numbers import single
from app.spaces import space_of
from app.state import State, state_of
from app.wire import cell_value
from engine.explain import What, explain
from engine.expression import Expr
from engine.labels import cell_label
from engine.models import catalogue
from engine.trace import Index, Trace


@dataclass(frozen=True)
class Shown:
    """A run and the state that shows it."""

    trace: Trace
    state: State

    def link(self, step: str = "", **view: Any) -> str:
        """The run's address; step: the tensor whose making is shown, view: as in State.link (cell, of, view ...)."""
        return self.state.link(**({"step": step_of(self.trace, step)} if step else {}), **view)

    def value(self, tensor: str, index: Index = ()) -> float:
        """One cell as pages write it: the shortest decimal of its float32."""
        return single(float(self.trace[tensor][index]))

    @property
    def prediction(self) -> float:
        return single(self.trace.result["prediction"])

    @property
    def loss(self) -> float:
        return single(self.trace.result["loss"])

    @property
    def after(self) -> dict[str, Any]:
        """Prediction and loss after the update, and how many parameters it may move."""
        after = self.trace.result["after_update"]
        return {**after, "prediction": single(after["prediction"]), "loss": single(after["loss"])}


def step_of(trace: Trace, tensor: str) -> int:
    """The step that makes a tensor or sends the last part of a gradient. Raises ValueError where none does."""
    for step in reversed(trace.steps):
        if tensor in step.outputs or any(sent.to == tensor for sent in step.sends):
            return step.index
    raise ValueError(f"expected a tensor that a step makes; got {tensor!r}")


@functools.cache
def stage(slug: str) -> State:
    """A lesson's default state."""
    lesson = lessons.catalogue()[slug]
    model = catalogue()[lesson.model]
    request = model.canonical(lesson.request)
    return state_of(space_of(f"/lessons/{slug}", model, request, lesson.examples, lesson.beside))


def shown(slug: str, **changes: Any) -> Shown:
    """A lesson's default run with changes, as State.link takes them: set, do, options, rows, lr, frozen."""
    state = stage(slug).changed(**changes)
    model = catalogue()[lessons.catalogue()[slug].model]
    return Shown(model.trace(state.request), state)


def written(
    trace: Trace, tensor: str, index: Index = (), *, what: What = "value", baseline: Trace | None = None
) -> dict[str, Any]:
    """One cell's line: label, name, the parts of its expression (none where it can't be written out), value.

    before: the baseline's value where that differs, else None.
    """
    found = explain(trace, tensor, index, what=what)
    parts = line(as_shown(trace, found.expression)) if found.expression is not None else []
    value = None if found.captured is None else single(found.captured)
    before = None if baseline is None or what != "value" else _before(trace, baseline, tensor, index)
    return {"label": found.label, "cell": cell_name(tensor, index), "parts": parts, "value": value, "before": before}


def _before(trace: Trace, baseline: Trace, tensor: str, index: Index) -> float | None:
    """The baseline's value of a cell where it differs; None where it is the same or not there."""
    if trace is baseline or tensor not in baseline.tensors:
        return None
    old, new = baseline[tensor], trace[tensor]
    return single(float(old[index])) if old.shape == new.shape and float(old[index]) != float(new[index]) else None


def as_shown(trace: Trace, tree: Expr) -> Expr:
    """The tree with its cells' values as pages write them."""
    if tree.tensor is not None and tree.tensor in trace.tensors:
        value = cell_value(trace.tensors[tree.tensor], tree.value)
        return Expr(tree.kind, value, tensor=tree.tensor, index=tree.index)
    if not tree.args:
        return tree
    args = tuple(as_shown(trace, arg) for arg in tree.args)
    return Expr(tree.kind, tree.value, args, label=tree.label, count=tree.count)


def cells(trace: Trace, tensor: str, leading: Index = ()) -> list[dict[str, Any]]:
    """The cells of a tensor below an index, in order: label, name, value."""
    record = trace.record(tensor)
    places = [(*leading, *rest) for rest in _indices(record.shape[len(leading) :])]
    return [
        {
            "label": cell_label(record, place),
            "cell": cell_name(tensor, place),
            "value": single(float(record.value[place])),
        }
        for place in places
    ]


def numbers(parts: Sequence[Part]) -> list[float]:
    """The numbers of a line, in order."""
    return [part["number"] for part in parts if "number" in part]


def _indices(shape: tuple[int, ...]) -> Iterator[Index]:
    if not shape:
        yield ()
        return
    for first in range(shape[0]):
        yield from ((first, *rest) for rest in _indices(shape[1:]))
