"""What a run is given, as the model gets it: private tensors that gradients reach, in the structure that was given."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from engine.errors import InputError
from engine.update import Update, check_update

Seize = Callable[[str, torch.Tensor], torch.Tensor]


@dataclasses.dataclass(frozen=True)
class Given:
    """The arguments of forward, those by position with the names they have there."""

    positional: tuple[tuple[str, Any], ...]
    keywords: Mapping[str, Any]

    def named(self) -> dict[str, Any]:
        return {**dict(self.positional), **self.keywords}

    def taken(self, seize: Seize) -> tuple[list[Any], dict[str, Any]]:
        """The arguments with every tensor in them replaced by what `seize` gives for it and its name."""
        positional = [_taken(name, value, seize) for name, value in self.positional]
        return positional, {name: _taken(name, value, seize) for name, value in self.keywords.items()}


def arguments_of(module: nn.Module, inputs: Any) -> Given:
    """One tensor, arguments by position, or arguments by name. Raises InputError for anything else."""
    if not isinstance(module, nn.Module):
        raise InputError("module", "be a torch.nn.Module", type(module).__name__)
    if isinstance(inputs, Mapping):
        return Given((), inputs)
    if not isinstance(inputs, torch.Tensor | list | tuple):
        expected = "be a tensor, a sequence of arguments, or arguments by name"
        raise InputError("inputs", expected, type(inputs).__name__)
    values = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    names = _positional_names(type(module).forward)
    names += tuple(f"input.{number}" for number in range(len(names), len(values)))
    return Given(tuple(zip(names, values, strict=False)), {})


def private(value: torch.Tensor, dtype: torch.dtype | None, *, gradient: bool) -> torch.Tensor:
    """A copy to run on: writing to it leaves the caller's alone, and works, since it is no leaf of autograd's graph."""
    if dtype is not None and value.is_floating_point():
        value = value.to(dtype)
    if gradient and (value.is_floating_point() or value.is_complex()):
        return (value.clone() if value.is_inference() else value.detach()).requires_grad_().clone()
    return value.detach().clone()


def misfit(module: nn.Module, given: Given) -> InputError | None:
    """What is wrong with the arguments, if forward can't be called with them."""
    signature = inspect.signature(module.forward)
    try:
        signature.bind(*(value for _, value in given.positional), **given.keywords)
    except TypeError as error:
        return InputError("inputs", f"fit forward{signature}", str(error))
    return None


def check_options(mode: str, seed: int | None, update: Update | None, backward: bool) -> None:
    """Raises InputError for a mode, seed or update that there can't be."""
    if mode not in ("explain", "exact"):
        raise InputError("mode", "be explain or exact", repr(mode)[:80])
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63):
        raise InputError("seed", "be a whole number from 0 to 2^63 - 1", repr(seed)[:80])
    if update is not None:
        check_update(update)
        if not backward:
            raise InputError("update", "be null where backward is false: it moves along the gradient", "an update")


@functools.lru_cache(maxsize=256)
def _positional_names(forward: Callable) -> tuple[str, ...]:
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = list(inspect.signature(forward).parameters.values())[1:]
    return tuple(one.name for one in parameters if one.kind in by_position)


def _taken(name: str, value: Any, seize: Seize) -> Any:
    if isinstance(value, torch.Tensor):
        return seize(name, value)
    if type(value) in (dict, OrderedDict):
        return type(value)((key, _taken(f"{name}.{key}", part, seize)) for key, part in value.items())
    if isinstance(value, tuple | list):
        parts = [_taken(f"{name}.{place}", part, seize) for place, part in enumerate(value)]
        if all(part is one for part, one in zip(parts, value, strict=True)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = {one.name: getattr(value, one.name) for one in dataclasses.fields(value) if one.init}
        return dataclasses.replace(value, **{key: _taken(f"{name}.{key}", part, seize) for key, part in held.items()})
    return value
