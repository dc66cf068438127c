"""The gradient of one cell, path by path: every way it takes to the loss, as a product of local derivatives."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from engine import local
from engine.errors import InputError
from engine.explain import find, number_at
from engine.expression import leaves
from engine.labels import cell_label
from engine.ops.table import rows
from engine.reader import StepReader
from engine.trace import Index, Step, Trace

_MANY = 256
_Columns = dict[tuple[int, str, Index], list[torch.Tensor]]


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
    """label: ∂L/∂z₂. total: the recorded gradient. rest: total minus the paths shown. complete: no path is left out."""

    label: str
    total: float
    paths: tuple[Path, ...]
    rest: float
    complete: bool


def paths(trace: Trace, tensor: str, index: Sequence[int], *, limit: int = 64) -> Paths:
    """The paths from one cell to the loss, at most `limit` of them, those with zeros included.

    Raises InputError for an unknown cell, or one from which no path leads to the loss.
    """
    record, place = find(trace, tensor, index)
    if record.kind == "gradient" or record.gradient is None:
        raise InputError("tensor", "have a path to the loss", f"{tensor!r}, which has none")
    found = list(itertools.islice(_walk(trace, tensor, place, {}), limit + 1))
    shown = tuple(Path(math.prod(hop.derivative for hop in hops), hops) for hops in found[:limit])
    total = number_at(trace.record(record.gradient), place)
    label = cell_label(trace.record(record.gradient), place)
    rest = total - math.fsum(path.value for path in shown)
    return Paths(label, total, shown, rest, len(found) <= limit)


def _walk(trace: Trace, tensor: str, index: Index, known: _Columns) -> Iterator[tuple[Hop, ...]]:
    """Every way on from a cell. known: local derivatives already worked out, since paths meet again."""
    steps = [step for step in trace.consumers(tensor) if any(trace.record(out).gradient for out in step.outputs)]
    if not steps:
        yield ()
        return
    for step in steps:
        for operand in step.inputs:
            if operand.tensor == tensor:
                for hop in _hops(trace, step, operand.role, index, known):
                    for onward in _walk(trace, hop.tensor, hop.index, known):
                        yield (hop, *onward)


def _hops(trace: Trace, step: Step, role: str, index: Index, known: _Columns) -> Iterator[Hop]:
    """The output cells that depend on an operand's cell, with their derivatives by it."""
    source = (step.operand(role), index)
    row = rows().get(step.op)
    key = (step.index, role, index)
    if key not in known:
        known[key] = list(local.column(trace, step, role, index))
    for name, slopes in zip(step.outputs, known[key], strict=False):
        record = trace.record(name)
        if record.gradient is None:
            continue
        few = row is not None and slopes.numel() <= _MANY and name == step.output
        places = itertools.product(*map(range, slopes.shape))
        for place in places:
            slope = float(slopes[place])
            if slope or (few and row is not None and source in _read(row.cell(StepReader(trace, step, _MANY), place))):
                yield Hop(name, place, cell_label(record, place), slope)


def _read(expression: object) -> set[tuple[str | None, Index | None]]:
    return {(leaf.tensor, leaf.index) for leaf in leaves(expression)}  # type: ignore[arg-type]
