"""Rows: functions of one number, the activation functions among them."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F

from engine import expression as ex
from engine.expression import Expr
from engine.ops.elementwise import Formula, Place, elementwise, gate, times
from engine.ops.notation import Writer, call_tex, call_text, equation, latex, operand
from engine.ops.table import Op, Parameters

ZERO, ONE, TWO, HALF = ex.const(0), ex.const(1), ex.const(2), ex.const(0.5)
CUBIC = ex.const(0.044715)
SQRT_HALF = ex.const(math.sqrt(0.5), "1/√2")
SQRT_TWO_OVER_PI = ex.const(math.sqrt(2 / math.pi), "√(2/π)")
SQRT_TWO_PI = ex.const(math.sqrt(2 * math.pi), "√(2π)")


def _unary(
    name: str,
    run: Callable[[torch.Tensor], torch.Tensor],
    formula: Formula,
    derivative: Formula,
    *,
    text: Writer | None = None,
    tex: Writer | None = None,
    flops: int = 1,
) -> Op:
    """A row for `name(input)` whose gradient is the arriving one times a derivative."""
    calls: dict[str, Parameters] = {name: ("input",)}
    return elementwise(
        name,
        calls,
        lambda input: run(input),
        formula,
        {"input": lambda place: times(place.arriving, derivative(place))},
        text=text or call_text(name, "input"),
        tex=tex or latex(lambda labels: rf"\{name}({operand(labels, 'input')})"),
        flops=flops,
    )


def _relu_to_input(place: Place) -> Expr:
    z = place("input")
    if math.isnan(z.value):
        return gate(place.arriving, ex.compare(z, "<=", ZERO), 0, 1)
    return gate(place.arriving, ex.compare(z, ">", ZERO))


def _leaky_relu(place: Place) -> Expr:
    x = place("input")
    slope = place("negative_slope", 0.01)
    return ex.select(ex.compare(x, ">", ZERO), x, ex.multiply(slope, x))


def _leaky_relu_to_input(place: Place) -> Expr:
    return gate(place.arriving, ex.compare(place("input"), ">", ZERO), 1, place.attribute("negative_slope", 0.01))


def _logistic(x: Expr) -> Expr:
    return ex.divide(ONE, ex.add(ONE, ex.exp(ex.negative(x))))


def _normal_cdf(x: Expr) -> Expr:
    """Φ(x) = (1 + erf(x/√2)) / 2."""
    return ex.multiply(HALF, ex.add(ONE, ex.apply("erf", math.erf, ex.multiply(x, SQRT_HALF))))


def _normal_density(x: Expr) -> Expr:
    """φ(x) = exp(-x²/2) / √(2π)."""
    return ex.divide(ex.exp(ex.negative(ex.divide(ex.power(x, TWO), TWO))), SQRT_TWO_PI)


def _gelu_tanh(x: Expr) -> Expr:
    """tanh(√(2/π) (x + 0.044715 x³)), the inner part of the approximation."""
    inner = ex.add(x, ex.multiply(CUBIC, ex.power(x, ex.const(3))))
    return ex.apply("tanh", math.tanh, ex.multiply(SQRT_TWO_OVER_PI, inner))


def _gelu(place: Place) -> Expr:
    """Hendrycks and Gimpel 2016: x Φ(x), or its tanh approximation."""
    x = place("input")
    if place.attribute("approximate", "none") == "tanh":
        return ex.multiply(HALF, x, ex.add(ONE, _gelu_tanh(x)))
    return ex.multiply(x, _normal_cdf(x))


def _gelu_derivative(place: Place) -> Expr:
    x = place("input")
    if place.attribute("approximate", "none") != "tanh":
        return ex.add(_normal_cdf(x), ex.multiply(x, _normal_density(x)))
    tanh = _gelu_tanh(x)
    rise = ex.multiply(SQRT_TWO_OVER_PI, ex.add(ONE, ex.multiply(ex.const(3), CUBIC, ex.power(x, TWO))))
    return ex.add(
        ex.multiply(HALF, ex.add(ONE, tanh)),
        ex.multiply(HALF, x, ex.subtract(ONE, ex.power(tanh, TWO)), rise),
    )


def _silu_derivative(place: Place) -> Expr:
    x = place("input")
    s = _logistic(x)
    return ex.multiply(s, ex.add(ONE, ex.multiply(x, ex.subtract(ONE, s))))


ROWS = (
    elementwise(
        "relu",
        {"relu": ("input",)},
        lambda input: torch.relu(input),
        lambda place: ex.maximum(ZERO, place("input")),
        {"input": _relu_to_input},
        text=call_text("ReLU", "input"),
        tex=call_tex("ReLU", "input"),
    ),
    elementwise(
        "leaky_relu",
        {"leaky_relu": ("input", "negative_slope")},
        lambda input, negative_slope=0.01: F.leaky_relu(input, negative_slope),
        _leaky_relu,
        {"input": _leaky_relu_to_input},
        text=call_text("LeakyReLU", "input"),
        tex=call_tex("LeakyReLU", "input"),
        flops=2,
    ),
    # The cost of erf, tanh and exp is counted as 1, like any other operation; below are the operations as written out.
    elementwise(
        "gelu",
        {"gelu": ("input", "approximate")},
        lambda input, approximate="none": F.gelu(input, approximate=approximate),
        _gelu,
        {"input": lambda place: times(place.arriving, _gelu_derivative(place))},
        text=call_text("GELU", "input"),
        tex=call_tex("GELU", "input"),
        flops=5,
    ),
    _unary(
        "silu",
        F.silu,
        lambda place: ex.multiply(place("input"), _logistic(place("input"))),
        _silu_derivative,
        text=call_text("SiLU", "input"),
        tex=call_tex("SiLU", "input"),
        flops=5,
    ),
    _unary(
        "sigmoid",
        torch.sigmoid,
        lambda place: _logistic(place("input")),
        lambda place: ex.multiply(place.output, ex.subtract(ONE, place.output)),
        text=call_text("σ", "input"),
        tex=latex(lambda labels: rf"\sigma({operand(labels, 'input')})"),
        flops=4,
    ),
    _unary(
        "tanh",
        torch.tanh,
        lambda place: ex.apply("tanh", math.tanh, place("input")),
        lambda place: ex.subtract(ONE, ex.power(place.output, TWO)),
    ),
    _unary("exp", torch.exp, lambda place: ex.exp(place("input")), lambda place: place.output),
    _unary(
        "log",
        torch.log,
        lambda place: ex.log(place("input")),
        lambda place: ex.divide(ONE, place("input")),
        text=call_text("ln", "input"),
        tex=latex(lambda labels: rf"\ln({operand(labels, 'input')})"),
    ),
    _unary(
        "sqrt",
        torch.sqrt,
        lambda place: ex.apply("sqrt", math.sqrt, place("input")),
        lambda place: ex.divide(ONE, ex.multiply(TWO, place.output)),
        text=equation(lambda labels: f"√{operand(labels, 'input')}"),
        tex=latex(lambda labels: rf"\sqrt{{{operand(labels, 'input')}}}"),
    ),
    _unary(
        "rsqrt",
        torch.rsqrt,
        lambda place: ex.divide(ONE, ex.apply("sqrt", math.sqrt, place("input"))),
        lambda place: ex.multiply(ex.const(-0.5), ex.power(place.output, ex.const(3))),
        text=equation(lambda labels: f"1/√{operand(labels, 'input')}"),
        tex=latex(lambda labels: rf"\frac{{1}}{{\sqrt{{{operand(labels, 'input')}}}}}"),
        flops=2,
    ),
    _unary(
        "sin",
        torch.sin,
        lambda place: ex.apply("sin", math.sin, place("input")),
        lambda place: ex.apply("cos", math.cos, place("input")),
    ),
    _unary(
        "cos",
        torch.cos,
        lambda place: ex.apply("cos", math.cos, place("input")),
        lambda place: ex.negative(ex.apply("sin", math.sin, place("input"))),
    ),
)
