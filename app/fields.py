"""Fields of a page that are no cell of the run: what a reader may choose beside it, and what is said of a bad one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.numbers import exact, text


@dataclass(frozen=True)
class FieldError:
    """A field that could not be read: what it must be, what came, and the value that is used instead."""

    field: str
    label: str
    expected: str
    got: str
    using: str

    @property
    def message(self) -> str:
        return f"{self.label} must {self.expected}; got {self.got}. Using {self.using}."


@dataclass(frozen=True)
class Setting:
    """Something that a reader may choose and that is no part of the traced run; its value stands in the address.

    name:         of the field in the address; title: the words before it.
    default:      a number, or a key of choices.
    least, limit: the smallest and the largest number; None is without a bound.
    whole:        whether only whole numbers will do.
    choices:      value -> label; then it is one of these, else a number.
    Raises ValueError for a default that does not fit.
    """

    name: str
    title: str
    default: float | str
    least: float | None = None
    limit: float | None = None
    whole: bool = False
    choices: Mapping[str, str] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        if not self.fits(self.default):
            raise ValueError(f"expected {self.name} to {self.expected}; got {self.default!r}")

    @property
    def expected(self) -> str:
        """What a value must do, as an error says it."""
        if self.choices is not None:
            return f"be one of {', '.join(self.choices)}"
        kind = "whole number" if self.whole else "number"
        if self.least is not None and self.limit is not None:
            return f"be a {kind} from {text(self.least)} to {text(self.limit)}"
        if self.least is not None:
            return f"be a {kind} of {text(self.least)} or more"
        return f"be a {kind}" + (f" of at most {text(self.limit)}" if self.limit is not None else "")

    def fits(self, value: Any) -> bool:
        """Whether it may be chosen."""
        if self.choices is not None:
            return value in self.choices
        if isinstance(value, str) or not math.isfinite(value) or (self.whole and value != int(value)):
            return False
        return (self.least is None or value >= self.least) and (self.limit is None or value <= self.limit)

    def said(self, value: float | str) -> str:
        """A value as the address and the field have it."""
        return value if isinstance(value, str) else exact(value)

    def shown(self, value: float | str) -> str:
        """A value in words: a choice's label, a number as people read it."""
        return self.choices[str(value)] if self.choices is not None else text(float(value))
