"""An MLP as rows of memory: each neuron's key, what it sums to, what the gate lets through, and the value it writes.

Any run with a layer into an axis "neuron" and one out of it is drawn so, at the position of the selected cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.inline import cell_name
from app.scene.strength import largest, members, strong
from app.space import split_cell
from engine.trace import Index, Step, TensorRecord, Trace

if TYPE_CHECKING:
    from app.page.run import Run

ORDER = 2.5
NEURON = "neuron"
MAX_NEURONS = 32

Data = dict[str, Any]


@dataclass(frozen=True)
class Layers:
    """The tensors of one MLP: key and value weights, the bias if there is one, before and after the gate."""

    key: TensorRecord
    bias: TensorRecord | None
    before: TensorRecord
    after: TensorRecord
    value: TensorRecord


def fits(trace: Trace) -> bool:
    """Whether a run has a layer into neurons and one out of them."""
    return _layers(trace) is not None


def of(run: Run) -> Data:
    """{position, positions: [{label, cell, chosen}], keys, values: {symbol, columns}, rows, more}.

    A row is {label, key: [cell], bias: cell or None, before: cell, after: cell, value: [cell]}; cells as Run.cell gives
    them, with strength 0 to 1 within their tensor.
    """
    found = _layers(run.trace)
    if found is None:
        raise ValueError("expected a run with a layer into neurons and one out of them; got none")
    place = _position(run, found)
    count = found.before.shape[-1]
    return {
        "positions": _positions(found, place),
        "keys": {"symbol": found.key.symbol, "columns": members(_other(found.key))},
        "values": {"symbol": found.value.symbol, "columns": members(_other(found.value))},
        "before": found.before.symbol,
        "after": found.after.symbol,
        "bias": None if found.bias is None else found.bias.symbol,
        "rows": [_row(run, found, place, neuron) for neuron in range(min(count, MAX_NEURONS))],
        "more": f"the first {MAX_NEURONS} of {count} neurons" if count > MAX_NEURONS else "",
    }


def _row(run: Run, found: Layers, place: Index, neuron: int) -> Data:
    def cells(record: TensorRecord) -> list[Data]:
        size = largest(record)
        at = [axis.name for axis in record.axes].index(NEURON)
        return [
            strong(run.cell(record.name, (neuron, other) if at == 0 else (other, neuron)), size)
            for other in range(_other(record).size)
        ]

    def one(record: TensorRecord, index: Index) -> Data:
        return strong(run.cell(record.name, index), largest(record))

    axis = found.before.axes[-1]
    return {
        "label": axis.labels[neuron] if axis.labels else f"{axis.name} {neuron + 1}",
        "key": cells(found.key),
        "bias": None if found.bias is None else one(found.bias, (neuron,)),
        "before": one(found.before, (*place, neuron)),
        "after": one(found.after, (*place, neuron)),
        "value": cells(found.value),
    }


def _layers(trace: Trace) -> Layers | None:
    into = out = None
    for step in trace.steps:
        if step.phase != "forward" or (weight := _weight(trace, step)) is None:
            continue
        if trace.tensors[step.output].axes[-1].name == NEURON:
            into = into or (step, weight)
        elif into is not None:
            out = out or (step, weight)
    if into is None or out is None:
        return None
    step, key = into
    bias = next((one.tensor for one in step.inputs if one.role == "bias"), None)
    after = next(one.tensor for one in out[0].inputs if trace.tensors[one.tensor].name != out[1].name)
    return Layers(key, trace.tensors[bias] if bias else None, trace.tensors[step.output], trace.tensors[after], out[1])


def _weight(trace: Trace, step: Step) -> TensorRecord | None:
    """The matrix of parameters between neurons and something else that a step multiplies by."""
    if step.op not in ("linear", "matmul") or not trace.tensors[step.output].axes:
        return None
    for operand in step.inputs:
        record = trace.tensors[operand.tensor]
        names = [axis.name for axis in record.axes]
        if record.kind == "parameter" and len(names) == 2 and names.count(NEURON) == 1:
            return record
    return None


def _other(weight: TensorRecord) -> Any:
    return next(axis for axis in weight.axes if axis.name != NEURON)


def _position(run: Run, found: Layers) -> Index:
    """Where on the axes before the neurons: at the selected cell's place where it has one, else at the last."""
    tensor, index = split_cell(run.state.cell)
    axes = found.before.axes[:-1]
    chosen = run.trace.tensors.get(tensor)
    places = {} if chosen is None or not index else dict(zip((a.name for a in chosen.axes), index, strict=False))
    last = {axis.name: run.state.example if axis.name == "example" else axis.size - 1 for axis in axes}
    return tuple(min(places.get(axis.name, last[axis.name]), axis.size - 1) for axis in axes)


def _positions(found: Layers, place: Index) -> list[Data]:
    """The places that can be looked at instead: one cell of each, where the neurons have positions."""
    axes = found.before.axes[:-1]
    if not axes:
        return []
    labels = members(axes[-1])
    return [
        {
            "label": label,
            "cell": cell_name(found.before.name, (*place[:-1], number, 0)),
            "chosen": number == place[-1],
        }
        for number, label in enumerate(labels)
    ]
