"""The gradient of one cell, path by path: every way it takes to the loss, as a product of local derivatives."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from engine import local
from engine.errors import InputError
from engine.explain import find, number_at
from engine.expression import add, const, leaves
from engine.labels import cell_label
from engine.ops.table import rows
from engine.reader import StepReader
from engine.trace import Index, Step, Trace

_MANY = 256
_FEW = 16  # outputs of which those with a slope of zero are passed too


@dataclass(frozen=True)
class Hop:
    """A cell that a path passes. derivative: d this cell / d the cell before it on the path."""

    tensor: str
    index: Index
    label: str
    derivative: float


@dataclass(frozen=True)
class Path:
    """value: the product of its hops' derivatives."""

    value: float
    hops: tuple[Hop, ...]


@dataclass(frozen=True)
class Paths:
    """label: ∂L/∂z₂. total: the recorded gradient. rest: total minus the paths shown.

    complete: no path is left out, by the limit or because it leads through a step that can't be opened.
    """

    label: str
    total: float
    paths: tuple[Path, ...]
    rest: float
    complete: bool


def paths(trace: Trace, tensor: str, index: Sequence[int], *, limit: int = 64) -> Paths:
    """The paths from one cell to the loss, those with zeros included, in the network's order.

    Where there are more than `limit`, those along which most of the gradient arrives, the strongest first.

    Raises InputError for an unknown cell, one from which no path leads to the loss, or a limit below 1.
    """
    if limit < 1:
        raise InputError("limit", "be at least 1", limit)
    record, place = find(trace, tensor, index)
    if record.kind == "gradient" or record.gradient is None:
        raise InputError("tensor", "have a path to the loss", f"{tensor!r}, which has none")
    walk = _Walk(trace)
    found = list(itertools.islice(walk.from_cell(tensor, place), limit + 1))
    if len(found) > limit:
        found = [*walk.strongest(tensor, place, limit), ()]
    shown = tuple(Path(math.prod(hop.derivative for hop in hops), hops) for hops in found[:limit])
    total = number_at(trace.record(record.gradient), place)
    label = cell_label(trace.record(record.gradient), place)
    rest = total - add(*(const(path.value) for path in shown)).value
    return Paths(label, total, shown, rest, len(found) <= limit and not walk.stopped)


class _Walk:
    """Depth first, without recursion, for networks of a thousand steps. stopped: a step could not be opened."""

    def __init__(self, trace: Trace) -> None:
        self.stopped = False
        self._trace = trace
        self._known: dict[tuple[int, str, Index], list[Hop]] = {}  # paths meet again

    def from_cell(self, tensor: str, index: Index) -> Iterator[tuple[Hop, ...]]:
        """Every way from a cell to the loss."""
        start = self._onward(tensor, index)
        if start is None:
            yield ()
            return
        trail: list[Hop] = []
        ahead = [start]  # what is left to try at the start and after each hop of the trail
        while ahead:
            hop = next(ahead[-1], None)
            if hop is None:
                ahead.pop()
                if trail:
                    trail.pop()
                continue
            trail.append(hop)
            onward = self._onward(hop.tensor, hop.index)
            if onward is None:
                yield tuple(trail)
                trail.pop()
            else:
                ahead.append(onward)

    def strongest(self, tensor: str, index: Index, limit: int) -> Iterator[tuple[Hop, ...]]:
        """Up to `limit` ways to the loss, best first: the one with the largest share of the gradient.

        A way's share is what all its continuations send together: the product so far times the gradient it has reached.
        """
        order = itertools.count()
        begun: list[tuple[float, int, float, tuple[Hop, ...]]] = [(-math.inf, next(order), 1.0, ())]
        for _ in range(limit * _MANY):
            if not begun or not limit:
                return
            _, _, product, trail = heapq.heappop(begun)
            at = (trail[-1].tensor, trail[-1].index) if trail else (tensor, index)
            onward = self._onward(*at)
            if onward is None:
                limit -= 1
                yield trail
                continue
            for hop in onward:
                gradient = self._trace.record(self._trace.record(hop.tensor).gradient or "").value[hop.index]
                share = abs(product * hop.derivative * float(gradient))
                heapq.heappush(begun, (-share, next(order), product * hop.derivative, (*trail, hop)))

    def _onward(self, tensor: str, index: Index) -> Iterator[Hop] | None:
        """The hops from a cell; None at the loss."""
        trace = self._trace
        steps = [step for step in trace.consumers(tensor) if any(trace.record(out).gradient for out in step.outputs)]
        if not steps:
            return None
        return itertools.chain.from_iterable(
            self._hops(step, operand.role, index)
            for step in steps
            for operand in step.inputs
            if operand.tensor == tensor
        )

    def _hops(self, step: Step, role: str, index: Index) -> list[Hop]:
        key = (step.index, role, index)
        if key not in self._known:
            columns = local.column(self._trace, step, role, index)
            self.stopped |= columns is None
            self._known[key] = [] if columns is None else list(_hops(self._trace, step, role, index, columns))
        return self._known[key]


def _hops(trace: Trace, step: Step, role: str, index: Index, columns: Sequence[torch.Tensor]) -> Iterator[Hop]:
    """The output cells that depend on an operand's cell, with their derivatives by it."""
    source = (step.operand(role), index)
    row = rows().get(step.op)
    for name, slopes in zip(step.outputs, columns, strict=False):
        record = trace.record(name)
        if record.gradient is None:
            continue
        few = row is not None and slopes.numel() <= _FEW and name == step.output
        places = itertools.product(*map(range, slopes.shape)) if few else map(tuple, slopes.nonzero().tolist())
        for place in places:
            slope = float(slopes[place])
            if slope or (row is not None and source in _read(row.cell(StepReader(trace, step, _MANY), place))):
                yield Hop(name, place, cell_label(record, place), slope)


def _read(expression: object) -> set[tuple[str | None, Index | None]]:
    return {(leaf.tensor, leaf.index) for leaf in leaves(expression)}  # type: ignore[arg-type]
