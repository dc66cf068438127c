"""Rows: softmax, its logarithm, and the logarithm of a sum of exponentials.

Written as in a textbook, exp(x) over the sum of exp; only where float64 could not hold that is the largest score taken
off first, which changes no result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from engine import expression as ex
from engine.expression import Expr
from engine.ops.notation import call_tex, call_text, each_input_cell
from engine.ops.places import Line, normal_dims, reduced_line, reduced_place
from engine.ops.table import Op, Reader
from engine.trace import Index

_LARGE = 500.0
"""exp(500) is 1e217; from about 710 on float64 overflows."""


@dataclass(frozen=True)
class Scores:
    """A line of scores and what softmax makes of them.

    values: float64, one dimension. leaf: the reference to a score by its place.
    """

    values: torch.Tensor
    leaf: Callable[[int], Expr]
    reader: Reader

    @cached_property
    def off(self) -> Expr | None:
        """The score taken off all, the largest; None where none needs to be."""
        if not self.values.numel():
            return None
        largest = int(self.values.argmax())
        return None if abs(self.values[largest].item()) <= _LARGE else self.leaf(largest)

    def score(self, position: int) -> Expr:
        leaf = self.leaf(position)
        return leaf if self.off is None else ex.subtract(leaf, self.off)

    @property
    def shifted_values(self) -> torch.Tensor:
        """The values of `score`."""
        return self.values if self.off is None else self.values - self.off.value

    def total(self) -> Expr:
        """Σ exp of the scores."""
        return self.reader.total(self.shifted_values.exp(), lambda i: ex.exp(self.score(i)))

    def log_total(self) -> Expr:
        """ln Σ exp of the scores."""
        return ex.log(self.total())

    def share(self, position: int) -> Expr:
        """exp of one score over the sum of exp of all."""
        return ex.divide(ex.exp(self.score(position)), self.total())

    def surprise(self, position: int) -> Expr:
        """-ln of the share."""
        return ex.subtract(self.log_total(), self.score(position))


def _implicit_dim(dim: int | None, rank: int) -> int:
    """The dimension that F.softmax takes when none is given: 0 for rank 0, 1 and 3, else 1."""
    return (0 if rank in (0, 1, 3) else 1) if dim is None else dim


def _line(reader: Reader, index: Index) -> Line:
    shape = tuple(reader.tensor("input").shape)
    return Line(shape, normal_dims(_implicit_dim(reader.attribute("dim"), len(shape)), len(shape)), index)


def _position(line: Line, index: Index) -> int:
    return index[line.dims[0]] if line.dims else 0


def _scores(reader: Reader, line: Line) -> Scores:
    return Scores(line.values(reader.tensor("input")), lambda i: reader.leaf("input", line.cell(i)), reader)


def _softmax_cell(reader: Reader, index: Index) -> Expr:
    line = _line(reader, index)
    return _scores(reader, line).share(_position(line, index))


def _softmax_grad_cell(reader: Reader, role: str, index: Index) -> Expr:
    """p_i (g_i - Σ_j g_j p_j)."""
    line = _line(reader, index)
    products = line.values(_arriving(reader)) * line.values(reader.output_tensor())
    mean = reader.total(products, lambda i: ex.multiply(reader.arriving(line.cell(i)), reader.output(line.cell(i))))
    return ex.multiply(reader.output(index), ex.subtract(reader.arriving(index), mean))


def _log_softmax_cell(reader: Reader, index: Index) -> Expr:
    line = _line(reader, index)
    scores = _scores(reader, line)
    return ex.subtract(scores.score(_position(line, index)), scores.log_total())


def _log_softmax_grad_cell(reader: Reader, role: str, index: Index) -> Expr:
    """g_i - p_i Σ_j g_j, with p = exp(output)."""
    line = _line(reader, index)
    arriving = reader.total(line.values(_arriving(reader)), lambda i: reader.arriving(line.cell(i)))
    return ex.subtract(reader.arriving(index), ex.multiply(ex.exp(reader.output(index)), arriving))


def _arriving(reader: Reader) -> torch.Tensor:
    gradient = reader.arriving_tensor()
    if gradient is None:
        raise ValueError("expected an arriving gradient; the loss has no path through this step")
    return gradient


def _logsumexp_cell(reader: Reader, index: Index) -> Expr:
    shape = tuple(reader.tensor("input").shape)
    dims = normal_dims(reader.attribute("dim"), len(shape))
    scores = _scores(reader, reduced_line(shape, dims, bool(reader.attribute("keepdim", False)), index))
    if scores.off is None:
        return scores.log_total()
    if math.isinf(scores.off.value):  # inf less inf is nan; the sum of exp needs no help to be 0 or inf
        return ex.log(reader.total(scores.values.exp(), lambda i: ex.exp(scores.leaf(i))))
    return ex.add(scores.off, scores.log_total())


def _logsumexp_grad_cell(reader: Reader, role: str, index: Index) -> Expr:
    """g exp(x - output), the softmax share of x."""
    dims = normal_dims(reader.attribute("dim"), reader.tensor("input").ndim)
    place = reduced_place(dims, bool(reader.attribute("keepdim", False)), index)
    share = ex.exp(ex.subtract(reader.leaf("input", index), reader.output(place)))
    return ex.multiply(reader.arriving(place), share)


def _run(normalise: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def run(input: torch.Tensor, dim: int | None = None, dtype: torch.dtype | None = None) -> torch.Tensor:
        return normalise(input, _implicit_dim(dim, input.ndim), dtype=dtype)

    return run


def _run_logsumexp(input: torch.Tensor, dim: Any, keepdim: bool = False) -> torch.Tensor:
    return torch.logsumexp(input, dim, keepdim=keepdim)


# Costs count 1 for exp and ln: softmax exp, sum, divide, and for stability max and subtract.
ROWS = (
    Op(
        "softmax",
        {"softmax": ("input", "dim", "dtype")},
        _run(torch.softmax),
        _softmax_cell,
        _softmax_grad_cell,
        call_text("softmax", "input"),
        call_tex("softmax", "input"),
        each_input_cell(5),
    ),
    Op(
        "log_softmax",
        {"log_softmax": ("input", "dim", "dtype")},
        _run(torch.log_softmax),
        _log_softmax_cell,
        _log_softmax_grad_cell,
        call_text("log softmax", "input"),
        call_tex(r"log\ softmax", "input"),
        each_input_cell(5),
    ),
    Op(
        "logsumexp",
        {"logsumexp": ("input", "dim", "keepdim")},
        _run_logsumexp,
        _logsumexp_cell,
        _logsumexp_grad_cell,
        call_text("logsumexp", "input"),
        call_tex("logsumexp", "input"),
        each_input_cell(4),
    ),
)
