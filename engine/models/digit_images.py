"""The images of MNIST's test set as what a model's input may be taken from."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np

from engine.data import mnist
from engine.models.fields import InputField, Samples

GRIDS = {"pixel": (mnist.SIDE, mnist.SIDE)}
SHOWN = 0  # the test image that is the default input, a 7


@functools.lru_cache(maxsize=2048)
def image(place: int = SHOWN) -> tuple[float, ...]:
    """A test image as an input: the shortest decimals of its float32."""
    return tuple(float(str(one)) for one in mnist.images("test").numbers(slice(place, place + 1))[0].numpy())


def place_of(numbers: Sequence[float]) -> int | None:
    """Where the test image of exactly these numbers, as float32, stands; None where there is none."""
    given = np.asarray(numbers, dtype=np.float32)
    if given.shape != (mnist.PIXELS,) or not np.all((given >= 0) & (given <= 1)):
        return None
    at = _places().get(np.rint(given * mnist.INK).astype(np.uint8).tobytes())
    return at if at is not None and np.array_equal(given, np.asarray(image(at), dtype=np.float32)) else None


@functools.cache
def _places() -> Mapping[bytes, int]:
    return {one.tobytes(): at for at, one in enumerate(mnist.images("test").pixels.numpy())}


TEST_IMAGES = Samples("test", 10_000, image, place_of)


def image_field() -> InputField:
    """An input of one image: 784 pixels from 0 to 1."""
    return InputField("x", size=mnist.PIXELS, default=image(), limit=1, least=0, samples=TEST_IMAGES)
