"""A network for a table: any columns in, hidden layers of a reader's choice, classes or one number out.

In the catalogue stands the one for the table that is shipped: two numbers, eight hidden units, two classes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from jaxtyping import Float, Int
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from engine.models.fields import InputField
from engine.models.model import Model, Option
from engine.tap import tap

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": F.relu, "sigmoid": torch.sigmoid}
NAMES = {"tanh": "tanh", "relu": "ReLU", "sigmoid": "sigmoid"}
WEIGHTS = Path(__file__).parents[1] / "data" / "own_data.safetensors"
FITS = WEIGHTS.with_name("own_data_fits.json")
SIZES = (2, 8, 2)
FEATURES = ("across", "up")
CLASSES = ("lower", "upper")
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"


class TableNetwork(nn.Module):
    """aˡ = activation(Wˡ aˡ⁻¹ + bˡ) from a⁰ = x, then z = W a + b of the last layer.

    x: [feature] or [example, feature], prepared as engine.data.prepared does. sizes: of the input, each hidden layer
    and the output. The prediction has the class axis in place of the features: ln softmax(z); or, for the task
    "number", z itself, the one standardised number.
    """

    def __init__(self, sizes: Sequence[int], activation: str, task: str) -> None:
        super().__init__()
        self.activation, self.task = activation, task
        self.hidden = [f"hidden{number}" for number in range(1, len(sizes) - 1)]
        self.above = "class" if task == "class" else "output"
        self.symbols = {"x": "x", "target": "t", "prediction": "ln p" if task == "class" else "ŷ", "loss": "L"}
        self.symbols |= {"probability": "p", "picked": "ln pₜ", "surprise": "−ln pₜ"}
        self.axes = {"x": "feature", "target": "one" if task == "class" else "output"}
        below = "feature"
        for number, (name, fan_in, fan_out) in enumerate(layers(sizes), 1):
            above = self.above if name == "output" else f"unit{number}"
            self.add_module(name, nn.Linear(fan_in, fan_out))
            self.axes |= {f"{name}.weight": f"{above} {below}", f"{name}.bias": above}
            for part, letter in (("weight", "W"), ("bias", "b"), ("preactivation", "z"), ("activation", "a")):
                self.symbols[f"{name}.{part}"] = f"{letter}{_RAISED[number]}"
            below = above

    def forward(self, x: Float[Tensor, "*example feature"]) -> Float[Tensor, "*example class"]:
        activation = x
        for number, name in enumerate(self.hidden, 1):
            z = tap(f"{name}.preactivation", self.get_submodule(name)(activation), f"unit{number}")
            activation = tap(f"{name}.activation", ACTIVATIONS[self.activation](z), f"unit{number}")
        z = self.get_submodule("output")(activation)
        if self.task == "number":
            return tap("prediction", z, "output")
        z = tap("output.preactivation", z, "class")
        tap("probability", z.softmax(-1), "class")
        return tap("prediction", z.log_softmax(-1), "class")


def cross_entropy(prediction: Float[Tensor, "*example class"], target: Int[Tensor, "*example one"]) -> Tensor:
    """-ln p of the target, averaged over the examples."""
    picked = tap("picked", prediction.gather(-1, target), "one")
    return tap("loss", tap("surprise", -picked, "one").mean())


def squared_error(prediction: Float[Tensor, "*example output"], target: Float[Tensor, "*example output"]) -> Tensor:
    """(ŷ - t)², averaged over the examples."""
    return tap("loss", F.mse_loss(prediction, target))


LOSSES = {"class": cross_entropy, "number": squared_error}


def layers(sizes: Sequence[int]) -> list[tuple[str, int, int]]:
    """Each layer's name, how many numbers it reads and how many it gives."""
    names = [*(f"hidden{number}" for number in range(1, len(sizes) - 1)), "output"]
    return [(name, *pair) for name, pair in zip(names, itertools.pairwise(sizes), strict=True)]


def start(sizes: Sequence[int], seed: int = 0) -> dict[str, Tensor]:
    """Where training starts: every weight and bias of a layer uniform within ±1/√(its inputs), PyTorch's own spread."""
    chance = torch.Generator().manual_seed(seed)
    found = {}
    for name, fan_in, fan_out in layers(sizes):
        bound = 1 / math.sqrt(fan_in)
        found[f"{name}.weight"] = torch.empty(fan_out, fan_in).uniform_(-bound, bound, generator=chance)
        found[f"{name}.bias"] = torch.empty(fan_out).uniform_(-bound, bound, generator=chance)
    return found


def network(sizes: Sequence[int], activation: str, task: str, parameters: dict[str, Tensor]) -> TableNetwork:
    """A network with these parameters."""
    made = TableNetwork(sizes, activation, task)
    made.load_state_dict(parameters)
    return made


def shipped(activation: str = "tanh", weights: str = "trained") -> TableNetwork:
    """The catalogue's network. weights: "trained", as they are shipped (with tanh), or "untrained", seed 0's start."""
    return network(SIZES, activation, "class", load_file(WEIGHTS) if weights == "trained" else start(SIZES))


MODEL = Model(
    name="own_data",
    title="A network for a table",
    summary="Two numbers in, eight hidden units, two classes out: 42 parameters trained on 150 rows of a table.",
    build=shipped,
    loss=cross_entropy,
    inputs=(InputField("x", size=2, default=(0.5, -0.25), limit=1e6),),
    target=InputField("target", size=1, default=("lower",), words=CLASSES),
    options=(
        Option("activation", "Hidden activation", NAMES, default="tanh"),
        Option("weights", "Weights", {"trained": "trained", "untrained": "before training"}, default="trained"),
    ),
    labels={"feature": FEATURES, "class": CLASSES},
)
