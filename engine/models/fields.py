"""What a model takes: vectors of numbers or of words, read from JSON and checked."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from engine.errors import InputError


@dataclass(frozen=True)
class Samples:
    """Rows that an input may be taken from by name and place, as the test images of a data set.

    row(place) gives the numbers, place(numbers) where such a row stands, None where there is none.
    """

    name: str
    count: int
    row: Callable[[int], Sequence[float]]
    place: Callable[[Sequence[float]], int | None]


@dataclass(frozen=True)
class InputField:
    """A vector of `size` numbers, or up to `rows` rows of them, an example each.

    limit, least: what a number's magnitude is at most, and the number at least.
    words: where the numbers stand for words (tokens, classes), those words in order; the tensor then holds their
           places, as int64, and a request gives words or places.
    samples: rows that it may be taken from.
    A field of size 1 is also given as a bare value, and its rows as a list of values.
    """

    name: str
    size: int
    default: tuple[float | str, ...]
    limit: float = 1e6
    rows: int = 256
    least: float = -math.inf
    words: tuple[str, ...] = ()
    samples: Samples | None = None

    def read(self, field: str, value: Any, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """A tensor of shape [size] or [example, size]. Raises InputError that says expected and got."""
        return torch.tensor(self.numbers(field, value), dtype=torch.int64 if self.words else dtype)

    def numbers(self, field: str, value: Any) -> list[Any]:
        """The numbers as a list, or as a list of rows; words as their places. Raises InputError."""
        if self.size == 1 and not isinstance(value, list | tuple):
            value = [value]
        if not isinstance(value, list | tuple):
            raise InputError(field, f"be a list of {self._counted}, or of rows of them", type(value).__name__)
        nested = bool(value) and isinstance(value[0], list | tuple)
        if self.size == 1 and not nested and len(value) != 1:
            value, nested = [[one] for one in value], True
        if not nested:
            return self._row(field, value)
        if len(value) > self.rows:
            raise InputError(field, f"have at most {counted(self.rows, 'row')}", len(value))
        return [self._row(f"{field}[{place}]", row) for place, row in enumerate(value)]

    def canonical(self, field: str, value: Any) -> Any:
        """The value in one form for one meaning: floats, or words. Raises InputError for words that are not known."""
        if not self.words:
            return floats(value)
        found = self.numbers(field, value)
        if found and isinstance(found[0], list):
            return [self._said(row) for row in found]
        return self._said(found)

    def _said(self, row: list[int]) -> str | list[str]:
        words = [self.words[place] for place in row]
        return words[0] if self.size == 1 else words

    def place(self, word: str) -> int | None:
        """Where a word stands; None for one that is not there."""
        return self._places.get(word)

    @functools.cached_property
    def _places(self) -> Mapping[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    @property
    def _counted(self) -> str:
        return counted(self.size, "word" if self.words else "number")

    def _row(self, field: str, row: Any) -> list[Any]:
        if not isinstance(row, list | tuple):
            raise InputError(field, f"have {self._counted}", type(row).__name__)
        if len(row) != self.size:
            raise InputError(field, f"have {self._counted}", len(row))
        read = self._word if self.words else self._number
        return [read(f"{field}[{place}]" if self.size > 1 else field, value) for place, value in enumerate(row)]

    def _number(self, field: str, value: Any) -> float:
        found = number(field, value, self.limit)
        if found < self.least:
            raise InputError(field, f"be {self.least:g} or more", value)
        return found

    def _word(self, field: str, value: Any) -> int:
        place = self.place(value) if isinstance(value, str) else value
        if isinstance(place, float) and place.is_integer():
            place = int(place)
        if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(self.words):
            known = ", ".join(self.words[:24]) + (", …" if len(self.words) > 24 else "")
            raise InputError(field, f"be one of {known}", repr(value)[:80])
        return place


def rows_like(field: InputField, inputs: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """A target for every row of the inputs: one serves all rows. Raises InputError where the counts differ."""
    what = "1 number" if field.size == 1 else "1 row"
    if inputs.dim() == 1:
        if target.dim() == 2 and target.shape[0] == 1:
            return target[0]
        if target.dim() == 1:
            return target
        raise InputError("target", f"be {what}, as there is one example", f"{target.shape[0]}")
    rows = inputs.shape[0]
    if target.dim() == 1:
        return target.expand(rows, -1).clone()
    if target.shape[0] != rows:
        raise InputError("target", f"be {what} or {rows}, one for each row of the inputs", f"{target.shape[0]}")
    return target


def number(field: str, value: Any, limit: float = math.inf) -> float:
    """A finite number of magnitude at most `limit`. Raises InputError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(field, "be a number", repr(value)[:80])
    if not math.isfinite(value) or abs(value) > limit:
        bound = f" from {-limit:g} to {limit:g}" if math.isfinite(limit) else ""
        raise InputError(field, f"be a finite number{bound}", value)
    return float(value)


def mapping(field: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(field, "be an object", type(value).__name__)
    return value


def listed(field: str, value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list | tuple):
        raise InputError(field, "be a list", type(value).__name__)
    return [dict(mapping(f"{field}[{number}]", one)) for number, one in enumerate(value)]


def floats(value: Any) -> Any:
    """The same with whole numbers as floats, so that 2 and 2.0 are one request."""
    if isinstance(value, Mapping):
        return {key: floats(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [floats(part) for part in value]
    return float(value) if type(value) is int and abs(value) < 2**53 else value


def counted(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"
