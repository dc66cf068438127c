"""Rows: sums, differences, products, quotients and powers, cell by cell, between tensors or a tensor and a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from engine import expression as ex
from engine.expression import Expr
from engine.ops.elementwise import Place, elementwise, times
from engine.ops.notation import Writer, beside, equation, grouped, latex, operand
from engine.ops.table import Labels

ZERO = ex.const(0)
TWO = ex.const(2)


def _binary(sign: str) -> Writer:
    """`out = input ± alpha other`, without its left side."""

    def written(labels: Labels) -> str:
        factor = labels.attribute("alpha", 1)
        scaled = operand(labels, "other")
        if factor != 1 or "alpha" in labels:
            scaled = beside(operand(labels, "alpha"), scaled)
        return f"{operand(labels, 'input')} {sign} {grouped(scaled)}"

    return written


def _alpha(place: Place, term: Expr) -> Expr:
    """The term times `alpha`, where one is given."""
    return term if place.attribute("alpha", 1) == 1 else ex.multiply(place("alpha"), term)


def run_add(input: torch.Tensor, other: Any, alpha: float = 1) -> torch.Tensor:
    return torch.add(input, other, alpha=alpha)


def run_sub(input: Any, other: Any, alpha: float = 1) -> torch.Tensor:
    if isinstance(input, torch.Tensor):
        return torch.sub(input, other, alpha=alpha)
    return torch.rsub(other, input, alpha=alpha)


def run_div(other: Any, input: Any = 1, rounding_mode: str | None = None) -> torch.Tensor:
    if isinstance(input, torch.Tensor):
        return torch.div(input, other, rounding_mode=rounding_mode)
    return other.reciprocal() * input  # as PyTorch itself computes number / tensor


def _quotient(place: Place) -> Expr:
    quotient = ex.divide(place("input", 1), place("other"))
    mode = place.attribute("rounding_mode")
    if mode is None:
        return quotient
    return ex.apply(mode, _ROUND[mode], quotient)


def _whole(round_off: Callable[[float], int]) -> Callable[[float], float]:
    return lambda value: float(round_off(value)) if math.isfinite(value) else value


_ROUND = {"floor": _whole(math.floor), "trunc": _whole(math.trunc)}


def _number_over_tensor(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    """The reflected form divides a number; what it does with a tensor rounds differently and is not described."""
    return () if any(isinstance(arg, torch.Tensor) for arg in args[1:]) else ("other", "input")


def _div_to_input(place: Place) -> Expr:
    if place.attribute("rounding_mode") is not None:
        return ex.const(0, "a rounded quotient is flat")
    return ex.divide(place.arriving, place("other"))


def _div_to_other(place: Place) -> Expr:
    if place.attribute("rounding_mode") is not None:
        return ex.const(0, "a rounded quotient is flat")
    return ex.negative(
        ex.divide(times(place.arriving, place("input", 1)), ex.power(place("other"), TWO)),
    )


def _power(base: Expr, exponent: Expr) -> Expr:
    """base to the exponent; ±1/2 is a square root, which (other than a power in C) is nan for -inf, as in PyTorch."""
    if abs(exponent.value) != 0.5 or exponent.kind != "const":
        return ex.power(base, exponent)
    root = ex.apply("sqrt", math.sqrt, base)
    return root if exponent.value > 0 else ex.divide(ex.const(1), root)


def _pow_to_input(place: Place) -> Expr:
    """g n x^(n-1); where n is 0 the power is flat, also at x = 0."""
    base, exponent = place("input"), place("exponent")
    if exponent.value == 0:
        return ex.select(ex.compare(exponent, "==", ZERO), ZERO, times(place.arriving, exponent))
    lower = base if exponent.value == 2 else _power(base, ex.const(exponent.value - 1, "n − 1"))
    return times(place.arriving, exponent) if exponent.value == 1 else times(place.arriving, exponent, lower)


def _pow_to_exponent(place: Place) -> Expr:
    """g x^n ln x; a base of 0 gives 0 for n >= 0, as its limit does."""
    base, exponent = place("input"), place("exponent")
    if base.value == 0 and exponent.value >= 0:
        return ex.select(ex.compare(base, "==", ZERO), ZERO, place.arriving)
    return times(place.arriving, ex.power(base, exponent), ex.log(base))


_RAISED = str.maketrans("0123456789−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def _power_text(labels: Labels) -> str:
    """x² for a whole exponent, x^n for any other."""
    base, exponent = grouped(operand(labels, "input")), operand(labels, "exponent")
    if exponent.removeprefix("−").isdecimal():
        return base + exponent.translate(_RAISED)
    return f"{base}^{grouped(exponent)}"


def _square_to_input(place: Place) -> Expr:
    return times(place.arriving, TWO, place("input"))


ROWS = (
    elementwise(
        "add",
        {"add": ("input", "other", "alpha"), "radd": ("other", "input")},
        run_add,
        lambda place: ex.add(place("input"), _alpha(place, place("other"))),
        {
            "input": lambda place: place.arriving,
            "other": lambda place: _alpha(place, place.arriving),
        },
        text=equation(_binary("+")),
        tex=latex(_binary("+")),
    ),
    elementwise(
        "sub",
        {
            "sub": ("input", "other", "alpha"),
            "subtract": ("input", "other", "alpha"),
            "rsub": ("other", "input", "alpha"),
        },
        run_sub,
        lambda place: ex.subtract(place("input"), _alpha(place, place("other"))),
        {
            "input": lambda place: place.arriving,
            "other": lambda place: ex.negative(_alpha(place, place.arriving)),
        },
        text=equation(_binary("−")),
        tex=latex(_binary("-")),
    ),
    elementwise(
        "mul",
        {"mul": ("input", "other"), "multiply": ("input", "other"), "rmul": ("other", "input")},
        lambda input, other: torch.mul(input, other),
        lambda place: ex.multiply(place("input"), place("other")),
        {
            "input": lambda place: times(place.arriving, place("other")),
            "other": lambda place: times(place.arriving, place("input")),
        },
        text=equation(lambda labels: f"{operand(labels, 'input')} ⊙ {grouped(operand(labels, 'other'))}"),
        tex=latex(lambda labels: rf"{operand(labels, 'input')} \odot {grouped(operand(labels, 'other'))}"),
    ),
    elementwise(
        "div",
        {
            "div": ("input", "other", "rounding_mode"),
            "divide": ("input", "other", "rounding_mode"),
            "true_divide": ("input", "other"),
            "truediv": ("input", "other"),
            "rdiv": _number_over_tensor,
            "rtruediv": _number_over_tensor,
            "reciprocal": ("other",),
        },
        run_div,
        _quotient,
        {"input": _div_to_input, "other": _div_to_other},
        text=equation(lambda labels: f"{operand(labels, 'input', 1)} / {grouped(operand(labels, 'other'))}"),
        tex=latex(lambda labels: rf"\frac{{{operand(labels, 'input', 1)}}}{{{operand(labels, 'other')}}}"),
    ),
    elementwise(
        "neg",
        {"neg": ("input",), "negative": ("input",)},
        lambda input: torch.neg(input),
        lambda place: ex.negative(place("input")),
        {"input": lambda place: ex.negative(place.arriving)},
        text=equation(lambda labels: f"−{operand(labels, 'input')}"),
        tex=latex(lambda labels: f"-{operand(labels, 'input')}"),
    ),
    elementwise(
        "pow",
        {"pow": ("input", "exponent"), "rpow": ("exponent", "input")},
        lambda input, exponent: torch.pow(input, exponent),
        lambda place: _power(place("input"), place("exponent")),
        {"input": _pow_to_input, "exponent": _pow_to_exponent},
        text=equation(_power_text),
        tex=latex(lambda labels: f"{{{grouped(operand(labels, 'input'))}}}^{{{operand(labels, 'exponent')}}}"),
    ),
    elementwise(
        "square",
        {"square": ("input",)},
        lambda input: torch.square(input),
        lambda place: ex.power(place("input"), TWO),
        {"input": _square_to_input},
        text=equation(lambda labels: f"{operand(labels, 'input')}²"),
        tex=latex(lambda labels: f"{{{operand(labels, 'input')}}}^{{2}}"),
    ),
    elementwise(
        "abs",
        {"abs": ("input",), "absolute": ("input",)},
        lambda input: torch.abs(input),
        lambda place: ex.apply("abs", abs, place("input")),
        {"input": lambda place: times(place.arriving, ex.apply("sign", _sign, place("input")))},
        text=equation(lambda labels: f"|{operand(labels, 'input')}|"),
        tex=latex(lambda labels: rf"\left|{operand(labels, 'input')}\right|"),
    ),
)


def _sign(value: float) -> float:
    """1, 0 or -1; 0 for nan, as in PyTorch."""
    return float((value > 0) - (value < 0))
