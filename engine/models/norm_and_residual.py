"""Three layers on four numbers, with and without normalisation, with and without a residual stream around each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from engine.models import norm
from engine.models.fields import InputField
from engine.models.model import Model, Option
from engine.tap import tap

FEATURES, LAYERS = 4, 3
MARKS = ("¹", "²", "³")

# Any weights would do. These are small enough that tanh is nowhere flat when its input is normalised, and each row
# reads two features, so that every term of a sum fits on a line.
WEIGHTS = (
    ((0.5, 0, 0, -0.25), (0, 0.5, 0.25, 0), (-0.5, 0, 0.5, 0), (0, 0.25, 0, 0.5)),
    ((0, 0.5, 0, 0.25), (0.5, 0, -0.25, 0), (0, 0.25, 0.5, 0), (-0.25, 0, 0, 0.5)),
    ((0.25, 0, 0.5, 0), (0, -0.5, 0, 0.5), (0.5, 0.25, 0, 0), (0, 0, -0.5, 0.25)),
)


class ChosenNorm(norm.LayerNorm):
    """LayerNorm, RMSNorm or none. Gain and bias are always there, so that a switch does not change what can be set."""

    def __init__(self, kind: str) -> None:
        super().__init__(FEATURES, lead="")
        self.kind = kind

    def forward(self, x: Tensor) -> Tensor:
        if self.kind == "layer":
            return super().forward(x)
        return norm.RMSNorm.forward(self, x) if self.kind == "rms" else x


class Layer(nn.Module):
    """x + tanh(W norm(x)); without the residual tanh(W norm(x)); without a norm the same of x itself."""

    def __init__(self, weight: tuple[tuple[float, ...], ...], kind: str, residual: bool) -> None:
        super().__init__()
        self.norm = ChosenNorm(kind)
        self.weight = nn.Parameter(torch.tensor(weight))
        self.residual = residual

    def forward(self, x: Tensor) -> Tensor:
        branch = self.branch(x)
        return tap("output", x + branch, "feature") if self.residual else branch

    def branch(self, x: Tensor) -> Tensor:
        z = tap("preactivation", F.linear(self.norm(x), self.weight), "feature")
        return tap("branch", torch.tanh(z), "feature")


def _symbols() -> dict[str, str]:
    found = {"x": "x", "target": "t", "prediction": "y", "squared_error": "e", "loss": "L"}
    for place, mark in enumerate(MARKS):
        path = f"layers.{place}"
        found |= norm.named(f"{path}.norm", mark)
        found |= {f"{path}.weight": f"W{mark}", f"{path}.preactivation": f"z{mark}", f"{path}.branch": f"b{mark}"}
        found |= {f"{path}.output": f"x{mark}"}
    return found


def _axes() -> dict[str, str]:
    found = {"x": "feature", "target": "feature"}
    for place in range(LAYERS):
        path = f"layers.{place}"
        found |= {f"{path}.weight": "feature feature"}
        found |= {f"{path}.norm.gain": "feature", f"{path}.norm.bias": "feature"}
    return found


class NormAndResidual(nn.Module):
    """x: [feature] or [example, feature]; the prediction has its shape. A raised number in a symbol is the layer."""

    symbols: ClassVar = _symbols()
    axes: ClassVar = _axes()

    def __init__(self, norm: str = "layer", residual: str = "on") -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(weight, norm, residual == "on") for weight in WEIGHTS)

    @property
    def stack(self) -> Iterator[Layer]:
        """The layers in order."""
        return (layer for layer in self.layers if isinstance(layer, Layer))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.stack:
            x = layer(x)
        return tap("prediction", x, "feature")


def loss(prediction: Tensor, target: Tensor) -> Tensor:
    """Half the squared error, averaged over the features."""
    return tap("loss", tap("squared_error", F.mse_loss(prediction, target)) / 2)


MODEL = Model(
    name="norm_and_residual",
    title="Norm and residual",
    summary="Four numbers, three layers: each with a norm inside and the stream of the input around it.",
    build=NormAndResidual,
    loss=loss,
    inputs=(InputField("x", size=FEATURES, default=(4.0, 10.0, 2.0, -4.0)),),
    target=InputField("target", size=FEATURES, default=(1.0, 1.0, -1.0, -1.0)),
    options=(
        Option("norm", "Norm", {"layer": "LayerNorm", "rms": "RMSNorm", "none": "none"}, default="layer"),
        Option("residual", "Residual", {"on": "on", "off": "off"}, default="on"),
    ),
)
