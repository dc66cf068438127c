"""Reads a run as a dense network: columns of units, joined by linear layers and elementwise activations.

Nothing here knows a particular model; the columns are found by following the forward steps from the input.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.ops.table import rows
from engine.trace import Step, Trace


@dataclass(frozen=True)
class Column:
    """One tensor of the forward pass whose last axis holds units.

    step:   what computed it; None for the input.
    weight, bias: parameters' names where a linear layer made it.
    replaced: the steps of interventions on it; the tensor's own name then holds the replaced values.
    computed: the name of what was computed before any intervention.
    """

    tensor: str
    units: int
    step: Step | None = None
    weight: str | None = None
    bias: str | None = None
    replaced: tuple[Step, ...] = ()

    @property
    def computed(self) -> str:
        return self.step.output if self.step is not None else self.tensor


@dataclass(frozen=True)
class Network:
    """columns in forward order; target, error and loss are tensors' names, None where the run has none.

    error: the number that the loss is made of, where another step makes it first.
    """

    columns: tuple[Column, ...]
    target: str | None
    error: str | None
    loss: str | None


def fits(trace: Trace) -> bool:
    """Whether a run can be drawn as a dense network."""
    try:
        read(trace)
    except ValueError:
        return False
    return True


def read(trace: Trace) -> Network:
    """The columns of a run. Raises ValueError if its forward is not a chain of linear layers and activations."""
    steps = [step for step in trace.steps if step.phase == "forward"]
    if not steps:
        raise ValueError("expected a run with forward steps; got none")
    first = next((o.tensor for o in steps[0].inputs if trace.record(o.tensor).kind == "input"), None)
    if first is None:
        raise ValueError(f"expected a first step that reads an input; got {steps[0].name}")
    columns = [Column(first, _units(trace, first))]
    for step in steps:
        columns[-1:] = _next(trace, columns[-1], step)
    return Network(tuple(columns), _target(trace, columns[-1].tensor), *_losses(trace))


def _next(trace: Trace, column: Column, step: Step) -> list[Column]:
    """The column and the one that a step makes of it; for an intervention, the same column with replaced values."""
    units = _units(trace, step.output)
    read = {operand.tensor for operand in step.inputs}
    if column.tensor not in read:
        raise ValueError(f"expected a chain of steps; got {step.name}, which does not read {column.tensor}")
    if step.note == "intervention":
        return [Column(step.output, column.units, column.step, column.weight, column.bias, (*column.replaced, step))]
    if step.op == "linear" and step.operand("input") == column.tensor:
        roles = {operand.role: operand.tensor for operand in step.inputs}
        if len(trace.record(roles["weight"]).shape) != 2:
            raise ValueError(f"expected a weight with 2 axes; got {trace.record(roles['weight']).shape}")
        return [column, Column(step.output, units, step, roles["weight"], roles.get("bias"))]
    row = rows().get(step.op)
    same = step.op == "identity" or (row is not None and row.elementwise)
    if same and read == {column.tensor} and units == column.units:
        return [column, Column(step.output, units, step)]
    raise ValueError(f"expected linear layers and elementwise activations; got {step.op} at {step.name}")


def _units(trace: Trace, name: str) -> int:
    shape = trace.record(name).shape
    if len(shape) not in (1, 2):
        raise ValueError(f"expected {name} to have units, or examples and units; got shape {shape}")
    return shape[-1]


def _target(trace: Trace, prediction: str) -> str | None:
    """The input that the first loss step reads beside the prediction, if it is one number an example."""
    for step in trace.steps:
        if step.phase == "loss" and prediction in (operand.tensor for operand in step.inputs):
            for operand in step.inputs:
                record = trace.record(operand.tensor)
                if operand.tensor != prediction and record.kind == "input":
                    single = not record.shape or record.shape[1:] in ((), (1,))
                    return operand.tensor if single else None
    return None


def _losses(trace: Trace) -> tuple[str | None, str | None]:
    """The number before the loss, and the loss."""
    made = [step.output for step in trace.steps if step.phase == "loss"]
    single = [None if trace.record(name).shape else name for name in made]
    if not single or single[-1] is None:
        return None, None
    return (single[-2] if len(single) > 1 else None), single[-1]
