"""Calls that the table of operations has no row for: their tensors by role, and how to run them again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from engine.trace import Slot


def passed(tensor: torch.Tensor, args: tuple, kwargs: Mapping[str, Any]) -> bool:
    return any(tensor is one for one in tensors_in((args, kwargs)))


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from tensors_in(part)
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from tensors_in(part)


def generic(func: Callable, args: tuple, kwargs: Mapping[str, Any]) -> tuple[dict, dict, Callable]:
    """Roles arg0, arg1 ... for a call the table has no row for, and a way to run it again on other tensors.

    Where the result goes (`out`) is left out: the call run again gives a tensor of its own.
    """
    roles: dict[str, torch.Tensor] = {}

    def lift(value: Any, role: str) -> Any:
        if isinstance(value, torch.Tensor):
            roles[role] = value
            return Slot(role)
        if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
            return type(value)(lift(part, f"{role}.{number}") for number, part in enumerate(value))
        return value

    def lower(value: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
        if isinstance(value, Slot):
            return tensors[value.role]
        if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
            return type(value)(lower(part, tensors) for part in value)
        return value

    lifted = [lift(value, f"arg{number}") for number, value in enumerate(args)]
    lifted_named = {name: lift(value, name) for name, value in kwargs.items() if name != "out"}
    attributes = {f"arg{n}": value for n, value in enumerate(lifted) if not isinstance(value, Slot)}
    attributes |= {name: value for name, value in lifted_named.items() if not isinstance(value, Slot)}

    def again(tensors: Mapping[str, torch.Tensor]) -> Any:
        positional = [lower(value, tensors) for value in lifted]
        return func(*positional, **{name: lower(value, tensors) for name, value in lifted_named.items()})

    return roles, attributes, again
