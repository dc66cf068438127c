"""The space of a model's run: read off the model and its default run, for each choice of its options."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.fields import Setting
from app.space import Given, Options, Space
from engine.errors import InputError
from engine.models.fields import InputField
from engine.models.model import Model
from engine.trace import Index, TensorRecord, Trace


def space_of(
    path: str,
    model: Model,
    request: Mapping[str, Any],
    examples: Sequence[Mapping[str, Any]] = (),
    settings: Iterable[Setting] = (),
    *,
    trains: bool = False,
) -> Space:
    """The space of a model's default request (complete, one example); examples: further default rows."""
    beside = {one.name: one for one in settings}

    @functools.lru_cache(maxsize=64)
    def of_options(options: Options) -> Space:
        asked = {**request, "options": {**request.get("options", {}), **dict(options)}}
        try:
            trace = model.trace({**asked, "interventions": [], "backward": False, "update": None})
        except InputError:  # the run itself says what does not fit
            return of_options(())
        space = _space_of_run(path, model, request, trace, examples)
        return replace(space, of_options=of_options, settings=beside, trains=trains)

    return of_options(())


def _space_of_run(
    path: str, model: Model, request: Mapping[str, Any], trace: Trace, examples: Sequence[Mapping[str, Any]]
) -> Space:
    update = request.get("update") or {}
    fields = [(field, request["inputs"][field.name]) for field in model.inputs]
    if model.target is not None:
        fields.append((model.target, request["target"]))
    return Space(
        path=path,
        request=request,
        inputs={
            one.name: Given(
                one,
                trace.tensors[one.name].symbol if one.name in trace.tensors else one.name,
                tuple(_numbers(one, row) for row in (value, *(row.get(one.name, value) for row in examples))),
            )
            for one, value in fields
        },
        parameters={name: record for name, record in trace.tensors.items() if record.kind == "parameter"},
        switches=_switches(trace),
        options={option.name: option for option in model.options},
        learning_rate=float(update.get("learning_rate", 0.1)),
        frozen=frozenset((one["parameter"], _index(one.get("index"))) for one in update.get("frozen", ())),
    )


def _numbers(given: InputField, value: Any) -> tuple[float, ...]:
    return tuple(map(float, given.numbers(given.name, value)))


def _switches(trace: Trace) -> dict[str, TensorRecord]:
    """The activations that forward makes under a name of their own; () is no place, so single numbers are left out."""
    found = {}
    for step in trace.steps:
        record = trace.tensors[step.output] if step.phase == "forward" else None
        if record is not None and record.kind == "activation" and record.shape and ":" not in record.name:
            found[record.name] = record
    return found


def _index(index: Any) -> Index | None:
    return None if index is None else tuple(index)
