"""One run as a page sees it: the trace beside its baseline, with cells read, labelled and compared."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from app import wire
from app.exercise import read_number
from app.inline import cell_name
from app.space import indices, split_cell
from app.state import State
from app.templating import filled
from engine.compare import Comparison, compare
from engine.labels import cell_label
from engine.trace import Axis, Index, Step, Trace

Data = dict[str, Any]
MAX_DIFFERENCES = 200


@dataclass(frozen=True)
class Recorded:
    """What does not depend on the view: a trace, its baseline (None where nothing is edited) and their difference."""

    trace: Trace
    unedited: Recorded | None

    @property
    def baseline(self) -> Trace | None:
        return self.unedited.trace if self.unedited is not None else None

    @cached_property
    def data(self) -> Data:
        return wire.trace_data(self.trace)

    @cached_property
    def baseline_data(self) -> Data | None:
        return self.unedited.data if self.unedited is not None else None

    @cached_property
    def comparison(self) -> Comparison | None:
        return compare(self.trace, self.baseline, limit=MAX_DIFFERENCES) if self.baseline is not None else None

    @cached_property
    def touched(self) -> frozenset[str]:
        """Names of the tensors that differ from the baseline's, or are not in it."""
        if self.comparison is None:
            return frozenset()
        return frozenset(self.comparison.tensors) | frozenset(self.comparison.only_here)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """tensor -> the step that makes it or sends the last part of it; given tensors are not in it."""
        found: dict[str, int] = {}
        for step in self.trace.steps:
            found.update(dict.fromkeys(step.outputs, step.index))
            found.update((sent.to, step.index) for sent in step.sends)
        return found


@dataclass(frozen=True)
class Run:
    """A recorded run under one state: what is selected, hidden and linked."""

    recorded: Recorded
    state: State
    _values: dict[tuple[bool, str], Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def trace(self) -> Trace:
        return self.recorded.trace

    @property
    def step(self) -> Step | None:
        """The current step; None in a run without steps."""
        return self.trace.steps[self.state.step] if self.trace.steps else None

    @property
    def asking(self) -> bool:
        """Whether results from here on are hidden until the reader has answered."""
        ahead = self.state.step + 1 < len(self.trace.steps)
        return self.state.predict and self.guess[0] is None and ahead

    @cached_property
    def guess(self) -> tuple[float | None, str]:
        """The number that the reader predicts, None where there is none; and what is wrong with what can't be read."""
        if not self.state.guess:
            return None, ""
        try:
            return float(read_number(self.state.guess)), ""
        except (ValueError, OverflowError) as error:
            return None, f"This can't be read: {error}."

    def hidden(self, tensor: str) -> bool:
        """Whether a tensor's numbers are not to be seen yet."""
        return self.asking and self.recorded.places.get(tensor, -1) > self.state.step

    def value(self, tensor: str, index: Index) -> float | None:
        """One cell as the page writes it: float32 as its shortest decimal."""
        return _at(self._read(self.recorded.trace, self.recorded.data, tensor), index)

    def before(self, tensor: str, index: Index) -> float | None:
        """The baseline's value of a cell where it differs; None where it is the same or not there."""
        baseline = self.recorded.baseline
        if baseline is None or tensor not in self.recorded.touched or tensor not in baseline.tensors:
            return None
        if baseline.tensors[tensor].shape != self.trace.tensors[tensor].shape:
            return None
        old = _at(self._read(baseline, self.recorded.baseline_data or {}, tensor), index)
        new = self.value(tensor, index)
        both_nan = old is not None and new is not None and math.isnan(old) and math.isnan(new)
        return None if old == new or both_nan else old

    def cell(self, tensor: str, index: Index) -> Data:
        """A cell as data: its name, label, value and, where it differs, the baseline's value."""
        cell: Data = {"cell": cell_name(tensor, index), "label": cell_label(self.trace.tensors[tensor], index)}
        if self.hidden(tensor):
            return cell | {"value": None, "hidden": True}
        cell["value"] = self.value(tensor, index)
        before = self.before(tensor, index)
        return cell if before is None else cell | {"before": before}

    def cells(self, tensor: str, limit: int = 64) -> list[Data]:
        """The first `limit` cells of a tensor, last axis fastest."""
        shape = self.trace.tensors[tensor].shape
        return [self.cell(tensor, index) for index, _ in zip(indices(shape), range(limit), strict=False)]

    def label(self, cell: str) -> str:
        """The label of a cell by name; the name itself where it is none of this run's."""
        tensor, index = split_cell(cell)
        if tensor not in self.trace.tensors or index is None:
            return cell
        return cell_label(self.trace.tensors[tensor], index)

    def _read(self, trace: Trace, data: Data, tensor: str) -> Any:
        known = self._values.get((trace is self.trace, tensor))
        if known is None:
            held = data["tensors"][tensor]
            known = filled(held) if "data" in held else trace.tensors[tensor].value.tolist()
            self._values[trace is self.trace, tensor] = known
        return known


def axes_data(axes: Iterable[Axis]) -> list[Data]:
    """Axis chips: names and sizes."""
    return [{"name": axis.name, "size": axis.size} for axis in axes]


def _at(values: Any, index: Index) -> Any:
    for place in index:
        values = values[place]
    return values
