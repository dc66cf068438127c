"""A 2-2-1 network with a choice of activations: by hand it computes XOR, from a random start it can be trained to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from engine.models.fields import InputField
from engine.models.model import Model, Option
from engine.tap import tap

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda z: z,
    "relu": F.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "gelu": F.gelu,
    "silu": F.silu,
}
NAMES = {"none": "none", "relu": "ReLU", "sigmoid": "sigmoid", "tanh": "tanh", "gelu": "GELU", "silu": "SiLU"}
XOR = (((0.0, 0.0), 0.0), ((0.0, 1.0), 1.0), ((1.0, 0.0), 1.0), ((1.0, 1.0), 0.0))
BY_HAND = {
    "hidden.weight": [[1.0, 1.0], [1.0, 1.0]],
    "hidden.bias": [0.0, -1.0],
    "readout.weight": [[1.0, -2.0]],
    "readout.bias": [0.0],
}
SEED = 7


class TwoTwoOne(nn.Module):
    """h = activation(W x + b), prediction = v h + c.

    x: [input] or [example, input]; the prediction has one output in place of the inputs. activation: a key of
    ACTIVATIONS. weights: "hand", with which ReLU computes XOR exactly, or "random", `start(SEED)`.
    Source of the weights by hand: Goodfellow, Bengio and Courville 2016, section 6.1.
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

    def __init__(self, activation: str = "relu", weights: str = "hand") -> None:
        super().__init__()
        self.hidden, self.readout = nn.Linear(2, 2), nn.Linear(2, 1)
        self.activation = activation
        self.load_state_dict(
            {name: torch.tensor(value) for name, value in (BY_HAND if weights == "hand" else start(SEED)).items()}
        )

    def forward(self, x: Float[Tensor, "*example input"]) -> Float[Tensor, "*example output"]:
        z = tap("hidden.preactivation", self.hidden(x), "unit")
        h = tap("hidden.activation", ACTIVATIONS[self.activation](z), "unit")
        return tap("prediction", self.readout(h), "output")


def start(seed: int) -> dict[str, Any]:
    """The nine parameters from -1.5 to 1.5, uniformly drawn and rounded to two places; by name, as nested lists."""
    chance = torch.Generator().manual_seed(seed)

    def drawn(*shape: int) -> Any:
        numbers = (torch.rand(shape, generator=chance, dtype=torch.float64) * 3 - 1.5) * 100
        return (numbers.round() / 100).tolist()

    return {name: drawn(*torch.tensor(value).shape) for name, value in BY_HAND.items()}


def loss(prediction: Float[Tensor, "*example output"], target: Float[Tensor, "*example output"]) -> Tensor:
    """The squared error (ŷ - t)², averaged over the examples."""
    return tap("loss", F.mse_loss(prediction, target))


MODEL = Model(
    name="activation_functions",
    title="A 2-2-1 network with a choice of activations",
    summary="Two inputs, two hidden units, one output: 9 parameters, enough for XOR where the activation bends.",
    build=TwoTwoOne,
    loss=loss,
    inputs=(InputField("x", size=2, default=XOR[0][0], limit=1e6),),
    target=InputField("target", size=1, default=(XOR[0][1],), limit=1e6),
    options=(
        Option("activation", "Hidden activation", NAMES, default="relu"),
        Option("weights", "Parameters", {"hand": "set by hand", "random": "a random start"}, default="hand"),
    ),
)
