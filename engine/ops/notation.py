"""How the parts of a step are written: operands that may be tensors or numbers, products, named functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from engine.ops.table import Labels

Writer = Callable[[Labels], str]
Flops = Callable[[Mapping[str, tuple[int, ...]], tuple[int, ...]], int]


def operand(labels: Labels, role: str, default: Any = "") -> str:
    """The symbol of the tensor in a role, else the number or setting that stands there."""
    if role in labels:
        return labels[role]
    value = labels.attribute(role, default)
    return number(value) if isinstance(value, (int, float)) else str(value)


def number(value: float) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and math.isinf(value):
        return "∞" if value > 0 else "−∞"
    written = f"{value:.4g}" if isinstance(value, float) else str(value)
    return written.replace("-", "−") if value < 0 else written


def beside(left: str, right: str) -> str:
    """A product: single symbols touch (Wx), longer names keep a space (scores values)."""
    return f"{left}{right}" if max(len(left), len(right)) <= 2 else f"{left} {right}"


def spaced(left: str, right: str) -> str:
    """A product in LaTeX, where a space is only a separator."""
    return f"{left} {right}"


def grouped(symbol: str) -> str:
    """A factor or base: a negative number in brackets, anything else as it is."""
    return f"({symbol})" if symbol.startswith(("−", "-")) else symbol


def equation(right: Writer) -> Writer:
    """`out = right`, as plain text."""
    return lambda labels: f"{labels.out} = {right(labels)}"


def latex(right: Writer) -> Writer:
    """`out = right`, as LaTeX; signs and infinities that `operand` wrote as text become commands."""
    return lambda labels: f"{labels.out} = {right(labels)}".replace("−", "-").replace("∞", r"\infty ")


def call_text(name: str, *roles: str) -> Writer:
    """`out = name(a, b)`, with only the roles that are there."""
    return equation(lambda labels: f"{name}({_list(labels, roles)})")


def call_tex(name: str, *roles: str) -> Writer:
    written = name.replace("_", r"\_")
    return latex(lambda labels: rf"\operatorname{{{written}}}({_list(labels, roles)})")


def _list(labels: Labels, roles: tuple[str, ...]) -> str:
    shown = []
    for role in roles:
        if role in labels:
            shown.append(labels[role])
        elif f"{role}.0" in labels:
            shown.extend(_sequence(labels, role))
        elif labels.attribute(role) is not None:
            shown.append(operand(labels, role))
    return ", ".join(shown)


def _sequence(labels: Labels, role: str) -> list[str]:
    shown: list[str] = []
    while f"{role}.{len(shown)}" in labels:
        shown.append(labels[f"{role}.{len(shown)}"])
    return shown


def each_cell(cost: int) -> Flops:
    """`cost` operations for each cell of the output."""
    return lambda shapes, output: cost * math.prod(output)


def each_input_cell(cost: int, role: str = "input") -> Flops:
    return lambda shapes, output: cost * math.prod(shapes[role])


def nothing(shapes: Mapping[str, tuple[int, ...]], output: tuple[int, ...]) -> int:
    """Moving numbers costs no arithmetic."""
    return 0
