"""Identity by content: the same question about the same module to the same engine has the same trace id."""

from __future__ import annotations

import hashlib
import json
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import torch
from torch import nn

from engine.given import Given
from engine.intervene import Intervention
from engine.skeleton import SCALARS, Edit, is_plain
from engine.update import Update

VERSION = "2"
SMALL_BYTES = 65_536
INLINE_VALUES = 4096

_Known = tuple[list[tuple["weakref.ref[torch.Tensor]", int]], str]
_weights: weakref.WeakKeyDictionary[nn.Module, _Known] = weakref.WeakKeyDictionary()


def trace_id(request: Mapping[str, Any], module: nn.Module, name: str) -> str:
    """32 hex digits of SHA-256 over the request, the model's name, make and weights, and the engine's version."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    whole = f"{VERSION}\n{name}\n{make_digest(module)}\n{weights_digest(module)}\n{text}"
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def make_digest(module: nn.Module) -> str:
    """SHA-256 of how a module is built: its parts' classes and the plain values they hold (rates, sizes, training)."""
    digest = hashlib.sha256()
    for path, part in module.named_modules():
        held = part.__dict__
        plain = [(key, value) for key, value in held.items() if type(value) in SCALARS or is_plain(value)]
        digest.update(f"{path} {type(part).__module__}.{type(part).__qualname__} {plain}\n".encode())
    return digest.hexdigest()


def weights_digest(module: nn.Module) -> str:
    """SHA-256 of the names, types and bytes of a module's parameters and buffers.

    Of more than 65,536 bytes it is kept until one of them is replaced or written to. Writing through `.data` does not
    count as writing there; a module that was changed so needs a new copy to be told apart.
    """
    named = [*module.named_parameters(), *module.named_buffers()]
    large = sum(value.nbytes for _, value in named) > SMALL_BYTES
    if large and (known := _weights.get(module)) is not None:
        stamps, text = known
        if len(stamps) == len(named) and all(
            stamp() is value and version == value._version
            for (stamp, version), (_, value) in zip(stamps, named, strict=True)
        ):
            return text
    digest = hashlib.sha256()
    for key, value in named:
        digest.update(f"{key} {value.dtype} {tuple(value.shape)}\n".encode())
        digest.update(_bytes(value))
    if large and not any(value.is_inference() for _, value in named):
        _weights[module] = ([(weakref.ref(value), value._version) for _, value in named], digest.hexdigest())
    return digest.hexdigest()


def own_request(
    given: Given,
    target: torch.Tensor | None,
    loss: Callable | None,
    edits: Sequence[Edit],
    interventions: Sequence[Intervention],
    update: Update | None,
    **options: Any,
) -> dict[str, Any]:
    """A run of someone's own module as a request: plain data that tells it from every other run."""
    return {
        "inputs": {str(name): _told(value) for name, value in given.named().items()},
        "target": _told(target),
        "edits": [_told(asdict(edit)) for edit in edits],
        "interventions": [
            {"at": one.at, "index": _told(one.index), one.kind: _told(one.value)} for one in interventions
        ],
        "update": None if update is None else _told(asdict(update)),
        "loss": None if loss is None else _told_function(loss),
        "options": {},
        **options,
    }


_AS_LISTS = (torch.float32, torch.int64, torch.bool)


def _told(value: Any) -> Any:
    if isinstance(value, bool | int | float | str | type(None)):
        return value
    if isinstance(value, torch.Tensor):
        if value.numel() <= INLINE_VALUES and value.dtype in _AS_LISTS and value.layout is torch.strided:
            return value.tolist()
        dense = value.to_dense() if value.layout is not torch.strided else value
        digest = hashlib.sha256(_bytes(dense)).hexdigest()
        return {"dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape), "sha256": digest}
    if isinstance(value, Mapping):
        return {str(key): _told(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [_told(part) for part in value]
    return type(value).__qualname__


def _told_function(function: Callable) -> str:
    """Its name, and for a lambda or any other Python function a digest of its code, since names repeat."""
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__qualname__)}"
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name}:{hashlib.sha256(_code(code)).hexdigest()[:16]}"


def _code(code: types.CodeType) -> bytes:
    return code.co_code + repr((code.co_names, [_constant(one) for one in code.co_consts])).encode()


def _constant(value: Any) -> str:
    if isinstance(value, types.CodeType):
        return _code(value).hex()
    return str(sorted(map(str, value))) if isinstance(value, frozenset) else str(value)


def _bytes(value: torch.Tensor) -> Any:
    """The tensor's cells in order, as something that can be hashed."""
    return (
        value.detach().resolve_conj().resolve_neg().contiguous().view(-1).view(torch.uint8).numpy()
        if value.numel()
        else b""
    )
