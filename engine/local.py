"""Local derivatives of one recorded step, in float64, for operations of any kind.

A row is d(one output cell) / d(every operand cell), a column d(every output cell) / d(one operand cell).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from engine.ops.table import rows
from engine.replay import run_step
from engine.trace import Index, Step, Trace

FEW_CELLS = 4096


def can_run(trace: Trace, step: Step) -> bool:
    """Whether the step can be computed again: it has a row in the table, or the trace still holds the live call."""
    return step.op in rows() or step.index in trace.calls


def recompute(trace: Trace, step: Step, replaced: Mapping[str, torch.Tensor] | None = None) -> list[torch.Tensor]:
    """The step's outputs from its recorded operands, in float64; some of them replaced by role.

    A step that drew keeps its types: in float64 the same random state gives other numbers.
    """
    dtype = _wide(trace, step)
    tensors = {operand.role: _cast(trace[operand.tensor], dtype) for operand in step.inputs}
    tensors |= replaced or {}
    again = trace.calls.get(step.index)
    if again is None:
        return run_step(rows()[step.op], step.attributes, tensors)
    return run_step(None, step.attributes, tensors, again.live, again.random_state)


def row(trace: Trace, step: Step, index: Index, position: int = 0) -> dict[str, torch.Tensor] | None:
    """d output[index] / d operand, by role, for the floating operands it depends on; None where PyTorch has none."""
    leaves = _leaves(trace, step)
    if trace[step.outputs[position]].is_complex():
        return None
    try:
        with torch.enable_grad():
            cell = recompute(trace, step, leaves)[position][index]
        found = torch.autograd.grad(cell, list(leaves.values()), allow_unused=True) if cell.requires_grad else ()
    except RuntimeError:
        return None
    return {role: value for role, value in zip(leaves, found, strict=False) if value is not None}


def column(trace: Trace, step: Step, role: str, index: Index) -> list[torch.Tensor] | None:
    """d each output / d operand[index], zeros where it does not depend on it; None where it can't be worked out.

    Two backward passes (a vector-Jacobian product is linear in its vector); where the first can't be differentiated,
    one a cell, for outputs of few.
    """
    operand = trace[step.operand(role)]
    if not can_run(trace, step) or any(one.is_complex() for one in (operand, *map(trace.__getitem__, step.outputs))):
        return None
    leaf = _cast(operand, _wide(trace, step)).requires_grad_()
    try:
        with torch.enable_grad():
            return [_column(output, leaf, index) for output in recompute(trace, step, {role: leaf})]
    except RuntimeError:
        return None


def _column(output: torch.Tensor, leaf: torch.Tensor, index: Index) -> torch.Tensor:
    if not output.requires_grad:
        return torch.zeros_like(output)
    vector = torch.zeros_like(output, requires_grad=True)
    try:
        (product,) = torch.autograd.grad(output, leaf, vector, create_graph=True)
        (along,) = torch.autograd.grad(product[index], vector, allow_unused=True)
    except RuntimeError:  # of PyTorch's own functions a few have no second derivative
        if output.numel() > FEW_CELLS:
            raise
        flat = [torch.autograd.grad(cell, leaf, retain_graph=True)[0][index] for cell in output.flatten()]
        return torch.stack(flat).reshape(output.shape)
    return torch.zeros_like(output) if along is None else along.detach()


def _leaves(trace: Trace, step: Step) -> dict[str, torch.Tensor]:
    """Operands to differentiate by; a constant without a gradient (a running mean) is none, and may not be one."""
    dtype = _wide(trace, step)
    records = {operand.role: trace.record(operand.tensor) for operand in step.inputs}
    return {
        role: _cast(record.value, dtype).requires_grad_()
        for role, record in records.items()
        if record.value.is_floating_point() and (record.kind != "constant" or record.gradient is not None)
    }


def _wide(trace: Trace, step: Step) -> torch.dtype | None:
    again = trace.calls.get(step.index)
    return None if again is not None and again.random_state is not None else torch.float64


def _cast(value: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    """A copy of a floating tensor, in `dtype` or, for None, as it is; any other tensor itself."""
    if not value.is_floating_point():
        return value
    return value.detach().clone() if dtype is None else value.detach().to(dtype, copy=True)
