"""What the visitor changed, each with the link that takes it back, and what that did to the run."""

from __future__ import annotations

from app import whole
from app.inline import cell_name
from app.page.run import MAX_DIFFERENCES, Data, Run
from app.query import LARGEST
from app.space import MAX_ROWS
from app.wire import cell_value


def edits(run: Run) -> list[Data]:
    """{place, field, label, sign, before, after, undo} in the order of links, one for each thing changed.

    before and after are numbers or words; before is None where there is nothing to compare with.
    """
    state, space = run.state, run.state.space
    found: list[Data] = []
    rows = whole.changed(space, state.cells)
    for name, row in rows.items():
        was, now = (_short(whole.said(space, cells, row)) for cells in ({}, state.cells))
        found.append(_edit(name, name, was, now, state.link(set={name: None})))
    for name, index in whole.others(state.cells, rows):
        number = state.cells[name, index]
        field = space.field(name, index, state.rows)
        before, after = (space.said(name, one) for one in (space.default(name, index) or 0.0, number))
        found.append(_edit(field, space.label(name, index, state.rows), before, after, state.link(set={field: None})))
    for place, (kind, number) in state.switches.items():
        field = cell_name(*place)
        sign = {"set": "←", "off": "←", "scale": "×", "add": "+"}[kind]
        edit = _edit(field, space.label(*place), None, number, state.link(do={field: None}))
        found.append(edit | {"sign": sign})
    for name, choice in state.options.items():
        option = space.options[name]
        edit = _edit(name, option.title, space.choice(name), choice, state.link(options={name: None}))
        found.append(edit | {"before": option.values[space.choice(name)], "after": option.values[choice]})
    if state.learning_rate is not None:
        undo = state.link(lr=None)
        found.append(_edit("lr", "learning rate", space.learning_rate, state.learning_rate, undo))
    found += _frozen(run)
    return [edit | {"place": place} for place, edit in enumerate(found, 1)]


def limits(run: Run) -> Data:
    """How far changes may go: examples (None where a run has no inputs to add), and the size of a number."""
    return {"rows": MAX_ROWS if run.state.space.inputs else None, "number": LARGEST}


def _frozen(run: Run) -> list[Data]:
    """An edit for each place that the update now leaves alone, or no longer leaves alone."""
    state, space = run.state, run.state.space
    found = []
    for name, index in space.ordered(state.frozen ^ space.frozen):
        label = space.parameters[name].symbol if index is None else space.label(name, index)
        held = (name, index) in state.frozen
        place = name if index is None else cell_name(name, index)
        others = [one if at is None else cell_name(one, at) for one, at in state.frozen - {(name, index)}]
        undo = state.link(frozen=others if held else [*others, place])
        edit = _edit(f"frozen {place}", label, None, "frozen" if held else "not frozen", undo)
        found.append(edit | {"sign": ":"})
    return found


def reset(run: Run) -> str:
    """The link that takes every change back and keeps what is looked at."""
    return run.state.link(
        set=dict.fromkeys(_fields(run)), do={cell_name(*place): None for place in run.state.switches},
        options=dict.fromkeys(run.state.options), lr=None, frozen=None,
    )  # fmt: skip


def comparison(run: Run) -> Data | None:
    """{same, first, cells: [{cell, label, before, after, delta, kind}], count, more}; None where nothing is edited."""
    found = run.recorded.comparison
    if found is None:
        return None
    first = found.first
    cells = []
    for change in found.cells:
        if run.hidden(change.tensor):
            continue
        record = run.trace.tensors[change.tensor]
        cells.append({
            "cell": cell_name(change.tensor, change.index),
            "label": change.label,
            "before": cell_value(record, change.before),
            "after": cell_value(record, change.after),
            "delta": change.delta,
            "kind": "gradient" if record.kind == "gradient" else "value",
        })  # fmt: skip
    computed = [name for name in found.tensors if run.recorded.places.get(name) is not None]
    return {
        "same": found.same,
        "first": None if first is None else {"tensor": first, "symbol": run.trace.tensors[first].symbol},
        "first_computed": None if not computed else _named(run, computed[0]),
        "cells": cells,
        "count": found.count,
        "more": max(0, found.count - MAX_DIFFERENCES),
        "tensors": dict(found.tensors),
        "only_here": list(found.only_here),
        "only_there": list(found.only_there),
    }


def _named(run: Run, tensor: str) -> Data:
    return {"tensor": tensor, "symbol": run.trace.tensors[tensor].symbol}


def _fields(run: Run) -> list[str]:
    state = run.state
    rows = whole.changed(state.space, state.cells)
    cells = whole.others(state.cells, rows)
    return [*rows, *(state.space.field(name, index, state.rows) for name, index in cells)]


def _short(word: str) -> str:
    """A whole row's word; a code in words, as nobody reads it."""
    return word if ":" in word else "drawn"


def _edit(field: str, label: str, before: float | str | None, after: float | str, undo: str) -> Data:
    return {"field": field, "label": label, "sign": "→", "before": before, "after": after, "undo": undo}
