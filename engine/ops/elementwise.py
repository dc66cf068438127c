"""How an elementwise row is made: one formula and its derivatives, written over the cells at one place.

The rows are in arithmetic.py, activation.py and choice.py. Broadcasting is handled here, once: an operand's cell is
read by every output cell it is broadcast to, and its gradient is the sum of what those send.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine import expression as ex
from engine.expression import Expr
from engine.ops.notation import Writer, each_cell
from engine.ops.places import broadcast_place, fed_places
from engine.ops.table import Op, Parameters, Reader
from engine.trace import Index


@dataclass(frozen=True)
class Place:
    """One place of an elementwise step: `place("other")` is the operand's cell there, or the number given instead."""

    reader: Reader
    index: Index

    def __call__(self, role: str, default: float | None = None) -> Expr:
        if self.reader.has(role):
            shape = tuple(self.reader.tensor(role).shape)
            return self.reader.leaf(role, broadcast_place(shape, self.index))
        return ex.const(self.reader.attribute(role, default))

    def given(self, name: str) -> bool:
        """Whether the operand is there, as a tensor or as a number."""
        return self.reader.has(name) or self.reader.attribute(name) is not None

    def attribute(self, name: str, default: Any = None) -> Any:
        return self.reader.attribute(name, default)

    @property
    def output(self) -> Expr:
        return self.reader.output(self.index)

    @property
    def arriving(self) -> Expr:
        return self.reader.arriving(self.index)


Formula = Callable[[Place], Expr]


def elementwise(
    name: str,
    calls: Mapping[str, Parameters],
    run: Callable[..., Any],
    formula: Formula,
    sends: Mapping[str, Formula],
    *,
    text: Writer,
    tex: Writer,
    flops: int = 1,
) -> Op:
    """A row from the formula of one cell and, for each role, what one output cell sends to the operand it read.

    flops: operations for one output cell.
    """

    def cell(reader: Reader, index: Index) -> Expr:
        return formula(Place(reader, index))

    def grad_cell(reader: Reader, role: str, index: Index) -> Expr:
        if role not in sends:
            raise ValueError(f"{name} sends a gradient to {', '.join(sends)}; got {role!r}")
        shape, output_shape = tuple(reader.tensor(role).shape), tuple(reader.output_tensor().shape)
        return reader.sum([sends[role](Place(reader, fed)) for fed in fed_places(shape, output_shape, index)])

    return Op(name, calls, run, cell, grad_cell, text, tex, each_cell(flops), elementwise=True)


def times(arriving: Expr, *factors: Expr) -> Expr:
    return ex.multiply(arriving, *factors)


def gate(arriving: Expr, condition: Expr, then: float = 1, otherwise: float = 0) -> Expr:
    """The arriving gradient times a slope that depends on a condition.

    PyTorch masks where the slope is 0, so that an infinite or nan gradient does not pass; then the choice is written
    around the gradient itself instead of around the slope.
    """
    if math.isfinite(arriving.value):
        return ex.multiply(arriving, ex.select(condition, ex.const(then), ex.const(otherwise)))
    return ex.select(condition, _scaled(arriving, then), _scaled(arriving, otherwise))


def _scaled(arriving: Expr, slope: float) -> Expr:
    if slope == 1:
        return arriving
    return ex.const(0) if slope == 0 else ex.multiply(arriving, ex.const(slope))
