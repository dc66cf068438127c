"""Rows: two numbers compared: 1 where it holds, else 0. No gradient flows through a comparison."""

from __future__ import annotations

from collections.abc import Callable

import torch

from engine import expression as ex
from engine.ops.elementwise import elementwise
from engine.ops.notation import equation, grouped, latex, operand
from engine.ops.table import Labels, Op


def _comparison(name: str, long_name: str, sign: str, command: str, run: Callable[..., torch.Tensor]) -> Op:
    def written(between: str) -> Callable[[Labels], str]:
        return lambda labels: f"[{operand(labels, 'input')} {between} {grouped(operand(labels, 'other'))}]"

    return elementwise(
        name,
        dict.fromkeys(filter(None, (name, long_name)), ("input", "other")),
        lambda input, other: run(input, other),
        lambda place: ex.compare(place("input"), sign, place("other")),
        {},
        text=equation(written(sign)),
        tex=latex(written(command)),
    )


ROWS = (
    _comparison("gt", "greater", ">", ">", torch.gt),
    _comparison("ge", "greater_equal", ">=", r"\ge", torch.ge),
    _comparison("lt", "less", "<", "<", torch.lt),
    _comparison("le", "less_equal", "<=", r"\le", torch.le),
    _comparison("eq", "", "==", "=", torch.eq),
    _comparison("ne", "not_equal", "!=", r"\ne", torch.ne),
)
