"""Builds the steps and records of a trace while its calls are recorded, and tells each step as soon as it is known."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

import torch

from engine.assemble import Assembler
from engine.backward import backward_step, gradient_record
from engine.contributions import Contribution
from engine.entry import Call, Entry
from engine.errors import Stopped
from engine.trace import Again, Step, TensorRecord

OnStep = Callable[[Step, list[TensorRecord]], None]


class TraceBuilder:
    """on_step: told each step with the records it is the first to need; what it raises comes out as Stopped.

    told: how many steps it was told already, by an earlier try at the same run.
    """

    def __init__(self, assembler: Assembler, on_step: OnStep | None, told: int = 0) -> None:
        self.steps: list[Step] = []
        self.calls: list[Call] = []
        self.told = told
        self._assembler = assembler
        self._on_step = on_step

    @property
    def records(self) -> dict[str, TensorRecord]:
        return self._assembler.records

    def add_given(self, entries: Iterable[Entry]) -> None:
        """The tensors that were there before the first call."""
        for entry in entries:
            self._assembler.record(entry)

    def add_call(self, call: Call) -> None:
        """A call whose names are settled."""
        known = len(self.records) if self.calls else 0  # the first step brings the inputs and parameters
        self.calls.append(call)
        step = self._assembler.step(call, len(self.steps))
        fresh = itertools.islice(reversed(self.records.values()), len(self.records) - known)
        self._add(step, list(fresh)[::-1] if self._on_step else [])

    def take_anew(self, entries: Iterable[Entry]) -> None:
        """Takes the values of entries anew that the recorder had to copy."""
        for entry in entries:
            self._assembler.refresh(entry)

    def add_backward(
        self,
        entries: Iterable[Entry],
        found: Mapping[int, torch.Tensor],
        sent: Mapping[int, Sequence[Contribution]],
    ) -> None:
        """The gradients found, by id(entry), and the steps that send parts of them, by place of the call undone."""
        records = self.records
        for entry in entries:
            if id(entry) in found:
                record = self._assembler.record(entry)
                gradient = gradient_record(f"{record.name}.grad", record, found[id(entry)])
                records[gradient.name] = gradient
                records[record.name] = TensorRecord(
                    record.name, record.symbol, record.kind, record.axes, record.value, gradient.name
                )
        for place, parts in sent.items():
            self._add(*backward_step(self.steps[place], len(self.steps), parts, records))

    def add_steps(self, steps: Iterable[tuple[Step, list[TensorRecord]]]) -> None:
        """Steps whose records are added already."""
        for step, fresh in steps:
            self._add(step, fresh)

    def live(self) -> dict[int, Again]:
        """How to run the calls again that the table has no row for, by step."""
        return {
            index: Again(call.live, call.random_state)
            for index, call in enumerate(self.calls)
            if call.row is None and call.live is not None
        }

    def _add(self, step: Step, fresh: list[TensorRecord]) -> None:
        self.steps.append(step)
        if self._on_step is not None and len(self.steps) > self.told:
            self.told = len(self.steps)
            try:
                self._on_step(step, fresh)
            except BaseException as error:
                raise Stopped(error) from error
