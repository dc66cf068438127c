"""Interventions: an activation is replaced where it is named, before anything downstream reads it.

Each is an ordinary recorded operation (where, mul, add), so it is a step, explains itself, and lets gradients through
exactly where the replaced value still depends on the computed one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from engine.cells import number_for, numbers_for, place_of
from engine.errors import InputError

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


def replacements(tensor: torch.Tensor, wanted: Sequence[tuple[str, Intervention]]) -> list[Replacement]:
    """The calls that make the replaced tensor, in request order; neighbours of one kind share a call.

    wanted: interventions with their fields. Raises InputError for an index that does not fit the tensor, or a value
    that it can't hold.
    """
    calls = []
    for kind, group in itertools.groupby(wanted, key=_written_as):
        places = [(f"{field}.{one.kind}", place_of(field, tensor.shape, one.index), one.value) for field, one in group]
        calls.append(_replacement(kind, places, tensor))
    return calls


def checked(number: int, one: Intervention) -> tuple[str, Intervention]:
    """An intervention with its field. Raises InputError for a kind there is none of."""
    if one.kind not in _FUNCTIONS:
        raise InputError(f"interventions[{number}].kind", f"be one of {', '.join(_FUNCTIONS)}", repr(one.kind)[:80])
    return f"interventions[{number}]", one


_FUNCTIONS: Mapping[Kind, Callable] = {"set": torch.where, "patch": torch.where, "scale": torch.mul, "add": torch.add}


def _written_as(wanted: tuple[str, Intervention]) -> Kind:
    kind = wanted[1].kind
    return "set" if kind == "patch" else kind


def _replacement(kind: Kind, places: Sequence[tuple[str, tuple, float | list]], tensor: torch.Tensor) -> Replacement:
    said = tuple((place, value) for _, place, value in places)
    function = _FUNCTIONS[kind]
    if kind == "set":
        mask = torch.zeros(tensor.shape, dtype=torch.bool)
        values = torch.zeros_like(tensor, requires_grad=False)
        for field, place, value in places:
            mask[place] = True
            values[place] = numbers_for(field, value, values[place].shape, tensor.dtype)
        return Replacement(function, (mask, values, ...), {"mask": mask, "set": values}, said, kind)
    if tensor.dtype == torch.bool:
        raise InputError(places[0][0], "be set, where a tensor holds truth values", kind)
    neutral = torch.ones_like if kind == "scale" else torch.zeros_like
    values = neutral(tensor, requires_grad=False)
    for field, place, value in places:
        given = number_for(field, value, tensor.dtype)
        values[place] = values[place] * given if kind == "scale" else values[place] + given
    return Replacement(function, (..., values), {kind: values}, said, kind)


def describe(kind: Kind, label: str, value: float | list) -> str:
    """One replaced cell in words: h₂ ← 0, h₂ × 0.5, h₂ + 1."""
    sign = {"set": "←", "scale": "×", "add": "+"}[kind]
    return f"{label} {sign} {f'{value:g}'.replace('-', '−') if isinstance(value, int | float) else 'patch'}"
