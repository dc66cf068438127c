"""One neuron a layer, worked by hand, and the product of its factors; two neurons, and the sum over paths."""

from __future__ import annotations

import math

import pytest
import torch

import engine
from engine.models import catalogue

MODEL = catalogue()["chain_rule"]


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


@pytest.fixture(scope="module")
def narrow() -> engine.Trace:
    return MODEL.trace({})


@pytest.fixture(scope="module")
def wide() -> engine.Trace:
    return MODEL.trace({"options": {"width": "2"}})


def test_forward_is_the_one_worked_by_hand(narrow):
    a1 = sigmoid(2 * 1.5 - 2)
    a2 = sigmoid(-2 * a1 + 1)
    a3 = sigmoid(3 * a2 - 1)
    assert narrow["layer1.preactivation"].item() == 1
    assert [narrow[name].item() for name in ("layer1.activation", "layer2.activation", "prediction", "loss")] == (
        pytest.approx([a1, a2, a3, (a3 - 1) ** 2], rel=1e-6)
    )


def test_each_gradient_is_its_product_of_factors(narrow):
    a1, a2, a3 = (narrow[name].item() for name in ("layer1.activation", "layer2.activation", "prediction"))
    s1, s2, s3 = (a * (1 - a) for a in (a1, a2, a3))
    miss = 2 * (a3 - 1)
    expected = {
        "layer3.weight": a2 * s3 * miss,
        "layer3.bias": s3 * miss,
        "layer2.weight": a1 * s2 * 3 * s3 * miss,
        "layer2.bias": s2 * 3 * s3 * miss,
        "layer1.weight": 1.5 * s1 * -2 * s2 * 3 * s3 * miss,
        "layer1.bias": s1 * -2 * s2 * 3 * s3 * miss,
    }
    for name, value in expected.items():
        assert narrow[f"{name}.grad"].item() == pytest.approx(value, rel=1e-6), name
        index = (0, 0) if name.endswith("weight") else (0,)
        assert engine.verify(narrow, name, index, what="gradient").ok


def test_the_model_counts_three_weights_and_three_biases(narrow, wide):
    assert narrow.model["parameter_count"] == 6
    assert wide.model["parameter_count"] == 2 + 2 + 4 + 2 + 2 + 1
    assert narrow["layer2.weight"].item() == wide["layer2.weight"][0, 0].item()


@pytest.mark.parametrize(
    ("tensor", "index", "count"),
    [("layer1.weight", (0, 0), 2), ("x", (0,), 4), ("layer2.weight", (1, 0), 1), ("layer3.bias", (0,), 1)],
)
def test_with_two_neurons_the_paths_add_up_to_the_gradient(wide, tensor, index, count):
    found = engine.paths(wide, tensor, index)
    assert len(found.paths) == count and found.complete
    assert sum(path.value for path in found.paths) == pytest.approx(wide[f"{tensor}.grad"][index].item(), rel=1e-5)


def test_rows_give_what_each_gives_alone():
    both = MODEL.trace({"inputs": {"x": [[1.5], [-1.0]]}, "target": [1.0, 0.0], "options": {"width": "2"}})
    for row, (x, target) in enumerate(((1.5, 1.0), (-1.0, 0.0))):
        alone = MODEL.trace({"inputs": {"x": x}, "target": target, "options": {"width": "2"}})
        torch.testing.assert_close(both["prediction"][row], alone["prediction"])
    assert both["loss"].item() == pytest.approx(((both["prediction"] - both["target"]) ** 2).mean().item(), rel=1e-6)


def test_an_update_lowers_the_loss():
    trace = MODEL.trace({"update": {"learning_rate": 1}})
    assert trace.result["after_update"]["loss"] < trace.result["loss"]
