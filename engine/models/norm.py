"""Normalisation for the models that have it, written out: every part is tapped, relative to the norm's own name."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from engine.tap import tap

EPSILON = 1e-5
SYMBOLS = {
    "mean": "μ", "centred": "x̄", "squares": "s", "mean_square": "m", "floored": "f", "deviation": "σ",
    "normalised": "x̂", "scaled": "y", "output": "n", "gain": "γ", "bias": "β",
}  # fmt: skip


class RMSNorm(nn.Module):
    """gain * x / sqrt(mean of x² + EPSILON) over the last axis.

    x: [..., feature]; lead: the name of the axis before the features, "" where they stand alone.
    Source: Zhang and Sennrich 2019, eq. 4; equals nn.RMSNorm.
    """

    def __init__(self, features: int, lead: str = "position") -> None:
        super().__init__()
        self.lead = lead
        self.gain = nn.Parameter(torch.ones(features))

    def forward(self, x: Tensor) -> Tensor:
        return tap("output", self.divided(x) * self.gain, f"{self.lead} feature")

    def divided(self, x: Tensor) -> Tensor:
        """x over the root of its mean square."""
        squares = tap("squares", x * x, f"{self.lead} feature")
        mean_square = tap("mean_square", squares.mean(-1, keepdim=True), f"{self.lead} one")
        floored = tap("floored", mean_square + EPSILON, f"{self.lead} one")
        deviation = tap("deviation", floored.sqrt(), f"{self.lead} one")
        return tap("normalised", x / deviation, f"{self.lead} feature")


class LayerNorm(RMSNorm):
    """gain * (x - mean) / sqrt(variance + EPSILON) + bias over the last axis: RMSNorm after the mean is taken off.

    Source: Ba, Kiros and Hinton 2016, eq. 4; equals nn.LayerNorm.
    """

    def __init__(self, features: int, lead: str = "position") -> None:
        super().__init__(features, lead)
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: Tensor) -> Tensor:
        mean = tap("mean", x.mean(-1, keepdim=True), f"{self.lead} one")
        centred = tap("centred", x - mean, f"{self.lead} feature")
        normalised = self.divided(centred)
        scaled = tap("scaled", normalised * self.gain, f"{self.lead} feature")
        return tap("output", scaled + self.bias, f"{self.lead} feature")


def named(path: str, mark: str = "") -> Mapping[str, str]:
    """The symbols of a norm that a model holds under this path; mark: what tells it from the model's other norms."""
    return {f"{path}.{name}": f"{symbol}{mark}" for name, symbol in SYMBOLS.items()}
