"""Interventions: an activation is replaced where it is named, before anything downstream reads it.

Each is an ordinary recorded operation (where, mul, add), so it is a step, explains itself, and lets gradients through
exactly where the replaced value still depends on the computed one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from engine.errors import InputError
from engine.skeleton import place_of

Kind = Literal["set", "scale", "add", "patch"]


@dataclass(frozen=True)
class Intervention:
    """`value`: a number, or for a patch a nested list of the shape the index selects; None in it is a whole axis."""

    at: str
    index: tuple[int | None, ...]
    kind: Kind
    value: float | list


@dataclass(frozen=True)
class Replacement:
    """One recorded call: `function(*before, *operands, *after)` with the computed tensor where `...` stands."""

    function: Callable[..., torch.Tensor]
    operands: tuple
    constants: dict[str, torch.Tensor]
    places: tuple[tuple[tuple[int | slice, ...], float | list], ...]
    kind: Kind


def replacements(name: str, tensor: torch.Tensor, wanted: Sequence[Intervention]) -> list[Replacement]:
    """The calls that make the replaced tensor, in request order; neighbours of one kind share a call.

    Raises InputError for an index that does not fit the tensor or a patch of another shape.
    """
    calls = []
    for kind, group in itertools.groupby(wanted, key=_written_as):
        places = tuple((place_of(f"intervention at {name}", tensor.shape, one.index), one.value) for one in group)
        calls.append(_replacement(name, kind, places, tensor))
    return calls


def _written_as(one: Intervention) -> Kind:
    return "set" if one.kind == "patch" else one.kind


def _replacement(name: str, kind: Kind, places: tuple, tensor: torch.Tensor) -> Replacement:
    if kind == "set":
        mask = torch.zeros(tensor.shape, dtype=torch.bool)
        values = torch.zeros_like(tensor, requires_grad=False)
        for place, value in places:
            mask[place] = True
            _write(name, values, place, value)
        return Replacement(torch.where, (mask, values, ...), {"mask": mask, "set": values}, places, kind)
    neutral = torch.ones_like if kind == "scale" else torch.zeros_like
    values = neutral(tensor, requires_grad=False)
    for place, value in places:
        if kind == "scale":
            values[place] *= value
        else:
            values[place] += value
    function = torch.mul if kind == "scale" else torch.add
    return Replacement(function, (..., values), {kind: values}, places, kind)


def _write(name: str, values: torch.Tensor, place: tuple, value: float | list) -> None:
    shape = tuple(values[place].shape)
    given = torch.as_tensor(value, dtype=values.dtype)
    if given.ndim and tuple(given.shape) != shape:
        raise InputError(f"intervention at {name}.patch", f"have shape {shape}", tuple(given.shape))
    values[place] = given


def describe(kind: Kind, label: str, value: float | list) -> str:
    """One replaced cell in words: h₂ ← 0, h₂ × 0.5, h₂ + 1."""
    sign = {"set": "←", "scale": "×", "add": "+"}[kind]
    return f"{label} {sign} {f'{value:g}'.replace('-', '−') if isinstance(value, int | float) else 'patch'}"
