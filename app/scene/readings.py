"""Reads single cells of a run as pages write them: value, gradient, what the baseline has; and how far the run is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from app.numbers import text
from app.wire import cell_value
from engine.labels import cell_label
from engine.trace import Index, Step, Trace

State = str  # later | now | done

_CHANGES = {"mul": ("×", 1), "add": ("+", 0)}


class Readings:
    """step: index of the current step; None when the run is shown finished."""

    def __init__(self, trace: Trace, baseline: Trace | None, step: int | None) -> None:
        if step is not None and not 0 <= step < len(trace.steps):
            raise ValueError(f"step must be from 0 to {len(trace.steps) - 1}; got {step}")
        self.trace = trace
        self.baseline = baseline
        self.step = None if step is None else trace.steps[step]
        self.phase = "done" if self.step is None else self.step.phase
        self._lists: dict[tuple[int, str], Any] = {}
        self._arrivals = _arrivals(trace)

    def value(self, name: str, index: Index) -> float | None:
        """One cell of the run; None where there is no such tensor."""
        return self._read(self.trace, name, index)

    def gradient(self, name: str, index: Index) -> float | None:
        """The loss's derivative by one cell; None where the loss has no path from it."""
        gradient = self.gradient_name(name)
        return None if gradient is None else self.value(gradient, index)

    def gradient_name(self, name: str) -> str | None:
        record = self.trace.tensors.get(name)
        return record.gradient if record else None

    def before(self, name: str | None, index: Index) -> float | None:
        """The baseline's value of a cell where it differs from this run's; None where it is the same or not there."""
        if self.baseline is None or name is None or name not in self.baseline.tensors or name not in self.trace.tensors:
            return None
        if self.baseline.tensors[name].shape != self.trace.tensors[name].shape:
            return None
        old, new = self._read(self.baseline, name, index), self.value(name, index)
        same = old == new or (old is not None and new is not None and math.isnan(old) and math.isnan(new))
        return None if same else old

    def label(self, name: str, index: Index) -> str:
        return cell_label(self.trace.record(name), index)

    def shape(self, name: str) -> tuple[int, ...]:
        return self.trace.record(name).shape

    def reached(self, *steps: Step) -> State:
        """Whether these steps, which make one thing, are still to come, are being done, or are over."""
        if not steps or self.step is None:
            return "done"
        now, indexes = self.step.index, [step.index for step in steps]
        return "later" if now < min(indexes) else "now" if now in indexes else "done"

    def current(self, step: Step | None) -> bool:
        """Whether the current step is this one, or undoes it."""
        return self.step is not None and step is not None and step.index in (self.step.index, self.step.forward)

    def arrived(self, name: str) -> State:
        """Whether a tensor's gradient is there yet, going back from the loss."""
        if self.step is None or self.phase == "update":
            return "done"
        if self.phase != "backward":
            return "later"
        sent = self._arrivals.get(self.gradient_name(name) or "")
        if sent is None or self.step.index > max(sent):
            return "done"
        return "now" if self.step.index in sent else "later"

    def shown(self, name: str, *makers: Step) -> State:
        """The state of what the picture shows now: in backward of a tensor's gradient, else of its value."""
        return self.arrived(name) if self.phase == "backward" else self.reached(*makers)

    def updated(self, parameter: str) -> str | None:
        """The name of a parameter's new value, from the moment its update step is reached."""
        if self.phase != "update" or self.step is None:
            return None
        for step in self.trace.steps:
            if step.phase == "update" and step.index <= self.step.index and f"{parameter}.updated" in step.outputs:
                return f"{parameter}.updated"
        return None

    def updating(self, parameter: str) -> bool:
        """Whether the current step is the one that updates a parameter."""
        if self.phase != "update" or self.step is None:
            return False
        return parameter in (operand.tensor for operand in self.step.inputs)

    def frozen(self, parameter: str, index: Index) -> bool:
        """Whether the update of this run leaves a cell of a parameter as it is."""
        return bool(self.value(f"{parameter}.frozen", index))

    def changes(self, steps: Sequence[Step], index: Index) -> list[str]:
        """What interventions (their steps) do to one cell, in order: "← 0", "× 0.5", "+ 1"."""
        said = []
        for step in steps:
            given = [operand for operand in step.inputs if self.trace.record(operand.tensor).kind == "constant"]
            numbers = {operand.role: self.value(operand.tensor, index) for operand in given}
            sign, untouched = _CHANGES.get(step.op, ("←", None))
            if step.op == "where" and not numbers.pop("condition", True):
                continue
            said += [f"{sign} {text(number)}" for number in numbers.values() if number != untouched]
        return said

    def _read(self, trace: Trace, name: str, index: Index) -> float | None:
        if name not in trace.tensors:
            return None
        cell: Any = self._lists.get((id(trace), name))
        if cell is None:
            cell = self._lists[(id(trace), name)] = trace.tensors[name].value.tolist()
        for place in index:
            cell = cell[place]
        return cell_value(trace.tensors[name], cell)


def _arrivals(trace: Trace) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for step in trace.steps:
        for sent in step.sends:
            found.setdefault(sent.to, set()).add(step.index)
    return found
