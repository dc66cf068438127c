"""Identity by content: the same request, weights and engine give the same trace id."""

from __future__ import annotations

import hashlib
import json
import weakref
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

VERSION = "1"

_weights: weakref.WeakKeyDictionary[nn.Module, tuple[tuple[int, ...], str]] = weakref.WeakKeyDictionary()


def trace_id(request: Mapping[str, Any], module: nn.Module, name: str) -> str:
    """32 hex digits of SHA-256 over the canonical request, the model's name and weights, and the engine's version."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(f"{VERSION}\n{name}\n{weights_digest(module)}\n{text}".encode()).hexdigest()[:32]


def weights_digest(module: nn.Module) -> str:
    """SHA-256 of the names, types and bytes of a module's state; kept until a tensor of it is written to."""
    state = module.state_dict(keep_vars=True)
    versions = tuple(value._version for value in state.values() if isinstance(value, torch.Tensor))
    kept = _weights.get(module)
    if kept is not None and kept[0] == versions:
        return kept[1]
    digest = hashlib.sha256()
    for key, value in state.items():
        if isinstance(value, torch.Tensor):
            digest.update(f"{key} {value.dtype} {tuple(value.shape)}\n".encode())
            digest.update(value.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    _weights[module] = (versions, digest.hexdigest())
    return digest.hexdigest()
