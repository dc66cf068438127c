"""Measurements of a digit network: its mistakes, its answers to noise, how random its weights look, what it fits."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from engine.data import mnist
from engine.models.digit_network import DigitNetwork, start
from engine.training.digits import DigitTraining
from engine.training.recipe import Recipe

CURVES = mnist.FILE.with_name("random_labels.json")
FITTING = {"images": 1000, "optimiser": "adam", "learning_rate": 0.005}
EPOCHS = 400


@dataclass(frozen=True)
class Evaluation:
    """Of the test images: the share that is read right, how often each digit is read as each, and which are wrong."""

    accuracy: float
    confusion: Int[Tensor, "digit answer"]
    wrong: Int[Tensor, "mistake"]
    answers: Int[Tensor, "image"]


@torch.no_grad()
def evaluate(network: DigitNetwork, images: mnist.Images) -> Evaluation:
    """answers: what the network reads in every image; wrong: the places of those that it reads otherwise."""
    answers, count = network(images.numbers()).argmax(-1), len(mnist.DIGITS)
    pairs = (images.labels * count + answers).bincount(minlength=count * count)
    wrong = (answers != images.labels).nonzero().flatten()
    return Evaluation((len(images) - len(wrong)) / len(images), pairs.view(count, count), wrong, answers)


@torch.no_grad()
def outputs(network: DigitNetwork, x: Float[Tensor, "*example pixel"]) -> Float[Tensor, "*example digit"]:
    """The ten outputs from 0 to 1: probabilities, or what the sigmoids give."""
    prediction = network(x)
    return prediction.exp() if network.loss == "cross_entropy" else prediction


def network_of(parameters: Mapping[str, Any], activation: str, loss: str) -> DigitNetwork:
    """A network with these parameters, tensors or arrays by name; its hidden layers are as wide as they say."""
    given = {name: torch.as_tensor(value).detach() for name, value in parameters.items()}
    widths = [len(value) for name, value in given.items() if name.endswith(".bias") and not name.startswith("output")]
    network = DigitNetwork(activation, loss, hidden=widths)
    network.load_state_dict(given)
    return network


@torch.no_grad()
def certainty(network: DigitNetwork, images: mnist.Images, places: Sequence[int]) -> list[float]:
    """The largest of the ten outputs for each of some images."""
    return outputs(network, images.numbers(torch.tensor(list(places)))).amax(-1).tolist() if places else []


@dataclass(frozen=True)
class Noise:
    """Images whose pixels are uniform from 0 to 1: the mean of each one's largest output, and how often which digit."""

    mean_top: float
    answers: tuple[int, ...]

    @property
    def most_common(self) -> int:
        return max(range(len(self.answers)), key=self.answers.__getitem__)


def noisy(count: int, seed: int = 0) -> Float[Tensor, "image pixel"]:
    """Images of noise."""
    return torch.rand(count, mnist.PIXELS, generator=torch.Generator().manual_seed(seed))


def noise(network: DigitNetwork, count: int = 1000, seed: int = 0) -> Noise:
    x = noisy(count, seed)
    top, answer = outputs(network, x).max(-1)
    return Noise(float(top.double().mean()), tuple(answer.bincount(minlength=len(mnist.DIGITS)).tolist()))


@dataclass(frozen=True)
class Spectrum:
    """Singular values of a matrix, from the largest, beside those of random matrices of its shape and its cells' size.

    low, middle, high: of each place, what 5, 50 and 95 of 100 random matrices stay below.
    outside: how many of the matrix' own values are below low or above high.
    """

    values: tuple[float, ...]
    low: tuple[float, ...]
    middle: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def outside(self) -> int:
        return sum(not low <= one <= high for low, one, high in zip(self.low, self.values, self.high, strict=True))


def spectrum(weight: Float[Tensor, "row column"], draws: int = 1000, seed: int = 0) -> Spectrum:
    """The random matrices' cells are normal with mean 0 and the root mean square of the weight's."""
    size = weight.double().square().mean().sqrt()
    low, middle, high = (one * size for one in _random_spectrum(weight.shape, draws, seed))
    own = torch.linalg.svdvals(weight.double())
    return Spectrum(*(tuple(one.tolist()) for one in (own, low, middle, high)))


def spectrum_of(weight: Any, draws: int = 200) -> Spectrum:
    """`spectrum` of a matrix given as an array."""
    return spectrum(torch.as_tensor(weight), draws)


@functools.cache
def _random_spectrum(shape: tuple[int, ...], draws: int, seed: int) -> tuple[Tensor, ...]:
    """Of random matrices whose cells have the mean square 1: what 5, 50 and 95 of 100 stay below, place by place."""
    chance = torch.Generator().manual_seed(seed)
    random = torch.linalg.svdvals(torch.randn(draws, *shape, generator=chance, dtype=torch.float64))
    return tuple(random.quantile(torch.tensor([0.05, 0.5, 0.95], dtype=torch.float64), 0))


@dataclass(frozen=True)
class Fitting:
    """accuracies: on the images that are trained on, before training and after each epoch. test: at the end."""

    accuracies: tuple[float, ...]
    test: float


def fit(random_labels: bool, epochs: int = EPOCHS, seed: int = 0, recipe: Mapping[str, Any] = FITTING) -> Fitting:
    """Trains on a few images with their own labels, or with labels drawn at random."""
    read = Recipe.read({**recipe, "random_labels": random_labels})
    network = DigitNetwork(hidden=read.widths)
    network.load_state_dict(start(read.widths, seed))
    training = DigitTraining(network, read, steps=epochs * read.batches, seed=seed)
    accuracies = [training.train_accuracy() for progress in training if progress.step % read.batches == 0]
    return Fitting(tuple(accuracies), evaluate(network, mnist.images("test")).accuracy)


@functools.cache
def shipped_fittings() -> dict[bool, Fitting]:
    """`fit` for both kinds of labels, by whether they are random; as engine/data/README.md says it was run."""
    kept = json.loads(CURVES.read_text(encoding="utf-8"))
    return {kind == "random": Fitting(tuple(one["accuracies"]), one["test"]) for kind, one in kept["labels"].items()}
