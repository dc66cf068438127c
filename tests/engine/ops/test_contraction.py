from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from engine.expression import leaves
from engine.ops.table import rows
from tests.engine.ops.one_step import assert_explains, one_step, values

WEIGHT = torch.tensor([[1.0, -1.0], [0.5, 1.0], [-1.0, 2.0]], requires_grad=True)
BIAS = torch.tensor([0.0, 1.0, 0.5], requires_grad=True)


def test_first_unit_of_the_tiny_network_is_its_two_products_and_its_bias() -> None:
    step = one_step(F.linear, torch.tensor([2.0, -1.0], requires_grad=True), WEIGHT, BIAS)
    tree = step.cell(0)
    assert tree.kind == "sum"
    assert tree.value == 3
    assert [term.value for term in tree.args] == [2, 1, 0]
    assert [leaf.value for leaf in leaves(tree)] == [1, 2, -1, -1, 0]
    assert [step.cell(unit).value for unit in range(3)] == [3, 1, -3.5]


def test_gradients_of_the_tiny_networks_first_layer() -> None:
    step = one_step(F.linear, torch.tensor([2.0, -1.0], requires_grad=True), WEIGHT, BIAS, arriving=[[3.0, -1.5, 0.0]])
    got = [[step.grad_cell("weight", unit, k).value for k in range(2)] for unit in range(3)]
    assert got == [[6, -3], [-3, 1.5], [0, 0]]
    assert [step.grad_cell("bias", unit).value for unit in range(3)] == [3, -1.5, 0]
    assert step.grad_cell("input", 0).value == 3 * 1 - 1.5 * 0.5
    assert [leaf.tensor for leaf in leaves(step.grad_cell("weight", 0, 0))] == ["grad.out.0", "input"]


def test_weight_gradient_sums_over_the_examples() -> None:
    inputs = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    weight = torch.tensor([[1.0, 1.0]], requires_grad=True)
    step = one_step(F.linear, inputs, weight, arriving=[[[10.0], [100.0]]])
    tree = step.grad_cell("weight", 0, 1)
    assert tree.value == 10 * 2 + 100 * 4
    assert [term.value for term in tree.args] == [20, 400]


def test_matrix_product_of_two_by_two() -> None:
    left = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    right = torch.tensor([[5.0, 6.0], [7.0, 8.0]], requires_grad=True)
    step = one_step(torch.matmul, left, right, arriving=[[[1.0, 2.0], [3.0, 4.0]]])
    assert step.cell(1, 0).value == 3 * 5 + 4 * 7
    assert step.grad_cell("input", 0, 1).value == 1 * 7 + 2 * 8
    assert step.grad_cell("other", 1, 0).value == 1 * 2 + 3 * 4


def test_addmm_scales_both_sides() -> None:
    added = torch.tensor([10.0], requires_grad=True)
    step = one_step(
        lambda a, x, y: torch.addmm(a, x, y, beta=0.5, alpha=2),
        added,
        torch.tensor([[1.0, 2.0]], requires_grad=True),
        torch.tensor([[3.0], [4.0]], requires_grad=True),
        arriving=[[[1.0]]],
    )
    assert step.cell(0, 0).value == 2 * (3 + 8) + 5
    assert step.grad_cell("input", 0).value == 0.5
    assert step.grad_cell("mat1", 0, 1).value == 8


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows_shape", [(), (4,), (2, 3)])
def test_linear_agrees_with_autograd(rows_shape: tuple[int, ...], bias: bool) -> None:
    assert_explains(one_step(F.linear, values(*rows_shape, 3), values(2, 3), *([values(2)] if bias else [])))


def test_linear_with_one_flat_weight_agrees_with_autograd() -> None:
    assert_explains(one_step(F.linear, values(4, 3), values(3)))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)),
        ((5, 2, 3), (3,)),
        ((3,), (5, 3, 2)),
        ((2, 1, 2, 3), (4, 3, 2)),
        ((0, 3), (3, 2)),
    ],
    ids=str,
)
@pytest.mark.parametrize("form", [torch.matmul, lambda x, y: x @ y, lambda x, y: y.__rmatmul__(x)], ids=["f", "@", "r"])
def test_matmul_agrees_with_autograd(form, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    assert_explains(one_step(form, values(*left), values(*right)))


@pytest.mark.parametrize(
    ("call", "left", "right"),
    [
        (torch.mm, (2, 3), (3, 2)),
        (lambda x, y: torch.mm(x, mat2=y), (2, 3), (3, 2)),
        (torch.bmm, (2, 2, 3), (2, 3, 2)),
        (torch.mv, (2, 3), (3,)),
        (torch.dot, (3,), (3,)),
    ],
    ids=["mm", "mm keyword", "bmm", "mv", "dot"],
)
def test_named_product_agrees_with_autograd(call, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    assert_explains(one_step(call, values(*left), values(*right)))


@pytest.mark.parametrize("added", [(), (4,), (2, 1), (2, 4)], ids=str)
def test_addmm_agrees_with_autograd(added: tuple[int, ...]) -> None:
    call = lambda a, x, y: torch.addmm(a, x, y, beta=0.5, alpha=-2)  # noqa: E731
    assert_explains(one_step(call, values(*added), values(2, 3), values(3, 4)))


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.integers(0, 10**6))
def test_product_of_any_sizes_agrees_with_autograd(m: int, k: int, n: int, seed: int) -> None:
    torch.manual_seed(seed)
    assert_explains(one_step(torch.matmul, values(m, k), values(k, n)))


def test_linear_is_equivariant_to_the_order_of_examples() -> None:
    inputs, weight, bias = values(3, 2), values(4, 2), values(4)
    order = [2, 0, 1]
    straight = one_step(F.linear, inputs, weight, bias)
    shuffled = one_step(F.linear, inputs[order].detach(), weight, bias)
    for row, source in enumerate(order):
        assert shuffled.cell(row, 1).value == straight.cell(source, 1).value


def test_long_product_keeps_the_largest_terms_the_bias_and_an_exact_rest() -> None:
    weight = torch.arange(1.0, 11.0).reshape(1, 10)
    step = one_step(F.linear, torch.ones(10), weight, torch.tensor([0.25]))
    tree = step.cell(0, limit=3)
    assert tree.value == 55.25
    assert [term.kind for term in tree.args] == ["product", "product", "product", "rest", "ref"]
    assert [term.value for term in tree.args] == [8, 9, 10, 28, 0.25]
    assert tree.args[3].count == 7


def test_first_layer_of_two_inputs_and_three_units_costs_15() -> None:
    shapes = {"input": (2,), "weight": (3, 2), "bias": (3,)}
    assert rows()["linear"].flops(shapes, (3,)) == 2 * 2 * 3 + 3
    assert rows()["matmul"].flops({"input": (4, 5), "other": (5, 6)}, (4, 6)) == 2 * 4 * 5 * 6
    assert rows()["addmm"].flops({"input": (6,), "mat1": (4, 5), "mat2": (5, 6)}, (4, 6)) == 2 * 4 * 5 * 6 + 24


@pytest.mark.parametrize("name", ["linear", "matmul", "addmm"])
def test_unknown_role_raises(name: str) -> None:
    calls = {
        "linear": (F.linear, values(2), values(3, 2)),
        "matmul": (torch.matmul, values(2), values(2)),
        "addmm": (torch.addmm, values(2), values(2, 3), values(3, 2)),
    }
    call, *tensors = calls[name]
    with pytest.raises(ValueError, match=r"sends a gradient to .*; got 'gain'"):
        one_step(call, *tensors).grad_cell("gain", 0)


def test_gradient_without_a_path_to_the_loss_raises() -> None:
    step = one_step(F.linear, torch.ones(2), torch.ones(3, 2))
    with pytest.raises(ValueError, match="no path"):
        step.grad_cell("weight", 0, 0)
