"""Two runs side by side: which cells differ, in the order of the timeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from engine.labels import cell_label
from engine.trace import Index, TensorRecord, Trace


@dataclass(frozen=True)
class Change:
    """before: in the baseline. delta: after minus before, in float64."""

    tensor: str
    index: Index
    label: str
    before: float
    after: float
    delta: float


@dataclass(frozen=True)
class Comparison:
    """first: the first tensor of the timeline that differs. tensors: how many cells of each differ.

    cells: at most `limit` of them, none of complex tensors; `count` is how many there are. only_here, only_there:
    tensors that one run lacks or that have another shape there.
    """

    same: bool
    first: str | None
    cells: tuple[Change, ...]
    count: int
    tensors: Mapping[str, int]
    only_here: tuple[str, ...]
    only_there: tuple[str, ...]


def compare(trace: Trace, baseline: Trace, *, limit: int = 1000) -> Comparison:
    """Compares values and gradients cell by cell, to the bit; two NaNs are the same. Steps' parts are left out."""
    here, there = _by_timeline(trace), _by_timeline(baseline)
    cells: list[Change] = []
    counts: dict[str, int] = {}
    only_here = dict.fromkeys(name for name in here if name not in there or here[name].shape != there[name].shape)
    for name, record in here.items():
        if name in only_here:
            continue
        other = there[name]
        differs = _differs(record.value, other.value)
        count = int(differs.sum())
        if count:
            counts[name] = count
            shown = 0 if record.value.is_complex() or other.value.is_complex() else max(0, limit - len(cells))
            for place in differs.nonzero()[:shown].tolist():
                cells.append(_change(record, other, tuple(place)))
    only_there = [name for name in there if name not in here or name in only_here]
    return Comparison(
        same=not counts and not only_here and not only_there,
        first=next(iter(counts), None),
        cells=tuple(cells),
        count=sum(counts.values()),
        tensors=counts,
        only_here=tuple(only_here),
        only_there=tuple(only_there),
    )


def _by_timeline(trace: Trace) -> dict[str, TensorRecord]:
    """Inputs and parameters first, then each step's output and, from the end, the gradients."""
    made = [name for step in trace.steps if step.phase in ("forward", "loss") for name in step.outputs]
    gradients = [one.to for step in trace.steps for one in step.sends]
    updated = dict.fromkeys(name for step in trace.steps if step.phase == "update" for name in step.outputs)
    given = [record.name for record in trace.tensors.values() if record.kind in ("input", "parameter")]
    order = dict.fromkeys([*(name for name in given if name not in updated), *made, *gradients, *updated])
    return {name: trace.record(name) for name in order}


def _differs(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    differs = left != right
    if left.dtype.is_floating_point or left.dtype.is_complex:
        differs &= ~(left.isnan() & right.isnan())
    return differs


def _change(record: TensorRecord, other: TensorRecord, place: Index) -> Change:
    before, after = float(other.value[place].item()), float(record.value[place].item())
    return Change(record.name, place, cell_label(record, place), before, after, after - before)
