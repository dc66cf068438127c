"""One cell of any tensor or gradient -> the exact scalar expression that produced it."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from engine import local
from engine.cells import whole
from engine.decided import decided
from engine.errors import InputError
from engine.expression import Expr, add, const, function, multiply, ref
from engine.labels import cell_label
from engine.ops.table import rows
from engine.reader import StepReader
from engine.trace import Index, Sent, Step, TensorRecord, Trace

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

    An opaque step's part of a gradient is the number that was recorded.

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
    Raises InputError for an unknown tensor, an index outside it, or a limit below 1.
    """
    if limit < 1:
        raise InputError("limit", "be at least 1", limit)
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
    """The record and a checked index. Raises InputError, also for a tensor of complex numbers."""
    if tensor not in trace.tensors:
        raise InputError("tensor", f"be one of {', '.join(list(trace.tensors)[:40])}", repr(tensor))
    record = trace.tensors[tensor]
    if record.value.is_complex():
        raise InputError("tensor", "hold real numbers", f"{tensor!r}, of {record.dtype}")
    if not isinstance(index, list | tuple) or len(index) != len(record.shape):
        expected = f"have {len(record.shape)} numbers, one an axis of {record.shape}"
        raise InputError("index", expected, f"{index}"[:80])
    sizes = zip(index, record.shape, strict=True)
    return record, tuple(whole(f"index[{axis}]", number, size) for axis, (number, size) in enumerate(sizes))


def number_at(record: TensorRecord, index: Index) -> float:
    """One cell as a Python float."""
    return float(record.value[index].item())


def _value(trace: Trace, record: TensorRecord, index: Index, limit: int) -> tuple[Expr | None, str]:
    step = trace.maker(record.name)
    if step is None:
        return ref(record.name, index, number_at(record, index)), record.kind
    position = step.outputs.index(record.name)
    row = rows().get(step.op)
    if row is not None and (position == 0 or row.all_outputs) and not _complex(trace, step):
        return decided(trace, step, row.cell(StepReader(trace, step, limit, position), index)), step.note
    if local.can_run(trace, step) and record.value.is_floating_point():
        slopes = local.row(trace, step, index, position)
        if slopes is not None:
            return _linearised(trace, step, record, slopes, index, limit), "linearised"
    return None, "opaque"


def _linearised(
    trace: Trace, step: Step, record: TensorRecord, slopes: Mapping[str, torch.Tensor], index: Index, limit: int
) -> Expr:
    """Local Jacobian row times operand, and what is left to the value."""
    terms = _Terms(trace)
    for role, slope in slopes.items():
        terms.add(slope, step.operand(role), slope_first=True)
    straight = terms.total(StepReader(trace, step, limit))
    captured = number_at(record, index)
    rest = captured - straight.value
    return function(step.op, captured, add(straight, const(rest, "offset")))


class _Terms:
    """Slopes times cells, for a sum of which only the terms that are shown are built. Slopes of 0 are no terms."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._values: list[torch.Tensor] = []
        self._parts: list[tuple[str, torch.Tensor, list[list[int]], bool]] = []

    def add(self, slopes: torch.Tensor, tensor: str, *, slope_first: bool) -> None:
        places = slopes.nonzero()
        kept = slopes[slopes != 0].double()
        cells = self._trace[tensor].reshape(slopes.shape)[slopes != 0].double()
        self._values.append(kept * cells)
        self._parts.append((tensor, kept, places.tolist(), slope_first))

    def total(self, reader: StepReader) -> Expr:
        values = torch.cat(self._values) if self._values else torch.zeros(0)
        starts = list(itertools.accumulate((len(one) for one in self._values), initial=0))

        def term(number: int) -> Expr:
            part = bisect.bisect_right(starts, number) - 1
            tensor, slopes, places, slope_first = self._parts[part]
            place = tuple(places[number - starts[part]])
            slope = const(float(slopes[number - starts[part]]), "slope")
            cell = ref(tensor, place, number_at(self._trace.record(tensor), place))
            return multiply(slope, cell) if slope_first else multiply(cell, slope)

        return reader.total(values, term) if len(values) else const(0.0)


def _complex(trace: Trace, step: Step) -> bool:
    """Whether the step reads or makes complex numbers, which expressions do not hold."""
    return any(trace[name].is_complex() for name in (*(one.tensor for one in step.inputs), *step.outputs))


def _gradient(trace: Trace, tensor: str, record: TensorRecord, index: Index, limit: int) -> Explanation:
    sent = [
        Contribution(step.index, one.role, _sent(trace, step, one, index, limit))
        for step in trace.steps
        if step.phase == "backward"
        for one in step.sends
        if record.name in (one.to, one.tensor)
    ]
    if not sent:
        own = const(number_at(record, index), "∂L/∂L")
        return _finish(tensor, record, index, "gradient", own, (), "loss")
    notes = {trace.steps[one.step].note for one in sent}
    note = next((note for note in ("opaque", "linearised") if note in notes), "")
    return _finish(tensor, record, index, "gradient", add(*(one.expression for one in sent)), tuple(sent), note)


def _sent(trace: Trace, backward: Step, part: Sent, index: Index, limit: int) -> Expr:
    step = trace.steps[backward.forward or 0]
    row = rows().get(step.op)
    reader = StepReader(trace, step, limit)
    whole_part = const(number_at(trace.record(part.tensor), index), "sent")
    if _complex(trace, step):
        return whole_part
    if row is not None:
        return decided(trace, step, row.grad_cell(reader, part.role, index))
    columns = local.column(trace, step, part.role, index)
    if columns is None:
        return whole_part
    terms = _Terms(trace)
    for output, slopes in zip(step.outputs, columns, strict=False):
        if (gradient := trace.record(output).gradient) is not None:
            terms.add(slopes, gradient, slope_first=False)
    return terms.total(reader)


def _finish(
    tensor: str, record: TensorRecord, index: Index, what: What, expression: Expr | None, parts: tuple, note: str
) -> Explanation:
    captured = number_at(record, index)
    residual = None if expression is None else expression.value - captured
    return Explanation(tensor, index, cell_label(record, index), what, expression, captured, residual, parts, note)
