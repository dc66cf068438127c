"""The recorder: sees every PyTorch call of one thread and keeps what went in and what came out.

A TorchFunctionMode, so it works inside autograd, on any module, and leaves nothing behind. Values are the run's own
tensors (detached, not copied) unless something is about to overwrite them. Gradients are in backward.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from engine.calls import bind
from engine.entry import Call, Entry, version_of
from engine.errors import InputError, Stopped
from engine.execution import Execution
from engine.generic import generic, passed, tensors_in
from engine.intervene import Intervention, Replacement, replacements
from engine.ledger import Ledger
from engine.opened import OPENED, KeptWhole
from engine.ops.table import calls, rows
from engine.seen import Seen, seen
from engine.trace import Phase
from engine.unseen import Frontier, name_of
from engine.writes import ParameterWritten, Storages, changed, settle_write, written_by, written_unseen

_in_transform = torch._C._functorch.peek_interpreter_stack
_OWN_ENDINGS = (".grad", ".updated", ".frozen", ":computed", ":changed")


class Recorder(TorchFunctionMode):
    """Records one run. Enter and leave it in one thread.

    interventions: by tensor name, each with its field. explain: open fused operations into their parts. copy: keep
    copies of all values (for a second run, after something was overwritten unseen). on_call: told each call as soon as
    its names are settled. shared: tensors whose storage no call may write to.
    """

    def __init__(
        self,
        *,
        interventions: Mapping[str, Sequence[tuple[str, Intervention]]] | None = None,
        explain: bool = True,
        copy: bool = False,
        on_call: Callable[[Call], None] | None = None,
        shared: Sequence[torch.Tensor] = (),
    ) -> None:
        super().__init__()
        self._rows = calls()  # here, so that no row is loaded while the mode is on
        self.calls: list[Call] = []
        self.ledger = Ledger(copy=copy)
        self.phase: Phase = "forward"
        self.scopes: list[str] = [""]
        self.met: set[str] = set()
        self.kept: list[Entry] = []
        self.paused = False
        self.execution = Execution()
        self._interventions = interventions or {}
        self._explain = explain
        self._copy = copy
        self._on_call = on_call
        self._told = 0
        self._storages = Storages(self.ledger.entries, shared)
        self._frontier = Frontier(self.ledger.entries)

    def operand(self, tensor: torch.Tensor) -> Entry:
        """The entry that says what the tensor is now; one of its own if it changed since it was recorded."""
        entry = self.ledger.find(tensor)
        if entry is None:
            if tensor.requires_grad and tensor.grad_fn is not None:
                return self._unseen(tensor, name_of(tensor))
            return self.ledger.add(f"constant.{len(self.ledger.entries)}", tensor, "constant")
        if entry.version != version_of(tensor):
            return self._changed(entry, tensor)
        if entry.edge is None and tensor.requires_grad:  # it got its gradient after it was recorded
            if tensor.grad_fn is not None:
                return self._unseen(tensor, name_of(tensor))
            entry.edge = tensor
        return entry

    def tap(self, name: str, tensor: torch.Tensor, axes: str) -> torch.Tensor:
        """Renames the newest call's output; any other tensor gets a step of its own that only names it."""
        if self.paused or _in_transform() is not None:
            return tensor
        if name.endswith(_OWN_ENDINGS) or "@" in name:
            expected = f"not end in {', '.join(_OWN_ENDINGS)} or have an @, which mark the trace's own tensors"
            raise Stopped(InputError("tap", expected, repr(name)))
        scope = self.scopes[-1]
        full = f"{scope}.{name}" if scope else name
        entry = self.ledger.find(tensor)
        newest = self.calls[-1].outputs if self.calls else []
        if entry is None or entry.tapped or entry not in newest:
            tensor = tensor.view_as(tensor)
            entry = self.operand(tensor)
        self.ledger.rename(entry, full)
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
        return not self._copy and any(
            not entry.own and entry.version >= 0 and entry.version != entry.value._version
            for entry in self.ledger.entries
        )

    def __torch_function__(
        self, func: Callable, types: Sequence[type], args: tuple = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        what = seen(func)
        if what.ignored or self.paused or _in_transform() is not None:
            return func(*args, **kwargs)
        if self._explain and what.name in OPENED:
            try:
                with self:
                    return OPENED[what.name](*args, **kwargs)
            except KeptWhole:
                pass
        if what.in_place or kwargs or what.writes_unseen:
            if (target := written_by(what, args, kwargs)) is not None:
                return self._write(what, func, args, kwargs, target)
            for tensor in written_unseen(what, args, kwargs):
                self._guard(tensor)
        result, state = self.execution.run(what, func, args, kwargs)
        made = [result] if isinstance(result, torch.Tensor) else list(tensors_in(result))
        made = [one for one in made if self.ledger.find(one) is None or not passed(one, args, kwargs)]
        if not made:
            return result
        given = what.random or (args and isinstance(args[0], torch.Tensor))  # mostly so; else it takes a search
        if not given and next(tensors_in((args, kwargs)), None) is None:
            return result  # a constant, registered when it is used
        call = self._call(what, func, args, kwargs)
        call.random_state = state
        call.outputs.extend(self.ledger.made(self.scopes[-1], what.name, tensor) for tensor in made)
        self._keep(call)
        return self._intervene_in(result) if self._interventions else result

    def _write(self, what: Seen, func: Callable, args: tuple, kwargs: Mapping, target: torch.Tensor) -> Any:
        """The values recorded so far keep what they were; the target becomes a new entry of its own."""
        if target.layout is torch.strided:
            self._guard(target)
        call = self._call(what, func, args, kwargs)
        self.kept += self._storages.keep_values(target)
        if (
            self._interventions.keys() - self.met
            and self.ledger.next_name(self.scopes[-1], what.name) in self._interventions
        ):
            return self._write_replaced(call, what, func, args, kwargs, target)
        result, call.random_state = self.execution.run(what, func, args, kwargs)
        if what.name != "data":  # `y.data = z` puts another storage in its place, in which nothing is written
            self._storages.mark_stale(target)
        self._written(call, target, what.name)
        return result

    def _guard(self, tensor: torch.Tensor) -> None:
        try:
            self._storages.guard(tensor)
        except ParameterWritten as written:
            written.drawn = self.execution.drawn
            raise

    def _write_replaced(
        self, call: Call, what: Seen, func: Callable, args: tuple, kwargs: Mapping, target: torch.Tensor
    ) -> torch.Tensor:
        """A write whose result an intervention names: it goes to a copy, and what is put in its place to the target.

        So that what autograd keeps of the call (the result of relu_) is not overwritten.
        """
        copied = target.clone()
        args, kwargs = (tuple(copied if one is target else one for one in args), dict(kwargs))
        kwargs |= {name: copied for name, one in kwargs.items() if one is target}
        _, call.random_state = self.execution.run(what, func, args, kwargs)
        entry = self.ledger.made(self.scopes[-1], what.name, copied)
        call.outputs.append(entry)
        self._keep(call)
        return self._intervene(entry, copied, into=target)

    def _written(self, call: Call, target: torch.Tensor, name: str) -> Entry:
        settle_write(call, target)
        entry = self.ledger.made(self.scopes[-1], name, target)
        entry.written = True
        call.outputs.append(entry)
        self._keep(call)
        return entry

    def _call(self, what: Seen, func: Callable, args: tuple, kwargs: Mapping) -> Call:
        row, op, live = self._rows.get(what.name), what.name, None
        if row is not None:
            try:
                roles, attributes = bind(row, op, args, kwargs)
                op = row.name
            except TypeError:
                row = None
        if row is None:
            roles, attributes, live = generic(func, args, kwargs)
            op = f"{op} (other form)" if op in rows() else op
        inputs = [(role, self.operand(tensor)) for role, tensor in roles.items()]
        through_graph = torch.is_autocast_enabled("cpu")
        return Call(self.phase, self.scopes[-1], op, row, inputs, attributes, [], live, through_graph=through_graph)

    def _keep(self, call: Call) -> None:
        self.calls.append(call)
        self.tell()

    def _changed(self, entry: Entry, tensor: torch.Tensor) -> Entry:
        """A tensor that was written to through another view of its storage since it was recorded: a step of its own."""
        found = changed(entry, tensor, self._storages)
        if found is None:
            return self._unseen(tensor, "changed")
        inputs, again = found
        fresh = self.ledger.add(f"{entry.name}:changed", tensor, "activation")
        fresh.axes = entry.axes
        self._keep(Call(self.phase, self.scopes[-1], "changed", None, inputs, {}, [fresh], again))
        return fresh

    def _unseen(self, tensor: torch.Tensor, name: str) -> Entry:
        """A tensor that came from where no call is seen: one opaque step from what it depends on."""
        behind = self._frontier.behind(tensor) if tensor.grad_fn is not None else []
        inputs = [
            (f"arg{number}", one if isinstance(one, Entry) else self.operand(one)) for number, one in enumerate(behind)
        ]
        call = Call(self.phase, self.scopes[-1], name, None, inputs, {}, [], through_graph=True)
        call.outputs.append(self.ledger.made(self.scopes[-1], name, tensor))
        call.op = f"{name} (other form)" if name in rows() else name
        self._keep(call)
        return call.outputs[0]

    def _intervene_in(self, result: Any) -> Any:
        """The result with the tensors in it replaced that an intervention names."""
        if isinstance(result, torch.Tensor):
            entry = self.ledger.find(result)
            return result if entry is None else self._intervene(entry, result)
        if not isinstance(result, tuple | list):
            return result
        parts = [self._intervene_in(part) for part in result]
        if all(part is one for part, one in zip(parts, result, strict=True)):
            return result
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)

    def _intervene(self, entry: Entry, tensor: torch.Tensor, *, into: torch.Tensor | None = None) -> torch.Tensor:
        """The tensor with the interventions at its name applied; `into` is what the model goes on with, if another."""
        wanted = self._interventions.get(entry.name)
        if not wanted or entry.name in self.met:
            return tensor
        name = entry.name
        self.met.add(name)
        with torch._C.DisableTorchFunction():
            try:
                with torch.no_grad():
                    changes = replacements(entry.value, wanted)
            except InputError as error:
                raise Stopped(error) from error
            for change in changes:
                tensor = self._replace(name, change, tensor, into)
        return tensor

    def _replace(self, name: str, change: Replacement, tensor: torch.Tensor, into: torch.Tensor | None) -> torch.Tensor:
        before = self.operand(tensor)
        self.ledger.rename(before, f"{name}:computed")
        for role, constant in change.constants.items():
            self.ledger.add(f"{name}:{role}", constant, "constant").axes = before.axes
        operands = tuple(tensor if operand is ... else operand for operand in change.operands)
        call = self._call(seen(change.function), change.function, operands, {})
        call.replacement = change
        result = change.function(*operands)
        if into is not None:
            self._guard(into)
            self.kept += self._storages.keep_values(into)
            result = into.copy_(result)
            self._storages.mark_stale(into)
            after = self._written(call, result, change.kind)
        else:
            after = self.ledger.made(self.scopes[-1], change.kind, result)
            call.outputs.append(after)
            self._keep(call)
        self.ledger.replace(after, name)
        after.axes, after.tapped = before.axes, True
        return result
