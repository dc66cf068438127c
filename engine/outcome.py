"""What a model gave, as plain JSON data."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

import torch

from engine.errors import InputError
from engine.ledger import Ledger

INLINE_VALUES = 4096


def plain(value: Any) -> Any:
    """A tensor (or a structure of tensors) as numbers and lists; tensors of one number are a number.

    Complex numbers are {real, imag}; what is neither tensors nor plain data is told by its type's name.
    """
    if isinstance(value, torch.Tensor):
        if value.is_complex():
            return {"real": plain(value.detach().real), "imag": plain(value.detach().imag)}
        flat = value.detach().squeeze(-1) if value.dim() and value.shape[-1] == 1 else value.detach()
        return flat.double().tolist() if flat.is_floating_point() else flat.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    return value if isinstance(value, bool | int | float | str | type(None)) else type(value).__name__


def shown(output: Any, ledger: Ledger) -> Any:
    """`plain`, but a tensor of more than 4,096 values is {tensor, shape}: the name it has in the trace."""
    if isinstance(output, torch.Tensor) and output.numel() > INLINE_VALUES:
        entry = ledger.find(output)
        return {"tensor": None if entry is None else entry.name, "shape": list(output.shape)}
    if isinstance(output, Mapping):
        return {str(key): shown(part, ledger) for key, part in output.items()}
    if isinstance(output, tuple | list):
        return [shown(part, ledger) for part in output]
    return plain(output)


def refuse_later(output: Any) -> None:
    """Raises InputError for an output that computes nothing until someone iterates over it or awaits it."""
    if inspect.isgenerator(output) or inspect.iscoroutine(output) or inspect.isasyncgen(output):
        got = f"a {type(output).__name__}, which computes after it has returned"
        raise InputError("module", "return what it computes", got)
