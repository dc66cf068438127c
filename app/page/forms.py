"""The fields of a page: every input, parameter and target, the switches, the options and the update."""

from __future__ import annotations

from app.inline import cell_name
from app.numbers import exact
from app.page.run import Data, Run, axes_data
from app.space import MAX_ROWS, indices
from app.state import KINDS
from engine.trace import Axis, Index


def forms(run: Run) -> Data | None:
    """{groups, rows, switches, options, update, errors}; None where a page has nothing to edit.

    A field is {name, cell, label, value (text), default, changed, error}; a group {name, symbol, axes, rows of fields}.
    """
    space = run.state.space
    if not space.inputs and not space.parameters:
        return None
    return {
        "groups": [*_inputs(run), *_parameters(run), *_targets(run)],
        "rows": {"count": run.state.rows, "most": MAX_ROWS},
        "switches": _switches(run),
        "options": _options(run),
        "update": _update(run),
    }


def _inputs(run: Run) -> list[Data]:
    many = run.state.rows > 1
    groups = []
    for name, numbers in run.state.space.inputs.items():
        rows = [[_field(run, name, (row, column)) for column in range(len(numbers))] for row in range(run.state.rows)]
        if not many:  # one example stands upright, as in the equations
            rows = [[field] for field in rows[0]]
        groups.append(_group(run, name, rows))
    return groups


def _targets(run: Run) -> list[Data]:
    if not run.state.space.targets:
        return []
    return [_group(run, "target", [[_field(run, "target", (row,))] for row in range(run.state.rows)])]


def _parameters(run: Run) -> list[Data]:
    groups = []
    for name, record in run.state.space.parameters.items():
        fields = [_field(run, name, index) for index in indices(record.shape)]
        width = record.shape[-1] if len(record.shape) > 1 else 1
        groups.append(_group(run, name, [fields[at : at + width] for at in range(0, len(fields), width)]))
    return groups


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
    return {"name": name, "symbol": symbol, "axes": axes_data(axes), "rows": rows}


def _field(run: Run, name: str, index: Index) -> Data:
    """index: as the space counts, inputs and targets by row."""
    state, space = run.state, run.state.space
    given = name in space.inputs
    written = index[1:] if given and state.rows == 1 else index
    cell = written
    if name == "target":
        cell = index if state.rows == 1 else (*index, 0)
    field = cell_name(name, written)
    value = state.value(name, index)
    return {
        "name": field,
        "cell": cell_name(name, cell),
        "id": field_id(field),
        "label": space.label(name, index, state.rows),
        "value": _raw(run, field, exact(value)),
        "number": value,
        "default": space.default(name, index),
        "changed": (name, index) in state.cells,
        "error": _error(run, field),
    }


def _switches(run: Run) -> list[Data]:
    groups = []
    for name, record in run.state.space.switches.items():
        units = []
        for unit in range(record.shape[-1]):
            place = (name, (unit,))
            kind, number = run.state.switches.get(place, ("", 0.0))
            do, by = f"do:{cell_name(*place)}", f"by:{cell_name(*place)}"
            units.append({
                "cell": cell_name(*place), "label": run.state.space.label(*place),
                "do": do, "by": by, "do_id": field_id(do), "by_id": field_id(by),
                "kind": run.state.raw.get(do, kind) if _error(run, by) else kind,
                "value": _raw(run, by, exact(number) if kind not in ("", "off") else ""),
                "changed": bool(kind),
                "error": _error(run, by) or _error(run, do),
            })  # fmt: skip
        groups.append({"name": name, "symbol": record.symbol, "units": units, "kinds": list(KINDS)})
    return groups


def _options(run: Run) -> list[Data]:
    state = run.state
    return [
        {
            "name": name,
            "title": option.title,
            "values": [{"value": value, "label": label} for value, label in option.values.items()],
            "chosen": state.options.get(name, state.space.choice(name)),
            "default": state.space.choice(name),
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
            for index in indices(record.shape)
        ]
        frozen.append({"name": name, "symbol": record.symbol, "whole": whole, "cells": cells})
    stored = sum(len(one["cells"]) for one in frozen)
    held = sum(cell["frozen"] for one in frozen for cell in one["cells"])
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
