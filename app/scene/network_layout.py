"""Where a dense network's units, weights and labels stand: left to right (wide) or top to bottom (tall).

Knows sizes only, no numbers; so a layout is reused for every run whose labels take the same room.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from app.scene.curves import Curve, Point, across, down, path
from app.scene.placing import Box, Label, place

MAX_UNITS = {"wide": 8, "tall": 4}
LABEL_HEIGHT = 20.0
_CHARACTER, _PADDING = 8.4, 8.0
_GROWTH = (1.0, 1.2, 1.45, 1.8)


@dataclass(frozen=True)
class Plan:
    """What is to be laid out. Nodes are numbered column by column, then the target, the error and the loss.

    columns: units in each. dense: for each pair of neighbours, whether weights join them. edges: (source, target,
    characters of its label; 0 for none). biases: characters of each node's bias, 0 for none. more: for each column,
    how many characters its note about left-out units takes.
    """

    columns: tuple[int, ...]
    dense: tuple[bool, ...]
    edges: tuple[tuple[int, int, int], ...]
    biases: tuple[int, ...]
    more: tuple[int, ...]
    target: bool
    error: bool
    loss: bool


@dataclass(frozen=True)
class Edge:
    """path: SVG path data. label: the box kept free for its label, None where it has none or none fits."""

    curve: Curve
    path: str
    label: Box | None


@dataclass(frozen=True)
class Layout:
    """nodes: boxes; the first column's and the target's are drawn round. tops: centres of the lines of text over the
    nodes. biases: boxes of the biases, None for nodes without one. more: places of the notes about left-out units."""

    width: float
    height: float
    nodes: tuple[Box, ...]
    tops: tuple[Point, ...]
    biases: tuple[Box | None, ...]
    edges: tuple[Edge, ...]
    more: tuple[Point | None, ...]

    @property
    def solid(self) -> tuple[Box, ...]:
        """Everything that no label may touch."""
        return (*self.nodes, *(Box(x, y, 64, 18) for x, y in self.tops), *(box for box in self.biases if box))


def label_width(characters: int) -> float:
    return characters * _CHARACTER + _PADDING


def bias_width(characters: int) -> float:
    return max(30.0, characters * 8.2 + 12)


@functools.lru_cache(maxsize=256)
def lay_out(plan: Plan, direction: str) -> Layout:
    """The layout in a direction, "wide" or "tall"; where labels do not fit, layers stand further apart."""
    if direction not in MAX_UNITS:
        raise ValueError(f'expected "wide" or "tall"; got {direction!r}')
    build = _wide if direction == "wide" else _tall
    wanted = sum(characters > 0 for _, _, characters in plan.edges)
    found = None
    for growth in _GROWTH:
        laid = build(plan, growth)
        if found is None or _placed(laid) > _placed(found):
            found = laid
        if _placed(found) == wanted:
            break
    assert found is not None
    return found


def _placed(layout: Layout) -> int:
    return sum(edge.label is not None for edge in layout.edges)


def _wide(plan: Plan, growth: float) -> Layout:
    pitch, top, box, pill = 110.0, 38.0, (92.0, 56.0), (80.0, 50.0)
    below_output = plan.columns[-1] // 2 + 1
    lanes = max(*plan.columns, 1 + 2 * below_output if plan.target else 1, 3 if plan.error else 1)
    span = (lanes - 1) * pitch
    dense, plain = 122.0, 28.0
    middle = top + box[1] / 2 + span / 2
    nodes: list[Box] = []
    centre = 10.0 + pill[0] / 2
    for number, count in enumerate(plan.columns):
        size = pill if number == 0 else box
        if number:
            gap = dense * growth if plan.dense[number - 1] else plain
            centre += (pill if number == 1 else box)[0] / 2 + gap + size[0] / 2
        nodes += [Box(centre, middle + offset, *size) for offset in _spread(count, span, pitch)]
    if plan.target:
        nodes.append(Box(centre, middle + pitch * below_output, *pill))
    if plan.loss:  # the loss stands under the error, beside the target
        centre += box[0] / 2 + plain + box[0] / 2
        nodes += [Box(centre, middle, *box)] if plan.error else []
        nodes.append(Box(centre, middle + (pitch if plan.error else 0), *box))
    below = 40.0 if any(plan.more) else 24.0
    width, height = centre + box[0] / 2 + 10, top + box[1] + span + below
    tops = [(node.x, node.y - node.height / 2 - 15) for node in nodes]
    if plan.error:  # beside the line that comes down from the error
        tops[-1] = (nodes[-1].x + 27, tops[-1][1])
    more = _below(plan, nodes, 34)
    return _finish(plan, nodes, tuple(tops), more, (width, height), across)


def _tall(plan: Plan, growth: float) -> Layout:
    width, high = 340.0, 72.0
    lanes = max(*plan.columns, 3 if plan.target or plan.error else 1)
    pitch = (width - 12) / lanes
    span = (lanes - 1) * pitch
    size, pill = (min(100.0, pitch - 8), high), (min(84.0, pitch - 8), 52.0)
    nodes: list[Box] = []
    centre = 30.0 + pill[1] / 2
    for number, count in enumerate(plan.columns):
        if number:
            before = pill[1] if number == 1 else high
            centre += before / 2 + (128 * growth if plan.dense[number - 1] else 42) + high / 2
        here = pill if number == 0 else size
        nodes += [Box(width / 2 + offset, centre, *here) for offset in _spread(count, span, pitch)]
    if plan.target:
        nodes.append(Box(width / 2 + span / 2, centre, *pill))
    if plan.loss:  # the loss stands beside the error, under the target
        centre += high / 2 + 46 + high / 2
        nodes += [Box(width / 2, centre, *size)] if plan.error else []
        nodes.append(Box(width / 2 + (span / 2 if plan.error else 0), centre, *size))
    circles = {*range(plan.columns[0]), *([sum(plan.columns)] if plan.target else [])}
    tops = tuple((node.x, node.y - (node.height / 2 + 12 if n in circles else 24)) for n, node in enumerate(nodes))
    more = _below(plan, nodes, 26)
    return _finish(plan, nodes, tops, more, (width, centre + high / 2 + (34 if any(plan.more) else 22)), down)


def _spread(count: int, span: float, pitch: float) -> list[float]:
    """Offsets from the middle: fewer units stand further apart, so that their edges do too."""
    apart = (span + pitch) / count
    return [(number - (count - 1) / 2) * apart for number in range(count)]


def _below(plan: Plan, nodes: list[Box], distance: float) -> tuple[Point | None, ...]:
    places: list[Point | None] = []
    last = -1
    for count, characters in zip(plan.columns, plan.more, strict=True):
        last += count
        node = nodes[last]
        places.append((node.x, node.y + node.height / 2 + distance) if characters else None)
    return tuple(places)


def _finish(
    plan: Plan,
    nodes: list[Box],
    tops: tuple[Point, ...],
    more: tuple[Point | None, ...],
    size: tuple[float, float],
    draw: Callable[[Point, Point], Curve],
) -> Layout:
    """Adds biases, curves and their labels."""
    biases = tuple(
        Box(node.x, node.y + node.height / 2, bias_width(characters), 20) if characters else None
        for node, characters in zip(nodes, plan.biases, strict=True)
    )
    upright = draw is down
    curves = []
    for source, target, _ in plan.edges:
        start, end = nodes[source], nodes[target]
        if (start.y == end.y) if upright else (start.x == end.x):  # from the error to the loss
            turned = across if upright else down
            sides = (start.width / 2 * upright, start.height / 2 * (not upright))
            curves.append(turned((start.x + sides[0], start.y + sides[1]), (end.x - sides[0], end.y - sides[1])))
        elif upright:
            low = biases[source]
            foot = start.y + start.height / 2 + (10 if low else 0)
            curves.append(down((start.x, foot), (end.x, end.y - end.height / 2)))
        else:
            curves.append(across((start.x + start.width / 2, start.y), (end.x - end.width / 2, end.y)))
    bare = Layout(*size, tuple(nodes), tops, biases, (), more)
    labelled = [number for number, edge in enumerate(plan.edges) if edge[2]]
    found = place(
        tuple(Label(curves[n], label_width(plan.edges[n][2]), LABEL_HEIGHT) for n in labelled),
        bare.solid,
        tuple(curve for n, curve in enumerate(curves) if n not in labelled),
        *size,
    )
    centres = dict(zip(labelled, found, strict=True))
    edges = []
    for n, curve in enumerate(curves):
        centre = centres.get(n)
        label = Box(*centre, label_width(plan.edges[n][2]), LABEL_HEIGHT) if centre else None
        edges.append(Edge(curve, path(curve), label))
    return Layout(*size, tuple(nodes), tops, biases, tuple(edges), more)
