"""What the engine says about a trace, as JSON-ready data: explanations, paths, verifications, comparisons.

References show their cell as the trace's `data` does; sums and products keep their float64 value. A value that is not
finite is null, with `nonfinite` beside it naming it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from app.wire import cell_value, word
from engine.expression import Expr
from engine.trace import Index, Trace

if TYPE_CHECKING:
    from engine.compare import Comparison
    from engine.explain import Explanation
    from engine.paths import Paths
    from engine.verify import Verification


def expression_data(tree: Expr, trace: Trace) -> dict[str, Any]:
    """A node with its value and, as its kind has them, args, tensor and index, label, count."""
    node: dict[str, Any] = {"kind": tree.kind}
    if tree.tensor is not None:
        node |= {"tensor": tree.tensor, "index": list(tree.index or ())}
        node |= _number("value", _as_shown(trace, tree.tensor, tree.value))
    else:
        node |= _number("value", tree.value)
    if tree.label is not None:
        node["label"] = tree.label
    if tree.count is not None:
        node["count"] = tree.count
    if tree.args:
        node["args"] = [expression_data(arg, trace) for arg in tree.args]
    return node


def explanation_data(explanation: Explanation, trace: Trace) -> dict[str, Any]:
    """Where one cell comes from: `residual` is the expression's float64 value minus what was captured.

    `expression` is null where there is nothing to write out; `note` then says why.
    """
    tree = explanation.expression
    return {
        **_cell(explanation.tensor, explanation.index, explanation.label),
        "what": explanation.what,
        "expression": None if tree is None else expression_data(tree, trace),
        **_number("captured", _as_shown(trace, explanation.tensor, explanation.captured)),
        **_number("residual", explanation.residual),
        "contributions": [
            {"step": part.step, "role": part.role, "expression": expression_data(part.expression, trace)}
            for part in explanation.contributions
        ],
        "note": explanation.note,
    }


def paths_data(paths: Paths) -> dict[str, Any]:
    """The gradient of one cell, path by path to the loss; `rest` is the total minus the paths that are shown."""
    return {
        "label": paths.label,
        **_number("total", paths.total),
        "paths": [
            {
                **_number("value", path.value),
                "hops": [
                    {**_cell(hop.tensor, hop.index, hop.label), **_number("derivative", hop.derivative)}
                    for hop in path.hops
                ],
            }
            for path in paths.paths
        ],
        "complete": paths.complete,
        **_number("rest", paths.rest),
    }


_VERIFIED = (
    "captured",
    "recomputed",
    "difference",
    "autograd64",
    "finite_difference",
    "left",
    "right",
    "epsilon",
    "relative_error",
)


def verification_data(verification: Verification) -> dict[str, Any]:
    """A cell recomputed in float64 and, for a gradient, by finite differences; `method` says how in a sentence."""
    data: dict[str, Any] = {
        **_cell(verification.tensor, verification.index, verification.label),
        "what": verification.what,
        "ok": verification.ok,
        "method": verification.method,
        "kink": verification.kink,
    }
    for name in _VERIFIED:
        data |= _number(name, getattr(verification, name))
    return data


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """The cells that differ, in order of the timeline; `tensors` counts them by name, `count` in all."""
    return {
        "same": comparison.same,
        "first": comparison.first,
        "cells": [
            {
                **_cell(cell.tensor, cell.index, cell.label),
                **_number("before", cell.before),
                **_number("after", cell.after),
                **_number("delta", cell.delta),
            }
            for cell in comparison.cells
        ],
        "count": comparison.count,
        "tensors": dict(comparison.tensors),
        "only_here": list(comparison.only_here),
        "only_there": list(comparison.only_there),
    }


def _as_shown(trace: Trace, tensor: str, value: float | None) -> float | None:
    record = trace.tensors.get(tensor)
    return value if record is None or value is None else cell_value(record, value)


def _cell(tensor: str, index: Index, label: str) -> dict[str, Any]:
    return {"tensor": tensor, "index": list(index), "label": label}


def _number(name: str, value: float | None) -> dict[str, Any]:
    if value is None or math.isfinite(value):
        return {name: value}
    return {name: None, f"{name}_nonfinite": word(value)}
