"""`trace`: runs a module once, forward, loss, backward and update, and gives the record of it."""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import nn

from engine.assemble import Assembler
from engine.backward import backward_step, gradient_record, gradients, residual, sent_backward
from engine.digest import trace_id
from engine.errors import InputError, RunError
from engine.intervene import Intervention
from engine.record import Call, Entry, Recorder
from engine.skeleton import Edit, Skeleton, private_copy
from engine.tap import listening
from engine.trace import Step, TensorRecord, Trace
from engine.update import Update, updatable, update_steps

OnStep = Callable[[Step, list[TensorRecord]], None]
Loss = Callable[[Any, Any], torch.Tensor]

_ONE_RANDOM_RUN = threading.Lock()


def trace(
    module: nn.Module,
    inputs: torch.Tensor | Sequence[Any] | Mapping[str, Any],
    *,
    target: torch.Tensor | None = None,
    loss: Loss | None = None,
    edits: Sequence[Edit] = (),
    interventions: Sequence[Intervention] = (),
    backward: bool = True,
    update: Update | None = None,
    mode: Literal["explain", "exact"] = "explain",
    seed: int | None = None,
    on_step: OnStep | None = None,
    request: Mapping[str, Any] | None = None,
    name: str = "",
    title: str = "",
    dtype: torch.dtype | None = None,
    parts: bool = True,
) -> Trace:
    """Runs `module` on `inputs` and records every tensor, every step, every gradient.

    inputs:  one tensor, positional or keyword arguments; tensors in them are named after forward's parameters.
    loss:    loss(output, target) -> one number; without it an output of one number is its own loss, else there is no
             backward.
    mode:    "explain" opens fused operations into parts (equal within float32 rounding); "exact" keeps them whole.
    seed:    of the random state for this run; None leaves random operations to the thread's own state.
    dtype:   converts module and floating inputs first (float64 to verify).
    parts:   also compute what each backward step sends to each operand (a run of each step again).
    request: what is kept as the trace's request; name, title: the model's.

    Raises InputError for edits, interventions or frozen places that do not exist, RunError (with the trace so far)
    when the module itself raises.
    """
    run = _Run(module, inputs, target, loss, edits, interventions, backward, mode, on_step, dtype, parts)
    with _seeded(seed), torch.set_grad_enabled(backward):
        recorder = run.record()
    if recorder.overwritten():
        with _seeded(seed), torch.set_grad_enabled(backward):
            recorder = run.record(copy=True)
    run.check_interventions(recorder)
    result: dict[str, Any] = {}
    if backward and run.loss_entry is not None:
        result["check"] = {"max_residual": run.backward(recorder)}
    if run.loss_entry is not None:
        result = {"prediction": plain(run.output), "loss": plain(run.loss_entry.value), **result}
    else:
        result = {"prediction": plain(run.output), **result}
    if update is not None and backward and run.loss_entry is not None:
        result["after_update"] = run.update(update)
    return run.finish(request or {}, name or type(module).__name__, title, result)


class _Run:
    """One call of `trace` while it is under way."""

    def __init__(
        self,
        module: nn.Module,
        inputs: Any,
        target: torch.Tensor | None,
        loss: Loss | None,
        edits: Sequence[Edit],
        interventions: Sequence[Intervention],
        backward: bool,
        mode: str,
        on_step: OnStep | None,
        dtype: torch.dtype | None,
        parts: bool,
    ) -> None:
        self.module, self.mode, self.dtype = module, mode, dtype
        self.target = _cast(target, dtype)
        self.loss, self.edits, self.on_step, self.parts = loss, edits, on_step, parts
        self.wants_gradients = backward
        self.positional, self.keywords = _arguments(module, inputs, dtype)
        self.by_name: dict[str, list[Intervention]] = {}
        for one in interventions:
            self.by_name.setdefault(one.at, []).append(one)
        self.steps: list[Step] = []
        self.calls: list[Call] = []
        self.output: Any = None
        self.loss_entry: Entry | None = None

    def record(self, *, copy: bool = False) -> Recorder:
        """The forward and the loss under a recorder of their own, on a private copy of the module."""
        self.skeleton = private_copy(self.module, self.edits, dtype=self.dtype, recording=self.wants_gradients)
        self.assembler = Assembler(getattr(self.module, "symbols", {}), getattr(self.module, "axes", {}))
        self.steps.clear()
        self.calls.clear()
        on_call = self._tell if self.on_step is not None else None
        recorder = Recorder(interventions=self.by_name, explain=self.mode == "explain", copy=copy, on_call=on_call)
        positional = [self._given(recorder, name, value) for name, value in self.positional]
        keywords = {name: self._given(recorder, name, value) for name, value in self.keywords.items()}
        target = self.target
        if isinstance(target, torch.Tensor):
            recorder.add("target", target, "input")
        parameters = self.skeleton.parameters
        self.parameters = [(name, recorder.add(name, value, "parameter")) for name, value in parameters]
        for name, value in self.skeleton.buffers:
            recorder.add(name, value, "constant", copy=True)
        for entry in recorder.entries:
            self.assembler.record(entry)
        _follow_scopes(self.skeleton, recorder)
        before, listening.listener = listening.listener, recorder
        try:
            with recorder:
                self.output = self.skeleton.module(*positional, **keywords)
                recorder.phase = "loss"
                loss = self.loss(self.output, target) if self.loss is not None else self.output
        except InputError:
            raise
        except Exception as error:
            self._settle(recorder)
            raise RunError(f"the model raised {type(error).__name__}: {error}", self.finish({}, "", "", {})) from error
        finally:
            listening.listener = before
        self.loss_entry = self._loss_entry(recorder, loss)
        self._settle(recorder)
        return recorder

    def check_interventions(self, recorder: Recorder) -> None:
        """Raises InputError for an intervention at a name that the run never met."""
        for number, name in enumerate(self.by_name):
            if name not in recorder.met:
                known = ", ".join(entry.name for entry in recorder.entries if entry.kind == "activation")
                raise InputError(f"interventions[{number}].at", f"be one of {known}", repr(name))

    def backward(self, recorder: Recorder) -> float:
        """Adds the gradients and the backward steps; returns how far contributions are from autograd's gradients."""
        assert self.loss_entry is not None
        found = gradients(self.loss_entry.tensor, recorder.entries)
        sent = sent_backward(self.calls, found) if self.parts else {}
        records = self.assembler.records
        for entry in recorder.entries:
            if id(entry) in found:
                record = self.assembler.record(entry)
                gradient = gradient_record(f"{record.name}.grad", record, found[id(entry)])
                records[gradient.name] = gradient
                records[record.name] = TensorRecord(
                    record.name, record.symbol, record.kind, record.axes, record.value, gradient.name
                )
        for forward, parts in sent.items():
            self._emit(*backward_step(self.steps[forward], len(self.steps), parts, records))
        return residual(sent, found)

    def update(self, update: Update) -> dict[str, Any]:
        """Adds one step a parameter; returns prediction and loss of a forward with the new parameters."""
        records = self.assembler.records
        names = [name for name, _ in self.parameters]
        for step, fresh in update_steps(update, names, records, len(self.steps)):
            self._emit(step, fresh)
        for name, parameter in self.skeleton.parameters:
            if f"{name}.updated" in records:
                parameter.data = records[f"{name}.updated"].value
        return {**self._after(), "updatable": updatable(records)}

    def finish(self, request: Mapping[str, Any], name: str, title: str, result: Mapping[str, Any]) -> Trace:
        count = sum(entry.value.numel() for _, entry in self.parameters)
        model = {"name": name, "title": title or name, "parameter_count": count, "mode": self.mode}
        live = {index: call for index, call in enumerate(self.calls) if call.row is None}
        identity = trace_id(request, self.module, name)
        return Trace(identity, request, model, tuple(self.steps), self.assembler.records, result, live)

    def _given(self, recorder: Recorder, name: str, value: Any) -> Any:
        """An input as the model gets it: the gradient reaches it, but it is no leaf, so that writing to it works."""
        if not isinstance(value, torch.Tensor):
            return value
        if self.wants_gradients and value.is_floating_point():
            value = value.detach().requires_grad_().clone()
        recorder.add(name, value, "input")
        return value

    def _loss_entry(self, recorder: Recorder, loss: Any) -> Entry | None:
        if isinstance(loss, torch.Tensor) and loss.numel() == 1 and loss.is_floating_point():
            return recorder.find(loss)
        if self.loss is not None:
            got = tuple(loss.shape) if isinstance(loss, torch.Tensor) else type(loss).__name__
            raise InputError("loss", "give one number", f"{got}")
        return None

    def _settle(self, recorder: Recorder) -> None:
        if self.on_step is not None:
            recorder.tell(all_calls=True)
        else:
            for call in recorder.calls:
                self._tell(call)
        for entry in recorder.kept:
            self.assembler.refresh(entry)

    def _tell(self, call: Call) -> None:
        known = len(self.assembler.records) if self.calls else 0  # the first step brings the inputs and parameters
        self.calls.append(call)
        step = self.assembler.step(call, len(self.steps))
        self._emit(step, list(self.assembler.records.values())[known:] if self.on_step else [])

    def _emit(self, step: Step, fresh: list[TensorRecord]) -> None:
        self.steps.append(step)
        if self.on_step is not None:
            self.on_step(step, fresh)

    def _after(self) -> dict[str, Any]:
        inner = _Run(
            self.skeleton.module,
            dict(self._named_inputs()),
            self.target, self.loss, (), [one for group in self.by_name.values() for one in group],
            False, self.mode, None, None, False,
        )  # fmt: skip
        with torch.no_grad():
            inner.record()
        return {"prediction": plain(inner.output), "loss": plain(inner.loss_entry.value if inner.loss_entry else None)}

    def _named_inputs(self) -> list[tuple[str, Any]]:
        return [*self.positional, *self.keywords.items()]


def plain(value: Any) -> Any:
    """A tensor (or a structure of tensors) as numbers and lists; tensors of one number are a number."""
    if isinstance(value, torch.Tensor):
        flat = value.detach().squeeze(-1) if value.dim() and value.shape[-1] == 1 else value.detach()
        return flat.double().tolist() if flat.is_floating_point() else flat.tolist()
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    return value


def _arguments(
    module: nn.Module, inputs: Any, dtype: torch.dtype | None
) -> tuple[list[tuple[str, Any]], dict[str, Any]]:
    if isinstance(inputs, Mapping):
        return [], {name: _cast(value, dtype) for name, value in inputs.items()}
    given = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    names = [name for name in inspect.signature(module.forward).parameters if name not in ("args", "kwargs")]
    names += [f"input.{number}" for number in range(len(names), len(given))]
    return [(name, _cast(value, dtype)) for name, value in zip(names, given, strict=False)], {}


def _cast(value: Any, dtype: torch.dtype | None) -> Any:
    if dtype is not None and isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.to(dtype)
    return value


def _follow_scopes(skeleton: Skeleton, recorder: Recorder) -> None:
    scopes = recorder.scopes

    def enter(path: str) -> Callable[..., None]:
        return lambda *_: scopes.append(path)

    def leave(path: str) -> Callable[..., None]:
        def until_it_is_left(*_: Any) -> None:
            while scopes.pop() != path:  # parts whose error the model caught never left theirs
                pass

        return until_it_is_left

    for path, part in skeleton.parts:
        part.register_forward_pre_hook(enter(path))
        part.register_forward_hook(leave(path))


@contextlib.contextmanager
def _seeded(seed: int | None) -> Any:
    """A random state of its own for one run; such runs take turns, since PyTorch's CPU generator is one per process."""
    if seed is None:
        yield
        return
    with _ONE_RANDOM_RUN, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
