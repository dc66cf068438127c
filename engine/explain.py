"""One cell of any tensor or gradient -> the exact scalar expression that produced it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine import local
from engine.errors import InputError
from engine.expression import Expr, add, const, function, multiply, ref
from engine.labels import cell_label
from engine.ops.table import rows
from engine.reader import StepReader
from engine.trace import Index, Step, TensorRecord, Trace

What = Literal["value", "gradient"]


@dataclass(frozen=True)
class Contribution:
    """What one backward step sends to the cell."""

    step: int
    role: str
    expression: Expr


@dataclass(frozen=True)
class Explanation:
    """expression: None where there is nothing to write out (`note` says why: "no path", "opaque").

    captured: the number the run recorded. residual: float64 value of the expression minus captured (rounding).
    contributions: for gradients, the terms by step; `expression` is their sum.
    """

    tensor: str
    index: Index
    label: str
    what: What
    expression: Expr | None
    captured: float | None
    residual: float | None
    contributions: tuple[Contribution, ...]
    note: str


def explain(trace: Trace, tensor: str, index: Sequence[int], *, what: What = "value", limit: int = 32) -> Explanation:
    """Accounts for one cell.

    tensor: any name in the trace; a gradient's own name explains the gradient. index: 0-based, one number an axis.
    limit: how many terms of a long sum are kept; the rest is one exact remainder.
    Raises InputError for an unknown tensor or an index outside it.
    """
    record, place = find(trace, tensor, index)
    if what == "gradient" and record.kind != "gradient":
        if record.gradient is None:
            label = f"∂L/∂{cell_label(record, place)}"
            return Explanation(tensor, place, label, what, None, None, None, (), "no path")
        record = trace.record(record.gradient)
    if record.kind == "gradient":
        return _gradient(trace, tensor, record, place, limit)
    expression, note = _value(trace, record, place, limit)
    return _finish(tensor, record, place, "value", expression, (), note)


def find(trace: Trace, tensor: str, index: Sequence[int]) -> tuple[TensorRecord, Index]:
    """The record and a checked index. Raises InputError."""
    if tensor not in trace.tensors:
        raise InputError("tensor", f"be one of {', '.join(list(trace.tensors)[:40])}", repr(tensor))
    record = trace.tensors[tensor]
    if len(index) != len(record.shape):
        raise InputError("index", f"have {len(record.shape)} numbers, one an axis of {record.shape}", list(index))
    for axis, (number, size) in enumerate(zip(index, record.shape, strict=True)):
        if not 0 <= number < size:
            raise InputError(f"index[{axis}]", f"be from 0 to {size - 1}", number)
    return record, tuple(index)


def number_at(record: TensorRecord, index: Index) -> float:
    """One cell as a Python float."""
    return float(record.value[index].item())


def _value(trace: Trace, record: TensorRecord, index: Index, limit: int) -> tuple[Expr | None, str]:
    step = trace.maker(record.name)
    if step is None:
        return ref(record.name, index, number_at(record, index)), record.kind
    position = step.outputs.index(record.name)
    row = rows().get(step.op)
    if row is not None and (position == 0 or row.all_outputs):
        return row.cell(StepReader(trace, step, limit, position), index), step.note
    if local.can_run(trace, step) and record.value.is_floating_point():
        return _linearised(trace, step, record, position, index, limit), "linearised"
    return None, "opaque"


def _linearised(trace: Trace, step: Step, record: TensorRecord, position: int, index: Index, limit: int) -> Expr:
    """Local Jacobian row times operand, and what is left to the value."""
    reader = StepReader(trace, step, limit, position)
    terms = []
    for role, slopes in local.row(trace, step, index, position).items():
        operand = trace.record(step.operand(role))
        for place in itertools.product(*map(range, slopes.shape)):
            slope = float(slopes[place])
            if slope:
                terms.append(multiply(const(slope, "slope"), ref(operand.name, place, number_at(operand, place))))
    straight = reader.sum(terms) if terms else const(0.0)
    rest = number_at(record, index) - straight.value
    return function(step.op, straight.value + rest, add(straight, const(rest, "offset")))


def _gradient(trace: Trace, tensor: str, record: TensorRecord, index: Index, limit: int) -> Explanation:
    sent = [
        Contribution(step.index, one.role, _sent(trace, step, one.role, index, limit))
        for step in trace.steps
        if step.phase == "backward"
        for one in step.sends
        if record.name in (one.to, one.tensor)
    ]
    if not sent:
        own = const(number_at(record, index), "∂L/∂L")
        return _finish(tensor, record, index, "gradient", own, (), "loss")
    note = next((trace.steps[one.step].note for one in sent if trace.steps[one.step].note == "linearised"), "")
    return _finish(tensor, record, index, "gradient", add(*(one.expression for one in sent)), tuple(sent), note)


def _sent(trace: Trace, backward: Step, role: str, index: Index, limit: int) -> Expr:
    step = trace.steps[backward.forward or 0]
    row = rows().get(step.op)
    reader = StepReader(trace, step, limit)
    if row is not None:
        return row.grad_cell(reader, role, index)
    terms = []
    for position, slopes in enumerate(local.column(trace, step, role, index)):
        if trace.record(step.outputs[position]).gradient is None:
            continue
        for place in itertools.product(*map(range, slopes.shape)):
            if float(slopes[place]):
                terms.append(multiply(reader.arriving(place, position), const(float(slopes[place]), "slope")))
    return reader.sum(terms) if terms else const(0.0)


def _finish(
    tensor: str, record: TensorRecord, index: Index, what: What, expression: Expr | None, parts: tuple, note: str
) -> Explanation:
    captured = number_at(record, index)
    residual = None if expression is None else expression.value - captured
    return Explanation(tensor, index, cell_label(record, index), what, expression, captured, residual, parts, note)
