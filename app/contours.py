"""Lines of equal height over a grid, by marching squares: where a surface passes a level, cell by cell, joined up.

Between two grid points the height is taken to run straight. A cell whose opposite corners lie on one side (a saddle) is
cut as the mean of its corners says.
"""

from __future__ import annotations

from collections.abc import Sequence

Point = tuple[float, float]
Edge = tuple[int, int, bool]
"""Of a grid edge: the column and row of its first point, and whether it runs upwards."""


def lines(x: Sequence[float], y: Sequence[float], z: Sequence[Sequence[float]], level: float) -> list[list[Point]]:
    """The lines along which z is the level, each as points in order; a closed one ends where it begins.

    x, y: the grid's columns and rows, ascending. z: a row of heights for each y.
    """
    ways: dict[Edge, list[Edge]] = {}
    for row in range(len(y) - 1):
        for column in range(len(x) - 1):
            for one, other in _cuts(z, column, row, level):
                ways.setdefault(one, []).append(other)
                ways.setdefault(other, []).append(one)
    found = []
    ends = [edge for edge, others in ways.items() if len(others) == 1]
    for start in (*ends, *ways):
        line = _walked(ways, start)
        if len(line) > 1:
            found.append([_met(x, y, z, edge, level) for edge in line])
    return found


def _cuts(z: Sequence[Sequence[float]], column: int, row: int, level: float) -> list[tuple[Edge, Edge]]:
    """The pairs of a cell's edges that lines join."""
    corners = (z[row][column], z[row][column + 1], z[row + 1][column + 1], z[row + 1][column])
    above = [corner > level for corner in corners]
    edges = ((column, row, False), (column + 1, row, True), (column, row + 1, False), (column, row, True))
    cut = [edge for at, edge in enumerate(edges) if above[at] != above[(at + 1) % 4]]
    if len(cut) < 4:
        return [(cut[0], cut[1])] if cut else []
    around_first = (sum(corners) / 4 > level) != above[0]
    return [(cut[0], cut[3]), (cut[1], cut[2])] if around_first else [(cut[0], cut[1]), (cut[2], cut[3])]


def _walked(ways: dict[Edge, list[Edge]], start: Edge) -> list[Edge]:
    """The edges from a start on, each connection used once."""
    line, here = [start], start
    while ways[here]:
        there = ways[here].pop()
        ways[there].remove(here)
        line.append(there)
        here = there
    return line


def _met(
    x: Sequence[float], y: Sequence[float], z: Sequence[Sequence[float]], edge: Edge, level: float
) -> Point:  # fmt: skip
    column, row, upwards = edge
    first, second = z[row][column], z[row + 1][column] if upwards else z[row][column + 1]
    part = (level - first) / (second - first)
    if upwards:
        return x[column], y[row] + part * (y[row + 1] - y[row])
    return x[column] + part * (x[column + 1] - x[column]), y[row]
