"""The selected cell accounted for: its value, how the loss feels it, the paths to the loss, and the proof."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal

from app.inline import cell_name
from app.page.run import Data, Run
from app.page.written import written
from app.space import indices, split_cell
from app.wire import cell_value
from engine import InputError
from engine.explain import Explanation, explain
from engine.expression import leaves
from engine.paths import Paths, paths
from engine.trace import Index, Step, TensorRecord
from engine.verify import verify

MAX_TERMS = 16
MAX_PATHS = 16
LONG_RUN, FEW_PATHS = 48, 6  # paths through many steps are long to read, and to find
MAX_CELLS_TRACED = 64


def longhand(run: Run) -> Data | None:
    """The selected cell in full; only its name while it is asked for. None in a run without tensors."""
    tensor, index = split_cell(run.state.cell)
    if tensor not in run.trace.tensors or index is None:
        return None
    record = run.trace.tensors[tensor]
    base = _base(run, record)
    data: Data = {"cell": run.state.cell, "tensor": tensor, "label": run.label(run.state.cell), "kind": record.kind}
    data |= {"index": list(index), "of": run.state.of, "hidden": run.hidden(tensor)}
    if data["hidden"]:
        return data
    own = explain(run.trace, tensor, index, limit=MAX_TERMS)
    data |= {"number": run.cell(tensor, index), "note": own.note, "value": None, "gradient": None, "paths": None}
    if own.what == "value":
        data["value"] = _value(run, own)
    data |= {"base": cell_name(base.name, index) if base is not None else None, "verification": None}
    if base is not None and base.gradient is not None and run.hidden(base.gradient):
        return data | {"gradient_hidden": True}
    if record.kind == "gradient":
        data["gradient"] = _gradient(run, own, record, index)
    elif base is not None and base.gradient is not None:
        data["gradient"] = _gradient(
            run, explain(run.trace, tensor, index, what="gradient", limit=MAX_TERMS), base, index
        )
    if base is not None and base.gradient is not None:
        data["paths"] = _paths(run, base, index)
    if run.state.prove:
        data["verification"] = _verification(run, (base or record).name, index, record.kind)
    data["prove"] = run.state.link(prove=True, of=_proved(run, base or record, record.kind))
    return data


def made_of(run: Run) -> dict[str, list[str]]:
    """cell -> the cells it was made of, for what forward and loss made; of a large run only the current step."""
    steps = [step for step in run.trace.steps if step.phase in ("forward", "loss")]
    made = list(_made(run, steps))
    if len(made) > MAX_CELLS_TRACED:
        made = list(_made(run, [step for step in steps if step is run.step]))[:MAX_CELLS_TRACED]
    found = {}
    for name, index in made:
        tree = explain(run.trace, name, index, limit=MAX_TERMS).expression
        if tree is not None:
            sources = [cell_name(leaf.tensor or "", leaf.index or ()) for leaf in leaves(tree)]
            found[cell_name(name, index)] = list(dict.fromkeys(sources))
    return found


def _made(run: Run, steps: list[Step]) -> Iterator[tuple[str, Index]]:
    return ((name, index) for step in steps for name in step.outputs for index in _places(run.trace.tensors[name]))


def first_cell(run_step: Step | None) -> str:
    """The tensor that a step is about: its output, or the first gradient it sends a part of."""
    if run_step is None:
        return ""
    return run_step.sends[0].to if run_step.sends else run_step.output


def _base(run: Run, record: TensorRecord) -> TensorRecord | None:
    """The tensor whose gradient is spoken of; None for what one step sends."""
    if record.kind != "gradient":
        return record
    base = run.trace.tensors.get(record.name.removesuffix(".grad"))
    return base if base is not None and base.gradient == record.name else None


def _proved(run: Run, record: TensorRecord, kind: str) -> Literal["value", "gradient"]:
    """What there is to prove of a cell: what was asked for; the gradient of a given cell, whose value has no proof."""
    given = record.kind in ("input", "parameter") and record.gradient is not None
    return "gradient" if kind == "gradient" or run.state.of == "gradient" or given else "value"


def _value(run: Run, own: Explanation) -> Data | None:
    tree = own.expression
    if tree is None or (tree.kind, tree.tensor, tree.index) == ("ref", own.tensor, own.index):
        return None
    captured = cell_value(run.trace.tensors[own.tensor], own.captured or 0.0)
    return written(run, tree) | {"label": own.label, "captured": captured, "residual": own.residual}


def _gradient(run: Run, own: Explanation, record: TensorRecord, index: Index) -> Data:
    if own.expression is None:
        return {"label": own.label, "note": own.note, "blocks": [], "total": None, "cell": None}
    name = record.gradient if record.kind != "gradient" else record.name
    blocks = []
    for part in own.contributions:
        consumer = run.trace.steps[run.trace.steps[part.step].forward or 0]
        blocks.append({
            "step": part.step, "consumer": consumer.name, "label": consumer.symbol, "role": part.role,
            "expression": written(run, part.expression),
        })  # fmt: skip
    return {
        "label": own.label,
        "cell": cell_name(name or "", index),
        "note": own.note,
        "blocks": blocks,
        "total": run.cell(name or "", index),
        "float64": own.expression.value,
        "residual": own.residual,
    }


def _paths(run: Run, base: TensorRecord, index: Index) -> Data:
    found: Paths = paths(
        run.trace, base.name, index, limit=MAX_PATHS if len(run.trace.steps) <= LONG_RUN else FEW_PATHS
    )
    start = cell_name(base.name, index)
    lines = [
        {
            "value": path.value,
            "cells": [
                {"cell": cell_name(hop.tensor, hop.index), "label": hop.label, "derivative": hop.derivative}
                for hop in path.hops
            ],
        }
        for path in found.paths
    ]
    return {
        "label": found.label, "start": {"cell": start, "label": run.label(start)}, "total": found.total,
        "lines": lines, "rest": found.rest, "complete": found.complete,
    }  # fmt: skip


def _verification(run: Run, tensor: str, index: Index, kind: str) -> Data:
    what = _proved(run, run.trace.tensors[tensor], kind)
    try:
        found = verify(run.trace, tensor, index, what=what)
    except InputError as error:
        return {"error": f"This cell can't be proved: the tensor must {error.expected}; got {error.got}."}
    numbers = (
        "captured",
        "recomputed",
        "difference",
        "finite_difference",
        "epsilon",
        "relative_error",
        "left",
        "right",
    )
    data: Data = {name: getattr(found, name) for name in numbers}
    return data | {"what": what, "label": found.label, "ok": found.ok, "kink": found.kink, "method": found.method}


def _places(record: TensorRecord) -> list[Index]:
    """A tensor's cells, of a large one as many as show that it is large."""
    return list(itertools.islice(indices(record.shape), MAX_CELLS_TRACED + 1))
