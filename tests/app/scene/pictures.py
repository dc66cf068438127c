"""What every picture's tests measure: labels against curves, boxes against boxes."""

from __future__ import annotations

import re

import numpy as np

from app.scene.curves import points
from app.scene.placing import Box


def box(place: dict[str, float]) -> Box:
    """A box as the layout gives it."""
    return Box(place["x"], place["y"], place["width"], place["height"])


def distance(path: str, at: tuple[float, float]) -> float:
    """How far a point is from the curve that SVG path data draws."""
    numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", path)]
    curve = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    return float(np.hypot(*(points(curve, 800) - at).T).min())


def clashes(boxes: list[Box], others: list[Box] = ()) -> list[tuple[Box, Box]]:
    """The pairs that touch: of `boxes` among themselves, and of each with each of `others`."""
    pairs = [(one, other) for n, one in enumerate(boxes) for other in boxes[n + 1 :]]
    pairs += [(one, other) for one in boxes for other in others]
    return [pair for pair in pairs if pair[0].overlaps(pair[1])]
