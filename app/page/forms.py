"""The fields of a page: every input, parameter and target, the switches, the options and the update."""

from __future__ import annotations

import math

from app import whole
from app.inline import cell_name
from app.numbers import exact
from app.page.run import Data, Run, axes_data
from app.query import BY, SHOWN
from app.space import Place, indices, split_cell
from app.state import KINDS
from engine.trace import Axis, Index

SMALL = 48
"""Cells of a tensor that get a field each, all at once."""


def forms(run: Run) -> Data | None:
    """{groups, rows, switches, options, update, errors}; None where a page has nothing to edit.

    A field is {name, cell, label, value (text), default, changed, error}; a group {name, symbol, axes, rows of fields}.
    """
    space = run.state.space
    if not space.inputs and not space.parameters:
        return None
    return {
        "groups": sorted([*_inputs(run), *_parameters(run)], key=lambda group: space.known.index(group["name"])),
        "rows": {"count": run.state.rows, "most": space.most_rows},
        "switches": _switches(run),
        "options": _options(run),
        "update": _update(run),
    }


def _inputs(run: Run) -> list[Data]:
    groups = []
    for name, given in run.state.space.inputs.items():
        if given.size > SMALL and not given.field.words:
            groups.append(_many(run, name, (run.state.rows, given.size)))
            continue
        rows = [[_field(run, name, (row, column)) for column in range(given.size)] for row in range(run.state.rows)]
        if run.state.rows == 1 and not given.field.words:  # one example stands upright, as in the equations
            rows = [[field] for field in rows[0]]
        groups.append(_group(run, name, rows))
    return groups


def _parameters(run: Run) -> list[Data]:
    groups = []
    for name, record in run.state.space.parameters.items():
        if not _is_small(record.shape):
            groups.append(_many(run, name, record.shape))
            continue
        fields = [_field(run, name, index) for index in indices(record.shape)]
        width = record.shape[-1] if len(record.shape) > 1 else 1
        groups.append(_group(run, name, [fields[at : at + width] for at in range(0, len(fields), width)]))
    return groups


def _many(run: Run, name: str, shape: tuple[int, ...]) -> Data:
    """Of a tensor too large for a field each: the selected cell and those that are changed one by one."""
    state = run.state
    found = {index for one, index in whole.others(state.cells, whole.changed(state.space, state.cells)) if one == name}
    tensor, index = split_cell(state.cell)
    place = state.space.rowed(name, index) if tensor == name and index else None
    if place is not None and state.space.default(*place) is not None:
        found.add(place[1])
    group = _group(run, name, [[_field(run, name, place)] for place in sorted(found)])
    first = (0,) * (len(shape) - (name in state.space.inputs and state.rows == 1))
    return group | {"labelled": True, "first": cell_name(name, first)}


def _is_small(shape: tuple[int, ...]) -> bool:
    return math.prod(shape) <= SMALL


def _group(run: Run, name: str, rows: list[list[Data]]) -> Data:
    record = run.trace.tensors.get(name) or run.state.space.parameters.get(name)
    axes: tuple[Axis, ...] = record.axes if record is not None else ()
    symbol = record.symbol if record is not None else name
    for number, row in enumerate(rows):
        for column, field in enumerate(row):
            field["aria"] = (
                f"{symbol} row {number + 1} column {column + 1}" if len(row) > 1 else f"{symbol} {number + 1}"
            )
            field["aria"] = symbol if len(rows) == len(row) == 1 else field["aria"]
    return {"name": name, "symbol": symbol, "axes": axes_data(axes), "rows": rows, "labelled": False, "first": None}


def _field(run: Run, name: str, index: Index) -> Data:
    """index: as the space counts, inputs by row."""
    state, space = run.state, run.state.space
    cell = index[1:] if name in space.inputs and state.rows == 1 else index
    field = space.field(name, index, state.rows)
    value = state.value(name, index)
    said = space.said(name, value)
    words = space.inputs[name].field.words if name in space.inputs else ()
    return {
        "name": field,
        "cell": cell_name(name, cell),
        "id": field_id(field),
        "label": space.label(name, index, state.rows),
        "value": _raw(run, field, said if isinstance(said, str) else exact(said)),
        "number": value,
        "choices": list(words),
        "default": space.default(name, index),
        "changed": (name, index) in state.cells,
        "error": _error(run, field),
    }


def _switches(run: Run) -> list[Data]:
    """A group an activation: all its cells where the model has few, else the selected one and those that are held."""
    groups = []
    few = sum(math.prod(record.shape) for record in run.state.space.switches.values()) <= SMALL
    for name, record in run.state.space.switches.items():
        places = indices(record.shape) if few else _held(run, name, record.shape)
        units = [_switch(run, (name, index)) for index in places]
        if units:
            groups.append({"name": name, "symbol": record.symbol, "units": units, "kinds": list(KINDS)})
    return groups


def _held(run: Run, name: str, shape: tuple[int, ...]) -> list[Index]:
    tensor, index = split_cell(run.state.cell)
    found = {place for one, place in run.state.switches if one == name}
    if tensor == name and index:
        found.add(index[-len(shape) :])
    return sorted(found)


def _switch(run: Run, place: Place) -> Data:
    kind, number = run.state.switches.get(place, ("", 0.0))
    do, by = f"do:{cell_name(*place)}", f"by:{cell_name(*place)}"
    return {
        "cell": cell_name(*place), "label": run.state.space.label(*place),
        "do": do, "by": by, "do_id": field_id(do), "by_id": field_id(by),
        "kind": run.state.raw.get(do, kind) if _error(run, by) else kind,
        "value": _raw(run, by, exact(number) if kind not in ("", "off") else "" if _error(run, by) else BY),
        "changed": bool(kind),
        "error": _error(run, by) or _error(run, do),
    }  # fmt: skip


def _options(run: Run) -> list[Data]:
    state = run.state
    return [
        {
            "name": name,
            "title": option.title,
            "values": [{"value": value, "label": label} for value, label in option.values.items()],
            "chosen": state.options.get(name, state.space.choice(name)),
            "default": state.space.choice(name),
            "shown": f"{SHOWN}{name}",
            "error": _error(run, name),
        }
        for name, option in state.space.options.items()
    ]


def _update(run: Run) -> Data:
    state, space = run.state, run.state.space
    frozen: list[Data] = []
    for name, record in space.parameters.items():
        whole = (name, None) in state.frozen
        cells = [
            {
                "name": cell_name(name, index),
                "label": space.label(name, index),
                "frozen": whole or (name, index) in state.frozen,
            }
            for index in (indices(record.shape) if _is_small(record.shape) else ())
        ]
        frozen.append({"name": name, "symbol": record.symbol, "whole": whole, "cells": cells})
    sizes = {name: math.prod(record.shape) for name, record in space.parameters.items()}
    stored = sum(sizes.values())
    held = sum(sizes[name] if index is None else 1 for name, index in state.frozen)
    return {
        "rate": {
            "name": "lr", "id": "f-lr", "label": "learning rate", "value": _raw(run, "lr", exact(state.rate)),
            "number": state.rate, "default": space.learning_rate, "changed": state.learning_rate is not None,
            "error": _error(run, "lr"),
        },
        "frozen": frozen,
        "stored": stored,
        "updatable": stored - held,
        "error": _error(run, "frozen"),
    }  # fmt: skip


def field_id(name: str) -> str:
    """A field's id: f- and the name without brackets, commas and colons."""
    return "f-" + name.replace("[", "-").replace("]", "").replace(",", "-").replace(":", "-")


def _raw(run: Run, field: str, text: str) -> str:
    """What was typed into a field where it was, so that typing is not disturbed; else the text given."""
    return run.state.raw.get(field, text)[:200]


def _error(run: Run, field: str) -> str | None:
    return next((error.message for error in run.state.errors if error.field == field), None)
