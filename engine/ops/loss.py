"""Row: the mean squared error; and how every loss reads its reduction. Cross-entropy is in cross_entropy.py."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from engine import expression as ex
from engine.expression import Expr
from engine.ops.elementwise import times
from engine.ops.notation import each_input_cell, equation, latex
from engine.ops.places import broadcast_place, fed_places, unravel
from engine.ops.table import Labels, Op, Reader
from engine.trace import Index


def reduction_name(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """`reduction`, unless the two older switches say otherwise: reduce=False is none, size_average=False is sum."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def reduction_of(step: Reader | Labels) -> str:
    return reduction_name(step.attribute("size_average"), step.attribute("reduce"), step.attribute("reduction", "mean"))


def over(term: Expr, divisor: Expr | None) -> Expr:
    return term if divisor is None else ex.divide(term, divisor)


# mse_loss: input and target of shapes that broadcast together, weight of the input's shape


def _mse_place(reader: Reader, role: str, place: Index) -> Expr:
    return reader.leaf(role, broadcast_place(tuple(reader.tensor(role).shape), place))


def _difference(reader: Reader, place: Index) -> Expr:
    return ex.subtract(_mse_place(reader, "input", place), _mse_place(reader, "target", place))


def _square(reader: Reader, place: Index) -> Expr:
    square = ex.power(_difference(reader, place), ex.const(2))
    return ex.multiply(_mse_place(reader, "weight", place), square) if reader.has("weight") else square


def _mse_values(reader: Reader) -> torch.Tensor:
    squares = (reader.tensor("input").double() - reader.tensor("target").double()) ** 2
    return squares * reader.tensor("weight").double() if reader.has("weight") else squares


def _mse_divisor(reader: Reader, count: int) -> Expr | None:
    """What a mean divides by: the number of cells, or the sum of their weights."""
    if reduction_of(reader) != "mean":
        return None
    if not reader.has("weight"):
        return ex.const(count, "n")
    weight = reader.tensor("weight")
    return reader.total(weight.double().reshape(-1), lambda i: reader.leaf("weight", unravel(i, tuple(weight.shape))))


def _mse_cell(reader: Reader, index: Index) -> Expr:
    if reduction_of(reader) == "none":
        return _square(reader, index)
    values = _mse_values(reader)
    shape = tuple(values.shape)
    total = reader.total(values.reshape(-1), lambda i: _square(reader, unravel(i, shape)))
    return over(total, _mse_divisor(reader, values.numel()))


def _mse_grad_cell(reader: Reader, role: str, index: Index) -> Expr:
    """2 (y - t) g / n to the input, its negative to the target."""
    if role not in ("input", "target"):
        raise ValueError(f"mse_loss sends a gradient to input, target; got {role!r}")
    shape = tuple(_mse_values(reader).shape)
    none = reduction_of(reader) == "none"
    divisor = _mse_divisor(reader, _mse_values(reader).numel())

    def sent(place: Index) -> Expr:
        factors = [ex.const(2), _difference(reader, place)]
        if reader.has("weight"):
            factors.insert(1, _mse_place(reader, "weight", place))
        term = over(times(reader.arriving(place if none else ()), *factors), divisor)
        return term if role == "input" else ex.negative(term)

    return reader.sum([sent(place) for place in fed_places(tuple(reader.tensor(role).shape), shape, index)])


def _run_mse(
    input: torch.Tensor,
    target: torch.Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: torch.Tensor | None = None,
) -> torch.Tensor:
    name = reduction_name(size_average, reduce, reduction)
    if weight is None:
        return F.mse_loss(input, target, reduction=name)
    return F.mse_loss(input, target, reduction=name, weight=weight)  # type: ignore[call-arg]  # the stub lags behind


_SIGN = {"none": "", "sum": "Σ ", "mean": "mean "}
_TEX_SIGN = {"none": "", "sum": r"\sum ", "mean": r"\operatorname{mean}"}


def _mse_text(labels: Labels) -> str:
    return f"{_SIGN[reduction_of(labels)]}({labels['input']} − {labels['target']})²"


def _mse_tex(labels: Labels) -> str:
    return f"{_TEX_SIGN[reduction_of(labels)]}({labels['input']} - {labels['target']})^{{2}}"


ROWS = (
    Op(
        "mse_loss",
        {"mse_loss": ("input", "target", "size_average", "reduce", "reduction", "weight")},
        _run_mse,
        _mse_cell,
        _mse_grad_cell,
        equation(_mse_text),
        latex(_mse_tex),
        each_input_cell(3),  # subtract, square, add
    ),
)
