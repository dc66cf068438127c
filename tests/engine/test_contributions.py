"""What steps send is the same asked one by one or many at once, and the check of it says how far it is off."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

import engine
from engine import contributions
from engine.contributions import Contribution, residual
from engine.entry import Entry


def written_through_a_view(x: torch.Tensor) -> torch.Tensor:
    y = x.sin()
    y[0] *= x[1]
    return (y * y).sum() + y[1]


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 3), nn.GELU(), nn.Dropout(0.5), nn.Linear(3, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return written_through_a_view(self.layers(x) + x)


@pytest.mark.parametrize("at_once", [0, 8])
def test_what_is_sent_does_not_depend_on_how_much_is_asked_at_once(monkeypatch, at_once):
    module, x = Network(), torch.tensor([1.0, -2.0, 0.5])
    together = engine.trace(module, x, seed=3)
    monkeypatch.setattr(contributions, "_CELLS_AT_ONCE", at_once)
    apart = engine.trace(module, x, seed=3)
    assert [step.sends for step in together.steps] == [step.sends for step in apart.steps]
    assert [step.forward for step in together.steps if step.sends] == sorted(
        (step.forward for step in together.steps if step.sends), reverse=True
    )
    for name, record in together.tensors.items():
        assert torch.equal(record.value, apart[name]), name
    assert together.result["check"]["max_residual"] == apart.result["check"]["max_residual"] < 1e-6


def test_gradients_do_not_depend_on_whether_parts_are_computed():
    module, x = Network(), torch.tensor([1.0, -2.0, 0.5])
    whole, without = (engine.trace(module, x, seed=3, parts=parts) for parts in (True, False))
    assert without.tensors.keys() == {name for name in whole.tensors if "@" not in name}
    for name, record in without.tensors.items():
        assert record.gradient == whole.record(name).gradient
        assert torch.equal(record.value, whole[name]), name
    assert not any(step.phase == "backward" for step in without.steps)


@pytest.mark.parametrize(
    ("sent", "gradient", "expected"),
    [
        ([[1.0, 2.0]], [1.0, 2.0], 0.0),
        ([[1.0, 2.0], [0.5, 0.0]], [1.5, 2.25], 0.25),
        ([[math.inf, math.nan]], [math.inf, math.nan], 0.0),
        ([[math.inf, 1.0]], [math.nan, 1.0], math.inf),
        ([[math.inf, 1.0], [0.0, 1.0]], [math.inf, 1.5], 0.5),
        ([[math.nan, 1.0]], [0.0, 1.0], math.inf),
    ],
)
def test_residual_is_the_largest_difference_from_autograd_s_gradient(sent, gradient, expected):
    entry = Entry("x", torch.zeros(2), "input")
    parts = {place: [Contribution("input", entry, torch.tensor(value))] for place, value in enumerate(sent)}
    assert residual(parts, {id(entry): torch.tensor(gradient)}) == expected
