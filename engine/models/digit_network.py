"""The digit network: 784 pixels, two hidden layers of 16 units, ten digits; 13,002 parameters trained on MNIST."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from jaxtyping import Float, Int
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from engine.data import mnist
from engine.models.digit_images import GRIDS, image_field
from engine.models.fields import InputField
from engine.models.model import Model, Option
from engine.tap import tap

HIDDEN = (16, 16)
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "sigmoid": torch.sigmoid}
WEIGHTS = Path(mnist.__file__).with_name("digit_network.safetensors")
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"


class DigitNetwork(nn.Module):
    """aˡ = activation(Wˡ aˡ⁻¹ + bˡ) from a⁰ = x, then ten outputs of z = W a + b.

    x: [pixel] or [example, pixel], 0 to 1. The prediction has the digit axis in its place: ln softmax(z), from which
    cross-entropy picks one number, or sigmoid(z), which the squared error compares with 1 for the digit and else 0.
    weights: "trained", as shipped, or "untrained", where training starts from with seed 0. hidden: the widths of the
    hidden layers; others than HIDDEN have no trained weights.
    Source: Nielsen 2015, chapter 1 (sigmoid and squared error).
    """

    output: nn.Module

    def __init__(
        self,
        activation: str = "relu",
        loss: str = "cross_entropy",
        weights: str = "untrained",
        hidden: Sequence[int] = HIDDEN,
    ) -> None:
        super().__init__()
        self.activation, self.loss = activation, loss
        self.hidden = [f"hidden{number}" for number in range(1, len(hidden) + 1)]
        self.symbols = {"x": "x", "target": "t", "prediction": "ln p", "probability": "p", "loss": "L"}
        self.symbols |= {"picked": "ln pₜ", "surprise": "−ln pₜ"}
        self.symbols |= {"class": "c", "onehot": "o", "wanted": "y", "error": "e", "squares": "e²", "cost": "Σe²"}
        self.axes = {"x": "pixel", "target": "one"}
        below = "pixel"
        for number, (name, fan_in, fan_out) in enumerate(layers(hidden), 1):
            above = "digit" if name == "output" else f"unit{number}"
            self.add_module(name, nn.Linear(fan_in, fan_out))
            self.axes |= {f"{name}.weight": f"{above} {below}", f"{name}.bias": above}
            for part, letter in (("weight", "W"), ("bias", "b"), ("preactivation", "z"), ("activation", "a")):
                self.symbols[f"{name}.{part}"] = f"{letter}{_RAISED[number]}"
            below = above
        if loss == "squared_error":
            self.symbols["prediction"] = self.symbols["output.activation"]
        self.load_state_dict(trained(activation, loss) if weights == "trained" else start(hidden))

    def forward(self, x: Float[Tensor, "*example pixel"]) -> Float[Tensor, "*example digit"]:
        activation = x
        for number, name in enumerate(self.hidden, 1):
            z = tap(f"{name}.preactivation", self.get_submodule(name)(activation), f"unit{number}")
            activation = tap(f"{name}.activation", ACTIVATIONS[self.activation](z), f"unit{number}")
        z = tap("output.preactivation", self.output(activation), "digit")
        if self.loss == "squared_error":
            return tap("prediction", torch.sigmoid(z), "digit")
        tap("probability", z.softmax(-1), "digit")
        return tap("prediction", z.log_softmax(-1), "digit")


def cross_entropy(prediction: Float[Tensor, "*example digit"], target: Int[Tensor, "*example one"]) -> Tensor:
    """-ln p of the target, averaged over the examples."""
    return tap("loss", tap("surprise", -tap("picked", prediction.gather(-1, target), "one"), "one").mean())


def squared_error(prediction: Float[Tensor, "*example digit"], target: Int[Tensor, "*example one"]) -> Tensor:
    """The squared distances to 1 for the target and 0 for the other digits, summed, averaged over the examples."""
    onehot = tap("onehot", F.one_hot(tap("class", target.squeeze(-1)), len(mnist.DIGITS)), "digit")
    wanted = tap("wanted", onehot.to(prediction.dtype), "digit")
    squares = tap("squares", tap("error", prediction - wanted, "digit").square(), "digit")
    return tap("loss", tap("cost", squares.sum(-1)).mean())


LOSSES = {"cross_entropy": cross_entropy, "squared_error": squared_error}


def layers(hidden: Sequence[int] = HIDDEN) -> list[tuple[str, int, int]]:
    """Each layer's name, how many numbers it reads and how many it gives."""
    names = [*(f"hidden{number}" for number in range(1, len(hidden) + 1)), "output"]
    sizes = itertools.pairwise((mnist.PIXELS, *hidden, len(mnist.DIGITS)))
    return [(name, *size) for name, size in zip(names, sizes, strict=True)]


def start(hidden: Sequence[int] = HIDDEN, seed: int = 0) -> dict[str, Tensor]:
    """Where training starts: every weight and bias of a layer uniform within ±1/√(its inputs), PyTorch's own spread."""
    chance = torch.Generator().manual_seed(seed)
    found = {}
    for name, fan_in, fan_out in layers(hidden):
        bound = 1 / math.sqrt(fan_in)
        found[f"{name}.weight"] = torch.empty(fan_out, fan_in).uniform_(-bound, bound, generator=chance)
        found[f"{name}.bias"] = torch.empty(fan_out).uniform_(-bound, bound, generator=chance)
    return found


@functools.cache
def _shipped() -> Mapping[str, Tensor]:
    return load_file(WEIGHTS)


def trained(activation: str, loss: str) -> dict[str, Tensor]:
    """The weights that are shipped for these options; how they were made stands in engine/data/README.md."""
    kind = f"{activation}.{loss}."
    return {name.removeprefix(kind): value for name, value in _shipped().items() if name.startswith(kind)}


MODEL = Model(
    name="digit_network",
    title="A network that reads digits",
    summary="784 pixels, two hidden layers of 16 units, ten digits: 13,002 parameters trained on 60,000 images.",
    build=DigitNetwork,
    loss=LOSSES,
    inputs=(image_field(),),
    target=InputField("target", size=1, default=("7",), words=mnist.DIGITS),
    options=(
        Option("activation", "Hidden activation", {"relu": "ReLU", "sigmoid": "sigmoid"}, default="relu"),
        Option(
            "loss",
            "Loss",
            {"cross_entropy": "cross-entropy", "squared_error": "squared error"},
            default="cross_entropy",
        ),
        Option("weights", "Weights", {"trained": "trained", "untrained": "before training"}, default="trained"),
    ),
    labels={"digit": mnist.DIGITS},
    grids=GRIDS,
)
