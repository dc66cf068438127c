"""A trace as plain data without its values: what JSON answers and trace files have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from engine.trace import Axis, Operand, Sent, Slot, Step, TensorRecord, Trace


def manifest(trace: Trace) -> dict[str, Any]:
    """schema, id, request, model, steps, tensors (name, symbol, kind, axes, dtype, shape, gradient), result."""
    return {
        "schema": trace.schema,
        "id": trace.id,
        "request": dict(trace.request),
        "model": dict(trace.model),
        "steps": [step_data(step) for step in trace.steps],
        "tensors": [tensor_data(record) for record in trace.tensors.values()],
        "result": dict(trace.result),
    }


def step_data(step: Step) -> dict[str, Any]:
    data: dict[str, Any] = {
        "index": step.index,
        "phase": step.phase,
        "op": step.op,
        "name": step.name,
        "symbol": step.symbol,
        "scope": step.scope,
        "tex": step.tex,
        "inputs": [{"role": one.role, "tensor": one.tensor} for one in step.inputs],
        "output": step.output,
        "outputs": list(step.outputs),
        "flops": step.flops,
        "attributes": {name: encode(value) for name, value in step.attributes.items()},
        "note": step.note,
    }
    if step.phase == "backward":
        data["forward"] = step.forward
        data["sends"] = [{"role": one.role, "tensor": one.tensor, "to": one.to} for one in step.sends]
    return data


def tensor_data(record: TensorRecord) -> dict[str, Any]:
    return {
        "name": record.name,
        "symbol": record.symbol,
        "kind": record.kind,
        "axes": [
            {"name": axis.name, "size": axis.size, **({"labels": list(axis.labels)} if axis.labels else {})}
            for axis in record.axes
        ],
        "dtype": record.dtype,
        "shape": list(record.shape),
        "gradient": record.gradient,
    }


def encode(value: Any) -> Any:
    """An attribute as JSON data; what JSON has no word for is an object with one key that says what it is."""
    if isinstance(value, bool | int | str | type(None)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, Slot):
        return {"slot": value.role}
    if isinstance(value, slice):
        return {"slice": [encode(value.start), encode(value.stop), encode(value.step)]}
    if value is ...:
        return {"ellipsis": True}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, tuple | list):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [encode(part) for part in value]}
    return {"text": str(value)[:200]}


def decode(value: Any) -> Any:
    """The attribute `encode` was given. Raises ValueError for anything else."""
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ValueError(f"an encoded attribute must have one key; got {len(value)}")
    ((kind, content),) = value.items()
    if kind not in _DECODE:
        raise ValueError(f"an encoded attribute must be one of {', '.join(_DECODE)}; got {kind!r}")
    return _DECODE[kind](content)


def read(data: Mapping[str, Any], values: Mapping[str, torch.Tensor]) -> Trace:
    """The trace of a manifest and its values. Raises ValueError, KeyError or TypeError where they do not fit."""
    records = {one["name"]: _record(one, values[one["name"]]) for one in data["tensors"]}
    steps = tuple(_step(one) for one in data["steps"])
    for place, step in enumerate(steps):
        if step.index != place:
            raise ValueError(f"steps must be numbered in order; step {place} has index {step.index}")
        if step.forward is not None and not 0 <= step.forward < place:
            raise ValueError(f"a backward step must undo an earlier step; got {step.forward} at {place}")
        for name in (*(one.tensor for one in step.inputs), *step.outputs, *(one.to for one in step.sends)):
            if name not in records:
                raise ValueError(f"step {place} must name tensors of the trace; got {name!r}")
    for record in records.values():
        if record.gradient is not None and records[record.gradient].shape != record.shape:
            raise ValueError(f"the gradient of {record.name} must have its shape {record.shape}")
    return Trace(str(data["id"]), dict(data["request"]), dict(data["model"]), steps, records, dict(data["result"]))


def _record(data: Mapping[str, Any], value: torch.Tensor) -> TensorRecord:
    axes = tuple(Axis(str(one["name"]), int(one["size"]), _labels(one.get("labels"))) for one in data["axes"])
    if tuple(axis.size for axis in axes) != tuple(value.shape):
        raise ValueError(
            f"{data['name']} must have shape {tuple(axis.size for axis in axes)}; got {tuple(value.shape)}"
        )
    return TensorRecord(str(data["name"]), str(data["symbol"]), data["kind"], axes, value, data["gradient"])


def _labels(given: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(map(str, given))


def _step(data: Mapping[str, Any]) -> Step:
    return Step(
        index=int(data["index"]),
        phase=data["phase"],
        op=str(data["op"]),
        name=str(data["name"]),
        symbol=str(data["symbol"]),
        scope=str(data["scope"]),
        tex=str(data["tex"]),
        inputs=tuple(Operand(str(one["role"]), str(one["tensor"])) for one in data["inputs"]),
        outputs=tuple(map(str, data["outputs"])),
        flops=int(data["flops"]),
        attributes={str(name): decode(value) for name, value in data["attributes"].items()},
        forward=data.get("forward"),
        sends=tuple(Sent(str(one["role"]), str(one["tensor"]), str(one["to"])) for one in data.get("sends", [])),
        note=str(data["note"]),
    )


def _dtype(name: Any) -> torch.dtype:
    found = getattr(torch, str(name), None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"expected the name of a dtype; got {name!r}")
    return found


_DECODE: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "slot": lambda role: Slot(str(role)),
    "slice": lambda parts: slice(*map(decode, parts)),
    "ellipsis": lambda _: ...,
    "dtype": _dtype,
    "tuple": lambda parts: tuple(map(decode, parts)),
    "list": lambda parts: list(map(decode, parts)),
    "text": str,
}
