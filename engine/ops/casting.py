"""Rows: the same numbers in another dtype, and numbers cut off from their gradient."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from engine import expression as ex
from engine.expression import Expr
from engine.ops.elementwise import Place, elementwise
from engine.ops.movement import movement, one_name
from engine.ops.notation import equation, latex
from engine.ops.table import Op, Parameters


def _converted(place: Place) -> Expr:
    """The number as it was (rounding to fewer digits is the residual); integers drop the fraction, bool asks for 0."""
    dtype = place.reader.output_tensor().dtype
    if dtype == torch.bool:
        return ex.compare(place("input"), "!=", ex.const(0))
    if dtype.is_floating_point or not place.reader.tensor("input").is_floating_point():
        return place("input")
    return ex.apply("trunc", math.trunc, place("input"))


def _to(
    input: torch.Tensor, target: Sequence[Any] = (), other: torch.Tensor | None = None, **given: Any
) -> torch.Tensor:
    return input.type_as(other) if other is not None else input.to(*target, **given)


def _cast(name: str, calls: dict[str, Parameters], run: Callable[..., torch.Tensor]) -> Op:
    return elementwise(
        name,
        calls,
        run,
        _converted,
        {"input": lambda place: place.arriving},
        text=equation(lambda labels: labels["input"]),
        tex=latex(lambda labels: labels["input"]),
        flops=0,
    )


ROWS = (
    _cast(
        "to",
        {
            "to": ("input", "*target", "dtype", "device", "non_blocking", "copy", "memory_format"),
            "type_as": ("input", "other"),
        },
        _to,
    ),
    _cast("float", one_name("float", "input"), lambda input: input.float()),
    _cast("double", one_name("double", "input"), lambda input: input.double()),
    _cast("half", one_name("half", "input"), lambda input: input.half()),
    _cast("bfloat16", one_name("bfloat16", "input"), lambda input: input.bfloat16()),
    movement(
        "detach",
        one_name("detach", "input"),
        lambda input: input.detach(),
        no_gradient=lambda reader, role, index: True,
    ),
)
