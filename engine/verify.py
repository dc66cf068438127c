"""Proof by other means: a value recomputed in float64, a gradient by float64 autograd and by finite differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from engine import local
from engine.errors import InputError
from engine.explain import What, find, number_at
from engine.labels import cell_label
from engine.models import catalogue
from engine.trace import Index, Step, TensorRecord, Trace

RELATIVE = 1e-6
ROUNDING = 1e-5

Rerun = Callable[[Mapping[str, Any]], Trace]


@dataclass(frozen=True)
class Verification:
    """recomputed: the value in float64. difference: recomputed minus captured.

    For gradients also: autograd64, the gradient of a whole run in float64; finite_difference, (L(+ε) - L(-ε)) / 2ε of
    two more runs; left and right, the one-sided ones; kink: left and right differ, so that there is no derivative there
    and PyTorch's choice lies between; relative_error: of autograd64 against finite_difference.
    """

    tensor: str
    index: Index
    label: str
    what: What
    captured: float
    recomputed: float
    difference: float
    ok: bool
    method: str
    autograd64: float | None = None
    finite_difference: float | None = None
    left: float | None = None
    right: float | None = None
    kink: bool = False
    epsilon: float | None = None
    relative_error: float | None = None


def verify(
    trace: Trace, tensor: str, index: Sequence[int], *, what: What = "value", rerun: Rerun | None = None
) -> Verification:
    """Recomputes one cell.

    A value: its step alone, in float64, from the captured operands; ok within 1e-5 of the operands' size (four units in
    the last place for types narrower than float32). A gradient:
    ok when autograd and central differences agree in float64 to 1e-6 relative, and the captured one rounds to them.
    rerun: runs a request in float64 (default: the catalogue's model of the trace's name).
    Raises InputError for an unknown cell, or a gradient where the loss has no path.
    """
    record, place = find(trace, tensor, index)
    if record.kind == "gradient":
        base = trace.tensors.get(tensor.rpartition(".grad")[0])
        if base is None or base.gradient != tensor:
            raise InputError("tensor", "be a value or a whole gradient", f"{tensor!r}, which is one step's part of it")
        record, what = base, "gradient"
    if what == "gradient":
        return _gradient(trace, record, place, rerun or _from_catalogue(trace))
    return _value(trace, record, place)


def _value(trace: Trace, record: TensorRecord, index: Index) -> Verification:
    captured, label = number_at(record, index), cell_label(record, index)
    step = trace.maker(record.name)
    if step is None:
        method = f"{record.name} is given, not computed: it is its own proof."
        return Verification(record.name, index, label, "value", captured, captured, 0.0, True, method)
    if not local.can_run(trace, step):
        raise InputError("tensor", "come from a step that can be run again", f"{record.name!r}, from {step.op}")
    output = local.recompute(trace, step)[step.outputs.index(record.name)]
    recomputed = float(output[index].item())
    floating = [one for one in (record.value, *_operands(trace, step)) if one.is_floating_point() and one.numel()]
    size = max([1.0, *(float(one.nan_to_num(0, 0, 0).abs().max()) for one in floating)])
    rounding = max([ROUNDING, *(4 * torch.finfo(one.dtype).eps for one in floating)])
    ok = _close(captured, recomputed, rounding * size)
    method = f"{step.op} run again in float64 from the captured operands of step {step.index}."
    return Verification(record.name, index, label, "value", captured, recomputed, recomputed - captured, ok, method)


def _gradient(trace: Trace, record: TensorRecord, index: Index, rerun: Rerun) -> Verification:
    if record.gradient is None:
        raise InputError("tensor", "have a path to the loss", f"{record.name!r}, which has none")
    gradient = trace.record(record.gradient)
    captured = number_at(gradient, index)
    middle = rerun(_nudged(trace, record, index, 0.0))
    autograd64 = number_at(middle.record(record.gradient), index)
    epsilon = 1e-5 * max(1.0, abs(number_at(record, index)))

    def loss(delta: float) -> float:
        return _loss(rerun(_nudged(trace, record, index, delta)))

    above, here, below = loss(epsilon), _loss(middle), loss(-epsilon)
    central, right, left = (above - below) / (2 * epsilon), (above - here) / epsilon, (here - below) / epsilon
    scale = max(abs(autograd64), abs(central), 1.0)
    kink = abs(right - left) > 1e-3 * scale
    between = min(left, right) - RELATIVE * scale <= autograd64 <= max(left, right) + RELATIVE * scale
    error = abs(autograd64 - central) / max(abs(autograd64), abs(central), 1e-3)
    agree = between if kink else error <= RELATIVE
    method = "The whole run again in float64; then the loss with this cell moved up and down by ε."
    return Verification(
        record.name, index, cell_label(gradient, index), "gradient", captured, autograd64, autograd64 - captured,
        agree and _close(captured, autograd64, ROUNDING * scale), method,
        autograd64, central, left, right, kink, epsilon, error,
    )  # fmt: skip


def _operands(trace: Trace, step: Step) -> list[torch.Tensor]:
    return [trace[operand.tensor] for operand in step.inputs]


def _loss(trace: Trace) -> float:
    """The number the run's gradients are of."""
    loss = trace.result.get("loss")
    while isinstance(loss, list) and len(loss) == 1:
        loss = loss[0]
    if not isinstance(loss, int | float):
        raise InputError("rerun", "give a run with a loss of one number", repr(loss)[:80])
    return float(loss)


def _from_catalogue(trace: Trace) -> Rerun:
    name = trace.model["name"]
    if name not in catalogue():
        raise InputError("rerun", f"be given for a model that is not one of {', '.join(catalogue())}", repr(name))
    return lambda request: catalogue()[name].trace({**request, "update": None}, dtype=torch.float64, limits=False)


def _nudged(trace: Trace, record: TensorRecord, index: Index, delta: float) -> dict[str, Any]:
    """The request with one cell of an input, a parameter or an activation moved by delta."""
    request = dict(trace.request)
    place = list(index)
    if record.kind == "parameter":
        moved = {"parameter": record.name, "index": place, "value": number_at(record, index) + delta}
        kept = [edit for edit in request["edits"] if (edit["parameter"], list(edit["index"])) != (record.name, place)]
        request["edits"] = [*kept, moved]
    elif record.kind == "input":
        values = record.value.double().clone()
        values[index] += delta
        request["inputs"] = {**request["inputs"], record.name: values.tolist()}
    elif record.name.endswith(":computed"):
        at = record.name.removesuffix(":computed")
        request["interventions"] = [{"at": at, "index": place, "add": delta}, *request["interventions"]]
    else:
        request["interventions"] = [*request["interventions"], {"at": record.name, "index": place, "add": delta}]
    return request


def _close(left: float, right: float, tolerance: float) -> bool:
    return left == right or abs(left - right) <= tolerance or (left != left and right != right)
