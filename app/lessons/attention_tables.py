"""What the lessons on attention share: tensors as tables with names, lines of a chart, and parts of their checks."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from app.exercise import Choice
from app.inline import cell_name, line
from app.numbers import single, text
from app.shown import as_shown, step_of, written
from engine.explain import explain
from engine.expression import Expr
from engine.labels import cell_label
from engine.trace import Index, Trace

Data = dict[str, Any]
COLOURS = ("var(--pos)", "var(--neg)", "var(--soft)")
DASHES = ("solid", "dash", "dot")


def first(trace: Trace, tensor: str = "tokens") -> Index:
    """What leads to the first example: (0,) where an input has rows, else ()."""
    return (0,) if trace[tensor].dim() == 2 else ()


def words_of(trace: Trace, tensor: str = "tokens") -> list[str]:
    """The words of an input, of the first example where there are several."""
    given = trace.request["inputs"][tensor]
    return list(given[0] if isinstance(given[0], list) else given)


def cell(trace: Trace, tensor: str, index: Index, baseline: Trace | None = None) -> Data:
    """One cell: label, name, value, and the baseline's value where that differs (else None)."""
    value, before = single(float(trace[tensor][index])), None
    if baseline is not None and tensor in baseline.tensors and baseline[tensor].shape == trace[tensor].shape:
        old = single(float(baseline[tensor][index]))
        before = None if old == value else old
    return {
        "label": cell_label(trace.record(tensor), index),
        "cell": cell_name(tensor, index),
        "value": value,
        "before": before,
    }


def row(trace: Trace, tensor: str, lead: Index, baseline: Trace | None = None) -> list[Data]:
    """The cells along a tensor's last axis."""
    return [cell(trace, tensor, (*lead, at), baseline) for at in range(trace[tensor].shape[-1])]


def grid(
    trace: Trace, tensor: str, lead: Index, down: Sequence[str], across: Sequence[str], baseline: Trace | None = None
) -> Data:
    """A tensor's last two axes as a table: corner, columns, and rows with a label and cells each.

    down, across: the names of the rows and of the columns.
    """
    axes = trace.record(tensor).axes[-2:]
    return {
        "corner": f"{axes[0].name} ↓ {axes[1].name} →",
        "columns": list(across),
        "rows": [
            {"label": name, "cells": row(trace, tensor, (*lead, at), baseline)} for at, name in enumerate(down)
        ],
    }  # fmt: skip


def worked(trace: Trace, tensor: str, index: Index, baseline: Trace | None = None) -> Data:
    """One cell's line as in app.shown.written, a sum without its zero terms; left_out: how many those are."""
    found = written(trace, tensor, index, baseline=baseline) | {"left_out": 0}
    tree = explain(trace, tensor, index).expression
    if tree is None or tree.kind != "sum":
        return found
    kept = tuple(term for term in tree.args if term.value)
    if not kept or len(kept) == len(tree.args):
        return found
    shorter = kept[0] if len(kept) == 1 else Expr("sum", tree.value, kept)
    return found | {"parts": line(as_shown(trace, shorter)), "left_out": len(tree.args) - len(kept)}


def view(trace: Trace, tensor: str, index: Index | None = None, **look: Any) -> Data | None:
    """A tensor's step (and one of its cells) as State.link takes it; None for a tensor that the run does not have."""
    if tensor not in trace.tensors:
        return None
    cell = None if index is None else cell_name(tensor, index)
    return {"step": step_of(trace, tensor), "cell": cell, "of": None, "prove": None, **look}


def chart(
    lines: Sequence[tuple[str, Sequence[float], Sequence[float]]], across: str, up: str, *, powers: bool = False
) -> Data:
    """Lines (name, xs, ys) as a Plotly figure; powers: the first axis in powers of its numbers, each of them named."""
    ticks = list(lines[0][1])[:: 1 if powers else max(1, len(lines[0][1]) // 6)]
    top = max(value for _, _, ys in lines for value in ys)
    step = next(size for size in (0.1, 0.25, 0.5, 1, 2, 5, 10) if top / size <= 6)
    heights = [step * place for place in range(math.ceil(top / step) + 1)]
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines+markers" if powers else "lines",
                "name": name,
                "x": list(xs),
                "y": list(ys),
                "line": {"color": COLOURS[place], "dash": DASHES[place], "width": 2.25},
                "hovertemplate": f"{name}<br>{across} %{{x}}: %{{y:.3g}}<extra></extra>",
            }
            for place, (name, xs, ys) in enumerate(lines)
        ],
        "layout": {
            "showlegend": True,
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "dragmode": False,
            "hovermode": "closest",
            "height": 300,
            "margin": {"l": 52, "r": 12, "t": 12, "b": 44},
            "xaxis": {
                "title": {"text": across}, "type": "log" if powers else "linear", "fixedrange": True,
                "showgrid": False, "zeroline": False, "tickmode": "array", "tickvals": ticks,
                "ticktext": [text(tick) for tick in ticks],
            },
            "yaxis": {
                "title": {"text": up}, "fixedrange": True, "zeroline": False, "rangemode": "tozero",
                "tickmode": "array", "tickvals": heights, "ticktext": [text(single(one)) for one in heights],
            },
        },
    }  # fmt: skip


def typed(name: str, words: Sequence[str]) -> dict[str, str]:
    """An input's words as State.link's `set` takes them."""
    return {cell_name(name, (at,)): word for at, word in enumerate(words)}


def apart(slips: Sequence[tuple[float, str]], answer: float) -> tuple[tuple[float, str], ...]:
    """The slips that can be told from the answer and from one another."""
    values = [answer, *(value for value, _ in slips)]
    return tuple((value, words) for value, words in slips if sum(abs(value - other) < 0.01 for other in values) == 1)


def choices(chance: random.Random, replies: Sequence[tuple[str, str]]) -> tuple[tuple[Choice, ...], str]:
    """Answers to choose from in a random order, and the key of the first of those given, which is right."""
    shuffled = list(replies)
    chance.shuffle(shuffled)
    found = tuple(Choice(key, *words) for key, words in zip("abcde", shuffled, strict=False))
    return found, found[shuffled.index(replies[0])].key
