"""Rows: one step of gradient descent, and the parts of AdamW's first step. The engine adds them after backward."""

from __future__ import annotations

import math

import torch

from engine import expression as ex
from engine.expression import Expr
from engine.ops.notation import each_cell, equation, latex, number
from engine.ops.table import Labels, Op, Reader
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
    return _kept(parameter, parameter - learning_rate * gradient, frozen)


def _sgd_cell(reader: Reader, index: Index) -> Expr:
    step = ex.multiply(reader.leaf("learning_rate", ()), reader.leaf("gradient", index))
    return _kept_cell(reader, index, ex.subtract(reader.leaf("parameter", index), step))


def _kept(parameter: torch.Tensor, moved: torch.Tensor, frozen: torch.Tensor | None) -> torch.Tensor:
    return moved if frozen is None else torch.where(frozen, parameter, moved)


def _kept_cell(reader: Reader, index: Index, moved: Expr) -> Expr:
    if not reader.has("frozen"):
        return moved
    kept = ex.compare(reader.leaf("frozen", index), "!=", ex.const(0))
    return ex.select(kept, reader.leaf("parameter", index), moved)


def _no_gradient(reader: Reader, role: str, index: Index) -> Expr:
    raise ValueError(f"an update sends no gradient; got {role!r}")


# AdamW (Loshchilov and Hutter 2019) in the order of torch.optim.AdamW, so that every bit is the same. The correction
# for moments that started at zero stands in the rate and in the denominator: η̂ m / d is η m̂ / (√v̂ + ε).


def _first_moment(gradient: torch.Tensor, beta1: float) -> torch.Tensor:
    return torch.zeros_like(gradient).lerp(gradient, 1 - beta1)


def _first_moment_cell(reader: Reader, index: Index) -> Expr:
    return _blend(reader.attribute("beta1"), "₁", "m₀", reader.leaf("gradient", index))


def _second_moment(gradient: torch.Tensor, beta2: float) -> torch.Tensor:
    return torch.zeros_like(gradient).addcmul(gradient, gradient, value=1 - beta2)


def _second_moment_cell(reader: Reader, index: Index) -> Expr:
    square = ex.power(reader.leaf("gradient", index), ex.const(2))
    return _blend(reader.attribute("beta2"), "₂", "v₀", square)


def _blend(beta: float, subscript: str, start: str, fresh: Expr) -> Expr:
    """β · 0 + (1 − β) fresh."""
    old = ex.multiply(ex.const(beta, f"β{subscript}"), ex.const(0, start))
    return ex.add(old, ex.multiply(ex.const(1 - beta, f"1 − β{subscript}"), fresh))


def _corrected_rate(learning_rate: torch.Tensor, beta1: float) -> torch.Tensor:
    return learning_rate / (1 - beta1)


def _corrected_rate_cell(reader: Reader, index: Index) -> Expr:
    return ex.divide(reader.leaf("learning_rate", index), ex.const(1 - reader.attribute("beta1"), "1 − β₁"))


def _denominator(second_moment: torch.Tensor, beta2: float, epsilon: float) -> torch.Tensor:
    return second_moment.sqrt() / (1 - beta2) ** 0.5 + epsilon


def _denominator_cell(reader: Reader, index: Index) -> Expr:
    corrected = ex.divide(reader.leaf("second_moment", index), ex.const(1 - reader.attribute("beta2"), "1 − β₂"))
    return ex.add(ex.apply("sqrt", math.sqrt, corrected), ex.const(reader.attribute("epsilon"), "ε"))


def _adamw(
    parameter: torch.Tensor,
    learning_rate: torch.Tensor,
    corrected_rate: torch.Tensor,
    first_moment: torch.Tensor,
    denominator: torch.Tensor,
    weight_decay: float,
    frozen: torch.Tensor | None = None,
) -> torch.Tensor:
    """(1 - learning_rate * weight_decay) parameter - corrected_rate * first_moment / denominator, cell by cell.

    The rates are scalar tensors of float64: PyTorch's optimiser computes with Python's numbers.
    """
    decayed = parameter * (1 - learning_rate.item() * weight_decay)
    return _kept(parameter, decayed.addcdiv(first_moment, denominator, value=-corrected_rate.item()), frozen)


def _adamw_cell(reader: Reader, index: Index) -> Expr:
    decay = ex.multiply(reader.leaf("learning_rate", ()), ex.const(reader.attribute("weight_decay"), "λ"))
    decayed = ex.multiply(ex.subtract(ex.const(1), decay), reader.leaf("parameter", index))
    step = ex.multiply(reader.leaf("corrected_rate", ()), reader.leaf("first_moment", index))
    return _kept_cell(reader, index, ex.subtract(decayed, ex.divide(step, reader.leaf("denominator", index))))


def _set(labels: Labels, name: str) -> str:
    return number(float(labels.attribute(name, 0)))


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
    Op(
        "adamw_rate",
        {},
        _corrected_rate,
        _corrected_rate_cell,
        _no_gradient,
        equation(lambda labels: f"{labels['learning_rate']} / (1 − {_set(labels, 'beta1')}¹)"),
        latex(lambda labels: rf"\frac{{{labels['learning_rate']}}}{{1 - {_set(labels, 'beta1')}^1}}"),
        each_cell(1),
    ),
    Op(
        "adamw_first_moment",
        {},
        _first_moment,
        _first_moment_cell,
        _no_gradient,
        equation(lambda labels: "{0} · 0 + (1 − {0}) {1}".format(_set(labels, "beta1"), labels["gradient"])),
        latex(lambda labels: r"{0} \cdot 0 + (1 - {0}) {1}".format(_set(labels, "beta1"), labels["gradient"])),
        each_cell(3),
    ),
    Op(
        "adamw_second_moment",
        {},
        _second_moment,
        _second_moment_cell,
        _no_gradient,
        equation(lambda labels: "{0} · 0 + (1 − {0}) ({1})²".format(_set(labels, "beta2"), labels["gradient"])),
        latex(
            lambda labels: r"{0} \cdot 0 + (1 - {0}) \left({1}\right)^2".format(
                _set(labels, "beta2"), labels["gradient"]
            )
        ),
        each_cell(4),
    ),
    Op(
        "adamw_denominator",
        {},
        _denominator,
        _denominator_cell,
        _no_gradient,
        equation(lambda labels: f"√({labels['second_moment']} / (1 − {_set(labels, 'beta2')}¹)) + ε"),
        latex(
            lambda labels: rf"\sqrt{{\frac{{{labels['second_moment']}}}{{1 - {_set(labels, 'beta2')}^1}}}} + \epsilon"
        ),
        each_cell(3),
    ),
    Op(
        "adamw",
        {},
        _adamw,
        _adamw_cell,
        _no_gradient,
        equation(
            lambda labels: (
                f"(1 − {labels['learning_rate']} · {_set(labels, 'weight_decay')}) {labels['parameter']}"
                f" − {labels['corrected_rate']} {labels['first_moment']} / {labels['denominator']}"
            )
        ),
        latex(
            lambda labels: (
                rf"\left(1 - {labels['learning_rate']} \cdot {_set(labels, 'weight_decay')}\right)"
                rf" {labels['parameter']} - {labels['corrected_rate']}"
                rf" \frac{{{labels['first_moment']}}}{{{labels['denominator']}}}"
            )
        ),
        each_cell(4),
    ),
)
