"""Rows: sums of products (linear, addmm and every form of matrix product), any number of batch dimensions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from engine import expression as ex
from engine.expression import Expr
from engine.ops.notation import beside, equation, latex, operand, spaced
from engine.ops.places import broadcast_place, fed_places
from engine.ops.table import Labels, Op, Parameters, Reader
from engine.trace import Index

Shape = tuple[int, ...]
_FEW = 16  # products that are read one by one: for them that is quicker than to gather them
Join = Callable[[str, str], str]


def _products(reader: Reader, left: str, left_cells: list[Index], right: str, right_cells: list[Index]) -> Expr:
    """The sum over i of left cell i times right cell i."""
    if len(left_cells) <= _FEW:
        pairs = zip(left_cells, right_cells, strict=True)
        return reader.sum([ex.multiply(reader.leaf(left, one), reader.leaf(right, other)) for one, other in pairs])
    values = _values(reader.tensor(left), left_cells) * _values(reader.tensor(right), right_cells)
    return reader.total(
        values, lambda i: ex.multiply(reader.leaf(left, left_cells[i]), reader.leaf(right, right_cells[i]))
    )


def _arriving_products(reader: Reader, arriving_cells: list[Index], role: str, cells: list[Index]) -> Expr:
    """The sum over i of arriving gradient i times operand cell i."""
    gradient = reader.arriving_tensor()
    if gradient is None:
        raise ValueError("expected an arriving gradient; the loss has no path through this step")
    if len(cells) <= _FEW:
        pairs = zip(arriving_cells, cells, strict=True)
        return reader.sum([ex.multiply(reader.arriving(one), reader.leaf(role, other)) for one, other in pairs])
    values = _values(gradient, arriving_cells) * _values(reader.tensor(role), cells)
    return reader.total(values, lambda i: ex.multiply(reader.arriving(arriving_cells[i]), reader.leaf(role, cells[i])))


def _values(tensor: torch.Tensor, cells: list[Index]) -> torch.Tensor:
    if tensor.ndim == 0:
        return tensor.double().expand(len(cells))
    places = torch.tensor(cells, dtype=torch.long).reshape(len(cells), tensor.ndim)
    return tensor[tuple(places.T)].double()


def _plus(total: Expr, last: Expr) -> Expr:
    """The sum with one more term, which is always shown."""
    return ex.add(*total.args, last) if total.kind == "sum" else ex.add(total, last)


# linear: input (..., in), weight (out, in) or (in,), bias (out,) or () -> (..., out)


def _linear_cell(reader: Reader, index: Index) -> Expr:
    weight = reader.tensor("weight")
    unit, row = (index[-1:], index[:-1]) if weight.ndim == 2 else ((), index)
    inner = range(weight.shape[-1])
    products = _products(reader, "weight", [(*unit, k) for k in inner], "input", [(*row, k) for k in inner])
    return _plus(products, reader.leaf("bias", unit)) if reader.has("bias") else products


def _linear_grad_cell(reader: Reader, role: str, index: Index) -> Expr:
    weight = reader.tensor("weight")
    rows = list(itertools.product(*map(range, reader.tensor("input").shape[:-1])))
    if role == "input":
        units = [(o,) for o in range(weight.shape[0])] if weight.ndim == 2 else [()]
        row, k = index[:-1], index[-1]
        return _arriving_products(reader, [(*row, *unit) for unit in units], "weight", [(*unit, k) for unit in units])
    if role == "weight":
        unit, k = index[:-1], index[-1]
        return _arriving_products(reader, [(*row, *unit) for row in rows], "input", [(*row, k) for row in rows])
    if role == "bias":
        return reader.sum([reader.arriving((*row, *index)) for row in rows])
    raise ValueError(f"linear sends a gradient to input, weight, bias; got {role!r}")


def _linear_written(labels: Labels, join: Join, transpose: str, one: str) -> str:
    """z = Wx + b for one example; Z = XWᵀ + 1bᵀ when the rows of X are examples."""
    weight, given = labels["weight"], labels["input"]
    single = len(labels.shape("weight")) == 1 or labels.shape("weight")[0] == 1
    if labels.rank("input") == 1:
        product = join(weight, given)
        return f"{product} + {labels['bias']}" if "bias" in labels else product
    product = join(given, f"{weight}{transpose}")
    if "bias" not in labels:
        return product
    if labels.rank("input") == 2 and not single:
        return f"{product} + {one}{labels['bias']}{transpose}"
    return f"{product} + {labels['bias']}"


def _linear_flops(shapes: Mapping[str, Shape], output: Shape) -> int:
    """2 m k n for the products and their sums, and one addition for each output cell with a bias."""
    return math.prod(output) * (2 * shapes["weight"][-1] + ("bias" in shapes))


# matmul: (..., m, k) @ (..., k, n), either side one-dimensional, leading dimensions broadcast


def _matmul_cells(left: Shape, right: Shape, index: Index) -> tuple[list[Index], list[Index]]:
    """The cells of either operand whose products make the output's cell."""
    place = list(index)
    column = (place.pop(),) if len(right) > 1 else ()
    row = (place.pop(),) if len(left) > 1 else ()
    left_batch = broadcast_place(left[:-2], tuple(place))
    right_batch = broadcast_place(right[:-2], tuple(place))
    inner = range(left[-1])
    return [(*left_batch, *row, k) for k in inner], [(*right_batch, k, *column) for k in inner]


def _matmul_sent(left: Shape, right: Shape, output: Shape, role: str, index: Index) -> tuple[list[Index], list[Index]]:
    """For one cell of an operand: the output cells that read it, and the other operand's cell in each product."""
    batch_shape = output[: len(output) - (len(left) > 1) - (len(right) > 1)]
    mine, other = (left, right) if role == "input" else (right, left)
    arriving: list[Index] = []
    factors: list[Index] = []
    for batch in fed_places(mine[:-2], batch_shape, index[:-2]):
        other_batch = broadcast_place(other[:-2], batch)
        for free in range(other[-1 if role == "input" else -2]) if len(other) > 1 else (None,):
            across = () if free is None else (free,)
            if role == "input":
                arriving.append((*batch, *index[-2:-1], *across))
                factors.append((*other_batch, index[-1], *across))
            else:
                arriving.append((*batch, *across, *index[-1:][: len(mine) > 1]))
                factors.append((*other_batch, *across, index[-2] if len(mine) > 1 else index[-1]))
    return arriving, factors


def _shapes(reader: Reader, left: str, right: str) -> tuple[Shape, Shape, Shape]:
    return tuple(reader.tensor(left).shape), tuple(reader.tensor(right).shape), tuple(reader.output_tensor().shape)


def _matmul_cell(reader: Reader, index: Index) -> Expr:
    left, right, _ = _shapes(reader, "input", "other")
    left_cells, right_cells = _matmul_cells(left, right, index)
    return _products(reader, "input", left_cells, "other", right_cells)


def _matmul_grad_cell(reader: Reader, role: str, index: Index) -> Expr:
    if role not in ("input", "other"):
        raise ValueError(f"matmul sends a gradient to input, other; got {role!r}")
    arriving, factors = _matmul_sent(*_shapes(reader, "input", "other"), role, index)
    return _arriving_products(reader, arriving, "other" if role == "input" else "input", factors)


def _matmul_flops(shapes: Mapping[str, Shape], output: Shape) -> int:
    """2 m k n in each batch."""
    return 2 * math.prod(output) * shapes["input"][-1]


# addmm: beta input + alpha mat1 @ mat2


def _scaled(reader: Reader, name: str, term: Expr) -> Expr:
    factor = reader.attribute(name, 1)
    return term if factor == 1 else ex.multiply(ex.const(factor, name), term)


def _addmm_cell(reader: Reader, index: Index) -> Expr:
    left, right, _ = _shapes(reader, "mat1", "mat2")
    left_cells, right_cells = _matmul_cells(left, right, index)
    product = _scaled(reader, "alpha", _products(reader, "mat1", left_cells, "mat2", right_cells))
    if reader.attribute("beta", 1) == 0:
        return product  # PyTorch then ignores the input, nan and all
    shape = tuple(reader.tensor("input").shape)
    added = _scaled(reader, "beta", reader.leaf("input", broadcast_place(shape, index)))
    return _plus(product, added)


def _addmm_grad_cell(reader: Reader, role: str, index: Index) -> Expr:
    left, right, output = _shapes(reader, "mat1", "mat2")
    if role == "input":
        shape = tuple(reader.tensor("input").shape)
        arriving = [reader.arriving(fed) for fed in fed_places(shape, output, index)]
        return _scaled(reader, "beta", reader.sum(arriving))
    if role not in ("mat1", "mat2"):
        raise ValueError(f"addmm sends a gradient to input, mat1, mat2; got {role!r}")
    arriving_cells, factors = _matmul_sent(left, right, output, "input" if role == "mat1" else "other", index)
    products = _arriving_products(reader, arriving_cells, "mat2" if role == "mat1" else "mat1", factors)
    return _scaled(reader, "alpha", products)


def _run_addmm(
    input: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, beta: float = 1, alpha: float = 1
) -> torch.Tensor:
    return torch.addmm(input, mat1, mat2, beta=beta, alpha=alpha)


def _addmm_parameters(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    """beta and alpha come by keyword; their old positional form is not described."""
    return ("input", "mat1", "mat2", "beta", "alpha") if len(args) <= 3 else ()


def _addmm_written(labels: Labels, join: Join) -> str:
    product, added = join(labels["mat1"], labels["mat2"]), labels["input"]
    if labels.attribute("alpha", 1) != 1:
        product = join(operand(labels, "alpha"), product)
    if labels.attribute("beta", 1) != 1:
        added = join(operand(labels, "beta"), added)
    return f"{product} + {added}"


def _addmm_flops(shapes: Mapping[str, Shape], output: Shape) -> int:
    return math.prod(output) * (2 * shapes["mat1"][-1] + 1)


_PAIR: Parameters = ("input", "other")

ROWS = (
    Op(
        "linear",
        {"linear": ("input", "weight", "bias")},
        lambda input, weight, bias=None: F.linear(input, weight, bias),
        _linear_cell,
        _linear_grad_cell,
        equation(lambda labels: _linear_written(labels, beside, "ᵀ", "1")),
        latex(lambda labels: _linear_written(labels, spaced, r"^{\top}", r"\mathbf{1} ")),
        _linear_flops,
    ),
    Op(
        "matmul",
        {**dict.fromkeys(("matmul", "mm", "bmm", "mv", "dot"), _PAIR), "rmatmul": ("other", "input")},
        lambda input, other: torch.matmul(input, other),
        _matmul_cell,
        _matmul_grad_cell,
        equation(lambda labels: beside(labels["input"], labels["other"])),
        latex(lambda labels: spaced(labels["input"], labels["other"])),
        _matmul_flops,
    ),
    Op(
        "addmm",
        {"addmm": _addmm_parameters},
        _run_addmm,
        _addmm_cell,
        _addmm_grad_cell,
        equation(lambda labels: _addmm_written(labels, beside)),
        latex(lambda labels: _addmm_written(labels, spaced)),
        _addmm_flops,
    ),
)
