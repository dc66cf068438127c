"""Gradients of every recorded tensor in one backward, and what each step sends to each of its operands.

The gradient of a tensor comes from autograd, through edges pinned when the tensor was recorded. What a step sends is
its own vector-Jacobian product, computed apart by running the step again on leaves; that the parts sum to autograd's
gradient is checked, not assumed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from engine.calls import arguments
from engine.entry import RANDOM, Call, Entry
from engine.labels import tex_symbol
from engine.ops.table import Op
from engine.trace import Operand, Sent, Step, TensorRecord
from engine.unseen import sent_through_graph

Live = Callable[[Mapping[str, torch.Tensor]], Any]


@dataclass(frozen=True)
class Contribution:
    """What a call sends to the operand in `role`."""

    role: str
    entry: Entry
    value: torch.Tensor


def gradients(loss: Entry, entries: Sequence[Entry], *, retain_graph: bool = False) -> dict[int, torch.Tensor]:
    """d loss / d entry by id(entry), for those the loss has a path to. loss: one number, with an edge."""
    edges = {id(entry): entry.edge for entry in entries if entry.edge is not None}
    one = torch.ones_like(loss.value)
    found = torch.autograd.grad(loss.edge, list(edges.values()), one, retain_graph=retain_graph, allow_unused=True)  # type: ignore[arg-type]  # edges and leaves
    return {key: value for key, value in zip(edges, found, strict=True) if value is not None}


def sent_backward(calls: Sequence[Call], found: dict[int, torch.Tensor]) -> dict[int, list[Contribution]]:
    """What each call sends, by its place in `calls`, last call first; calls that send nothing are left out.

    found: autograd's gradients by id(entry). Autograd forgets the tensors before and after a write through a view;
    those are added here, as the sum of what is sent to them.
    """
    known = set(found)
    sent: dict[int, list[Contribution]] = {}
    for place in range(len(calls) - 1, -1, -1):
        parts = list(contributions(calls[place], found))
        if parts:
            sent[place] = parts
        for one in parts:
            key = id(one.entry)
            if key not in known:
                found[key] = found[key] + one.value if key in found else one.value
    return sent


def contributions(call: Call, arriving: Mapping[int, torch.Tensor]) -> Iterator[Contribution]:
    """The vector-Jacobian products of one call with the gradients that arrive at its outputs, by id(entry).

    Operands that need no gradient get nothing; nor does anything from a call that no gradient arrives at.
    """
    wanted = [(role, entry) for role, entry in call.inputs if entry.edge is not None]
    if not wanted or not any(id(output) in arriving for output in call.outputs):
        return
    if call.through_graph:
        for role, entry, value in sent_through_graph(call.outputs, _oldest_first(wanted), arriving):
            yield Contribution(role, entry, value)
        return
    leaves = {role: entry.value.detach().requires_grad_() for role, entry in wanted}
    tensors = {role: leaves.get(role, entry.value) for role, entry in call.inputs}
    with torch.enable_grad():
        outputs = run_again(call, tensors)
    pairs = [
        (output, arriving[id(entry)])
        for output, entry in zip(outputs, call.outputs, strict=False)
        if id(entry) in arriving and output.requires_grad
    ]
    if not pairs:
        return
    found = torch.autograd.grad(
        [output for output, _ in pairs], list(leaves.values()), [value for _, value in pairs], allow_unused=True
    )
    for (role, entry), value in zip(wanted, found, strict=True):
        if value is not None:
            yield Contribution(role, entry, value)


def run_again(call: Call, tensors: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
    """The call's tensor outputs for other operands, with the random state it had."""
    return run_step(call.row, call.attributes, tensors, call.live, call.random_state)


def run_step(
    row: Op | None,
    attributes: Mapping[str, Any],
    tensors: Mapping[str, torch.Tensor],
    live: Live | None = None,
    random_state: torch.Tensor | None = None,
) -> list[torch.Tensor]:
    """Runs one operation on operands by role. Operations without a row need `live`, the recorded call itself."""
    if random_state is not None:
        with RANDOM, torch.random.fork_rng(devices=[]):
            torch.set_rng_state(random_state)
            return run_step(row, attributes, tensors, live)
    if row is not None:
        result = row.run(**arguments(tensors, attributes))
    else:
        private = {role: value.clone() for role, value in tensors.items()}  # an unknown call may write to its operands
        assert live is not None
        result = live(private)
        if result is None:
            result = next(iter(private.values()))
    if isinstance(result, torch.Tensor):
        return [result]
    return [part for part in result if isinstance(part, torch.Tensor)]


def residual(sent: Mapping[int, Sequence[Contribution]], found: Mapping[int, torch.Tensor]) -> float:
    """The largest difference between the sum of a tensor's contributions (in float64) and autograd's gradient.

    Equal infinities and two NaNs are no difference; where only one is NaN it is infinite.
    """
    sums: dict[int, torch.Tensor] = {}
    for parts in sent.values():
        for one in parts:
            key = id(one.entry)
            sums[key] = sums[key] + _wide(one.value) if key in sums else _wide(one.value)
    gaps = []
    for key, total in sums.items():
        if total.numel():
            gap = (total - _wide(found[key])).abs()
            if not math.isfinite(largest := float(gap.max())):
                same = (total == found[key]) | (total.isnan() & found[key].isnan())
                largest = float(gap.nan_to_num(math.inf).masked_fill(same, 0.0).max())
            gaps.append(largest)
    return max(gaps, default=0.0)


def _wide(value: torch.Tensor) -> torch.Tensor:
    return value.to(torch.complex128 if value.is_complex() else torch.float64)


def _oldest_first(wanted: Sequence[tuple[str, Entry]]) -> list[tuple[str, Entry]]:
    return sorted(wanted, key=lambda pair: pair[1].number)


def gradient_record(name: str, record: TensorRecord, value: torch.Tensor) -> TensorRecord:
    """The record of a gradient (or a part of one) of a tensor."""
    return TensorRecord(name, f"∂L/∂{record.symbol}", "gradient", record.axes, value.detach())


def backward_step(
    step: Step, index: int, sent: Sequence[Contribution], records: dict[str, TensorRecord]
) -> tuple[Step, list[TensorRecord]]:
    """The step that undoes `step`, and the gradient records it names; adds its parts to `records`."""
    sends, fresh = [], []
    for one in sent:
        operand = records[one.entry.name]
        name = f"{operand.name}.grad@{index}"
        if name in records:
            name = f"{name}:{one.role}"
        records[name] = gradient_record(name, operand, one.value)
        fresh += [records[f"{operand.name}.grad"], records[name]]
        sends.append(Sent(one.role, name, f"{operand.name}.grad"))
    arriving = [
        Operand("arriving" if number == 0 else f"arriving.{number}", gradient)
        for number, output in enumerate(step.outputs)
        if (gradient := records[output].gradient) is not None
    ]
    fresh = [*(records[one.tensor] for one in arriving), *fresh]
    symbols = dict.fromkeys(records[one.to].symbol for one in sends)
    backward = Step(
        index=index,
        phase="backward",
        op=step.op,
        name=f"{step.name}.backward",
        symbol=", ".join(symbols),
        scope=step.scope,
        tex=",\\ ".join(map(tex_symbol, symbols)),
        inputs=(*arriving, *step.inputs),
        outputs=tuple(one.tensor for one in sends),
        attributes=step.attributes,
        forward=step.index,
        sends=tuple(sends),
        note=step.note,
    )
    return backward, fresh
