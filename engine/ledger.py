"""The tensors of a run as they are recorded: found by the tensor itself, and each under a name of its own."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from engine.entry import Entry
from engine.errors import InputError, Stopped
from engine.trace import Kind


class Ledger:
    """copy: keep copies of all values. Entries hold their tensors, so that no id is used again during the run."""

    def __init__(self, *, copy: bool) -> None:
        self.entries: list[Entry] = []
        self._copy = copy
        self._by_id: dict[int, Entry] = {}
        self._names: set[str] = set()
        self._counts: dict[str, int] = {}

    def reserve(self, names: Sequence[str]) -> None:
        """Keeps names for tensors that are added later, with `reserved`."""
        self._names.update(names)

    def add(self, name: str, tensor: torch.Tensor, kind: Kind, *, copy: bool = False, reserved: bool = False) -> Entry:
        """Registers a tensor; `copy` keeps a value of its own, for one that may be written to unseen (a buffer).

        Raises Stopped, with an InputError, for a tensor whose cells do not lie in memory one by one.
        """
        if tensor.layout is not torch.strided:
            layout = str(tensor.layout).removeprefix("torch.")
            field = f"inputs.{name}" if kind == "input" else "module"
            raise Stopped(InputError(field, "have dense tensors", f"a {layout} one at {name}"))
        entry = Entry(name if reserved else self._unique(name), tensor, kind, copy=copy or self._copy)
        entry.number = len(self.entries)
        self.entries.append(entry)
        self._by_id[id(tensor)] = entry
        return entry

    def made(self, scope: str, operation: str, tensor: torch.Tensor) -> Entry:
        """Registers what an operation gave, under its scope, its operation and a count."""
        stem = f"{scope}:{operation}"
        number = self._counts.get(stem, 0)
        self._counts[stem] = number + 1
        return self.add(f"{stem}.{number}", tensor, "activation")

    def next_name(self, scope: str, operation: str) -> str:
        """What `made` will call the next tensor of an operation, if the name is free."""
        stem = f"{scope}:{operation}"
        return f"{stem}.{self._counts.get(stem, 0)}"

    def find(self, tensor: torch.Tensor) -> Entry | None:
        return self._by_id.get(id(tensor))

    def rename(self, entry: Entry, name: str) -> None:
        """Gives an entry the name, or, if that is taken, the name with a number."""
        self._names.discard(entry.name)
        entry.name = self._unique(name)

    def replace(self, entry: Entry, name: str) -> None:
        """Gives an entry a name whose owner was renamed."""
        self._names.discard(entry.name)
        self._names.add(name)
        entry.name = name

    def _unique(self, name: str) -> str:
        chosen, number = name, 0
        while chosen in self._names:
            number += 1
            chosen = f"{name}.{number}"
        self._names.add(chosen)
        return chosen
