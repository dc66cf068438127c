"""Rows: cells chosen one of several by a condition: clamp, maximum, minimum, where, masked_fill."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from engine import expression as ex
from engine.expression import Expr
from engine.ops.elementwise import Place, elementwise, gate
from engine.ops.notation import call_tex, call_text, equation, latex, operand
from engine.ops.table import Op

ZERO = ex.const(0)


def _clamp(place: Place) -> Expr:
    """Not below min, then not above max: where min > max the answer is max."""
    x = place("input")
    if place.given("min"):
        x = ex.maximum(place("min"), x)
    return ex.minimum(place("max"), x) if place.given("max") else x


def _clamp_to_input(place: Place) -> Expr:
    """The slope is 1 from min to max, both included, and 0 beyond."""
    x, g = place("input"), place.arriving
    if place.given("min") and (not place.given("max") or x.value < place("min").value):
        return gate(g, ex.compare(x, ">=", place("min")))
    return gate(g, ex.compare(x, "<=", place("max")))


def _clamp_to_min(place: Place) -> Expr:
    if place.given("max") and place("min").value >= place("max").value:
        return gate(place.arriving, ex.compare(place("min"), "<", place("max")))
    return gate(place.arriving, ex.compare(place("input"), "<", place("min")))


def _clamp_to_max(place: Place) -> Expr:
    if place.given("min") and place("max").value < place("min").value:
        return gate(place.arriving, ex.compare(place("max"), "<", place("min")))
    return gate(place.arriving, ex.compare(place("input"), ">", place("max")))


def _run_clamp(input: torch.Tensor, min: Any = None, max: Any = None) -> torch.Tensor:
    return torch.clamp(input, min, max)


def _extreme_to(role: str, other: str, behind: str) -> Callable[[Place], Expr]:
    """All of the gradient goes to the winner; a tie is shared by halves."""

    def sends(place: Place) -> Expr:
        mine, theirs = place(role), place(other)
        if mine.value == theirs.value:
            return gate(place.arriving, ex.compare(mine, "==", theirs), 0.5)
        return gate(place.arriving, ex.compare(mine, behind, theirs), 0, 1)

    return sends


def _extreme(name: str, run: Callable[..., torch.Tensor], pick: Callable[..., Expr], behind: str) -> Op:
    return elementwise(
        name,
        {name: ("input", "other")},
        lambda input, other: run(input, other),
        lambda place: pick(place("input"), place("other")),
        {"input": _extreme_to("input", "other", behind), "other": _extreme_to("other", "input", behind)},
        text=call_text(name[:3], "input", "other"),
        tex=latex(lambda labels: rf"\{name[:3]}({operand(labels, 'input')}, {operand(labels, 'other')})"),
    )


def _where_parameters(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    """torch.where(condition, input, other) or Tensor.where(input, condition, other): the condition is the Boolean.

    A call in which both could be it, or with the condition alone (indices of True), is not described.
    """
    boolean = [isinstance(arg, torch.Tensor) and arg.dtype == torch.bool for arg in args[:2]]
    if len(args) + len(kwargs) != 3 or (all(boolean) and len(boolean) == 2):
        return ()
    return ("input", "condition", "other") if boolean == [False, True] else ("condition", "input", "other")


def _holds(place: Place, role: str) -> Expr:
    return ex.compare(place(role), "!=", ZERO)


def _run_where(condition: torch.Tensor, input: Any, other: Any) -> torch.Tensor:
    return torch.where(condition, input, other)


def _run_masked_fill(input: torch.Tensor, mask: torch.Tensor, value: Any) -> torch.Tensor:
    return torch.masked_fill(input, mask, value)


MAXIMUM = _extreme("maximum", torch.maximum, ex.maximum, "<")
MINIMUM = _extreme("minimum", torch.minimum, ex.minimum, ">")

ROWS = (
    elementwise(
        "clamp",
        {
            "clamp": ("input", "min", "max"),
            "clip": ("input", "min", "max"),
            "clamp_min": ("input", "min"),
            "clamp_max": ("input", "max"),
        },
        _run_clamp,
        _clamp,
        {"input": _clamp_to_input, "min": _clamp_to_min, "max": _clamp_to_max},
        text=call_text("clamp", "input", "min", "max"),
        tex=call_tex("clamp", "input", "min", "max"),
        flops=2,
    ),
    MAXIMUM,
    MINIMUM,
    elementwise(
        "where",
        {"where": _where_parameters},
        _run_where,
        lambda place: ex.select(_holds(place, "condition"), place("input"), place("other")),
        {
            "input": lambda place: gate(place.arriving, _holds(place, "condition")),
            "other": lambda place: gate(place.arriving, _holds(place, "condition"), 0, 1),
        },
        text=equation(
            lambda labels: (
                f"{operand(labels, 'input')} where {operand(labels, 'condition')}, else {operand(labels, 'other')}"
            )
        ),
        tex=latex(
            lambda labels: (
                rf"{operand(labels, 'input')}\ \text{{where}}\ {operand(labels, 'condition')},\ "
                rf"\text{{else}}\ {operand(labels, 'other')}"
            )
        ),
        flops=0,
    ),
    elementwise(
        "masked_fill",
        {"masked_fill": ("input", "mask", "value")},
        _run_masked_fill,
        lambda place: ex.select(_holds(place, "mask"), place("value"), place("input")),
        {
            "input": lambda place: gate(place.arriving, _holds(place, "mask"), 0, 1),
            "value": lambda place: gate(place.arriving, _holds(place, "mask")),
        },
        text=equation(
            lambda labels: (
                f"{operand(labels, 'value')} where {operand(labels, 'mask')}, else {operand(labels, 'input')}"
            )
        ),
        tex=latex(
            lambda labels: (
                rf"{operand(labels, 'value')}\ \text{{where}}\ {operand(labels, 'mask')},\ "
                rf"\text{{else}}\ {operand(labels, 'input')}"
            )
        ),
        flops=0,
    ),
)
