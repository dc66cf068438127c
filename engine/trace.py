"""The record of one run: tensors, the steps that made them, and what came out.

Frozen data only. Recording is in record.py, gradients in backward.py, JSON in the app.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch

SCHEMA = "longhand.trace/1"

Phase = Literal["forward", "loss", "backward", "update"]
Kind = Literal["input", "parameter", "activation", "gradient", "constant"]
Index = tuple[int, ...]


@dataclass(frozen=True)
class Axis:
    """One named dimension; `labels`, where given, names its members in order."""

    name: str
    size: int
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class TensorRecord:
    """One tensor of a run.

    value:    detached; no later operation of the run changes it.
    gradient: name of the gradient tensor of the same shape; None where the loss has no path here.
    """

    name: str
    symbol: str
    kind: Kind
    axes: tuple[Axis, ...]
    value: torch.Tensor
    gradient: str | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.value.shape)

    @property
    def dtype(self) -> str:
        return str(self.value.dtype).removeprefix("torch.")


@dataclass(frozen=True)
class Operand:
    """A tensor in the role it plays for one step (`weight`, `input`, `arriving`, `tensors.0`)."""

    role: str
    tensor: str


@dataclass(frozen=True)
class Sent:
    """What a backward step sends to the operand in `role`: `tensor` holds it, `to` is the gradient it is part of."""

    role: str
    tensor: str
    to: str


@dataclass(frozen=True)
class Step:
    """One operation.

    op:         name of its row in the table of operations, or the recorded function's own name.
    name:       unique in the trace; the output tensor's name for forward steps.
    attributes: the call's arguments that are not tensors, by parameter name; `Slot`s stand where tensors stood.
    forward:    for a backward step, the index of the step it undoes.
    sends:      for a backward step, its contribution to each operand's gradient.
    note:       said to the reader ("linearised", "opaque", "intervention", "frozen"), else empty.
    """

    index: int
    phase: Phase
    op: str
    name: str
    symbol: str
    scope: str
    tex: str
    inputs: tuple[Operand, ...]
    outputs: tuple[str, ...]
    flops: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)
    forward: int | None = None
    sends: tuple[Sent, ...] = ()
    note: str = ""

    @property
    def output(self) -> str:
        return self.outputs[0] if self.outputs else ""

    def operand(self, role: str) -> str:
        """The name of the tensor in a role; KeyError if the step has none."""
        for operand in self.inputs:
            if operand.role == role:
                return operand.tensor
        raise KeyError(role)


@dataclass(frozen=True)
class Slot:
    """The place of a tensor inside an argument; `role` says which operand it is."""

    role: str


@dataclass(frozen=True)
class Again:
    """How to run a call again that the table has no row for: live(tensors by role), from the random state it had."""

    live: Callable[[Mapping[str, torch.Tensor]], Any]
    random_state: torch.Tensor | None = None


@dataclass(frozen=True)
class Trace:
    """A whole run.

    request: the canonical request that made it (plain JSON data).
    model:   {name, title, parameter_count, mode}.
    result:  {prediction, loss, ...} as plain JSON data.
    calls:   by step index, for operations the table has no row for and that can be run again; not saved to files.
    """

    id: str
    request: Mapping[str, Any]
    model: Mapping[str, Any]
    steps: tuple[Step, ...]
    tensors: Mapping[str, TensorRecord]
    result: Mapping[str, Any]
    calls: Mapping[int, Again] = field(default_factory=dict, repr=False, compare=False)
    schema: str = SCHEMA

    def __getitem__(self, name: str) -> torch.Tensor:
        """The value of a tensor by name; KeyError names the near misses."""
        return self.record(name).value

    def record(self, name: str) -> TensorRecord:
        try:
            return self.tensors[name]
        except KeyError:
            known = ", ".join(list(self.tensors)[:20])
            raise KeyError(f"no tensor named {name!r}; this trace has {known}") from None

    def save(self, path: str | Path) -> None:
        """Writes the trace as one .safetensors file, which any reader of that format and the site open."""
        from engine.tracefile import save  # the file format knows the trace, not the other way round

        save(self, path)

    def maker(self, name: str) -> Step | None:
        """The step whose output a tensor is; None for inputs, parameters, constants and summed gradients."""
        return self._makers.get(name)

    def consumers(self, name: str) -> tuple[Step, ...]:
        """The forward and loss steps that read a tensor, in order."""
        return self._consumers.get(name, ())

    @functools.cached_property
    def _makers(self) -> Mapping[str, Step]:
        return {output: step for step in self.steps for output in step.outputs}

    @functools.cached_property
    def _consumers(self) -> Mapping[str, tuple[Step, ...]]:
        found: dict[str, list[Step]] = {}
        for step in self.steps:
            if step.phase in ("forward", "loss"):
                for name in dict.fromkeys(operand.tensor for operand in step.inputs):
                    found.setdefault(name, []).append(step)
        return {name: tuple(steps) for name, steps in found.items()}
