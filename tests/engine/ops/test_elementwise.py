from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from engine.expression import leaves
from tests.engine.ops.one_step import assert_explains, one_step, values


def numbers(*given: object) -> torch.Tensor:
    return torch.tensor(given, dtype=torch.float64, requires_grad=True)


def test_relu_cuts_below_zero_and_its_gradient_is_a_gate() -> None:
    step = one_step(F.relu, numbers(3, 1, -3.5, 0), arriving=[[3, -1.5, 1.5, 7]])
    assert [step.cell(i).value for i in range(4)] == [3, 1, 0, 0]
    assert [step.grad_cell("input", i).value for i in range(4)] == [3, -1.5, 0, 0]
    gate = step.grad_cell("input", 2).args[1]
    assert (gate.kind, gate.args[0].label, gate.value) == ("select", ">", 0)


def test_hand_worked_values_and_gradients() -> None:
    half = one_step(torch.sigmoid, numbers(0, math.log(3)), arriving=[[8, 16]])
    assert [half.cell(i).value for i in range(2)] == pytest.approx([0.5, 0.75], abs=1e-15)
    assert [half.grad_cell("input", i).value for i in range(2)] == pytest.approx([2, 3], abs=1e-14)
    power = one_step(lambda x: x**3, numbers(2, -3), arriving=[[1, 2]])
    assert [power.cell(i).value for i in range(2)] == [8, -27]
    assert [power.grad_cell("input", i).value for i in range(2)] == [12, 54]
    quotient = one_step(torch.div, numbers(6, 1), numbers(3, 4), arriving=[[1, 8]])
    assert [quotient.cell(i).value for i in range(2)] == [2, 0.25]
    assert [quotient.grad_cell("other", i).value for i in range(2)] == pytest.approx([-6 / 9, -0.5], abs=1e-15)
    tanh = one_step(torch.tanh, numbers(math.log(2)), arriving=[[25]])
    assert tanh.cell(0).value == pytest.approx(0.6, abs=1e-15)
    assert tanh.grad_cell("input", 0).value == pytest.approx(25 * 0.64, abs=1e-13)


@pytest.mark.parametrize(
    ("call", "at", "value", "slope"),
    [
        (F.gelu, 1.0, 0.8413447460685429, 1.0833154705876864),
        (lambda x: F.gelu(x, approximate="tanh"), 1.0, 0.8411919906082768, 1.0829640838457826),
        (F.silu, math.log(3), 0.75 * math.log(3), 0.75 * (1 + 0.25 * math.log(3))),
        (torch.exp, math.log(3), 3.0, 3.0),
        (torch.log, 4.0, math.log(4), 0.25),
        (torch.sqrt, 4.0, 2.0, 0.25),
        (torch.rsqrt, 4.0, 0.5, -1 / 16),
        (torch.sin, math.pi / 6, 0.5, math.sqrt(3) / 2),
        (torch.cos, math.pi / 3, 0.5, -math.sqrt(3) / 2),
        (torch.abs, -2.5, 2.5, -1.0),
        (torch.square, -3.0, 9.0, -6.0),
        (lambda x: 2**x, 3.0, 8.0, 8 * math.log(2)),
        (lambda x: 2 - x, 5.0, -3.0, -1.0),
        (lambda x: x.clamp(-1, 1), 0.25, 0.25, 1.0),
        (lambda x: x.clamp(-1, 1), 1.5, 1.0, 0.0),
        (lambda x: F.leaky_relu(x, 0.25), -2.0, -0.5, 0.25),
    ],
)
def test_function_at_a_known_point(call, at: float, value: float, slope: float) -> None:
    step = one_step(call, numbers(at), arriving=[[2.0]])
    assert step.cell(0).value == pytest.approx(value, abs=1e-14)
    (role,) = step.roles
    assert step.grad_cell(role, 0).value == pytest.approx(2 * slope, abs=1e-14)


def test_scaled_sum_sends_the_scale_to_the_other_side() -> None:
    step = one_step(lambda x, y: torch.add(x, y, alpha=3), numbers(1, 2), numbers(10, 20), arriving=[[1, 1]])
    assert step.cell(1).value == 62
    assert step.grad_cell("other", 1).value == 3


def test_broadcast_operand_gets_the_sum_over_the_cells_it_fed() -> None:
    step = one_step(torch.mul, numbers([1, 2], [3, 4]), numbers(10, 20), arriving=[[[1, 2], [3, 4]]])
    tree = step.grad_cell("other", 1)
    assert tree.value == 2 * 2 + 4 * 4
    assert [leaf.index for leaf in leaves(tree)] == [(0, 1), (0, 1), (1, 1), (1, 1)]


def test_tie_of_two_maxima_is_shared_by_halves() -> None:
    step = one_step(torch.maximum, numbers(1, 2), numbers(1, 5), arriving=[[8, 8]])
    assert [step.grad_cell("input", i).value for i in range(2)] == [4, 0]
    assert [step.grad_cell("other", i).value for i in range(2)] == [4, 8]


def test_masked_score_is_a_choice_and_sends_nothing_back() -> None:
    mask = torch.tensor([False, True])
    step = one_step(lambda x: x.masked_fill(mask, -math.inf), numbers(1, 2), arriving=[[3, math.nan]])
    assert [step.cell(i).value for i in range(2)] == [1, -math.inf]
    assert [step.grad_cell("input", i).value for i in range(2)] == [3, 0]


SOME = torch.tensor([True, False, False, True, False, True, False])
SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("arriving", [1.0, math.inf, math.nan])
@pytest.mark.parametrize(
    "call",
    [
        F.relu,
        F.leaky_relu,
        torch.abs,
        torch.exp,
        torch.tanh,
        torch.sigmoid,
        torch.square,
        torch.neg,
        torch.sin,
        lambda x: x.clamp(-1, 1),
        lambda x: 1 / x,
        lambda x: x + 1,
        lambda x: x**2,
        lambda x: x**-1,
        lambda x: x**0.5,
        lambda x: x**-2,
        lambda x: x.masked_fill(SOME, 0.0),
    ],
)
def test_nan_and_infinity_flow_as_in_pytorch(call, arriving: float) -> None:
    assert_explains(one_step(call, numbers(*SPECIAL), arriving=[[arriving] * len(SPECIAL)]))


@pytest.mark.parametrize("call", [torch.maximum, torch.minimum, torch.add, torch.mul, torch.div, torch.where])
def test_pairs_of_nan_and_infinity_flow_as_in_pytorch(call) -> None:
    left, right = numbers(*[x for x in SPECIAL for _ in SPECIAL]), numbers(*SPECIAL * len(SPECIAL))
    if call is torch.where:
        assert_explains(one_step(call, left.detach() > 0, left, right))
    else:
        assert_explains(one_step(call, left, right))


def test_power_of_zero_has_the_gradients_of_pytorch() -> None:
    assert_explains(one_step(torch.pow, numbers(0, 0, 0, 2), numbers(0, 1, 2, 0)))
    assert_explains(one_step(lambda y: torch.pow(0, y), numbers(0, 1, 2)))


def test_clamp_between_tensors_sends_to_the_bound_that_holds() -> None:
    step = one_step(torch.clamp, numbers(0, 5, -5), numbers(-1, -1, -1), numbers(1, 1, 1), arriving=[[1, 2, 3]])
    assert [step.cell(i).value for i in range(3)] == [0, 1, -1]
    got = {role: [step.grad_cell(role, i).value for i in range(3)] for role in ("input", "min", "max")}
    assert got == {"input": [1, 0, 0], "min": [0, 0, 3], "max": [0, 2, 0]}


def test_gelu_approximation_stays_near_the_exact_one() -> None:
    inputs = values(50)
    exact = one_step(F.gelu, inputs)
    near = one_step(lambda x: F.gelu(x, approximate="tanh"), inputs)
    assert max(abs(exact.cell(i).value - near.cell(i).value) for i in range(50)) < 1e-3


def test_condition_sends_no_gradient() -> None:
    step = one_step(torch.where, torch.tensor([True]), values(1), values(1))
    with pytest.raises(ValueError, match="where sends a gradient to input, other; got 'condition'"):
        step.grad_cell("condition", 0)


def test_where_with_the_condition_alone_is_not_described() -> None:
    with pytest.raises(TypeError, match="where of where"):
        one_step(torch.where, torch.tensor([True, False]))
