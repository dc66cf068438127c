"""How the digit network is trained: what a caller may choose, read from plain data and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import InputError
from engine.models.digit_network import HIDDEN
from engine.training.optimisers import SGD, Adam, Optimiser
from engine.training.readers import Reader, one_of, real, split, truth, whole, widths

TRAINING_IMAGES = 60_000
RATES = {"sgd": 0.3, "momentum": 0.05, "adam": 0.005}
"""The learning rate of each optimiser where none is given."""


@dataclass(frozen=True)
class Recipe:
    """images: only the first so many of the 60,000. random_labels: a digit drawn for each image, once, with the seed.

    hidden: the widths of the hidden layers, "16-16"; "none" leaves them out. schedule: "cosine" lets the learning rate
    fall along half a cosine to 0 at the last step. momentum is read by the optimiser "momentum" only.
    """

    optimiser: str = "sgd"
    learning_rate: float = RATES["sgd"]
    schedule: str = "constant"
    momentum: float = 0.9
    weight_decay: float = 0.0
    batch_size: int = 100
    hidden: str = "-".join(map(str, HIDDEN))
    images: int = TRAINING_IMAGES
    random_labels: bool = False

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Recipe:
        """The recipe with what is not given by default. Raises InputError that says expected and got."""
        for name in given:
            if name not in _READERS:
                raise InputError(f"recipe.{name}", f"be one of {', '.join(_READERS)}", repr(name))
        read = {name: _READERS[name](f"recipe.{name}", value) for name, value in given.items()}
        return cls(**{"learning_rate": RATES[read.get("optimiser", cls.optimiser)], **read})

    @property
    def widths(self) -> tuple[int, ...]:
        return split(self.hidden)

    @property
    def batches(self) -> int:
        """How many steps one pass over the images takes."""
        return math.ceil(self.images / self.batch_size)

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of the update after `step` others, of `steps`."""
        if self.schedule == "constant":
            return self.learning_rate
        return self.learning_rate * (1 + math.cos(math.pi * step / steps)) / 2

    def new_optimiser(self) -> Optimiser:
        if self.optimiser == "adam":
            return Adam(self.weight_decay)
        return SGD(self.momentum if self.optimiser == "momentum" else 0.0, self.weight_decay)


_READERS: dict[str, Reader] = {
    "optimiser": one_of(*RATES),
    "learning_rate": real(0, 1000),
    "schedule": one_of("constant", "cosine"),
    "momentum": real(0, 0.9999),
    "weight_decay": real(0, 1),
    "batch_size": whole(1, 10_000),
    "hidden": widths,
    "images": whole(1, TRAINING_IMAGES),
    "random_labels": truth,
}
