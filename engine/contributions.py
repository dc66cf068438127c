"""What each step sends backward to each of its operands.

It is the step's own vector-Jacobian product, computed apart from the run by taking the step again on leaves; that the
parts sum to autograd's gradient is checked, not assumed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch

from engine.entry import Call, Entry
from engine.replay import run_again
from engine.unseen import sent_through_graph

_CELLS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Contribution:
    """What a call sends to the operand in `role`."""

    role: str
    entry: Entry
    value: torch.Tensor


def counted_otherwise(calls: Sequence[Call]) -> set[int]:
    """Entries, by id, that autograd counts another gradient for: what was written through a view, and its base.

    To autograd a view that was written to is made of its base from then on; here the base is made of what was written.
    """
    entries = [
        output
        for call in calls
        for output in call.outputs
        if (output.written and output.tensor._is_view()) or (call.op == "changed" and len(call.inputs) > 1)
    ]
    return {id(entry) for entry in entries if entry.edge is not None}


def sent_backward(calls: Sequence[Call], found: dict[int, torch.Tensor]) -> dict[int, list[Contribution]]:
    """What each call sends, by its place in `calls`, last call first; calls that send nothing are left out.

    found: autograd's gradients by id(entry), but for those that it counts otherwise. These, and the tensors before and
    after a write through a view, which it forgets, are added here, as the sum of what is sent to them.
    """
    sender = _Sender(found)
    for place in range(len(calls) - 1, -1, -1):
        sender.take(place, calls[place])
    sender.settle()
    return dict(sorted(sender.sent.items(), reverse=True))


class _Sender:
    """Takes calls again, last first, and differentiates many small ones in one pass of autograd.

    arriving: the gradients by id(entry); what is sent to entries that it does not have is added to it.
    """

    def __init__(self, arriving: dict[int, torch.Tensor]) -> None:
        self.sent: dict[int, list[Contribution]] = {}
        self._arriving = arriving
        self._known = set(arriving)
        self._begin()

    def take(self, place: int, call: Call) -> None:
        """Operands that need no gradient get nothing; nor does anything from a call that no gradient arrives at."""
        if self._awaited and any(id(output) in self._awaited for output in call.outputs):
            self.settle()
        wanted = [(role, entry) for role, entry in call.inputs if entry.edge is not None]
        if not wanted or not any(id(output) in self._arriving for output in call.outputs):
            return
        if call.through_graph:
            oldest_first = sorted(wanted, key=lambda pair: pair[1].number)
            self._add(place, sent_through_graph(call.outputs, oldest_first, self._arriving))
            return
        leaves = {role: entry.value.detach().requires_grad_() for role, entry in wanted}
        with torch.enable_grad():
            outputs = run_again(call, {role: leaves.get(role, entry.value) for role, entry in call.inputs})
        for output, entry in zip(outputs, call.outputs, strict=False):
            if id(entry) in self._arriving and output.requires_grad:
                self._outputs.append(output)
                self._vectors.append(self._arriving[id(entry)])
                self._cells += output.numel()
        self._leaves += leaves.values()
        self._waiting.append((place, wanted))
        self._awaited |= {id(entry) for _, entry in wanted} - self._known
        if self._cells > _CELLS_AT_ONCE:
            self.settle()

    def settle(self) -> None:
        """Differentiates what waits."""
        if self._outputs:
            found = iter(torch.autograd.grad(self._outputs, self._leaves, self._vectors, allow_unused=True))
            for place, wanted in self._waiting:
                self._add(place, [(role, entry, next(found)) for role, entry in wanted])
        self._begin()

    def _begin(self) -> None:
        self._waiting: list[tuple[int, list[tuple[str, Entry]]]] = []
        self._outputs: list[torch.Tensor] = []
        self._vectors: list[torch.Tensor] = []
        self._leaves: list[torch.Tensor] = []
        self._awaited: set[int] = set()
        self._cells = 0

    def _add(self, place: int, parts: Iterable[tuple[str, Entry, torch.Tensor | None]]) -> None:
        sent = [Contribution(role, entry, value) for role, entry, value in parts if value is not None]
        if sent:
            self.sent[place] = sent
        for one in sent:
            key = id(one.entry)
            if key not in self._known:
                earlier = self._arriving.get(key)
                self._arriving[key] = one.value if earlier is None else earlier + one.value


def residual(sent: Mapping[int, Sequence[Contribution]], found: Mapping[int, torch.Tensor]) -> float:
    """The largest difference between the sum of a tensor's contributions (in float64) and autograd's gradient.

    Equal infinities and two NaNs are no difference; where only one is NaN it is infinite.
    """
    parts: dict[int, list[torch.Tensor]] = {}
    for contributions in sent.values():
        for one in contributions:
            parts.setdefault(id(one.entry), []).append(one.value)
    return max((_gap(values, found[key]) for key, values in parts.items()), default=0.0)


def _gap(parts: Sequence[torch.Tensor], gradient: torch.Tensor) -> float:
    if not gradient.numel() or (len(parts) == 1 and torch.equal(parts[0], gradient)):
        return 0.0
    first, *others = map(_wide, parts)
    total = sum(others, start=first)
    gap = (total - _wide(gradient)).abs()
    if math.isfinite(largest := float(gap.max())):
        return largest
    same = (total == gradient) | (total.isnan() & gradient.isnan())
    return float(gap.nan_to_num(math.inf).masked_fill(same, 0.0).max())


def _wide(value: torch.Tensor) -> torch.Tensor:
    return value.to(torch.complex128 if value.is_complex() else torch.float64)
