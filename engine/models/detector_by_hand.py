"""One unit that looks at an image: 784 weights painted by hand, a bias as threshold, and a ReLU."""

from __future__ import annotations

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from engine.data import mnist
from engine.models.digit_images import GRIDS, image_field
from engine.models.fields import InputField
from engine.models.model import Model
from engine.tap import tap

MIDDLE, AROUND, RING = 1.0, -0.5, 2
ROWS, COLUMNS = (7, 10), (8, 20)  # where most sevens have their bar
BIAS = -10.0


def painted(
    middle: float = MIDDLE,
    around: float = AROUND,
    rows: tuple[int, int] = ROWS,
    columns: tuple[int, int] = COLUMNS,
    ring: int = RING,
) -> Float[Tensor, "pixel"]:
    """`middle` on the rows and columns (first, and one past the last), `around` for `ring` cells about them, else 0.

    Source: Sanderson 2017.
    """
    weight = torch.zeros(mnist.SIDE, mnist.SIDE)
    outer = [slice(max(0, first - ring), past + ring) for first, past in (rows, columns)]
    weight[outer[0], outer[1]] = around
    weight[slice(*rows), slice(*columns)] = middle
    return weight.flatten()


class Detector(nn.Module):
    """a = ReLU(w·x + b). x: [pixel] or [example, pixel], 0 to 1; the prediction has one unit in place of the pixels."""

    symbols: ClassVar = {
        "x": "x", "target": "t", "detector.weight": "w", "detector.bias": "b", "preactivation": "z", "prediction": "a",
        "squared_error": "s", "loss": "L",
    }  # fmt: skip
    axes: ClassVar = {"x": "pixel", "target": "unit", "detector.weight": "unit pixel", "detector.bias": "unit"}

    def __init__(self) -> None:
        super().__init__()
        self.detector = nn.Linear(mnist.PIXELS, 1)
        with torch.no_grad():
            self.detector.weight.copy_(painted().unsqueeze(0))
            self.detector.bias.fill_(BIAS)

    def forward(self, x: Float[Tensor, "*example pixel"]) -> Float[Tensor, "*example unit"]:
        return tap("prediction", F.relu(tap("preactivation", self.detector(x), "unit")), "unit")


def loss(prediction: Float[Tensor, "*example unit"], target: Float[Tensor, "*example unit"]) -> Tensor:
    """Half the squared error, averaged over the examples."""
    return tap("loss", tap("squared_error", F.mse_loss(prediction, target)) / 2)


MODEL = Model(
    name="detector_by_hand",
    title="A detector by hand",
    summary="One unit with 784 weights, painted: a bar where sevens have theirs. 785 parameters, none of them trained.",
    build=Detector,
    loss=loss,
    inputs=(image_field(),),
    target=InputField("target", size=1, default=(1.0,), limit=1e6),
    grids=GRIDS,
)
