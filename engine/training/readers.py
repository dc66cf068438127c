"""Readers of what a recipe may say: each takes a field's name and a value, and gives the value checked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from engine.errors import InputError
from engine.models.fields import number

MOST_LAYERS, MOST_UNITS = 4, 256
Reader = Callable[[str, Any], Any]


def one_of(*known: str) -> Reader:
    def read(field: str, value: Any) -> str:
        if value not in known:
            raise InputError(field, f"be one of {', '.join(known)}", repr(value)[:80])
        return value

    return read


def truth(field: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(field, "be true or false", repr(value)[:80])
    return value


def real(least: float, most: float) -> Reader:
    def read(field: str, value: Any) -> float:
        if not least <= number(field, value) <= most:
            raise InputError(field, f"be from {least:g} to {most:g}", value)
        return float(value)

    return read


def whole(least: int, most: int) -> Reader:
    within = real(least, most)

    def read(field: str, value: Any) -> int:
        if not number(field, value).is_integer():
            raise InputError(field, "be a whole number", value)
        return int(within(field, value))

    return read


def widths(field: str, value: Any) -> str:
    fits = isinstance(value, str) and re.fullmatch(r"none|[1-9]\d{0,2}(-[1-9]\d{0,2})*", value)
    if not fits or len(split(value)) > MOST_LAYERS or max(split(value), default=1) > MOST_UNITS:
        expected = f"be none, or up to {MOST_LAYERS} widths from 1 to {MOST_UNITS}, such as 16-16"
        raise InputError(field, expected, repr(value)[:80])
    return value


def split(hidden: str) -> tuple[int, ...]:
    return () if hidden == "none" else tuple(map(int, hidden.split("-")))
