"""Three layers of one sigmoid neuron each, or of two in the hidden layers, and the squared error: the chain rule."""

from __future__ import annotations

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from engine.models.fields import InputField
from engine.models.model import Model, Option
from engine.tap import tap

LAYERS = 3
_RAISED = "⁰¹²³"
_LETTERS = {"weight": "w", "bias": "b", "preactivation": "z", "activation": "a"}
# Set by hand, whole and half numbers. The first neuron of each layer is the same at both widths.
_WEIGHTS = ([[2.0], [-1.0]], [[-2.0, 1.0], [1.0, 1.5]], [[3.0, -2.0]])
_BIASES = ([-2.0, 0.5], [1.0, -0.5], [-1.0])


class ChainRule(nn.Module):
    """z = w a + b and a = σ(z), three times; the prediction is the last a.

    x: [input] or [example, input]; the prediction has one output in its place. width: how many neurons the two hidden
    layers have, "1" or "2".
    Source of the network, its factors and the squared error: Nielsen 2015, chapter 2.
    """

    symbols: ClassVar = {
        "x": "x",
        "target": "y",
        "prediction": "a³",
        "loss": "L",
        **{
            f"layer{number}.{part}": f"{letter}{_RAISED[number]}"
            for number in range(1, LAYERS + 1)
            for part, letter in _LETTERS.items()
        },
    }
    axes: ClassVar = {
        "x": "input",
        "target": "output",
        "layer1.weight": "unit input",
        "layer1.bias": "unit",
        "layer2.weight": "unit from",
        "layer2.bias": "unit",
        "layer3.weight": "output from",
        "layer3.bias": "output",
    }

    def __init__(self, width: str = "1") -> None:
        super().__init__()
        sizes = (1, int(width), int(width), 1)
        self.layer1, self.layer2, self.layer3 = (nn.Linear(sizes[at], sizes[at + 1]) for at in range(LAYERS))
        with torch.no_grad():
            for layer, weight, bias in zip((self.layer1, self.layer2, self.layer3), _WEIGHTS, _BIASES, strict=True):
                rows, columns = layer.weight.shape
                layer.weight.copy_(torch.tensor(weight)[:rows, :columns])
                layer.bias.copy_(torch.tensor(bias)[:rows])

    def forward(self, x: Float[Tensor, "*example input"]) -> Float[Tensor, "*example output"]:
        a = tap("layer1.activation", torch.sigmoid(tap("layer1.preactivation", self.layer1(x), "unit")), "unit")
        a = tap("layer2.activation", torch.sigmoid(tap("layer2.preactivation", self.layer2(a), "unit")), "unit")
        return tap("prediction", torch.sigmoid(tap("layer3.preactivation", self.layer3(a), "output")), "output")


def loss(prediction: Float[Tensor, "*example output"], target: Float[Tensor, "*example output"]) -> Tensor:
    """The squared error (a - y)², averaged over the examples."""
    return tap("loss", F.mse_loss(prediction, target))


MODEL = Model(
    name="chain_rule",
    title="A chain of three neurons",
    summary="One neuron a layer, three layers: 3 weights, 3 biases, sigmoid and squared error; or two neurons a layer.",
    build=ChainRule,
    loss=loss,
    inputs=(InputField("x", size=1, default=(1.5,), limit=1e6),),
    target=InputField("target", size=1, default=(1.0,), limit=1e6),
    options=(Option("width", "Neurons a hidden layer", {"1": "one", "2": "two"}, default="1"),),
)
