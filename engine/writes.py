"""Writes into tensors that are there already: what is overwritten keeps the value it had, what changed is known.

A tensor that changed since it was recorded, because something was written to its storage, is read through a step of its
own: "changed", from the value before and what was written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch

from engine.entry import STALE, Call, Entry, same_edge
from engine.generic import tensors_in
from engine.seen import Seen

Again = Callable[[Mapping[str, torch.Tensor]], torch.Tensor]

_MAX_NORM_PLACE = 3  # among the arguments of embedding and of embedding_bag


class ParameterWritten(BaseException):
    """Forward is about to write to a parameter whose storage the shared module holds: run it on parameters of its own.

    No Exception, so that a model that catches those does not go on. drawn: the random state before anything was drawn.
    """

    drawn: torch.Tensor | None = None


class Storages:
    """Which entries, in the order they were recorded, lie in one storage; brought up to date when something is written.

    shared: the storages of the shared module's parameters, which nothing may write to.
    """

    def __init__(self, entries: Sequence[Entry], shared: Sequence[torch.Tensor]) -> None:
        self._entries = entries
        self._read = 0
        self._values: dict[int, list[Entry]] = {}
        self._shared = shared
        self._places: set[int] | None = None

    def guard(self, tensor: torch.Tensor) -> None:
        """Raises ParameterWritten for a tensor in the storage of a shared parameter."""
        if self._places is None:
            self._places = {place_in_memory(one) for one in self._shared if one.numel()}
        if place_in_memory(tensor) in self._places:
            raise ParameterWritten

    def of(self, tensor: torch.Tensor) -> list[Entry]:
        """The entries whose live tensors lie in the tensor's storage."""
        while self._read < len(self._entries):
            entry = self._entries[self._read]
            self._values.setdefault(place_in_memory(entry.tensor), []).append(entry)
            self._read += 1
        return self._values.get(place_in_memory(tensor), [])

    def keep_values(self, tensor: torch.Tensor) -> list[Entry]:
        """Before a write to it: gives every entry in its storage a value of its own; returns those that had none."""
        fresh = [entry for entry in self.of(tensor) if not entry.own]
        for entry in fresh:
            entry.value = entry.value.clone()
            entry.own = True
        return fresh

    def mark_stale(self, tensor: torch.Tensor) -> None:
        """After a write to it: whoever reads one of these entries next finds it changed."""
        for entry in self.of(tensor):
            entry.version = STALE


def place_in_memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def written_by(what: Seen, args: tuple, kwargs: Mapping[str, object]) -> torch.Tensor | None:
    """The tensor that a call writes to, if it says so."""
    out = kwargs.get("out")
    if out is not None:
        return out if isinstance(out, torch.Tensor) else None
    if what.in_place or kwargs.get("inplace"):
        first = args[0] if args else next(iter(kwargs.values()), None)
        return first if isinstance(first, torch.Tensor) else None
    return None


def written_unseen(what: Seen, args: tuple, kwargs: Mapping[str, object]) -> list[torch.Tensor]:
    """The tensors that a call writes to beside what it gives: rows that embedding renormalises, lists, several outs."""
    if what.in_place:
        return list(tensors_in(args[:1]))
    if what.writes_unseen:
        limit = args[_MAX_NORM_PLACE] if len(args) > _MAX_NORM_PLACE else kwargs.get("max_norm")
        return [] if limit is None else list(tensors_in((args, kwargs)))
    return list(tensors_in(kwargs.get("out")))


def changed(entry: Entry, tensor: torch.Tensor, storages: Storages) -> tuple[list[tuple[str, Entry]], Again] | None:
    """The operands of the step by which an entry's tensor became what it is now, and how to take it again.

    None where only autograd knows: a write that was not recorded, or through a view of another type.
    """
    around = storages.of(tensor)
    later = around[around.index(entry) + 1 :] if entry in around else []
    writes = [one for one in later if one.written]
    known = same_edge(entry, tensor) if entry.edge is not None else not (writes or tensor.requires_grad)
    if known:
        return [("before", entry)], past_autograd("before", tensor.detach().clone())
    if not writes or any(
        one.tensor.dtype != tensor.dtype or one.tensor.is_conj() or one.tensor.is_neg() for one in writes
    ):
        return None
    cells = torch.arange(tensor.untyped_storage().nbytes() // tensor.element_size())
    read, *placed = (_places(cells, one) for one in (tensor, *(write.tensor for write in writes)))

    def again(tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
        before = tensors["before"]
        flat = before.new_zeros(len(cells)).scatter(0, read.flatten(), before.flatten())
        for number, places in enumerate(placed):
            flat = flat.scatter(0, places.flatten(), tensors[f"written.{number}"].flatten())
        return flat[read]

    return [("before", entry), *((f"written.{number}", one) for number, one in enumerate(writes))], again


def past_autograd(role: str, value: torch.Tensor) -> Again:
    """A write that autograd did not see (under no_grad, or through `.data`): the value is new, the gradient goes on."""

    def again(tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
        result = tensors[role].clone()
        result.data.copy_(value)
        return result

    return again


def settle_write(call: Call, target: torch.Tensor) -> None:
    """Rewrites a recorded write that autograd did not see: one that left a tensor with a gradient where it was."""
    for role, before in call.inputs:
        if before.tensor is target and before.edge is not None and same_edge(before, target):
            call.op, call.row = f"{call.op} (no gradient)", None
            call.live = past_autograd(role, target.detach().clone())
            return


def _places(cells: torch.Tensor, view: torch.Tensor) -> torch.Tensor:
    """Where in its storage each cell of a view lies."""
    return cells.as_strided(view.shape, view.stride(), view.storage_offset())
