"""The digit network's training on MNIST: batch after batch, each update yielded with what it led to.

The network is the one that is traced; what is traced of a step is what happens here to one batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from engine.data import mnist
from engine.errors import InputError
from engine.models.digit_network import LOSSES, DigitNetwork, start, trained
from engine.training.recipe import Recipe

TRAINS = "digit_network"
MEASURED_EVERY = 100
"""Accuracies are measured after each pass over the images; where passes are shorter, after several of so many steps."""
MOST_MEASURED = 10_000
NOT_TAKEN = ("inputs", "target", "edits", "interventions", "update")


@dataclass(frozen=True)
class Learning:
    """Where the training is after `step` updates.

    loss, accuracy: of the parameters as they now are, on the batch that comes next. epoch: passes over the images.
    test_accuracy, train_accuracy: on the 10,000 test images and on the images that are trained on (the first 10,000 of
    them), as last measured, which was after `measured` updates.
    """

    step: int
    loss: float
    accuracy: float
    epoch: float
    test_accuracy: float
    train_accuracy: float
    measured: int


class DigitTraining:
    """One run of training, as engine.training.training.Training."""

    def __init__(self, network: DigitNetwork, recipe: Recipe, *, steps: int, seed: int = 0) -> None:
        self.network, self.recipe, self.steps, self.seed = network, recipe, steps, seed
        self._parameters = dict(network.named_parameters())
        self._optimiser = recipe.new_optimiser()
        self._images = mnist.images("train").first(recipe.images)
        if recipe.random_labels:
            chance = np.random.default_rng([seed, 0])
            self._images = mnist.Images(
                self._images.pixels, torch.from_numpy(chance.integers(len(mnist.DIGITS), size=recipe.images))
            )
        self._step = self._epoch = self._place = 0
        self._measured: dict[str, Any] = {}

    def __iter__(self) -> Iterator[Learning]:
        loss = LOSSES[self.network.loss]
        values = list(self._parameters.values())
        order = self._order()
        while True:
            batch = order[self._place : self._place + self.recipe.batch_size]
            labels = self._images.labels[batch]
            prediction = self.network(self._images.numbers(batch))
            value = loss(prediction, labels.unsqueeze(-1))
            right = float((prediction.argmax(-1) == labels).sum())
            self._measure()
            yield Learning(
                step=self._step,
                loss=float(value.detach()),
                accuracy=right / len(batch),
                epoch=self._epoch + self._place / len(order),
                **self._measured,
            )
            if self._step >= self.steps:
                return
            gradients = torch.autograd.grad(value, values)
            rate = self.recipe.rate(self._step, self.steps)
            self._optimiser.step(self._parameters, dict(zip(self._parameters, gradients, strict=True)), rate)
            self._step += 1
            self._place += len(batch)
            if self._place >= len(order):
                self._epoch, self._place = self._epoch + 1, 0
                order = self._order()

    def state(self) -> dict[str, Any]:
        """The parameters, what the optimiser remembers, and how far the images are used; all order is by the seed."""
        return {
            "step": self._step,
            "epoch": self._epoch,
            "place": self._place,
            "parameters": {name: value.detach().clone() for name, value in self._parameters.items()},
            "optimiser": {"name": self.recipe.optimiser, **self._optimiser.state()},
            "measured": dict(self._measured),
        }

    def resume(self, state: Mapping[str, Any]) -> None:
        """Also with another learning rate, batch size or optimiser; a new optimiser remembers nothing."""
        shapes = {name: tuple(value.shape) for name, value in self._parameters.items()}
        found = {name: tuple(value.shape) for name, value in state["parameters"].items()}
        if found != shapes:
            raise ValueError(f"the state's parameters must have the shapes {shapes}; got {found}")
        with torch.no_grad():
            for name, value in state["parameters"].items():
                self._parameters[name].copy_(value)
        self._step, self._epoch, self._place = state["step"], state["epoch"], state["place"]
        if self._place >= len(self._images):
            self._epoch, self._place = self._epoch + 1, 0
        self._measured = dict(state["measured"])
        if state["optimiser"]["name"] == self.recipe.optimiser:
            self._optimiser.resume(state["optimiser"])

    def train_accuracy(self) -> float:
        """On the images that are trained on, the first 10,000 of them, with the parameters as they now are."""
        return accuracy(self.network, self._images.first(MOST_MEASURED))

    def _order(self) -> Int[Tensor, "image"]:
        """The images of this epoch in the order that they are taken in."""
        return torch.from_numpy(np.random.default_rng([self.seed, 1, self._epoch]).permutation(len(self._images)))

    def _measure(self) -> None:
        """Measures the accuracies where a pass has ended, and it is time."""
        due = self._place == 0 and self._epoch % math.ceil(MEASURED_EVERY / self.recipe.batches) == 0
        if not self._measured or (due and self._measured["measured"] != self._step):
            self._measured = {
                "test_accuracy": accuracy(self.network, mnist.images("test")),
                "train_accuracy": self.train_accuracy(),
                "measured": self._step,
            }


@torch.no_grad()
def accuracy(network: DigitNetwork, images: mnist.Images) -> float:
    """The share of the images whose digit has the largest output."""
    return float((network(images.numbers()).argmax(-1) == images.labels).double().mean())


def prepare(model: Any, request: Mapping[str, Any], *, steps: int, recipe: Mapping[str, Any]) -> DigitTraining:
    """A training from a seeded start (the request's seed, 0), or from the shipped weights if the options say "trained".

    recipe: see Recipe. Raises InputError for what does not fit, and for inputs or edits: the images are MNIST's.
    """
    for name in NOT_TAKEN:
        if request.get(name):
            raise InputError(name, "be left out: this model trains on MNIST by its recipe", repr(request[name])[:80])
    given = {"weights": "untrained", **(request.get("options") or {})}
    options = model.canonical({"options": given})["options"]
    read, seed = Recipe.read(recipe), request.get("seed") or 0
    network = DigitNetwork(options["activation"], options["loss"], "untrained", read.widths)
    if options["weights"] == "untrained":
        network.load_state_dict(start(read.widths, seed))
    elif read.hidden == Recipe.hidden:
        network.load_state_dict(trained(options["activation"], options["loss"]))
    else:
        raise InputError("recipe.hidden", f"be {Recipe.hidden}, as the trained weights are", repr(read.hidden))
    return DigitTraining(network, read, steps=steps, seed=seed)
