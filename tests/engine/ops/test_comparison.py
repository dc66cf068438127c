"""Comparisons give 1 or 0, cell by cell, under broadcasting, and no gradient."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tests.engine.ops.one_step import assert_explains, one_step, values

FORMS: dict[str, tuple[Callable, list[float]]] = {
    "a > b": (lambda a, b: a > b, [0, 0, 1]),
    "a >= b": (lambda a, b: a >= b, [0, 1, 1]),
    "a < b": (lambda a, b: a < b, [1, 0, 0]),
    "a <= b": (lambda a, b: a <= b, [1, 1, 0]),
    "a == b": (lambda a, b: a == b, [0, 1, 0]),
    "a != b": (lambda a, b: a != b, [1, 0, 1]),
    "torch.greater": (torch.greater, [0, 0, 1]),
    "torch.less_equal": (torch.less_equal, [1, 1, 0]),
}


@pytest.mark.parametrize("form", FORMS)
def test_comparison_says_where_it_holds(form: str) -> None:
    call, expected = FORMS[form]
    step = one_step(call, torch.tensor([1.0, 2.0, 3.0]), torch.tensor(2.0))
    assert [step.cell(i).value for i in range(3)] == expected
    assert_explains(step)
    assert_explains(one_step(call, values(3, 1), values(2)))


def test_number_may_stand_on_the_right() -> None:
    step = one_step(lambda a: a < 2, torch.tensor([1.0, 3.0]))
    assert [step.cell(i).value for i in range(2)] == [1, 0]
    assert [leaf.value for leaf in step.cell(0).args] == [1, 2]


def test_no_gradient_flows() -> None:
    step = one_step(lambda a, b: a > b, values(2), values(2))
    assert step.sent == {}
    with pytest.raises(ValueError, match="got 'input'"):
        step.grad_cell("input", 0)
