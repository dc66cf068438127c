"""A private copy of a module tree that shares the original's weights, for one run at a time.

Parameters are fresh leaves over the same storage, so that gradients and edits never reach the shared model; buffers are
copied, since a forward may write to them. Modules that replace their own forward, or whose weights are not plain
tensors, are refused.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from engine.errors import InputError


@dataclass(frozen=True)
class Edit:
    """One parameter cell (or block of cells) set to a value; `None` in the index means all of that axis."""

    parameter: str
    index: tuple[int | None, ...]
    value: float


@dataclass(frozen=True)
class Skeleton:
    """A private copy: the module, and its parameters, buffers and parts by name (each once, as PyTorch names them)."""

    module: nn.Module
    parameters: tuple[tuple[str, nn.Parameter], ...]
    buffers: tuple[tuple[str, torch.Tensor], ...]
    parts: tuple[tuple[str, nn.Module], ...]


def private_copy(
    module: nn.Module, edits: Sequence[Edit] = (), *, dtype: torch.dtype | None = None, recording: bool = True
) -> Skeleton:
    """A skeleton of `module` with the edits applied.

    dtype: converts floating parameters and buffers (float64 for verification). recording: parameters require gradients
    where the original's do. Raises InputError for an unknown parameter, a bad index, or a module that can't be copied.
    """
    parts = list(module.named_modules())
    _refuse(parts)
    edited = _by_parameter(module, edits)
    memo: dict[int, Any] = {}
    parameters: list[tuple[str, nn.Parameter]] = []
    buffers: list[tuple[str, torch.Tensor]] = []
    for name, parameter in _named(parts, "_parameters"):
        value = _to(parameter.detach(), dtype)
        if name in edited:
            value = value.clone()
            for place, edit in edited[name]:
                value[place] = edit.value
        new = memo[id(parameter)] = nn.Parameter(value, requires_grad=recording and parameter.requires_grad)
        parameters.append((name, new))
    for name, buffer in _named(parts, "_buffers"):
        memo[id(buffer)] = _to(buffer.detach().clone(), dtype)
        buffers.append((name, memo[id(buffer)]))
    copied = _copy(module, memo) if all(_plain(part) for _, part in parts) else copy.deepcopy(module, memo)
    return Skeleton(
        copied, tuple(parameters), tuple(buffers), tuple((path, memo[id(part)]) for path, part in parts if path)
    )


def place_of(field: str, shape: Sequence[int], index: Sequence[int | None]) -> tuple[int | slice, ...]:
    """An index list as a tuple for indexing a tensor of this shape. Raises InputError naming expected and got."""
    if len(index) != len(shape):
        raise InputError(f"{field}.index", f"have {_numbers(len(shape))} (shape {tuple(shape)})", f"{list(index)}")
    for axis, (number, size) in enumerate(zip(index, shape, strict=True)):
        if number is not None and not 0 <= number < size:
            raise InputError(f"{field}.index[{axis}]", f"be from 0 to {size - 1}", number)
    return tuple(slice(None) if number is None else number for number in index)


def _by_parameter(module: nn.Module, edits: Sequence[Edit]) -> Mapping[str, list[tuple[tuple, Edit]]]:
    found: dict[str, list[tuple[tuple, Edit]]] = {}
    if not edits:
        return found
    parameters = dict(module.named_parameters())
    for number, edit in enumerate(edits):
        field = f"edits[{number}]"
        if edit.parameter not in parameters:
            raise InputError(f"{field}.parameter", f"be one of {', '.join(parameters)}", repr(edit.parameter))
        place = place_of(field, parameters[edit.parameter].shape, edit.index)
        found.setdefault(edit.parameter, []).append((place, edit))
    return found


_SCALARS = (bool, int, float, str, type(None), torch.dtype)


def _plain(module: nn.Module) -> bool:
    """Whether a shallow copy is a deep one: besides parameters, buffers and parts it holds scalars and no hooks."""
    registered = (module._parameters, module._buffers, module._modules)
    for value in module.__dict__.values():
        empty = type(value) in (dict, OrderedDict, set) and not value
        if type(value) not in _SCALARS and not empty and not any(value is one for one in registered):
            return False
    return not hasattr(module, "__deepcopy__") and type(module).__getstate__ is nn.Module.__getstate__


def _copy(module: nn.Module, memo: dict[int, Any]) -> nn.Module:
    """What deepcopy gives for plain modules, several times faster."""
    done = memo.get(id(module))
    if done is not None:
        return done
    new = memo[id(module)] = module.__class__.__new__(module.__class__)
    attributes = {key: value if type(value) in _SCALARS else type(value)() for key, value in module.__dict__.items()}
    attributes["_parameters"] = {key: memo.get(id(value)) for key, value in module._parameters.items()}
    attributes["_buffers"] = {key: memo.get(id(value)) for key, value in module._buffers.items()}
    attributes["_modules"] = {
        key: None if value is None else _copy(value, memo) for key, value in module._modules.items()
    }
    new.__dict__.update(attributes)
    return new


def _named(parts: Sequence[tuple[str, nn.Module]], kind: str) -> Iterator[tuple[str, Any]]:
    """Parameters or buffers with their full names; a tensor that is used twice comes once."""
    met = set()
    for path, part in parts:
        for name, value in part.__dict__[kind].items():
            if value is not None and id(value) not in met:
                met.add(id(value))
                yield f"{path}.{name}" if path else name, value


def _to(value: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    return value.to(dtype) if dtype is not None and value.is_floating_point() else value


def _refuse(parts: Sequence[tuple[str, nn.Module]]) -> None:
    for name, part in parts:
        if "forward" in part.__dict__:
            raise InputError(
                "module", "use its class's forward in every part", f"{name or 'the module'} replaces its own"
            )
        if hasattr(part, "_hf_hook") or getattr(part, "is_quantized", False):
            raise InputError("module", "be plain, not quantised or mapped to devices", name or type(part).__name__)


def _numbers(count: int) -> str:
    return "1 number" if count == 1 else f"{count} numbers"
