"""Which of many images a painted unit answers to."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from engine.data import mnist

IMAGES = 1000


@dataclass(frozen=True)
class Answers:
    """To the first IMAGES test images. sums: w·x of each; lit: whether w·x + b is above 0; digits: what each shows."""

    sums: tuple[float, ...]
    lit: tuple[bool, ...]
    digits: tuple[int, ...]

    @property
    def count(self) -> int:
        return sum(self.lit)

    @property
    def by_digit(self) -> list[tuple[int, int]]:
        """How many images of each digit light the unit, of how many."""
        pairs = list(zip(self.digits, self.lit, strict=True))
        return [
            (sum(lit for one, lit in pairs if one == digit), self.digits.count(digit)) for digit in range(10)
        ]  # fmt: skip

    @property
    def strongest(self) -> list[int]:
        """The images' places by their sum, the largest first."""
        return sorted(range(len(self.sums)), key=lambda place: (-self.sums[place], place))


@torch.no_grad()
def answers(weight: Sequence[float], bias: float) -> Answers:
    """weight: one number a pixel."""
    sums = _images() @ torch.tensor(weight, dtype=torch.float32)
    lit = sums + bias > 0
    return Answers(tuple(sums.tolist()), tuple(lit.tolist()), _digits())


@functools.cache
def _images() -> Float[Tensor, "image pixel"]:
    return mnist.images("test").first(IMAGES).numbers()


@functools.cache
def _digits() -> tuple[int, ...]:
    return tuple(mnist.images("test").labels[:IMAGES].tolist())
