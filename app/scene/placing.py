"""Places labels on their own curves so that no label touches another, a node or the border.

Each label may stand at a few dozen points of its curve. Where it covers other curves, or stands far from its curve's
middle, it costs; touching something solid is not allowed. The search is deterministic: each label in turn takes its
best place given the others, and where that ends in a clash, a bounded search with backtracking settles it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from app.scene.curves import Curve, Point, points

GAP = 3.0
_FIRST, _LAST, _PLACES, _SAMPLES = 0.06, 0.94, 37, 32
_CLASH, _COVERED, _ROUNDS, _TRIES = 1000.0, 0.5, 6, 3000


@dataclass(frozen=True)
class Box:
    """A rectangle by its centre and size."""

    x: float
    y: float
    width: float
    height: float

    def data(self) -> dict[str, float]:
        """Centre, upper left corner and size as plain data, rounded to a tenth."""
        left, up = self.x - self.width / 2, self.y - self.height / 2
        sides = {"x": self.x, "y": self.y, "left": left, "up": up, "width": self.width, "height": self.height}
        return {name: int(side) if side == int(side) else round(side, 1) for name, side in sides.items()}

    def overlaps(self, other: Box, gap: float = 0.0) -> bool:
        return (
            abs(self.x - other.x) < (self.width + other.width) / 2 + gap
            and abs(self.y - other.y) < (self.height + other.height) / 2 + gap
        )


@dataclass(frozen=True)
class Label:
    """What is to be placed: its curve, the size of its box, and where on the curve (0 to 1) it would like to stand."""

    curve: Curve
    width: float
    height: float
    wish: float = 0.5


@functools.lru_cache(maxsize=512)
def place(
    labels: tuple[Label, ...], solid: tuple[Box, ...], others: tuple[Curve, ...], width: float, height: float
) -> tuple[Point | None, ...]:
    """The centre of each label, on its curve; None for labels that find no free place.

    solid: boxes that no label may touch. others: further curves that labels should rather not cover. width, height: of
    the picture, whose border counts as solid.
    """
    if not labels:
        return ()
    search = _Search(labels, solid, others, width, height)
    return search.settle()


class _Search:
    def __init__(
        self, labels: tuple[Label, ...], solid: tuple[Box, ...], others: tuple[Curve, ...], width: float, height: float
    ) -> None:
        self.sizes = np.array([(label.width, label.height) for label in labels])
        self.spots = np.array([points(label.curve, _PLACES, _FIRST, _LAST) for label in labels])
        self.costs = np.stack([self._cost(n, labels, solid, others, (width, height)) for n in range(len(labels))])

    def _cost(self, n: int, labels: tuple, solid: tuple, others: tuple, border: tuple[float, float]) -> np.ndarray:
        """The cost (places,) of each place of label n, leaving other labels aside; inf where it is not allowed."""
        spots, half = self.spots[n], self.sizes[n] / 2
        cost = np.abs(np.linspace(_FIRST, _LAST, _PLACES) - labels[n].wish)
        outside = (spots - half < 1).any(axis=1) | (spots + half > np.array(border) - 1).any(axis=1)
        if solid:
            x, y, wide, high = np.array([(box.x, box.y, box.width, box.height) for box in solid]).T
            inside = np.abs(spots[:, :1] - x) < half[0] + wide / 2 + GAP
            inside &= np.abs(spots[:, 1:] - y) < half[1] + high / 2 + GAP
            outside |= inside.any(axis=1)
        curves = [label.curve for m, label in enumerate(labels) if m != n and label.curve != labels[n].curve]
        if samples := [points(curve, _SAMPLES) for curve in [*curves, *others]]:
            x, y = np.concatenate(samples).T
            near = np.abs(spots[:, :1] - x) < half[0] + 1
            near &= np.abs(spots[:, 1:] - y) < half[1] + 1
            cost += _COVERED * near.reshape(len(spots), len(samples), _SAMPLES).any(axis=2).sum(axis=1)
        return np.where(outside, np.inf, cost)

    def _clashes(self, n: int, chosen: np.ndarray, among: list[int]) -> np.ndarray:
        """How many of the labels in `among`, at their chosen places, each place of label n would touch: (places,)."""
        if not among:
            return np.zeros(_PLACES)
        reach = (self.sizes[n] + self.sizes[among]) / 2 + GAP
        there = self.spots[among, chosen[among]]
        close = np.abs(self.spots[n][:, :1] - there[:, 0]) < reach[:, 0]
        close &= np.abs(self.spots[n][:, 1:] - there[:, 1]) < reach[:, 1]
        return close.sum(axis=1)

    def settle(self) -> tuple[Point | None, ...]:
        movable = [n for n in range(len(self.sizes)) if np.isfinite(self.costs[n]).any()]
        chosen = self.costs.argmin(axis=1)
        for _ in range(_ROUNDS):
            before = chosen.copy()
            for n in movable:
                rest = [m for m in movable if m != n]
                chosen[n] = int((self.costs[n] + _CLASH * self._clashes(n, chosen, rest)).argmin())
            if (chosen == before).all():
                break
        if any(self._clashes(n, chosen, [m for m in movable if m != n])[chosen[n]] for n in movable):
            chosen = self._backtrack(movable, chosen)
        kept: list[int] = []
        for n in movable:
            if not self._clashes(n, chosen, kept)[chosen[n]]:
                kept.append(n)
        return tuple(
            (float(self.spots[n, chosen[n], 0]), float(self.spots[n, chosen[n], 1])) if n in kept else None
            for n in range(len(self.sizes))
        )

    def _backtrack(self, movable: list[int], chosen: np.ndarray) -> np.ndarray:
        """An arrangement without a clash, labels with the fewest places first; failing that, the given one."""
        order = sorted(movable, key=lambda n: int(np.isfinite(self.costs[n]).sum()))
        found, tries = chosen.copy(), 0

        def extend(depth: int) -> bool:
            nonlocal tries
            if depth == len(order):
                return True
            n = order[depth]
            cost = np.where(self._clashes(n, found, order[:depth]) > 0, np.inf, self.costs[n])
            for spot in np.argsort(cost, kind="stable"):
                tries += 1
                if not np.isfinite(cost[spot]) or tries > _TRIES:
                    return False
                found[n] = spot
                if extend(depth + 1):
                    return True
            return False

        return found if extend(0) else chosen
