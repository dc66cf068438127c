"""Curves of edges: one or more cubic Bézier pieces, as the points that SVG's path takes."""

from __future__ import annotations

import functools

import numpy as np

Point = tuple[float, float]
Curve = tuple[Point, ...]

_BEND = 0.42


def across(start: Point, end: Point) -> Curve:
    """A piece that leaves and arrives horizontally."""
    reach = (end[0] - start[0]) * _BEND
    return (start, (start[0] + reach, start[1]), (end[0] - reach, end[1]), end)


def down(start: Point, end: Point) -> Curve:
    """A piece that leaves and arrives vertically."""
    reach = (end[1] - start[1]) * _BEND
    return (start, (start[0], start[1] + reach), (end[0], end[1] - reach), end)


def join(pieces: list[Curve]) -> Curve:
    """Pieces end to end as one curve."""
    return pieces[0] + tuple(point for piece in pieces[1:] for point in piece[1:])


def path(curve: Curve) -> str:
    """The `d` of an SVG path."""
    first, *rest = (f"{round(x, 1):g} {round(y, 1):g}" for x, y in curve)
    pieces = (" ".join(rest[at : at + 3]) for at in range(0, len(rest), 3))
    return f"M{first}" + "".join(f" C{piece}" for piece in pieces)


@functools.lru_cache(maxsize=2048)
def points(curve: Curve, count: int, first: float = 0.0, last: float = 1.0) -> np.ndarray:
    """`count` points (count, 2) at equal steps of the parameter, which runs from 0 to 1 over all pieces."""
    pieces = (len(curve) - 1) // 3
    at = np.linspace(first, last, count) * pieces
    piece = np.minimum(at.astype(int), pieces - 1)
    t = (at - piece)[:, None]
    corners = np.array(curve)[3 * piece[:, None] + np.arange(4)]
    a, b, c, d = (corners[:, k] for k in range(4))
    found = a * (1 - t) ** 3 + 3 * b * t * (1 - t) ** 2 + 3 * c * t**2 * (1 - t) + d * t**3
    found.flags.writeable = False
    return found
