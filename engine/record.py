"""The recorder: sees every PyTorch call of one thread and keeps what went in and what came out.

A TorchFunctionMode, so it works inside autograd, on any module, and leaves nothing behind. Values are the run's own
tensors (detached, not copied) unless something is about to overwrite them. Gradients are in backward.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.graph import GradientEdge
from torch.overrides import TorchFunctionMode

from engine.calls import bind
from engine.generic import generic, passed, tensors_in
from engine.intervene import Intervention, Replacement, replacements
from engine.opened import OPENED, KeptWhole
from engine.ops.table import Op, calls
from engine.seen import Seen, seen
from engine.trace import Kind, Phase


class Entry:
    """One tensor while it is being recorded: the live `tensor`, the `value` it had, the `edge` of its gradient."""

    __slots__ = ("axes", "edge", "kind", "name", "symbol", "tapped", "tensor", "value", "version", "written")

    def __init__(self, name: str, tensor: torch.Tensor, kind: Kind, *, copy: bool = False) -> None:
        self.name = name
        self.tensor = tensor
        self.kind = kind
        self.value = tensor.detach().clone() if copy else tensor.detach()
        self.version = tensor._version
        self.edge: GradientEdge | torch.Tensor | None = None
        if tensor.requires_grad:  # a leaf is its own edge; asking PyTorch for one costs more and gives the same
            node = tensor.grad_fn
            self.edge = tensor if node is None else GradientEdge(node, tensor.output_nr)
        self.axes: tuple[str, ...] = ()
        self.symbol = ""
        self.tapped = False
        self.written = False


@dataclass(eq=False, slots=True)
class Call:
    """One recorded call. `row` is None for an operation the table does not know; then `live` can run it again."""

    phase: Phase
    scope: str
    op: str
    row: Op | None
    inputs: list[tuple[str, Entry]]
    attributes: Mapping[str, Any]
    outputs: list[Entry]
    live: Callable[[Mapping[str, torch.Tensor]], Any] | None = None
    replacement: Replacement | None = None
    random_state: torch.Tensor | None = None


class Recorder(TorchFunctionMode):
    """Records one run. Enter and leave it in one thread.

    interventions: by tensor name. explain: open fused operations into their parts. copy: keep copies of all values (for
    a second run, after something was overwritten unseen). on_call: told each call as soon as its names are settled.
    """

    def __init__(
        self,
        *,
        interventions: Mapping[str, Sequence[Intervention]] | None = None,
        explain: bool = True,
        copy: bool = False,
        on_call: Callable[[Call], None] | None = None,
    ) -> None:
        super().__init__()
        calls()  # so that no row is loaded while the mode is on
        self.calls: list[Call] = []
        self.entries: list[Entry] = []
        self.phase: Phase = "forward"
        self.scopes: list[str] = [""]
        self.met: set[str] = set()
        self.kept: list[Entry] = []
        self._interventions = interventions or {}
        self._explain = explain
        self._copy = copy
        self._on_call = on_call
        self._told = 0
        self._by_id: dict[int, Entry] = {}
        self._names: set[str] = set()
        self._counts: dict[str, int] = {}
        self._held: list[torch.Tensor] = []

    def add(self, name: str, tensor: torch.Tensor, kind: Kind, *, copy: bool = False) -> Entry:
        """Registers a tensor; `copy` keeps a value of its own, for one that may be written to unseen (a buffer)."""
        entry = Entry(self._unique(name), tensor, kind, copy=copy or self._copy)
        self._keep(entry)
        return entry

    def find(self, tensor: torch.Tensor) -> Entry | None:
        return self._by_id.get(id(tensor))

    def tap(self, name: str, tensor: torch.Tensor, axes: str) -> torch.Tensor:
        """Renames the newest call's output; any other tensor gets a step of its own that only names it."""
        scope = self.scopes[-1]
        full = f"{scope}.{name}" if scope else name
        entry = self._by_id.get(id(tensor))
        newest = self.calls[-1].outputs if self.calls else []
        if entry is None or entry.tapped or entry not in newest:
            tensor = tensor.view_as(tensor)
            entry = self._by_id[id(tensor)]
        self._names.discard(entry.name)
        entry.name = self._unique(full)
        entry.tapped = True
        entry.axes = tuple(axes.split())
        return self._intervene(entry, tensor)

    def tell(self, *, all_calls: bool = False) -> None:
        """Hands calls with settled names to on_call: all but the newest, which a tap may still rename."""
        if self._on_call is None:
            return
        settled = len(self.calls) if all_calls else len(self.calls) - 1
        while self._told < settled:
            self._told += 1
            self._on_call(self.calls[self._told - 1])

    def overwritten(self) -> bool:
        """Whether a value was changed after it was recorded, by a call that did not look in-place."""
        return not self._copy and any(entry.value._version != entry.version for entry in self.entries)

    def __torch_function__(
        self, func: Callable, types: Sequence[type], args: tuple = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        what = seen(func)
        if what.ignored:
            return func(*args, **kwargs)
        if self._explain and what.name in OPENED:
            try:
                with self:
                    return OPENED[what.name](*args, **kwargs)
            except KeptWhole:
                pass
        target = _overwritten_by(what, args, kwargs)
        if target is not None:
            return self._call_in_place(what, func, args, kwargs, target)
        state = torch.get_rng_state() if what.random else None
        result = func(*args, **kwargs)
        made = [result] if isinstance(result, torch.Tensor) else list(tensors_in(result))
        if not made or (len(made) == 1 and id(made[0]) in self._by_id and passed(made[0], args, kwargs)):
            return result
        if not what.random and next(tensors_in((args, kwargs)), None) is None:
            return result  # a constant, registered when it is used
        call = self._record(what, func, args, kwargs, made)
        call.random_state = state
        if made[0] is result:
            return self._intervene(call.outputs[0], result)
        return result

    def _call_in_place(self, what: Seen, func: Callable, args: tuple, kwargs: Mapping, target: torch.Tensor) -> Any:
        """The values recorded so far keep what they were; the target becomes a new entry of its own."""
        self._detach_storage(target)
        call = self._record(what, func, args, kwargs, [])
        result = func(*args, **kwargs)
        call.outputs.append(self._made(what, target))
        call.outputs[0].written = True
        return result

    def _record(self, what: Seen, func: Callable, args: tuple, kwargs: Mapping, made: list[torch.Tensor]) -> Call:
        row = calls().get(what.name)
        if row is not None:
            try:
                roles, attributes = bind(row, what.name, args, kwargs)
            except TypeError:
                row = None
        live = None
        if row is None:
            roles, attributes, live = generic(func, args, kwargs)
        inputs = [(role, self._operand(tensor)) for role, tensor in roles.items()]
        outputs = [self._made(what, tensor) for tensor in made]
        op = row.name if row is not None else what.name
        call = Call(self.phase, self.scopes[-1], op, row, inputs, attributes, outputs, live)
        self.calls.append(call)
        self.tell()
        return call

    def _made(self, what: Seen, tensor: torch.Tensor) -> Entry:
        stem = f"{self.scopes[-1]}:{what.name}"
        number = self._counts.get(stem, 0)
        self._counts[stem] = number + 1
        return self.add(f"{stem}.{number}", tensor, "activation")

    def _operand(self, tensor: torch.Tensor) -> Entry:
        entry = self._by_id.get(id(tensor))
        if entry is None:
            return self.add(f"constant.{len(self.entries)}", tensor, "constant")
        return entry if entry.version == tensor._version else self._changed(entry, tensor)

    def _changed(self, entry: Entry, tensor: torch.Tensor) -> Entry:
        """A tensor that was written to through another view of its storage since it was recorded: a step of its own."""
        storage = tensor.untyped_storage()
        later = self.entries[self.entries.index(entry) + 1 :]
        writes = [one for one in later if one.written and one.tensor.untyped_storage().data_ptr() == storage.data_ptr()]
        cells = torch.arange(storage.nbytes() // tensor.element_size())
        read, *placed = (_places(cells, one) for one in (tensor, *(write.tensor for write in writes)))

        def again(tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
            before = tensors["before"]
            flat = before.new_zeros(len(cells)).scatter(0, read.flatten(), before.flatten())
            for number, places in enumerate(placed):
                flat = flat.scatter(0, places.flatten(), tensors[f"written.{number}"].flatten())
            return flat[read]

        fresh = self.add(f"{entry.name}:changed", tensor, "activation")
        fresh.axes = entry.axes
        inputs = [("before", entry), *((f"written.{number}", one) for number, one in enumerate(writes))]
        self.calls.append(Call(self.phase, self.scopes[-1], "changed", None, inputs, {}, [fresh], again))
        return fresh

    def _intervene(self, entry: Entry, tensor: torch.Tensor) -> torch.Tensor:
        wanted = self._interventions.get(entry.name)
        if not wanted or entry.name in self.met:
            return tensor
        name = entry.name
        self.met.add(name)
        with torch._C.DisableTorchFunction():
            with torch.no_grad():
                changes = replacements(name, entry.value, wanted)
            for change in changes:
                self._by_id[id(tensor)].name = self._unique(f"{name}:computed")
                for role, constant in change.constants.items():
                    self.add(f"{name}:{role}", constant, "constant").axes = entry.axes
                operands = tuple(tensor if operand is ... else operand for operand in change.operands)
                tensor = self.__torch_function__(change.function, (), operands)
                new = self._by_id[id(tensor)]
                new.axes, new.tapped = entry.axes, True
                self._names.discard(new.name)
                new.name = name
                self.calls[-1].replacement = change
        return tensor

    def _keep(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._held.append(entry.tensor)
        self._by_id[id(entry.tensor)] = entry

    def _unique(self, name: str) -> str:
        chosen, number = name, 0
        while chosen in self._names:
            number += 1
            chosen = f"{name}.{number}"
        self._names.add(chosen)
        return chosen

    def _detach_storage(self, target: torch.Tensor) -> None:
        storage = target.untyped_storage().data_ptr()
        for entry in self.entries:
            if entry.value.untyped_storage().data_ptr() == storage:
                entry.value = entry.value.clone()
                self.kept.append(entry)


def _places(cells: torch.Tensor, view: torch.Tensor) -> torch.Tensor:
    """Where in its storage each cell of a view lies."""
    return cells.as_strided(view.shape, view.stride(), view.storage_offset())


def _overwritten_by(what: Seen, args: tuple, kwargs: Mapping[str, Any]) -> torch.Tensor | None:
    if isinstance(out := kwargs.get("out"), torch.Tensor):
        return out
    if what.in_place or kwargs.get("inplace"):
        return args[0] if args else kwargs["input"]
    return None
