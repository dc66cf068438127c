"""XOR by hand is exact with ReLU, a random start is drawn by its seed, and gradients prove for each activation."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

import engine
from engine.models import catalogue
from engine.models.activation_functions import ACTIVATIONS, BY_HAND, SEED, XOR, start

MODEL = catalogue()["activation_functions"]
FOUR = {"inputs": {"x": [list(x) for x, _ in XOR]}, "target": [target for _, target in XOR]}


def test_by_hand_with_relu_is_xor_exactly():
    run = MODEL.trace(FOUR)
    assert run["hidden.preactivation"].tolist() == [[0, -1], [1, 0], [1, 0], [2, 1]]
    assert run["prediction"].flatten().tolist() == [0, 1, 1, 0]
    assert run.result["loss"] == 0
    assert run.model["parameter_count"] == 9


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_hidden_layer_is_the_activation_of_its_sums_and_gradients_prove(activation):
    run = MODEL.trace({**FOUR, "options": {"activation": activation, "weights": "random"}})
    expected = {"none": lambda z: z, "relu": F.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "gelu": F.gelu}
    z = run["hidden.preactivation"]
    torch.testing.assert_close(run["hidden.activation"], expected.get(activation, F.silu)(z))
    for name, index in (("hidden.weight", (0, 1)), ("hidden.bias", (1,)), ("readout.weight", (0, 0))):
        assert engine.verify(run, name, index, what="gradient").ok, name


def test_the_other_activations_miss_xor_with_the_weights_of_relu():
    losses = {name: MODEL.trace({**FOUR, "options": {"activation": name}}).result["loss"] for name in ACTIVATIONS}
    assert [name for name, loss in losses.items() if loss == 0] == ["relu"]
    assert losses["none"] == 1


def test_a_random_start_is_its_seed_s_and_the_option_s():
    assert start(3) == start(3) != start(4)
    numbers = torch.cat([torch.tensor(value).flatten() for value in start(3).values()])
    assert numbers.numel() == 9 and float(numbers.abs().max()) <= 1.5
    run = MODEL.trace({"options": {"weights": "random"}})
    for name in BY_HAND:
        torch.testing.assert_close(run[name], torch.tensor(start(SEED)[name]))
