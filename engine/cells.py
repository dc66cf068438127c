"""Which cells of a tensor a request names, and which numbers they can hold. Everything else is an InputError."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch

from engine.errors import InputError


def place_of(field: str, shape: Sequence[int], index: Sequence[int | None]) -> tuple[int | slice, ...]:
    """An index list as a tuple for indexing a tensor of this shape; None is all of an axis. Raises InputError."""
    if not isinstance(index, list | tuple):
        raise InputError(f"{field}.index", "be a list of whole numbers or null", repr(index)[:80])
    if len(index) != len(shape):
        raise InputError(f"{field}.index", f"have {counted(len(shape))} (shape {tuple(shape)})", f"{list(index)}"[:80])
    return tuple(
        slice(None) if number is None else whole(f"{field}.index[{axis}]", number, size)
        for axis, (number, size) in enumerate(zip(index, shape, strict=True))
    )


def whole(field: str, number: Any, size: int) -> int:
    """A position on an axis of this size. Raises InputError."""
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise InputError(field, "be a whole number", repr(number)[:80])
    place = operator.index(number)
    if not 0 <= place < size:
        raise InputError(field, f"be from 0 to {size - 1}" if size else "be on an axis that has members", place)
    return place


def number_for(field: str, value: Any, dtype: torch.dtype) -> float:
    """A number that a tensor of this type can hold: no NaN, nothing beyond its range, whole where it holds whole ones.

    Infinities are numbers of the floating types. Raises InputError.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(field, "be a number", repr(value)[:80])
    if value != value:
        raise InputError(field, "be a number", "NaN")
    if dtype.is_complex:
        raise InputError(field, "be for a tensor of real numbers", f"a {str(dtype).removeprefix('torch.')} one")
    if dtype == torch.bool:
        if value not in (0, 1):
            raise InputError(field, "be 0 or 1, for a tensor of truth values", value)
    elif dtype.is_floating_point:
        limit = torch.finfo(dtype).max
        if abs(value) > limit and value not in (float("inf"), -float("inf")):
            raise InputError(field, f"be from {-limit:g} to {limit:g}", f"{value}"[:80])
    else:
        limits = torch.iinfo(dtype)
        if value != value // 1 or not limits.min <= value <= limits.max:
            raise InputError(field, f"be a whole number from {limits.min} to {limits.max}", f"{value}"[:80])
        return int(value)
    return value


def numbers_for(field: str, value: Any, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """One number for all cells, or a nested list of numbers of this shape, as a tensor. Raises InputError."""
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return torch.tensor(number_for(field, value, dtype), dtype=dtype)
    flat: list[float] = []
    _flatten(field, value, tuple(shape), dtype, flat)
    return torch.tensor(flat, dtype=dtype).reshape(tuple(shape))


def counted(count: int) -> str:
    return "1 number" if count == 1 else f"{count} numbers"


def _flatten(field: str, value: Any, shape: tuple[int, ...], dtype: torch.dtype, flat: list[float]) -> None:
    if not shape:
        flat.append(number_for(field, value, dtype))
        return
    if not isinstance(value, list | tuple) or len(value) != shape[0]:
        raise InputError(field, f"have shape {shape}", _shape(value))
    for place, part in enumerate(value):
        _flatten(f"{field}[{place}]", part, shape[1:], dtype, flat)


def _shape(value: Any) -> tuple[int, ...]:
    """Of a nested list, by its first members."""
    sizes: list[int] = []
    while isinstance(value, list | tuple) and len(sizes) < 16:
        sizes.append(len(value))
        value = value[0] if value else None
    return tuple(sizes)
