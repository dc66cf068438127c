"""The optimisers: steps worked by hand, PyTorch's to the bit, and gone on with from their state."""

from __future__ import annotations

import math

import pytest
import torch

from engine.training.optimisers import SGD, Adam, Optimiser

KINDS = {
    "sgd": (lambda: SGD(), torch.optim.SGD, {}),
    "sgd, decay": (lambda: SGD(weight_decay=0.01), torch.optim.SGD, {"weight_decay": 0.01}),
    "momentum": (lambda: SGD(0.9), torch.optim.SGD, {"momentum": 0.9}),
    "momentum, decay": (lambda: SGD(0.8, 0.1), torch.optim.SGD, {"momentum": 0.8, "weight_decay": 0.1}),
    "adam": (lambda: Adam(), torch.optim.Adam, {}),
    "adam, decay": (lambda: Adam(0.01), torch.optim.Adam, {"weight_decay": 0.01}),
    "adam, betas": (lambda: Adam(0, (0.8, 0.95), 1e-6), torch.optim.Adam, {"betas": (0.8, 0.95), "eps": 1e-6}),
}


def path(optimiser: Optimiser, gradients: list[float], rate: float) -> list[float]:
    """Where a parameter that starts at 1 is after each gradient."""
    place, found = {"w": torch.tensor(1.0, dtype=torch.float64)}, []
    for gradient in gradients:
        optimiser.step(place, {"w": torch.tensor(gradient, dtype=torch.float64)}, rate)
        found.append(place["w"].item())
    return found


def test_sgd_steps_worked_by_hand():
    assert path(SGD(), [2, -1], 0.25) == [0.5, 0.75]


def test_momentum_steps_worked_by_hand():
    # v = 2, then 0.5 * 2 - 1 = 0, then 0.5 * 0 + 4 = 4
    assert path(SGD(0.5), [2, -1, 4], 0.25) == [0.5, 0.5, -0.5]


def test_adam_steps_worked_by_hand():
    # with β of a half m is g/2, then m/2 + g/2, and v the same of g²; they are divided by 1/2, then by 3/4
    optimiser = Adam(0, (0.5, 0.5), 0)
    m, v = (0.25 * 2 + 0.5 * -1) / 0.75, (0.25 * 4 + 0.5 * 1) / 0.75
    assert path(optimiser, [2, -1], 0.25) == pytest.approx([0.75, 0.75 - 0.25 * m / math.sqrt(v)], rel=1e-12)


def test_weight_decay_is_a_gradient_of_its_own():
    assert path(SGD(weight_decay=0.5), [0, 0], 1) == [0.5, 0.25]


@pytest.mark.parametrize("kind", KINDS)
def test_it_goes_where_pytorch_s_goes_to_the_bit(kind):
    ours, theirs, settings = KINDS[kind]
    start = {"weight": torch.randn(16, 37), "bias": torch.randn(16), "one": torch.randn(())}
    mine = {name: value.clone() for name, value in start.items()}
    other = {name: torch.nn.Parameter(value.clone()) for name, value in start.items()}
    optimiser, expected = ours(), theirs(other.values(), lr=0.1, **settings)
    for step in range(50):
        rate = 0.1 / (step + 1)
        expected.param_groups[0]["lr"] = rate
        gradients = {name: torch.randn(value.shape) for name, value in start.items()}
        for name, parameter in other.items():
            parameter.grad = gradients[name].clone()
        expected.step()
        optimiser.step(mine, gradients, rate)
        assert all(torch.equal(mine[name], other[name]) for name in start), step


@pytest.mark.parametrize("kind", KINDS)
def test_gone_on_with_from_a_state_the_rest_is_the_same(kind):
    make = KINDS[kind][0]
    first, second = make(), make()
    place = {"w": torch.randn(5)}
    gradients = torch.randn(6, 5)
    for gradient in gradients[:3]:
        first.step(place, {"w": gradient}, 0.1)
    state, there = first.state(), {"w": place["w"].clone()}
    for gradient in gradients[3:]:
        first.step(place, {"w": gradient}, 0.1)
    second.resume(state)
    for gradient in gradients[3:]:
        second.step(there, {"w": gradient}, 0.1)
    assert torch.equal(place["w"], there["w"])


def test_gradients_are_left_as_they_were():
    gradient = torch.ones(3)
    for make, _, _ in KINDS.values():
        optimiser = make()
        for _ in range(2):
            optimiser.step({"w": torch.zeros(3)}, {"w": gradient}, 0.1)
    assert gradient.tolist() == [1, 1, 1]
