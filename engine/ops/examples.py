"""What the classification losses read of a step: scores, targets, weights, and the coefficients they come to.

The loss of one example is Σ_c q_c (-ln p_c); class numbers, probabilities, weights and smoothing only differ in q.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch

from engine import expression as ex
from engine.expression import Expr
from engine.ops.loss import reduction_of
from engine.ops.normalisation import Scores
from engine.ops.places import Line, unravel
from engine.ops.table import Reader
from engine.trace import Index


@dataclass(frozen=True)
class Examples:
    """What both losses read of a step: scores of shape (class,) or (example, class, ...), and the targets."""

    reader: Reader

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.reader.tensor("input").shape)

    @property
    def class_dim(self) -> int:
        return 0 if len(self.shape) == 1 else 1

    @property
    def classes(self) -> int:
        return self.shape[self.class_dim]

    @property
    def places_shape(self) -> tuple[int, ...]:
        return self.shape[: self.class_dim] + self.shape[self.class_dim + 1 :]

    @cached_property
    def probabilities(self) -> bool:
        """Whether targets are probabilities of classes rather than class numbers."""
        return self.reader.tensor("target").is_floating_point()

    @cached_property
    def smoothing(self) -> float:
        return float(self.reader.attribute("label_smoothing", 0.0))

    @property
    def plain(self) -> bool:
        return not self.probabilities and self.smoothing == 0

    @cached_property
    def counted(self) -> list[Index]:
        """The examples that count: all but those whose class is ignore_index."""
        count = 1
        for size in self.places_shape:
            count *= size
        every = [unravel(i, self.places_shape) for i in range(count)]
        return every if self.probabilities else [place for place in every if not self.ignored(place)]

    def ignored(self, place: Index) -> bool:
        return not self.probabilities and self.target(place) == self.reader.attribute("ignore_index", -100)

    def target(self, place: Index) -> int:
        return int(self.reader.tensor("target")[place].item())

    def split(self, index: Index) -> tuple[Index, int]:
        """The example and the class of a score."""
        return index[: self.class_dim] + index[self.class_dim + 1 :], index[self.class_dim]

    def line(self, place: Index) -> Line:
        return Line(self.shape, (self.class_dim,), self.at(place, 0))

    def at(self, place: Index, number: int) -> Index:
        return (*place[: self.class_dim], number, *place[self.class_dim :])

    def score(self, place: Index, number: int) -> Expr:
        return self.reader.leaf("input", self.at(place, number))

    def weight(self, number: int) -> Expr | None:
        return self.reader.leaf("weight", (number,)) if self.reader.has("weight") else None

    def arriving(self, place: Index) -> Expr:
        return self.reader.arriving(place if reduction_of(self.reader) == "none" else ())

    def scores(self, place: Index) -> Scores:
        """All scores of one example."""
        values = self.line(place).values(self.reader.tensor("input"))
        return Scores(values, lambda c: self.score(place, c), self.reader)

    def divisor(self) -> Expr | None:
        """What `mean` divides by: the number of examples that count, or the sum of their classes' weights."""
        if reduction_of(self.reader) != "mean":
            return None
        if self.reader.has("weight") and not self.probabilities:
            return self.reader.sum([self.reader.leaf("weight", (self.target(place),)) for place in self.counted])
        count = len(self.counted)
        return None if count == 1 else ex.const(count, "n")

    def coefficient(self, place: Index, number: int) -> Expr:
        """q of one class."""
        weight = self.weight(number)
        if self.probabilities:
            share = self.reader.leaf("target", self.at(place, number))
            if self.smoothing:
                kept = ex.multiply(ex.const(1 - self.smoothing, "1 − ε"), share)
                share = ex.add(kept, ex.const(self.smoothing / self.classes, "ε/C"))
            return weighted(weight, share)
        onehot = ex.const(float(number == self.target(place)))
        if not self.smoothing:
            return weighted(weight, onehot)
        spread = weighted(weight, ex.const(self.smoothing / self.classes, "ε/C"))
        if onehot.value == 0:
            return spread
        return ex.add(weighted(weight, ex.const(1 - self.smoothing, "1 − ε")), spread)

    def coefficient_values(self, place: Index) -> torch.Tensor:
        """q of every class, float64."""
        return torch.tensor([self.coefficient(place, c).value for c in range(self.classes)], dtype=torch.float64)


def weighted(weight: Expr | None, term: Expr) -> Expr:
    return term if weight is None else ex.multiply(weight, term)
