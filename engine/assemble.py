"""Turns what the recorder kept into the frozen records of a trace: axes, symbols, written-out steps."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from engine.entry import Call, Entry
from engine.intervene import describe
from engine.labels import StepLabels, cell_label, symbol_for
from engine.ops.table import Op
from engine.trace import Axis, Operand, Step, TensorRecord


def written(
    row: Op, roles: Mapping[str, TensorRecord], out: TensorRecord, attributes: Mapping[str, Any]
) -> tuple[str, str]:
    """An operation as text and as LaTeX. Where the symbol says it already (Kᵀ is K turned), the symbol alone."""
    text = row.text(StepLabels(roles, out, attributes))
    tex = row.tex(StepLabels(roles, out, attributes, tex=True))
    return _once(text), _once(tex)


def _once(equation: str) -> str:
    left, _, right = equation.partition(" = ")
    return left if left == right else equation


class Assembler:
    """symbols, axes: by tensor name, as the model declares them; axes are strings like "unit input".

    labels: by axis name, what the members are called; an axis of another size goes without.
    """

    def __init__(
        self, symbols: Mapping[str, str], axes: Mapping[str, str], labels: Mapping[str, tuple[str, ...]]
    ) -> None:
        self.records: dict[str, TensorRecord] = {}
        self._symbols = symbols
        self._axes = axes
        self._labels = labels
        self._by_entry: dict[int, str] = {}

    def record(self, entry: Entry, template: Entry | None = None) -> TensorRecord:
        """The record of an entry, made once. template: an entry of its shape whose axes it takes if it has none."""
        if (name := self._by_entry.get(id(entry))) is not None:
            return self.records[name]
        axes = self._named_axes(entry, template)
        base = entry.name.removesuffix(":computed")
        mark = "" if base == entry.name else "*"
        symbol = symbol_for(entry.symbol or self._symbols.get(base, base), axes) + mark
        record = TensorRecord(entry.name, symbol, entry.kind, axes, entry.value)
        self._by_entry[id(entry)] = entry.name
        self.records[entry.name] = record
        return record

    def refresh(self, entry: Entry) -> None:
        """Takes an entry's value anew, after the recorder had to copy it."""
        if (name := self._by_entry.get(id(entry))) is not None:
            self.records[name] = replace(self.records[name], value=entry.value)

    def step(self, call: Call, index: int) -> Step:
        """The step of a call; records what it read and made."""
        roles = {role: self.record(entry) for role, entry in call.inputs}
        template = self._template(call)
        outputs = [self.record(entry, template) for entry in call.outputs]
        text, tex, note = self._written(call, roles, outputs[0])
        return Step(
            index=index,
            phase=call.phase,
            op=call.op,
            name=outputs[0].name,
            symbol=text,
            scope=call.scope,
            tex=tex,
            inputs=tuple(Operand(role, record.name) for role, record in roles.items()),
            outputs=tuple(record.name for record in outputs),
            flops=0 if call.row is None else _flops(call.row, roles, outputs[0]),
            attributes=call.attributes,
            note=note,
        )

    def _written(self, call: Call, roles: Mapping[str, TensorRecord], out: TensorRecord) -> tuple[str, str, str]:
        if call.replacement is not None:
            return (*self._replaced(call, out), "intervention")
        if call.row is None:
            names = ", ".join(record.symbol for record in roles.values())
            note = "linearised" if out.value.is_floating_point() and call.live is not None else "opaque"
            return f"{out.symbol} = {call.op}({names})", "", note
        return (*written(call.row, roles, out, call.attributes), "")

    def _replaced(self, call: Call, out: TensorRecord) -> tuple[str, str]:
        """An intervention in words, cell by cell; a whole axis is written once, by the tensor's symbol."""
        said, change = [], call.replacement
        assert change is not None
        for place, value in change.places:
            parts = list(zip(out.axes, place, strict=True))
            whole = [axis for axis, part in parts if isinstance(part, slice) and axis.size > 1]
            label = out.symbol if whole else cell_label(out, tuple(0 if isinstance(p, slice) else p for p in place))
            if whole and len(whole) < sum(axis.size > 1 for axis in out.axes):
                cut = [(axis, part) for axis, part in parts if not isinstance(part, slice)]
                label = f"{out.symbol}[{', '.join(f'{axis.name} {part + 1}' for axis, part in cut)}]"
            said.append(describe(change.kind, label, value))
        return ", ".join(said), ""

    def _template(self, call: Call) -> Entry | None:
        if call.replacement is None and (call.row is None or not call.row.elementwise):
            return None
        shape = call.outputs[0].value.shape
        same = (entry for _, entry in call.inputs if entry.value.shape == shape)
        return next((entry for entry in same if self._by_entry.get(id(entry))), None)

    def _named_axes(self, entry: Entry, template: Entry | None) -> tuple[Axis, ...]:
        names = entry.axes or tuple(self._axes.get(entry.name, "").split())
        if not names and template is not None:
            return self.records[self._by_entry[id(template)]].axes
        axes = named_axes(names, entry.value.shape)
        return tuple(self._labelled(axis) for axis in axes) if self._labels else axes

    def _labelled(self, axis: Axis) -> Axis:
        words = self._labels.get(axis.name)
        return axis if words is None or len(words) != axis.size else replace(axis, labels=words)


def _flops(row: Op, roles: Mapping[str, TensorRecord], out: TensorRecord) -> int:
    return row.flops({role: record.value.shape for role, record in roles.items()}, out.value.shape)


@functools.lru_cache(maxsize=4096)
def named_axes(names: tuple[str, ...], shape: torch.Size) -> tuple[Axis, ...]:
    """Axes for a shape whose last dimensions have these names; one dimension before them is the example."""
    extra = len(shape) - len(names)
    if not names or extra < 0:
        return tuple(Axis(f"axis {number}", size) for number, size in enumerate(shape))
    leading = ("example",) if extra == 1 else tuple(f"batch {number}" for number in range(extra))
    return tuple(Axis(name, size) for name, size in zip((*leading, *names), shape, strict=True))
