"""What flows through a transformer: tokens' vectors, attention grids and the residual stream, panel by panel.

Any run whose tensors have named axes is drawn so: each tensor that forward names is a panel of cells, members of axes
by their names. In backward the panels show gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from app.scene.strength import MAX_SIDE, largest, members, strong
from engine.trace import Axis, Index, Step, TensorRecord, Trace

if TYPE_CHECKING:
    from app.page.run import Run

ORDER = 2
MAX_BLOCKS = 8
MANY = 24
"""With more panels than this, only inputs, grids, the stream and what is near the current step are unfolded."""
NEAR = 3
_PLACES = {"position", "query", "key", "token"}

Data = dict[str, Any]


def fits(trace: Trace) -> bool:
    """Whether a run's forward has tensors with an axis of tokens, queries or keys, or features without neurons."""
    names = {axis.name for step in _forward(trace) for axis in trace.tensors[step.output].axes}
    return bool(names & _PLACES) or ("feature" in names and "neuron" not in names)


def of(run: Run) -> Data:
    """{panels, gradient, flip}; a panel: {tensor, symbol, name, axes, kind, state, step, stream, parts, sums, folded,
    blocks}.

    kind: grid (queries by keys), strip, or row. stream: "" or its part in the residual stream: start, add.
    parts: what an addition adds. sums: the axis along which each row of cells sums to one, "" where none does.
    blocks: {caption, corner, columns, rows: [{label, cells}], more}; a cell as Run.cell gives it, with strength 0 to 1.
    """
    return _Flow(run).data()


class _Flow:
    def __init__(self, run: Run) -> None:
        self.run = run
        self.trace = run.trace
        step = run.step
        self.gradient = step is not None and step.phase == "backward"
        self.stream = _stream(self.trace)

    def data(self) -> Data:
        drawn = self._drawn()
        panels = [self._panel(record, step, folded=len(drawn) > MANY) for record, step in drawn]
        return {"panels": panels, "gradient": self.gradient, "flip": self.run.state.flip}

    def _drawn(self) -> list[tuple[TensorRecord, Step | None]]:
        """Inputs, then what forward and loss make under names of their own, and the current step's output."""
        records = self.trace.tensors
        given = [(one, None) for one in records.values() if one.kind == "input"]
        now = self.run.step.output if self.run.step is not None else ""
        made = [
            (records[step.output], step)
            for step in _forward(self.trace)
            if ":" not in step.output or step.output == now or step.output in self.stream
        ]
        return [*given, *made]

    def _panel(self, record: TensorRecord, step: Step | None, *, folded: bool) -> Data:
        shown = self._shown(record)
        names = [axis.name for axis in record.axes]
        grid = names[-2:] == ["query", "key"]
        folded = folded and not grid and record.name not in self.stream and not self._is_near(step)
        return {
            "tensor": record.name,
            "symbol": record.symbol if shown is None else shown.symbol,
            "name": record.name,
            "axes": [{"name": axis.name, "size": axis.size} for axis in record.axes],
            "kind": "grid" if grid else "strip" if len(names) > 1 else "row",
            "state": self._state(step),
            "step": None if step is None else step.index,
            "stream": self.stream.get(record.name, ""),
            "parts": self._parts(step),
            "sums": "" if step is None or self.gradient else _sums(step, record),
            "folded": folded,
            "blocks": [] if shown is None or folded else self._blocks(record, shown),
        }

    def _is_near(self, step: Step | None) -> bool:
        """Whether a step is the current one, the one it undoes, or one of their neighbours; inputs always are."""
        now = self.run.step
        if step is None or now is None:
            return True
        return abs(step.index - (now.index if now.forward is None else now.forward)) <= NEAR

    def _shown(self, record: TensorRecord) -> TensorRecord | None:
        """The tensor that a panel shows: the value, in backward the gradient; None where the loss has no path."""
        if not self.gradient:
            return record
        return self.trace.tensors.get(record.gradient or "")

    def _state(self, step: Step | None) -> str:
        now = self.run.step
        if step is None or now is None:
            return "done"
        if now.phase == "backward":
            return "now" if now.forward == step.index else "done"
        return "now" if now.index == step.index else "later" if now.index < step.index else "done"

    def _parts(self, step: Step | None) -> list[Data]:
        """What an addition adds to what, as symbols."""
        if step is None or step.op != "add":
            return []
        return [{"tensor": one.tensor, "symbol": self.trace.tensors[one.tensor].symbol} for one in step.inputs]

    def _blocks(self, record: TensorRecord, shown: TensorRecord) -> list[Data]:
        """Matrices of the last two axes, one for each place on those before; of several examples the drawn one."""
        axes = record.axes
        leading: list[Index] = [()]
        for axis in axes[:-2]:
            places = [self.run.state.example] if axis.name == "example" else range(axis.size)
            leading = [(*index, place) for index in leading for place in places]
        if len(axes) == 2 and axes[0].name == "example":
            return [self._block(shown, (self.run.state.example,), axes[1:], "", shown)]
        size = largest(shown)
        return [
            self._block(shown, index, axes[-2:], _caption(axes[:-2], index), shown, size)
            for index in leading[:MAX_BLOCKS]
        ]

    def _words(self, record: TensorRecord) -> tuple[str, ...]:
        """What the numbers of an input stand for."""
        given = self.run.state.space.inputs.get(record.name)
        return () if given is None else given.field.words

    def _block(
        self, shown: TensorRecord, leading: Index, axes: Sequence[Axis], caption: str, record: TensorRecord,
        size: float | None = None,
    ) -> Data:  # fmt: skip
        flip = self.run.state.flip and [axis.name for axis in axes] == ["query", "key"]
        down, across = (axes[0], axes[1]) if len(axes) == 2 else (None, axes[0] if axes else None)
        if flip:
            down, across = across, down
        size = largest(record) if size is None else size
        columns = members(across)
        rows = []
        for number, label in enumerate(members(down)):
            cells = []
            for column in range(len(columns)):
                place = (column, number) if flip else (number, column)
                cells.append(self._cell(shown, (*leading, *place[2 - len(axes) :]), size))
            rows.append({"label": label if down is not None else "", "cells": cells})
        return {
            "caption": caption,
            "corner": " \\ ".join(axis.name for axis in (down, across) if axis is not None),
            "columns": columns if across is not None else [],
            "rows": rows,
            "more": _more(down, across),
        }

    def _cell(self, shown: TensorRecord, index: Index, size: float) -> Data:
        cell = self.run.cell(shown.name, index)
        if (words := self._words(shown)) and cell.get("value") is not None:
            return cell | {"strength": 0, "word": words[int(cell["value"])]}
        return strong(cell, size)


def _forward(trace: Trace) -> list[Step]:
    return [step for step in trace.steps if step.phase in ("forward", "loss")]


def _stream(trace: Trace) -> dict[str, str]:
    """The residual stream, from the last addition of equals back: tensor -> start or add."""
    makers = {step.output: step for step in trace.steps if step.phase == "forward"}
    sums = [step for step in makers.values() if step.op == "add" and _is_residual(trace, step)]
    found: dict[str, str] = {}
    name = sums[-1].output if sums else None
    while name is not None:
        step = makers.get(name)
        adds = step is not None and step.op == "add" and _is_residual(trace, step)
        found[name] = "add" if adds else "start"
        name = step.inputs[0].tensor if adds and step is not None else None
    return found


def _is_residual(trace: Trace, step: Step) -> bool:
    """Whether a step adds two equals of the stream: vectors of features, neither of them a bias."""
    added = [trace.tensors[one.tensor] for one in step.inputs]
    axes = trace.tensors[step.output].axes
    if len(added) != 2 or added[0].shape != added[1].shape or not axes or axes[-1].name != "feature":
        return False
    return len(axes) > 1 or all(one.kind != "parameter" for one in added)


def _sums(step: Step, record: TensorRecord) -> str:
    """The axis a softmax runs over."""
    if step.op != "softmax":
        return ""
    dim = step.attributes.get("dim")
    return record.axes[dim].name if isinstance(dim, int) and record.axes else ""


def _caption(axes: Sequence[Axis], index: Index) -> str:
    said = [f"{axis.name} {place + 1}" for axis, place in zip(axes, index, strict=True) if axis.name != "example"]
    return ", ".join(said)


def _more(down: Axis | None, across: Axis | None) -> str:
    long = [axis for axis in (down, across) if axis is not None and axis.size > MAX_SIDE]
    return ", ".join(f"the first {MAX_SIDE} of {axis.size} on {axis.name}" for axis in long)
