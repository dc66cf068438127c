"""MNIST: 60,000 + 10,000 handwritten digits of 28 x 28 pixels, from the file beside this module."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

FILE = Path(__file__).with_name("mnist.npz")
SIDE = 28
PIXELS = SIDE * SIDE
DIGITS = tuple("0123456789")
INK = 255

Split = Literal["train", "test"]


@dataclass(frozen=True)
class Images:
    """Images as they are stored, 0 (paper) to 255 (ink), row by row, and the digit that each shows."""

    pixels: UInt8[Tensor, "image pixel"]
    labels: Int[Tensor, "image"]

    def __len__(self) -> int:
        return len(self.labels)

    def numbers(self, places: Int[Tensor, "some"] | slice = slice(None)) -> Float[Tensor, "some pixel"]:
        """Some images, or all, as a network takes them: float32 from 0 to 1."""
        return self.pixels[places].to(torch.float32).div_(INK)

    def first(self, count: int) -> Images:
        """The first `count` images."""
        return Images(self.pixels[:count], self.labels[:count])


@functools.cache
def images(split: Split) -> Images:
    """All images of a split, in the order of the file; nobody writes to them."""
    with np.load(FILE) as file:
        pixels = torch.from_numpy(file[f"{split}_images"]).flatten(1)
        labels = torch.from_numpy(file[f"{split}_labels"]).to(torch.int64)
    return Images(pixels, labels)
