"""The 2-3-1 network: two inputs, three hidden units, one output, thirteen parameters that are all readable by eye."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from engine.models.fields import InputField
from engine.models.model import Model, Option
from engine.tap import tap


class TinyNetwork(nn.Module):
    """h = activation(W x + b), prediction = v h + c.

    x: [input] or [example, input]; the prediction has one output in place of the inputs.
    """

    symbols: ClassVar = {
        "x": "x",
        "target": "t",
        "hidden.weight": "W",
        "hidden.bias": "b",
        "readout.weight": "v",
        "readout.bias": "c",
        "hidden.preactivation": "z",
        "hidden.activation": "h",
        "prediction": "ŷ",
        "squared_error": "s",
        "loss": "L",
    }
    axes: ClassVar = {
        "x": "input",
        "target": "output",
        "hidden.weight": "unit input",
        "hidden.bias": "unit",
        "readout.weight": "output unit",
        "readout.bias": "output",
    }

    def __init__(self, activation: str = "relu") -> None:
        super().__init__()
        self.hidden = nn.Linear(2, 3)
        self.readout = nn.Linear(3, 1)
        self.activation = activation
        with torch.no_grad():
            self.hidden.weight.copy_(torch.tensor([[1, -1], [0.5, 1], [-1, 2]]))
            self.hidden.bias.copy_(torch.tensor([0, 1, 0.5]))
            self.readout.weight.copy_(torch.tensor([[2, -1, 1]]))
            self.readout.bias.copy_(torch.tensor([0.5]))

    def forward(self, x: Tensor) -> Tensor:
        z = tap("hidden.preactivation", self.hidden(x), "unit")
        h = tap("hidden.activation", F.relu(z) if self.activation == "relu" else z, "unit")
        return tap("prediction", self.readout(h), "output")


def loss(prediction: Tensor, target: Tensor) -> Tensor:
    """Half the squared error, averaged over the examples."""
    return tap("loss", tap("squared_error", F.mse_loss(prediction, target)) / 2)


MODEL = Model(
    name="tiny_network",
    title="A 2-3-1 network",
    summary="Two inputs, three hidden units, one output: 13 parameters.",
    build=TinyNetwork,
    loss=loss,
    inputs=(InputField("x", size=2, default=(2.0, -1.0), limit=1e6),),
    target=InputField("target", size=1, default=(4.0,), limit=1e6),
    options=(Option("activation", "Hidden activation", {"relu": "ReLU", "none": "none"}, default="relu"),),
)
