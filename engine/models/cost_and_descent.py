"""A line through points: one weight, one bias, half the mean squared error. The smallest model that has a surface."""

from __future__ import annotations

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from engine.models.fields import InputField
from engine.models.model import Model
from engine.tap import tap

# Set by hand, near 1.5 x - 1 and off it to both sides: no line meets them all.
POINTS = ((2.0, 1.5), (0.0, -1.5), (0.5, 0.5), (1.0, 0.0), (1.5, 2.0), (2.5, 3.5), (3.0, 3.0), (3.5, 4.5))
WEIGHT, BIAS = 2.0, 5.0


class Line(nn.Module):
    """prediction = w x + b. x: [input] or [example, input], with one input."""

    symbols: ClassVar = {
        "x": "x",
        "target": "y",
        "line.weight": "w",
        "line.bias": "b",
        "prediction": "ŷ",
        "squared_error": "s",
        "loss": "L",
    }
    axes: ClassVar = {"x": "input", "target": "output", "line.weight": "output input", "line.bias": "output"}

    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Linear(1, 1)
        with torch.no_grad():
            self.line.weight.fill_(WEIGHT)
            self.line.bias.fill_(BIAS)

    def forward(self, x: Float[Tensor, "*example input"]) -> Float[Tensor, "*example output"]:
        return tap("prediction", self.line(x), "output")


def loss(prediction: Float[Tensor, "*example output"], target: Float[Tensor, "*example output"]) -> Tensor:
    """Half the squared error, averaged over the examples."""
    return tap("loss", tap("squared_error", F.mse_loss(prediction, target)) / 2)


MODEL = Model(
    name="cost_and_descent",
    title="A line through points",
    summary="One weight, one bias, eight points: a loss over two parameters, which can be drawn whole.",
    build=Line,
    loss=loss,
    inputs=(InputField("x", size=1, default=(POINTS[0][0],), limit=1e6),),
    target=InputField("target", size=1, default=(POINTS[0][1],), limit=1e6),
)
