from __future__ import annotations

import math

import pytest
import torch

from engine.ops.table import rows
from tests.engine.ops.one_step import assert_explains, one_step, values


def numbers(*given: object) -> torch.Tensor:
    return torch.tensor(given, dtype=torch.float64, requires_grad=True)


TABLE = ([1, 2, 4], [3, 5, 9])


def test_sum_and_mean_of_a_column() -> None:
    total = one_step(lambda x: x.sum(0), numbers(*TABLE), arriving=[[1, 2, 3]])
    assert [total.cell(i).value for i in range(3)] == [4, 7, 13]
    assert [leaf.index for leaf in total.cell(2).args] == [(0, 2), (1, 2)]
    assert total.grad_cell("input", 1, 2).value == 3
    mean = one_step(lambda x: x.mean(1, keepdim=True), numbers(*TABLE), arriving=[[[6], [9]]])
    assert mean.cell(0, 0).value == pytest.approx(7 / 3, abs=1e-15)
    assert mean.grad_cell("input", 1, 0).value == 3


def test_variance_of_four_numbers() -> None:
    step = one_step(lambda x: x.var(0), numbers(1, 2, 3, 6), arriving=[3.0])
    assert step.cell().value == pytest.approx((4 + 1 + 0 + 9) / 3, abs=1e-15)
    assert step.grad_cell("input", 3).value == pytest.approx(3 * 2 * 3 / 3, abs=1e-15)


def test_gradient_of_a_maximum_goes_to_the_largest() -> None:
    step = one_step(lambda x: x.max(dim=1), numbers(*TABLE), arriving=[[10, 20], [0, 0]])
    assert [step.cell(i).value for i in range(2)] == [4, 9]
    assert [step.grad_cell("input", 0, k).value for k in range(3)] == [0, 0, 10]


def test_tie_is_shared_by_amax_and_given_to_one_by_max_along_a_dimension() -> None:
    tied = numbers(2, 1, 2)
    shared = one_step(lambda x: x.amax(0), tied, arriving=[6.0])
    assert [shared.grad_cell("input", i).value for i in range(3)] == [3, 0, 3]
    whole = one_step(lambda x: x.max(), tied, arriving=[6.0])
    assert [whole.grad_cell("input", i).value for i in range(3)] == [3, 0, 3]
    along = one_step(lambda x: x.max(0), tied, arriving=[6.0, 0])
    assert sorted(along.grad_cell("input", i).value for i in range(3)) == [0, 0, 6]
    for step in (shared, whole, along):
        assert_explains(step)


@pytest.mark.parametrize("call", [torch.max, torch.min, torch.sum, torch.mean], ids=["max", "min", "sum", "mean"])
@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_flow_as_in_pytorch(call, special: float) -> None:
    assert_explains(one_step(call, numbers(1, special, 2, special)))


def test_long_sum_keeps_the_largest_and_an_exact_rest() -> None:
    step = one_step(torch.sum, torch.arange(1000.0))
    tree = step.cell(limit=4)
    assert tree.value == 499500
    assert [leaf.value for leaf in tree.args[:-1]] == [996, 997, 998, 999]
    assert (tree.args[-1].count, tree.args[-1].value) == (996, 499500 - 996 - 997 - 998 - 999)


def test_long_maximum_keeps_the_largest_and_the_largest_of_the_rest() -> None:
    tree = one_step(torch.max, torch.arange(1000.0)).cell(limit=2)
    assert (tree.kind, tree.value) == ("max", 999)
    assert [leaf.value for leaf in tree.args] == [998, 999, 997]
    assert tree.args[-1].count == 998


def test_mean_is_unmoved_by_the_order_of_its_cells() -> None:
    cells = values(6)
    straight = one_step(torch.mean, cells).cell().value
    assert one_step(torch.mean, cells.detach().flip(0)).cell().value == pytest.approx(straight, abs=1e-15)


def test_reduction_costs_one_operation_for_each_input_cell() -> None:
    assert rows()["sum"].flops({"input": (3, 4)}, (3,)) == 12
    assert rows()["max"].flops({"input": (3, 4)}, ()) == 12
    assert rows()["softmax"].flops({"input": (3, 4)}, (3, 4)) == 60


def test_dimension_out_of_range_raises() -> None:
    step = one_step(torch.sum, values(2, 2))
    step.step.attributes["dim"] = 2
    with pytest.raises(ValueError, match="dim must be from -2 to 1; got 2"):
        step.cell()
