from __future__ import annotations

import pytest
import torch

from tests.engine.ops.one_step import assert_explains, one_step, values


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.to(torch.float32),
        lambda x: x.to(dtype=torch.float32),
        lambda x: x.to("cpu", torch.float32),
        lambda x: x.float(),
        lambda x: x.half(),
        lambda x: x.bfloat16(),
    ],
)
def test_rounding_to_fewer_digits_is_within_the_dtypes_precision(call) -> None:
    assert_explains(one_step(call, values(2, 3)), tolerance=1e-2)


def test_cast_to_more_digits_keeps_every_number() -> None:
    step = one_step(lambda x: x.double(), torch.tensor([0.1, 1.5], requires_grad=True), arriving=[[2.0, 3.0]])
    assert step.cell(0).value == torch.tensor(0.1).item()
    assert step.grad_cell("input", 1).value == 3


def test_cast_to_the_dtype_of_another_tensor_reads_only_the_first() -> None:
    assert_explains(one_step(lambda x, y: x.type_as(y), values(3), torch.zeros(1, dtype=torch.float64)))
    assert_explains(one_step(lambda x, y: x.to(y), values(3), torch.zeros(1, dtype=torch.float64)))


def test_cast_to_integers_drops_the_fraction_and_to_bool_asks_for_zero() -> None:
    numbers = torch.tensor([-1.75, 0.0, 2.5], dtype=torch.float64)
    whole = one_step(lambda x: x.to(torch.long), numbers)
    assert [whole.cell(i).value for i in range(3)] == [-1, 0, 2]
    truth = one_step(lambda x: x.to(torch.bool), numbers)
    assert [truth.cell(i).value for i in range(3)] == [1, 0, 1]


def test_detached_number_sends_nothing_back() -> None:
    step = one_step(lambda x: x.detach(), values(2))
    assert step.cell(1).tensor == "input"
    assert step.grad_cell("input", 1).value == 0


def test_role_without_a_gradient_raises() -> None:
    with pytest.raises(ValueError, match="to sends a gradient to input; got 'other'"):
        one_step(lambda x, y: x.type_as(y), values(1), values(1)).grad_cell("other", 0)
