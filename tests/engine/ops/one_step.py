"""One PyTorch call as a trace of one step, seen as the recorder sees it, with its gradients from autograd."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from engine.calls import arguments, bind
from engine.expression import Expr
from engine.ops.table import Op, calls, rows
from engine.reader import StepReader
from engine.seen import seen
from engine.trace import Axis, Operand, Step, TensorRecord, Trace


@dataclass(frozen=True)
class OneStep:
    op: Op
    trace: Trace
    step: Step
    roles: Mapping[str, torch.Tensor]
    attributes: Mapping[str, Any]
    outputs: tuple[torch.Tensor, ...]
    sent: Mapping[str, torch.Tensor] = field(default_factory=dict)

    def reader(self, limit: int = 1000, position: int = 0) -> StepReader:
        return StepReader(self.trace, self.step, limit, position)

    def cell(self, *index: int, limit: int = 1000, position: int = 0) -> Expr:
        return self.op.cell(self.reader(limit, position), index)

    def grad_cell(self, role: str, *index: int, limit: int = 1000) -> Expr:
        return self.op.grad_cell(self.reader(limit), role, index)


class FirstCall(TorchFunctionMode):
    """Keeps the first call that PyTorch makes, as it arrives."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: tuple[str, tuple[Any, ...], dict[str, Any]] | None = None

    def __torch_function__(self, func: Callable, types: Sequence[type], args: tuple = (), kwargs: Any = None) -> Any:
        if self.kept is None:
            self.kept = (seen(func).name, args, dict(kwargs or {}))
        return func(*args, **(kwargs or {}))


def one_step(call: Callable[..., Any], *tensors: torch.Tensor, arriving: Sequence[Any] | None = None) -> OneStep:
    """The step of `call(*tensors)`, which must be one PyTorch call.

    Floating operands that require a gradient get autograd's, for `arriving` gradients at the outputs (random without).
    """
    with FirstCall() as mode:
        made = call(*tensors)
    assert mode.kept is not None
    name, args, kwargs = mode.kept
    op = calls()[name]
    roles, attributes = bind(op, name, args, kwargs)
    if made is None:  # an assignment; the recorder reads what was there before, and what is there now
        raise TypeError("one_step needs a call with a result; build an assignment with `stepped`")
    outputs = (made,) if isinstance(made, torch.Tensor) else tuple(made)
    return _traced(op, roles, attributes, outputs, arriving)


def stepped(name: str, roles: Mapping[str, torch.Tensor], attributes: Mapping[str, Any]) -> OneStep:
    """The step of a row by its name, run from its arguments."""
    op = rows()[name]
    made = op.run(**arguments(roles, attributes))
    return _traced(op, roles, attributes, (made,) if isinstance(made, torch.Tensor) else tuple(made), None)


def _traced(
    op: Op,
    roles: Mapping[str, torch.Tensor],
    attributes: Mapping[str, Any],
    outputs: tuple[torch.Tensor, ...],
    arriving: Sequence[Any] | None,
) -> OneStep:
    sent, gradients = _autograd(roles, outputs, arriving)
    tensors: dict[str, TensorRecord] = {}
    for role, tensor in roles.items():
        tensors[role] = _record(role, tensor)
    for place, output in enumerate(outputs):
        gradient = f"grad.out.{place}" if place in gradients else None
        tensors[f"out.{place}"] = _record(f"out.{place}", output, gradient)
        if gradient is not None:
            tensors[gradient] = _record(gradient, gradients[place])
    step = Step(
        index=0,
        phase="forward",
        op=op.name,
        name="out.0",
        symbol="out",
        scope="",
        tex="",
        inputs=tuple(Operand(role, role) for role in roles),
        outputs=tuple(f"out.{place}" for place in range(len(outputs))),
        attributes=attributes,
    )
    trace = Trace("", {}, {}, (step,), tensors, {})
    return OneStep(op, trace, step, roles, attributes, outputs, sent)


def _autograd(
    roles: Mapping[str, torch.Tensor], outputs: Sequence[torch.Tensor], arriving: Sequence[Any] | None
) -> tuple[dict[str, torch.Tensor], dict[int, torch.Tensor]]:
    gradients: dict[int, torch.Tensor] = {}
    for place, output in enumerate(outputs):
        if output.requires_grad:
            given = torch.randn_like(output) if arriving is None else torch.as_tensor(arriving[place])
            gradients[place] = given.to(output.dtype).reshape(output.shape).detach()
    wanted = {role: tensor for role, tensor in roles.items() if tensor.requires_grad}
    if not gradients or not wanted:
        return {}, gradients
    found = torch.autograd.grad(
        [outputs[place] for place in gradients],
        list(wanted.values()),
        list(gradients.values()),
        allow_unused=True,
        retain_graph=True,
    )
    return {role: value for role, value in zip(wanted, found, strict=True) if value is not None}, gradients


def _record(name: str, tensor: torch.Tensor, gradient: str | None = None) -> TensorRecord:
    axes = tuple(Axis(f"axis{i}", size) for i, size in enumerate(tensor.shape))
    return TensorRecord(name, name, "activation", axes, tensor.detach().clone(), gradient)


def every_index(tensor: torch.Tensor) -> list[tuple[int, ...]]:
    return list(itertools.product(*map(range, tensor.shape)))


def assert_explains(step: OneStep, tolerance: float = 1e-10, position: int = 0) -> None:
    """Every output cell, every gradient cell and the row's own run equal PyTorch's."""
    output = step.outputs[position]
    cells = [step.cell(*index, position=position).value for index in every_index(output)]
    _close(cells, output, tolerance, f"{step.op.name} cell")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = step.op.run(**arguments(step.roles, step.attributes))
    again = again if isinstance(again, torch.Tensor) else again[position]
    assert again.dtype == output.dtype
    assert torch.equal(again.nan_to_num(), output.nan_to_num()), f"{step.op.name} run differs"
    for role, gradient in step.sent.items():
        # A tensor in several roles gets the sum of what each sends.
        same = [other for other in step.sent if step.roles[other] is step.roles[role]]
        cells = [sum(step.grad_cell(each, *index).value for each in same) for index in every_index(gradient)]
        _close(cells, gradient, tolerance, f"{step.op.name} gradient of {role}")


def _close(cells: list[float], expected: torch.Tensor, tolerance: float, what: str) -> None:
    got = torch.tensor(cells, dtype=torch.float64).reshape(expected.shape)
    torch.testing.assert_close(
        got, expected.detach().double(), rtol=tolerance, atol=tolerance, equal_nan=True, msg=lambda m: f"{what}: {m}"
    )


def values(*shape: int, gradient: bool = True) -> torch.Tensor:
    """Random float64 numbers that want a gradient."""
    return torch.randn(shape, dtype=torch.float64).requires_grad_(gradient)
