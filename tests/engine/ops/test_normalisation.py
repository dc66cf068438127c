from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from engine.expression import leaves
from tests.engine.ops.one_step import assert_explains, one_step, values

SCORES = [math.log(1), math.log(2), math.log(5)]


def test_softmax_of_three_scores() -> None:
    step = one_step(lambda x: F.softmax(x, dim=0), torch.tensor(SCORES, dtype=torch.float64), arriving=None)
    assert [step.cell(i).value for i in range(3)] == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=1e-15)
    tree = step.cell(1)
    assert tree.kind == "quotient"
    assert [term.kind for term in tree.args[1].args] == ["exp", "exp", "exp"]


def test_softmax_gradient_is_share_times_distance_from_the_mean_gradient() -> None:
    scores = torch.tensor(SCORES, dtype=torch.float64, requires_grad=True)
    step = one_step(lambda x: F.softmax(x, dim=0), scores, arriving=[[8.0, 0.0, 16.0]])
    mean = 8 * 1 / 8 + 16 * 5 / 8
    got = [step.grad_cell("input", i).value for i in range(3)]
    assert got == pytest.approx([(8 - mean) / 8, -mean * 2 / 8, (16 - mean) * 5 / 8], abs=1e-14)


def test_log_softmax_and_logsumexp_of_three_scores() -> None:
    scores = torch.tensor(SCORES, dtype=torch.float64, requires_grad=True)
    assert one_step(lambda x: F.log_softmax(x, 0), scores).cell(2).value == pytest.approx(math.log(5 / 8), abs=1e-15)
    step = one_step(lambda x: torch.logsumexp(x, 0), scores, arriving=[2.0])
    assert step.cell().value == pytest.approx(math.log(8), abs=1e-15)
    assert step.grad_cell("input", 1).value == pytest.approx(2 * 2 / 8, abs=1e-15)


@given(st.lists(st.floats(-1000, 1000), min_size=1, max_size=6))
def test_softmax_rows_sum_to_one(scores: list[float]) -> None:
    step = one_step(lambda x: F.softmax(x, dim=-1), torch.tensor(scores, dtype=torch.float64))
    assert math.fsum(step.cell(i).value for i in range(len(scores))) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("shift", [3.0, -700.0, 5000.0, -5000.0])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_shift_of_all_scores_changes_nothing(name: str, shift: float) -> None:
    scores = torch.tensor(SCORES, dtype=torch.float64)
    plain = one_step(lambda x: getattr(x, name)(0), scores)
    shifted = one_step(lambda x: getattr(x, name)(0), scores + shift)
    for i in range(3):
        assert shifted.cell(i).value == pytest.approx(plain.cell(i).value, abs=1e-12)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
@pytest.mark.parametrize(
    "scores",
    [
        [0.0, -math.inf, 1.0],
        [1000.0, 0.0, 999.0],
        [-3.4e38, -3.4e38, -3.4e38],
        [math.nan, 0.0, 1.0],
        [math.inf, 0.0, 1.0],
        [-math.inf, -math.inf, -math.inf],
        [-2000.0, -math.inf, -2001.0],
    ],
    ids=str,
)
def test_extreme_scores_give_what_pytorch_gives(name: str, scores: list[float]) -> None:
    tensor = torch.tensor(scores, dtype=torch.float64)
    step = one_step(lambda x: getattr(x, name)(0), tensor)
    assert_explains(step)


def test_masked_score_gets_exactly_nothing() -> None:
    scores = torch.tensor([[1.0, -math.inf], [2.0, 1.0]], dtype=torch.float64, requires_grad=True)
    step = one_step(lambda x: x.softmax(1), scores)
    assert step.cell(0, 1).value == 0
    assert step.cell(0, 0).value == 1
    assert step.grad_cell("input", 0, 1).value == 0


@pytest.mark.filterwarnings("ignore:Implicit dimension choice")
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 2)], ids=str)
def test_softmax_without_a_dimension_takes_pytorchs_choice(shape: tuple[int, ...]) -> None:
    assert_explains(one_step(F.softmax, values(*shape)))


def test_softmax_of_a_scalar_is_one() -> None:
    assert_explains(one_step(lambda x: F.softmax(x, dim=0), values()))


def test_dtype_of_softmax_is_kept() -> None:
    step = one_step(lambda x: F.softmax(x, dim=-1, dtype=torch.float64), torch.tensor([0.5, 0.25]))
    assert_explains(step)


def test_long_denominator_is_cut_with_an_exact_rest() -> None:
    step = one_step(lambda x: x.softmax(0), torch.zeros(1000, dtype=torch.float64))
    tree = step.cell(7, limit=4)
    assert tree.value == pytest.approx(1e-3, abs=1e-18)
    assert tree.args[1].args[-1].count == 996
    assert len(leaves(tree)) == 5


def test_gradient_without_a_path_to_the_loss_raises() -> None:
    step = one_step(lambda x: x.softmax(0), torch.zeros(3))
    with pytest.raises(ValueError, match="no path"):
        step.grad_cell("input", 0)
