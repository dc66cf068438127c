"""Rows: many cells put together into one: sum, mean, var, and the extremes with PyTorch's choice among ties."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import torch

from engine import expression as ex
from engine.expression import Expr
from engine.ops.choice import MAXIMUM, MINIMUM
from engine.ops.elementwise import gate
from engine.ops.notation import Flops, Writer, call_tex, call_text, each_input_cell, equation, latex, operand
from engine.ops.places import Line, normal_dims, reduced_line, reduced_place
from engine.ops.table import Op, Reader
from engine.trace import Index

_PARAMETERS = ("input", "dim", "keepdim", "dtype")


def _dims(reader: Reader) -> tuple[int, ...]:
    return normal_dims(reader.attribute("dim"), reader.tensor("input").ndim)


def _keepdim(reader: Reader) -> bool:
    return bool(reader.attribute("keepdim", False))


def _line(reader: Reader, index: Index) -> Line:
    """The input's cells that make the output's cell."""
    return reduced_line(tuple(reader.tensor("input").shape), _dims(reader), _keepdim(reader), index)


def _place(reader: Reader, index: Index) -> Index:
    """The output's cell that the input's cell goes into."""
    return reduced_place(_dims(reader), _keepdim(reader), index)


def _run(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """The reduction with only the arguments that were given: without `dim` PyTorch has a signature of its own."""

    def run(input: torch.Tensor, dim: Any = None, **given: Any) -> Any:
        return reduce(input, **given) if dim is None else reduce(input, dim, **given)

    return run


def _sum_cell(reader: Reader, index: Index) -> Expr:
    line = _line(reader, index)
    return reader.total(line.values(reader.tensor("input")), lambda i: reader.leaf("input", line.cell(i)))


def _sum_grad_cell(reader: Reader, role: str, index: Index) -> Expr:
    return reader.arriving(_place(reader, index))


def _mean_cell(reader: Reader, index: Index) -> Expr:
    return ex.divide(_sum_cell(reader, index), ex.const(_line(reader, index).count, "n"))


def _mean_grad_cell(reader: Reader, role: str, index: Index) -> Expr:
    place = _place(reader, index)
    return ex.divide(reader.arriving(place), ex.const(_line(reader, place).count, "n"))


def _freedom(reader: Reader, count: int) -> Expr:
    """n minus the correction: 1 unless `correction` or `unbiased=False` says otherwise; never below 0."""
    correction = reader.attribute("correction", 1 if reader.attribute("unbiased", True) else 0)
    return ex.const(max(0, count - correction), "n" if correction == 0 else f"n − {correction}")


def _mean_of(line: Line, reader: Reader) -> Expr:
    return ex.function("mean", line.values(reader.tensor("input")).mean().item())


def _var_cell(reader: Reader, index: Index) -> Expr:
    line = _line(reader, index)
    mean = _mean_of(line, reader)
    squares = (line.values(reader.tensor("input")) - mean.value) ** 2
    total = reader.total(
        squares, lambda i: ex.power(ex.subtract(reader.leaf("input", line.cell(i)), mean), ex.const(2))
    )
    return ex.divide(total, _freedom(reader, line.count))


def _var_grad_cell(reader: Reader, role: str, index: Index) -> Expr:
    place = _place(reader, index)
    line = _line(reader, place)
    deviation = ex.subtract(reader.leaf("input", index), _mean_of(line, reader))
    return ex.divide(ex.multiply(reader.arriving(place), ex.const(2), deviation), _freedom(reader, line.count))


def _var_parameters(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    if len(args) > 1 and isinstance(args[1], bool):
        return ("input", "unbiased")
    return ("input", "dim", "unbiased", "keepdim", "correction")


def _shared_grad_cell(reader: Reader, role: str, index: Index) -> Expr:
    """Of amax, amin and the extreme of everything: cells that tie for it share the gradient evenly."""
    place = _place(reader, index)
    values = _line(reader, place).values(reader.tensor("input"))
    extreme, cell = reader.output(place), reader.leaf("input", index)
    ties = int((values == extreme.value).sum()) or int(values.isnan().sum())
    arriving = reader.arriving(place)
    shared = arriving if ties == 1 else ex.divide(arriving, ex.const(ties, "ties"))
    return _to_winner(shared, cell, extreme)


def _to_winner(arriving: Expr, cell: Expr, extreme: Expr) -> Expr:
    if cell.value != cell.value and extreme.value != extreme.value:
        return arriving  # nan is the extreme of whatever holds it
    return gate(arriving, ex.compare(cell, "==", extreme))


def _extreme_cell(combine: Literal["max", "min"]) -> Callable[[Reader, Index], Expr]:
    def cell(reader: Reader, index: Index) -> Expr:
        line = _line(reader, index)
        values = line.values(reader.tensor("input"))
        return reader.total(values, lambda i: reader.leaf("input", line.cell(i)), combine)

    return cell


def _along(reduce: Callable[..., Any]) -> Callable[[Reader, Index], Expr]:
    """Of max or min along one dimension: only the cell that PyTorch's index points to gets the gradient."""

    def grad_cell(reader: Reader, index: Index) -> Expr:
        place = _place(reader, index)
        line = _line(reader, place)
        extreme, cell = reader.output(place), reader.leaf("input", index)
        chosen = reduce(reader.tensor("input"), reader.attribute("dim"), keepdim=_keepdim(reader)).indices[place]
        if line.cell(int(chosen)) != index and cell.value == extreme.value:
            return ex.const(0, "a tie; another cell was chosen")
        return _to_winner(reader.arriving(place), cell, extreme)

    return grad_cell


def _overloaded_parameters(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    """max(input), max(input, dim, keepdim) and max(input, other) share one name."""
    pair = "other" in kwargs or (len(args) > 1 and isinstance(args[1], torch.Tensor))
    return ("input", "other") if pair else ("input", "dim", "keepdim")


def _overloaded(name: Literal["max", "min"], reduce: Callable[..., Any], pair: Op) -> Op:
    """max or min in its three forms: of two tensors, along one dimension (first output: the values), of everything."""
    whole, along = _extreme_cell(name), _along(reduce)

    def run(input: torch.Tensor, other: Any = None, dim: int | None = None, keepdim: bool = False) -> Any:
        if other is not None:
            return pair.run(input=input, other=other)
        return reduce(input) if dim is None else reduce(input, dim, keepdim=keepdim)

    def cell(reader: Reader, index: Index) -> Expr:
        return pair.cell(reader, index) if reader.has("other") else whole(reader, index)

    def grad_cell(reader: Reader, role: str, index: Index) -> Expr:
        if reader.has("other"):
            return pair.grad_cell(reader, role, index)
        return _shared_grad_cell(reader, role, index) if reader.attribute("dim") is None else along(reader, index)

    return Op(
        name,
        {name: _overloaded_parameters},
        run,
        cell,
        grad_cell,
        call_text(name, "input", "other"),
        latex(
            lambda labels: (
                rf"\{name}({operand(labels, 'input')}"
                + (f", {operand(labels, 'other')})" if "other" in labels else ")")
            )
        ),
        each_input_cell(1),
    )


def _reduction(
    name: str,
    parameters: Any,
    run: Callable[..., Any],
    cell: Callable[[Reader, Index], Expr],
    grad_cell: Callable[[Reader, str, Index], Expr],
    *,
    text: Writer | None = None,
    tex: Writer | None = None,
    flops: Flops | None = None,
) -> Op:
    return Op(
        name,
        {name: parameters},
        run,
        cell,
        grad_cell,
        text or call_text(name, "input"),
        tex or call_tex(name, "input"),
        flops or each_input_cell(1),
    )


ROWS = (
    _reduction(
        "sum",
        _PARAMETERS,
        _run(torch.sum),
        _sum_cell,
        _sum_grad_cell,
        text=equation(lambda labels: f"Σ {labels['input']}"),
        tex=latex(lambda labels: rf"\sum {labels['input']}"),
    ),
    _reduction("mean", _PARAMETERS, _run(torch.mean), _mean_cell, _mean_grad_cell),
    _reduction("var", _var_parameters, _run(torch.var), _var_cell, _var_grad_cell, flops=each_input_cell(4)),
    _reduction("amax", ("input", "dim", "keepdim"), _run(torch.amax), _extreme_cell("max"), _shared_grad_cell),
    _reduction("amin", ("input", "dim", "keepdim"), _run(torch.amin), _extreme_cell("min"), _shared_grad_cell),
    _overloaded("max", torch.max, MAXIMUM),
    _overloaded("min", torch.min, MINIMUM),
)
