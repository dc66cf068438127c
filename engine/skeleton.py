"""A private copy of a module tree that shares the original's weights, for one run at a time.

Parameters are fresh leaves over the same storage, so that gradients and edits never reach the shared model; buffers are
copied, since a forward may write to them. Modules that replace their own forward, that are compiled, or whose weights
are not plain tensors, are refused.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from engine.cells import number_for, place_of
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
    module: nn.Module,
    edits: Sequence[Edit] = (),
    *,
    dtype: torch.dtype | None = None,
    recording: bool = True,
    own: bool = False,
) -> Skeleton:
    """A skeleton of `module` with the edits applied.

    dtype: converts floating parameters and buffers (float64 for verification). recording: parameters require gradients
    where the original's do. own: parameters have storage of their own, for a forward that writes to them.
    Raises InputError for an unknown parameter, a bad index or value, or a module that can't be copied.
    """
    if not isinstance(module, nn.Module):
        raise InputError("module", "be a torch.nn.Module", type(module).__name__)
    parts = list(module.named_modules())
    _refuse(parts)
    edited = _by_parameter(module, edits)
    memo: dict[int, Any] = {}
    parameters: list[tuple[str, nn.Parameter]] = []
    buffers: list[tuple[str, torch.Tensor]] = []
    for name, parameter in _named(parts, "_parameters"):
        value = _to(parameter.detach(), dtype)
        if own or name in edited or value.is_inference():
            value = value.clone()
        for field, place, edit in edited.get(name, ()):
            value[place] = number_for(f"{field}.value", edit.value, value.dtype)
        new = memo[id(parameter)] = nn.Parameter(value, requires_grad=recording and parameter.requires_grad)
        parameters.append((name, new))
    for name, buffer in _named(parts, "_buffers"):
        memo[id(buffer)] = _to(buffer.detach().clone(), dtype)
        buffers.append((name, memo[id(buffer)]))
    copied = _copy(module, memo) if all(_plain(part) for _, part in parts) else _deep_copy(module, parts, memo)
    return Skeleton(
        copied, tuple(parameters), tuple(buffers), tuple((path, memo[id(part)]) for path, part in parts if path)
    )


def _by_parameter(module: nn.Module, edits: Sequence[Edit]) -> Mapping[str, list[tuple[str, tuple, Edit]]]:
    found: dict[str, list[tuple[str, tuple, Edit]]] = {}
    if not edits:
        return found
    parameters = dict(module.named_parameters())
    for number, edit in enumerate(edits):
        field = f"edits[{number}]"
        if edit.parameter not in parameters:
            raise InputError(f"{field}.parameter", f"be one of {', '.join(parameters)}", repr(edit.parameter))
        place = place_of(field, parameters[edit.parameter].shape, edit.index)
        found.setdefault(edit.parameter, []).append((field, place, edit))
    return found


SCALARS = frozenset((bool, int, float, str, type(None), torch.dtype))
_AS_THEY_ARE = SCALARS | {tuple}
_CONTAINERS = frozenset((dict, OrderedDict, set))


def is_plain(value: Any) -> bool:
    """Whether it is a number, a text, a type of tensors, None, or a tuple of them."""
    return type(value) in SCALARS or (type(value) is tuple and all(type(part) in SCALARS for part in value))


def _plain(module: nn.Module) -> bool:
    """Whether a shallow copy is a deep one: parameters, buffers and parts apart it holds plain values; no hooks."""
    registered = (module._parameters, module._buffers, module._modules)
    for value in module.__dict__.values():
        kind = type(value)
        if kind in SCALARS or (not value and kind in _CONTAINERS) or any(value is one for one in registered):
            continue
        if not is_plain(value):
            return False
    return not hasattr(module, "__deepcopy__") and type(module).__getstate__ is nn.Module.__getstate__


def _copy(module: nn.Module, memo: dict[int, Any]) -> nn.Module:
    """What deepcopy gives for plain modules, several times faster."""
    done = memo.get(id(module))
    if done is not None:
        return done
    new = memo[id(module)] = module.__class__.__new__(module.__class__)
    attributes = {
        key: value if type(value) in _AS_THEY_ARE else type(value)() for key, value in module.__dict__.items()
    }
    attributes["_parameters"] = {key: memo.get(id(value)) for key, value in module._parameters.items()}
    attributes["_buffers"] = {key: memo.get(id(value)) for key, value in module._buffers.items()}
    attributes["_modules"] = {
        key: None if value is None else _copy(value, memo) for key, value in module._modules.items()
    }
    new.__dict__.update(attributes)
    return new


def _deep_copy(module: nn.Module, parts: Sequence[tuple[str, nn.Module]], memo: dict[int, Any]) -> nn.Module:
    """deepcopy, in which tensors that an earlier forward left behind on a part are let go of their graph."""
    for _, part in parts:
        for value in part.__dict__.values():
            if isinstance(value, torch.Tensor) and value.grad_fn is not None:
                memo[id(value)] = value.detach()
    try:
        return copy.deepcopy(module, memo)
    except (TypeError, RuntimeError, ValueError, RecursionError) as error:
        text = f"{type(module).__name__}: {str(error).partition('.')[0]}"
        raise InputError("module", "be one that copy.deepcopy can copy", text[:200]) from error


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
        who = name or type(part).__name__
        if "_orig_mod" in part._modules or part._compiled_call_impl is not None:
            raise InputError("module", "not be compiled; give the module that was given to torch.compile", who)
        if isinstance(part, torch.jit.ScriptModule):
            raise InputError("module", "be written in Python, not scripted or traced", who)
        if "forward" in part.__dict__:
            raise InputError(
                "module", "use its class's forward in every part", f"{name or 'the module'} replaces its own"
            )
        if "_hf_hook" in part.__dict__ or part.__dict__.get("is_quantized"):
            raise InputError("module", "be plain, not quantised or mapped to devices", who)
        for own in (*part._parameters.values(), *part._buffers.values()):
            if own is not None and (nn.parameter.is_lazy(own) or own.layout is not torch.strided or own.is_quantized):
                raise InputError("module", "hold dense tensors that are there already (run a lazy module once)", who)
