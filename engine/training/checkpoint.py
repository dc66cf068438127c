"""The state of a training as one .safetensors file: tensors by their path, the plain data as JSON in the metadata."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes

KEY = "longhand-training"
_TENSOR = "tensor"


def save(state: Mapping[str, Any], path: Path) -> None:
    """Writes the file whole or not at all: a process that is killed meanwhile leaves no half of one.

    state: dicts of tensors, arrays (read back as tensors), numbers, text, lists and dicts, keyed by text.
    """
    tensors: dict[str, torch.Tensor] = {}
    tree = _taken_apart(state, (), tensors)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    with partial.open("wb") as file:
        file.write(to_bytes(tensors, metadata={KEY: json.dumps(tree)}))
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def load(path: Path) -> dict[str, Any]:
    """The state as it was saved, to the bit. Raises FileNotFoundError, and ValueError for what is not a checkpoint."""
    if not path.exists():
        raise FileNotFoundError(path)
    try:
        with safe_open(str(path), framework="pt") as file:
            text = (file.metadata() or {}).get(KEY)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{path.name} must be a safetensors file; got {error}") from error
    if text is None:
        raise ValueError(f"{path.name} must be a checkpoint ({KEY} in its metadata); got a file without")
    return _put_together(json.loads(text), tensors)


def tensor_file(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """A plain .safetensors file of tensors by name, as any reader opens it."""
    return to_bytes({name: value.detach().clone().contiguous() for name, value in tensors.items()})


def _taken_apart(part: Any, at: tuple[str, ...], tensors: dict[str, torch.Tensor]) -> Any:
    """Plain data in which {"tensor": name} stands for each tensor; dicts are wrapped so that none looks like that."""
    if isinstance(part, np.ndarray):
        part = torch.from_numpy(part)
    if isinstance(part, torch.Tensor):
        name = ".".join(at)
        name = name if name not in tensors else f"{name}#{len(tensors)}"
        tensors[name] = part.detach().clone().contiguous()
        return {_TENSOR: name}
    if isinstance(part, Mapping):
        return {"members": {key: _taken_apart(value, (*at, key), tensors) for key, value in part.items()}}
    if isinstance(part, list | tuple):
        return [_taken_apart(value, (*at, str(place)), tensors) for place, value in enumerate(part)]
    return part


def _put_together(tree: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    if isinstance(tree, list):
        return [_put_together(part, tensors) for part in tree]
    if not isinstance(tree, dict):
        return tree
    if _TENSOR in tree:
        return tensors[tree[_TENSOR]]
    return {key: _put_together(part, tensors) for key, part in tree["members"].items()}
