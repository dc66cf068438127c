"""Where a graph of operations stands: layers along the flow, order and places across it.

Longest-path layers, an order that keeps each operation's inputs beside it, places by repeated averaging. Every edge
runs straight for as long as its label is, so that labels sit on their edges and can never meet.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, field

from app.scene.curves import Curve, Point, across, down, join, path
from app.scene.placing import Box

DIRECTIONS = {"wide": None, "tall": 340.0}
_MARGIN, _APART, _LEAVE, _FAN, _BEND, _THIN = 10.0, 10.0, 6.0, 24.0, 22.0, 12.0
_ROUNDS, _HEAVY = 8, 1e6


@dataclass(frozen=True)
class Plan:
    """What is to be laid out.

    nodes: (width, height, whether it is a leaf). edges: (source, target, label's width, label's height, port); the port
    says on which side of its target an edge should come in: 0 the middle, negative before it, positive after.
    Edges must lead from operations to later ones.
    """

    nodes: tuple[tuple[float, float, bool], ...]
    edges: tuple[tuple[int, int, float, float, int], ...]


@dataclass(frozen=True)
class Edge:
    """path: SVG path data. label: its box. tail, tip: where the edge leaves and arrives."""

    curve: Curve
    path: str
    label: Box
    tail: Point
    tip: Point


@dataclass(frozen=True)
class Layout:
    width: float
    height: float
    nodes: tuple[Box, ...]
    edges: tuple[Edge, ...]


@dataclass
class _Item:
    """A node, or the place where a long edge passes a layer. extent: its room across the flow. ins: (item, port)."""

    layer: int
    extent: float
    ins: list[tuple[int, int]] = field(default_factory=list)
    outs: list[tuple[int, int]] = field(default_factory=list)
    place: float = 0.0


@functools.lru_cache(maxsize=128)
def lay_out(plan: Plan, direction: str) -> Layout:
    """The layout in a direction: "wide" flows to the right, "tall" downwards and stays narrow where it can."""
    if direction not in DIRECTIONS:
        raise ValueError(f'expected "wide" or "tall"; got {direction!r}')
    wide = direction == "wide"
    along, athwart = (0, 1) if wide else (1, 0)
    layers = _layers(plan, athwart, DIRECTIONS[direction])
    items, chains = _items(plan, layers, athwart)
    order = _order(items)
    _places(items, order)
    return _drawn(plan, items, chains, order, along, athwart)


def _extent(plan: Plan, node: int, athwart: int) -> float:
    """The room a node takes across the flow: itself, or the labels that leave it side by side."""
    labels = [edge[2 + athwart] + _APART / 2 for edge in plan.edges if edge[0] == node]
    return max(plan.nodes[node][athwart], sum(labels) - _APART / 2)


def _layers(plan: Plan, athwart: int, limit: float | None) -> list[int]:
    """Longest-path layers; leaves stand just before what reads them, or earlier where a layer would be too broad."""
    count = len(plan.nodes)
    layers = [0] * count
    for _ in range(count):
        for source, target, *_ in plan.edges:
            layers[target] = max(layers[target], layers[source] + 1)
    for node, (_, _, leaf) in enumerate(plan.nodes):
        readers = [layers[edge[1]] for edge in plan.edges if edge[0] == node]
        if leaf and readers:
            layers[node] = min(readers) - 1
    if limit is not None:
        extents = [_extent(plan, node, athwart) + _APART for node in range(count)]
        layer = max(layers)
        while layer >= min(layers):
            there = [node for node in range(count) if layers[node] == layer]
            movable = [node for node in there if plan.nodes[node][2]]
            while len(there) > 1 and movable and sum(extents[node] for node in there) > limit - 2 * _MARGIN + _APART:
                moved = movable.pop()
                there.remove(moved)
                layers[moved] -= 1
            layer -= 1
    first = min(layers, default=0)
    return [layer - first for layer in layers]


def _items(plan: Plan, layers: list[int], athwart: int) -> tuple[list[_Item], list[list[int]]]:
    """The nodes and the places where edges pass; for each edge the items it runs through."""
    items = [_Item(layers[node], _extent(plan, node, athwart)) for node in range(len(plan.nodes))]
    chains = []
    for source, target, *_, port in plan.edges:
        chain = [source]
        for layer in range(layers[source] + 1, layers[target]):
            items.append(_Item(layer, _THIN))
            chain.append(len(items) - 1)
        chain.append(target)
        for before, after in itertools.pairwise(chain):
            items[before].outs.append((after, port))
            items[after].ins.append((before, port))
        chains.append(chain)
    return items, chains


def _order(items: list[_Item]) -> list[list[int]]:
    """The order within each layer: from the last layer back, beside what is read, by port."""
    count = max((item.layer for item in items), default=-1) + 1
    order: list[list[int]] = [[] for _ in range(count)]
    rank: dict[int, float] = {}
    for layer in reversed(range(count)):
        there = [n for n, item in enumerate(items) if item.layer == layer]

        def key(n: int) -> tuple[float, int, int]:
            outs = items[n].outs
            if not outs:
                return (0.0, 0, n)
            return (sum(rank[after] for after, _ in outs) / len(outs), min((port for _, port in outs), key=abs), n)

        order[layer] = sorted(there, key=key)
        rank.update({n: place for place, n in enumerate(order[layer])})
    return order


def _places(items: list[_Item], order: list[list[int]]) -> None:
    """Places across the flow: operations in line with their main input, leaves beside what reads them."""
    for there in order:
        _spread(items, there, [0.0] * len(there))
    for round_ in range(_ROUNDS):
        for there in order if round_ % 2 else reversed(order):
            _spread(items, there, [_wish(items, items[n]) for n in there])


def _wish(items: list[_Item], item: _Item) -> float:
    """The mean place of an item's neighbours: of those it is the main line to, where there are any."""
    links = [*item.ins, *item.outs]
    near = [n for n, port in links if port == 0] or [n for n, _ in links]
    return sum(items[n].place for n in near) / len(near) if near else item.place


def _spread(items: list[_Item], there: list[int], wanted: list[float]) -> None:
    """Moves items to where they want to be, as near as the room between them allows (pool adjacent violators)."""
    offsets, total = [], 0.0
    for number, n in enumerate(there):
        if number:
            total += (items[there[number - 1]].extent + items[n].extent) / 2 + _APART
        offsets.append(total)
    blocks: list[tuple[float, float, int]] = []
    for n, want, offset in zip(there, wanted, offsets, strict=True):
        main = any(port == 0 for _, port in (*items[n].ins, *items[n].outs))
        block = (want - offset, _HEAVY if main else 1.0, 1)
        while blocks and blocks[-1][0] > block[0]:
            value, weight, size = blocks.pop()
            both = weight + block[1]
            block = ((value * weight + block[0] * block[1]) / both, both, size + block[2])
        blocks.append(block)
    starts = [value for value, _, size in blocks for _ in range(size)]
    for n, start, offset in zip(there, starts, offsets, strict=True):
        items[n].place = start + offset


def _drawn(
    plan: Plan, items: list[_Item], chains: list[list[int]], order: list[list[int]], along: int, athwart: int
) -> Layout:
    nodes = range(len(plan.nodes))
    low = min((item.place - item.extent / 2 for item in items), default=0.0)
    high = max((item.place + item.extent / 2 for item in items), default=0.0)
    breadth = max(high - low + 2 * _MARGIN, DIRECTIONS["tall"] or 0.0) if along == 1 else high - low + 2 * _MARGIN
    shift = (breadth - high - low) / 2
    for item in items:
        item.place += shift
    near, far, lanes = [], [], []
    at = _MARGIN
    for layer, there in enumerate(order):
        thick = max((plan.nodes[n][along] for n in there if n in nodes), default=_THIN)
        near.append(at)
        far.append(at + thick)
        leaving = [n for n, chain in enumerate(chains) if items[chain[0]].layer == layer]
        fan = any(len(items[n].outs) > 1 for n in there)
        start = far[-1] + (_FAN if fan else _LEAVE)
        end = start + max((plan.edges[n][2 + along] for n in leaving), default=0.0)
        lanes.append((start, end))
        at = end + _BEND
    length = (far[-1] if far else at) + _MARGIN
    boxes = []
    for n in nodes:
        middle = (near[items[n].layer] + far[items[n].layer]) / 2
        boxes.append(Box(*_turn(middle, items[n].place, along), *plan.nodes[n][:2]))
    taken: dict[int, float] = {}
    edges = []
    for number, chain in enumerate(chains):
        label = plan.edges[number]
        lane = _lane(plan, items, chain[0], number, taken, athwart)
        edges.append(_edge(chain, lane, label, items, boxes, (near, far, lanes), along))
    width, height = _turn(length, breadth, along)
    return Layout(width, height, tuple(boxes), tuple(edges))


def _lane(plan: Plan, items: list[_Item], source: int, edge: int, taken: dict[int, float], athwart: int) -> float:
    """The place across the flow where an edge carries its label: side by side with the others of its source."""
    breadths = [one[2 + athwart] for one in plan.edges if one[0] == source]
    total = sum(breadths) + _APART / 2 * (len(breadths) - 1)
    used = taken.get(source, 0.0)
    taken[source] = used + plan.edges[edge][2 + athwart] + _APART / 2
    return items[source].place - total / 2 + used + plan.edges[edge][2 + athwart] / 2


def _edge(
    chain: list[int], lane: float, label: tuple, items: list[_Item], boxes: list[Box], tracks: tuple, along: int
) -> Edge:
    near, far, lanes = tracks
    bend = across if along == 0 else down
    source, target = chain[0], chain[-1]
    size = (boxes[source].width, boxes[source].height)[along]
    middle = (boxes[source].x, boxes[source].y)[along]
    stops = [(middle + size / 2, items[source].place)]
    for item, after in itertools.pairwise(chain):
        layer = items[item].layer
        start, end = lanes[layer]
        place = lane if item == source else items[item].place
        stops += [(start, place), (end, place)]
        if after != target:
            stops += [(near[layer + 1], items[after].place), (far[layer + 1], items[after].place)]
    size, middle = (boxes[target].width, boxes[target].height)[along], (boxes[target].x, boxes[target].y)[along]
    stops.append((middle - size / 2, items[target].place))
    points = [_turn(*stop, along) for stop in stops]
    curve = join([bend(one, other) for one, other in itertools.pairwise(points)])
    start, end = lanes[items[source].layer]
    centre = _turn((start + end) / 2, lane, along)
    return Edge(curve, path(curve), Box(*centre, label[2], label[3]), points[0], points[-1])


def _turn(forward: float, aside: float, along: int) -> Point:
    return (forward, aside) if along == 0 else (aside, forward)
