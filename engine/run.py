"""`trace`: runs a module once, forward, loss, backward and update, and gives the record of it."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import nn

from engine.assemble import Assembler
from engine.backward import gradients
from engine.builder import OnStep, TraceBuilder
from engine.contributions import counted_otherwise, residual, sent_backward
from engine.digest import own_request, trace_id
from engine.entry import Entry
from engine.errors import InputError, RunError, Stopped
from engine.given import Given, arguments_of, check_options, misfit, private
from engine.intervene import Intervention, checked
from engine.outcome import plain, refuse_later, shown
from engine.record import Recorder
from engine.skeleton import Edit, private_copy
from engine.surroundings import alone, follow_scopes, seeded
from engine.tap import listening
from engine.trace import Trace
from engine.update import Update, updatable, update_steps
from engine.writes import ParameterWritten

Loss = Callable[[Any, Any], torch.Tensor]


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
    labels: Mapping[str, tuple[str, ...]] | None = None,
) -> Trace:
    """Runs `module` on `inputs` and records every tensor, every step, every gradient.

    inputs:  one tensor, positional or keyword arguments; tensors in them are named after forward's parameters.
    loss:    loss(output, target) -> one number; without it an output of one number is its own loss, else there is no
             backward.
    mode:    "explain" opens fused operations into parts (equal within float32 rounding); "exact" keeps them whole.
    seed:    of the random state for this run; None leaves random operations to the thread's own state.
    dtype:   converts module and floating inputs first (float64 to verify).
    parts:   also compute what each backward step sends to each operand (a run of each step again).
    labels:  names of the members of axes, by the axis' name.
    request: what is kept as the trace's request, by default a description of these arguments; name, title: the model's.

    Raises InputError for edits, interventions or frozen places that do not exist, RunError (with the trace so far)
    when the module itself raises; what on_step raises goes through as it is.
    """
    check_options(mode, seed, update, backward)
    given = arguments_of(module, inputs)
    if request is None:
        request = own_request(
            given, target, loss, edits, interventions, update,
            backward=backward, mode=mode, seed=seed, dtype=None if dtype is None else str(dtype), parts=parts,
        )  # fmt: skip
    run = _Run(module, given, target, loss, edits, interventions, backward, mode, on_step, dtype, parts, labels)
    try:
        with alone(), torch.inference_mode(False), torch.set_grad_enabled(backward):
            return run.whole(request, name or type(module).__name__, title, seed, update)
    except Stopped as stop:
        raise stop.error from stop.error.__cause__


class _Run:
    """One call of `trace` while it is under way."""

    def __init__(
        self,
        module: nn.Module,
        given: Given,
        target: torch.Tensor | None,
        loss: Loss | None,
        edits: Sequence[Edit],
        interventions: Sequence[Intervention],
        backward: bool,
        mode: str,
        on_step: OnStep | None,
        dtype: torch.dtype | None,
        parts: bool,
        labels: Mapping[str, tuple[str, ...]] | None,
    ) -> None:
        self.module, self.given, self.target, self.mode, self.dtype = module, given, target, mode, dtype
        self.loss, self.edits, self.on_step, self.parts, self.labels = loss, edits, on_step, parts, labels or {}
        self.wants_gradients = backward
        self.interventions: dict[str, list[tuple[str, Intervention]]] = {}
        for number, one in enumerate(interventions):
            self.interventions.setdefault(one.at, []).append(checked(number, one))
        self.builder = TraceBuilder(Assembler({}, {}, {}), on_step)
        self.weights: Mapping[str, torch.Tensor] = {}
        self.output: Any = None
        self.loss_entry: Entry | None = None
        self.parameters: list[tuple[str, Entry]] = []

    def whole(
        self, request: Mapping[str, Any], name: str, title: str, seed: int | None, update: Update | None
    ) -> Trace:
        """Forward, loss, backward and update, as one trace."""
        recorder = self.forward(seed)
        self._settle(recorder)
        self.check_interventions(recorder)
        result: dict[str, Any] = {"prediction": shown(self.output, recorder.ledger)}
        if self.loss_entry is not None:
            result["loss"] = plain(self.loss_entry.value)
        if self.wants_gradients and self.loss_entry is not None and self.loss_entry.edge is not None:
            with self._failing():
                result["check"] = {"max_residual": self.backward(recorder)}
        if update is not None:
            if self.loss_entry is None:
                raise InputError("update", "be of a run with a loss of one number", "a run without")
            result["after_update"] = self.update(update, seed)
        return self.finish(request, name, title, result)

    def forward(self, seed: int | None) -> Recorder:
        """Forward and loss; anew where the shared module has to be kept from a write, or a value was overwritten."""
        own = copy = False
        with seeded(seed):
            while True:
                try:
                    recorder = self.record(own=own, copy=copy)
                except ParameterWritten as written:
                    own, drawn = True, written.drawn
                else:
                    if not recorder.overwritten():
                        return recorder
                    copy, drawn = True, recorder.execution.drawn
                if drawn is not None:
                    torch.set_rng_state(drawn)

    def record(self, *, own: bool = False, copy: bool = False) -> Recorder:
        """The forward and the loss under a recorder of their own, on a private copy of the module.

        own: its parameters have storage of their own. copy: every value is copied as it is recorded.
        """
        skeleton = private_copy(self.module, self.edits, dtype=self.dtype, recording=self.wants_gradients, own=own)
        assembler = Assembler(getattr(self.module, "symbols", {}), getattr(self.module, "axes", {}), self.labels)
        self.builder = TraceBuilder(assembler, self.on_step, self.builder.told)
        recorder = Recorder(
            interventions=self.interventions,
            explain=self.mode == "explain",
            copy=copy,
            on_call=self.builder.add_call if self.on_step is not None else None,
            shared=() if own else [value for _, value in skeleton.parameters],
        )
        recorder.ledger.reserve([name for name, _ in skeleton.parameters])

        def seize(name: str, value: torch.Tensor) -> torch.Tensor:
            mine = private(value, self.dtype, gradient=self.wants_gradients)
            recorder.ledger.add(name, mine, "input")
            return mine

        positional, keywords = self.given.taken(seize)
        target = self.target
        if isinstance(target, torch.Tensor):
            target = private(target, self.dtype, gradient=False)
            recorder.ledger.add("target", target, "input")
        for name, parameter in skeleton.parameters:
            if name in self.weights:
                parameter.data = self.weights[name]
        self.parameters = [
            (name, recorder.ledger.add(name, value, "parameter", reserved=True)) for name, value in skeleton.parameters
        ]
        for name, value in skeleton.buffers:
            recorder.ledger.add(name, value, "constant", copy=True)
        self.builder.add_given(recorder.ledger.entries)
        follow_scopes(skeleton, recorder)
        before, listening.listener = listening.listener, recorder
        try:
            with self._failing(recorder), recorder:
                self.output = skeleton.module(*positional, **keywords)
                refuse_later(self.output)
                recorder.phase = "loss"
                loss = self.loss(self.output, target) if self.loss is not None else self.output
                self.loss_entry = self._loss_entry(recorder, loss)
        finally:
            listening.listener = before
        return recorder

    def check_interventions(self, recorder: Recorder) -> None:
        """Raises InputError for an intervention at a name that the run never met."""
        for name, wanted in self.interventions.items():
            if name not in recorder.met:
                seen = [call for call in recorder.calls if call.row is not None or call.live is not None]
                names = [one.name for call in seen if call.op != "changed" for one in call.outputs]
                known = ", ".join(one for one in names if not one.endswith(":computed"))
                what = next((f", {_A_KIND[one.kind]}" for one in recorder.ledger.entries if one.name == name), "")
                raise InputError(f"{wanted[0][0]}.at", f"be one of {known}", f"{name!r}{what}")

    def backward(self, recorder: Recorder) -> float:
        """Adds the gradients and the backward steps; returns how far contributions are from autograd's gradients."""
        assert self.loss_entry is not None
        calls, entries = self.builder.calls, recorder.ledger.entries
        summed = counted_otherwise(calls) - {id(self.loss_entry)}
        apart = self.parts or bool(summed)
        again = apart and any(call.through_graph for call in calls)
        found = gradients(self.loss_entry, entries, retain_graph=again)
        found = {key: value for key, value in found.items() if key not in summed}
        sent = sent_backward(calls, found) if apart else {}
        self.builder.add_backward(entries, found, sent if self.parts else {})
        return residual(sent, found)

    def update(self, update: Update, seed: int | None) -> dict[str, Any]:
        """Adds one step a parameter; returns prediction and loss of a forward with the new parameters."""
        records = self.builder.records
        names = [name for name, _ in self.parameters]
        self.builder.add_steps(update_steps(update, names, records, len(self.builder.steps)))
        after = copy.copy(self)
        after.on_step, after.wants_gradients = None, False
        after.weights = {name: records[f"{name}.updated"].value for name in names if f"{name}.updated" in records}
        with torch.no_grad():
            recorder = after.forward(seed)
        loss = None if after.loss_entry is None else plain(after.loss_entry.value)
        return {"prediction": shown(after.output, recorder.ledger), "loss": loss, "updatable": updatable(records)}

    def finish(self, request: Mapping[str, Any], name: str, title: str, result: Mapping[str, Any]) -> Trace:
        count = sum(entry.value.numel() for _, entry in self.parameters)
        model = {"name": name, "title": title or name, "parameter_count": count, "mode": self.mode}
        identity = trace_id(request, self.module, name)
        made = self.builder
        return Trace(identity, request, model, tuple(made.steps), made.records, result, made.live())

    def _loss_entry(self, recorder: Recorder, loss: Any) -> Entry | None:
        if isinstance(loss, torch.Tensor) and loss.numel() == 1 and loss.is_floating_point():
            return recorder.operand(loss)
        if self.loss is not None:
            got = f"{tuple(loss.shape)} of {loss.dtype}" if isinstance(loss, torch.Tensor) else type(loss).__name__
            raise InputError("loss", "give one number with a fraction, a floating tensor", got)
        return None

    @contextlib.contextmanager
    def _failing(self, recorder: Recorder | None = None) -> Iterator[None]:
        """What the model raises, in forward or in backward, as a RunError with the trace so far."""
        try:
            yield
        except InputError:
            raise
        except Exception as error:
            if recorder is not None:
                self._settle(recorder)
                if isinstance(error, TypeError) and (wrong := misfit(self.module, self.given)) is not None:
                    raise wrong from error
            text = f"the model raised {type(error).__name__}: {error}"
            raise RunError(text, self.finish({}, "", "", {})) from error

    def _settle(self, recorder: Recorder) -> None:
        if self.on_step is not None:
            recorder.tell(all_calls=True)
        else:
            for call in recorder.calls:
                self.builder.add_call(call)
        self.builder.take_anew(recorder.kept)


_A_KIND = {
    "input": "an input: give another one",
    "parameter": "a parameter: edit it",
    "constant": "a constant",
    "activation": "which no call that can be replaced gives",
}
