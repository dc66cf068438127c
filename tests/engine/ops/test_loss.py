from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from engine.expression import leaves
from tests.engine.ops.one_step import assert_explains, one_step, values

REDUCTIONS = ["mean", "sum", "none"]


def numbers(*given: object) -> torch.Tensor:
    return torch.tensor(given, dtype=torch.float64, requires_grad=True)


def test_mean_squared_error_of_three_numbers() -> None:
    step = one_step(F.mse_loss, numbers(1, 2, 3), numbers(0, 4, 3), arriving=[1.0])
    assert step.cell().value == pytest.approx((1 + 4 + 0) / 3, abs=1e-15)
    assert step.grad_cell("input", 1).value == pytest.approx(2 * (2 - 4) / 3, abs=1e-15)
    assert step.grad_cell("target", 1).value == pytest.approx(4 / 3, abs=1e-15)
    assert step.cell().args[1].label == "n"


def test_cross_entropy_of_three_scores() -> None:
    scores = numbers(math.log(1), math.log(2), math.log(5))
    step = one_step(F.cross_entropy, scores, torch.tensor(1), arriving=[1.0])
    assert step.cell().value == pytest.approx(math.log(8 / 2), abs=1e-14)
    shares = [step.grad_cell("input", k).value for k in range(3)]
    assert shares == pytest.approx([1 / 8, 2 / 8 - 1, 5 / 8], abs=1e-14)
    assert {leaf.tensor for leaf in leaves(step.cell())} == {"input"}


def test_cross_entropy_of_two_examples_is_their_mean() -> None:
    scores = numbers([0.0, math.log(3)], [math.log(4), 0.0])
    step = one_step(F.cross_entropy, scores, torch.tensor([1, 1]), arriving=[1.0])
    assert step.cell().value == pytest.approx((math.log(4 / 3) + math.log(5)) / 2, abs=1e-14)
    assert step.grad_cell("input", 1, 0).value == pytest.approx(0.8 / 2, abs=1e-14)


def test_negative_log_likelihood_reads_the_targets() -> None:
    step = one_step(F.nll_loss, numbers([-1.0, -2.0], [-3.0, -4.0]), torch.tensor([1, 0]), arriving=[1.0])
    assert step.cell().value == (2 + 3) / 2
    assert [step.grad_cell("input", 0, k).value for k in range(2)] == [0, -0.5]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(), (4,), (2, 3)], ids=str)
def test_mse_loss_agrees_with_autograd(shape: tuple[int, ...], reduction: str) -> None:
    assert_explains(one_step(lambda x, t: F.mse_loss(x, t, reduction=reduction), values(*shape), values(*shape)))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_weighted_mse_loss_agrees_with_autograd(reduction: str) -> None:
    weight = torch.tensor([1.0, 0.5, 2.0], dtype=torch.float64)
    call = lambda x, t, w: F.mse_loss(x, t, reduction=reduction, weight=w)  # noqa: E731
    assert_explains(one_step(call, values(3), values(3), weight))


@pytest.mark.filterwarnings("ignore:Using a target size")
def test_mse_loss_of_broadcast_shapes_agrees_with_autograd() -> None:
    assert_explains(one_step(F.mse_loss, values(2, 3), values(3)))
    assert_explains(one_step(F.mse_loss, values(2, 1), values(2, 3)))


@pytest.mark.filterwarnings("ignore:size_average and reduce args will be deprecated")
@pytest.mark.parametrize("older", [{"size_average": False}, {"reduce": False}, {"size_average": True}], ids=str)
def test_older_switches_mean_the_same_reduction(older: dict[str, bool]) -> None:
    assert_explains(one_step(lambda x, t: F.mse_loss(x, t, **older), values(3), values(3)))
    assert_explains(one_step(lambda x, t: F.cross_entropy(x, t, **older), values(2, 3), torch.tensor([0, 2])))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("shape", "target"),
    [((3,), 1), ((4, 3), [0, 2, 1, 2]), ((2, 3, 2), [[0, 2], [1, 0]]), ((2, 3), [0, -100])],
    ids=str,
)
def test_cross_entropy_of_classes_agrees_with_autograd(
    shape: tuple[int, ...], target: object, weighted: bool, smoothing: float, reduction: str
) -> None:
    weight = torch.tensor([0.5, 1.0, 3.0], dtype=torch.float64) if weighted else None
    call = lambda x, t, w=None: F.cross_entropy(x, t, w, reduction=reduction, label_smoothing=smoothing)  # noqa: E731
    assert_explains(one_step(call, values(*shape), torch.tensor(target), *([weight] if weighted else [])))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 3, 2)], ids=str)
def test_cross_entropy_of_probabilities_agrees_with_autograd(
    shape: tuple[int, ...], weighted: bool, smoothing: float, reduction: str
) -> None:
    weight = torch.tensor([0.5, 1.0, 3.0], dtype=torch.float64) if weighted else None
    target = torch.rand(shape, dtype=torch.float64, requires_grad=True)
    call = lambda x, t, w=None: F.cross_entropy(x, t, w, reduction=reduction, label_smoothing=smoothing)  # noqa: E731
    assert_explains(one_step(call, values(*shape), target, *([weight] if weighted else [])))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("shape", "target"), [((3,), 2), ((4, 3), [0, 2, 7, 2]), ((2, 3, 2), [[0, 7], [1, 0]])], ids=str
)
def test_nll_loss_agrees_with_autograd(shape: tuple[int, ...], target: object, weighted: bool, reduction: str) -> None:
    weight = torch.tensor([0.5, 1.0, 3.0], dtype=torch.float64) if weighted else None
    call = lambda x, t, w=None: F.nll_loss(x, t, w, ignore_index=7, reduction=reduction)  # noqa: E731
    assert_explains(one_step(call, values(*shape), torch.tensor(target), *([weight] if weighted else [])))


def test_mean_over_only_ignored_examples_is_nan() -> None:
    step = one_step(F.cross_entropy, values(1, 3), torch.tensor([-100]))
    assert math.isnan(step.cell().value)
    assert math.isnan(step.outputs[0].item())


def test_cross_entropy_does_not_change_when_all_scores_shift() -> None:
    scores = torch.tensor([[1.0, -2.0, 0.5]], dtype=torch.float64)
    target = torch.tensor([2])
    plain = one_step(F.cross_entropy, scores, target).cell().value
    assert one_step(F.cross_entropy, scores + 100, target).cell().value == pytest.approx(plain, abs=1e-12)
    assert one_step(F.cross_entropy, scores + 5000, target).cell().value == pytest.approx(plain, abs=1e-12)


def test_masked_class_costs_nothing_and_gets_no_gradient() -> None:
    scores = numbers([0.0, -math.inf, math.log(3)])
    step = one_step(F.cross_entropy, scores, torch.tensor([2]), arriving=[1.0])
    assert step.cell().value == pytest.approx(math.log(4 / 3), abs=1e-14)
    assert step.grad_cell("input", 0, 1).value == 0


def test_long_vocabulary_is_cut_with_an_exact_rest() -> None:
    scores = torch.zeros(1, 1000, dtype=torch.float64, requires_grad=True)
    step = one_step(F.cross_entropy, scores, torch.tensor([3]), arriving=[1.0])
    assert step.cell(limit=5).value == pytest.approx(math.log(1000), abs=1e-12)
    assert len(leaves(step.cell(limit=5))) == 6


@pytest.mark.parametrize("call", [F.mse_loss, F.cross_entropy, F.nll_loss])
def test_role_without_a_gradient_raises(call) -> None:
    target = values(2, 3) if call is F.mse_loss else torch.tensor([0, 1])
    step = one_step(call, values(2, 3), target)
    with pytest.raises(ValueError, match="sends a gradient to input"):
        step.grad_cell("weight", 0)
