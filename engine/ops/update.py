"""Row: one step of gradient descent. No call makes it; the engine adds it after backward."""

from __future__ import annotations

import torch

from engine import expression as ex
from engine.expression import Expr
from engine.ops.notation import each_cell, equation, latex
from engine.ops.table import Op, Reader
from engine.trace import Index


def _sgd(
    parameter: torch.Tensor,
    gradient: torch.Tensor,
    learning_rate: torch.Tensor,
    frozen: torch.Tensor | None = None,
) -> torch.Tensor:
    """parameter - learning_rate * gradient; where frozen is True the parameter stays as it was.

    parameter, gradient and frozen (bool) have one shape; learning_rate is a scalar tensor.
    """
    moved = parameter - learning_rate * gradient
    return moved if frozen is None else torch.where(frozen, parameter, moved)


def _sgd_cell(reader: Reader, index: Index) -> Expr:
    parameter = reader.leaf("parameter", index)
    step = ex.multiply(reader.leaf("learning_rate", ()), reader.leaf("gradient", index))
    moved = ex.subtract(parameter, step)
    if not reader.has("frozen"):
        return moved
    return ex.select(ex.compare(reader.leaf("frozen", index), "!=", ex.const(0)), parameter, moved)


def _no_gradient(reader: Reader, role: str, index: Index) -> Expr:
    raise ValueError(f"an update sends no gradient; got {role!r}")


ROWS = (
    Op(
        "sgd",
        {},
        _sgd,
        _sgd_cell,
        _no_gradient,
        equation(lambda labels: f"{labels['parameter']} − {labels['learning_rate']} {labels['gradient']}"),
        latex(lambda labels: f"{labels['parameter']} - {labels['learning_rate']} {labels['gradient']}"),
        each_cell(2),
    ),
)
