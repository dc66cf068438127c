"""Local derivatives of one recorded step, in float64, for operations of any kind.

A row is d(one output cell) / d(every operand cell), a column d(every output cell) / d(one operand cell).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from engine.backward import run_step
from engine.ops.table import rows
from engine.trace import Index, Step, Trace


def can_run(trace: Trace, step: Step) -> bool:
    """Whether the step can be computed again: it has a row in the table, or the trace still holds the live call."""
    return step.op in rows() or step.index in trace.calls


def recompute(
    trace: Trace, step: Step, replaced: Mapping[str, torch.Tensor] | None = None, dtype: torch.dtype = torch.float64
) -> list[torch.Tensor]:
    """The step's outputs from its recorded operands, floating ones in `dtype`; some of them replaced by role."""
    tensors = {operand.role: _cast(trace[operand.tensor], dtype) for operand in step.inputs}
    tensors |= replaced or {}
    call: Any = trace.calls.get(step.index)
    if call is not None and call.random_state is not None:
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(call.random_state)
            return run_step(None, step.attributes, tensors, call.live)
    return run_step(rows().get(step.op), step.attributes, tensors, None if call is None else call.live)


def row(trace: Trace, step: Step, index: Index, position: int = 0) -> dict[str, torch.Tensor]:
    """d output[index] / d operand, by role, for the floating operands it depends on."""
    leaves = _leaves(trace, step)
    with torch.enable_grad():
        cell = recompute(trace, step, leaves)[position][index]
    found = torch.autograd.grad(cell, list(leaves.values()), allow_unused=True) if cell.requires_grad else ()
    return {role: value for role, value in zip(leaves, found, strict=False) if value is not None}


def column(trace: Trace, step: Step, role: str, index: Index) -> list[torch.Tensor]:
    """d each output / d operand[index]; zeros where the output does not depend on it.

    Two backward passes (a vector-Jacobian product is linear in its vector): any differentiable operation will do.
    """
    leaf = _cast(trace[step.operand(role)], torch.float64).requires_grad_()
    with torch.enable_grad():
        outputs = recompute(trace, step, {role: leaf})
        columns = []
        for output in outputs:
            if not output.requires_grad:
                columns.append(torch.zeros(output.shape, dtype=torch.float64))
                continue
            vector = torch.zeros_like(output, requires_grad=True)
            (product,) = torch.autograd.grad(output, leaf, vector, create_graph=True)
            (along,) = torch.autograd.grad(product[index], vector, allow_unused=True)
            columns.append(torch.zeros_like(output) if along is None else along.detach())
    return columns


def _leaves(trace: Trace, step: Step) -> dict[str, torch.Tensor]:
    values = {operand.role: trace[operand.tensor] for operand in step.inputs}
    return {
        role: _cast(value, torch.float64).detach().clone().requires_grad_()
        for role, value in values.items()
        if value.is_floating_point()
    }


def _cast(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return value.detach().to(dtype, copy=True) if value.is_floating_point() else value
