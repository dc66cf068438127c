"""A row of numbers as one word of an address: a sample of its input (`test:17`, or `17` alone), else its own code.

The code is base64url of the numbers' float32 bytes, little-endian, deflated; what a browser draws may come as it is.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from app.numbers import single
from engine.models.fields import Samples
from engine.trace import Index

if TYPE_CHECKING:
    from app.space import Space

Place = tuple[str, Index]

FEW = 8
"""So many changed cells of a row stand one by one in an address; more of them make it a whole."""
LEAST = 48
"""Rows longer than this may be given whole."""
_BYTES = 4


@dataclass(frozen=True)
class Row:
    """A row of many numbers that one word sets: its tensor, its index but for the last, how many numbers."""

    tensor: str
    leading: Index
    size: int
    samples: Samples | None = None

    @property
    def places(self) -> list[Place]:
        return [(self.tensor, (*self.leading, at)) for at in range(self.size)]


def row_of(space: Space, name: str) -> Row | None:
    """The row that a name without subscripts sets: `x` the first example's, `x@1` the next one's, or a parameter of
    one row. None where cells are set one by one.
    """
    tensor, _, number = name.partition("@")
    if tensor in space.inputs:
        given, place = space.inputs[tensor].field, int(number) if re.fullmatch(r"\d{1,3}", number, re.ASCII) else 0
        fits = given.size > LEAST and not given.words and name == row_name(tensor, (place,)) and place < space.most_rows
        return Row(tensor, (place,), given.size, given.samples) if fits else None
    shape = space.parameters[name].shape if name in space.parameters else (0,)
    fits = bool(shape) and shape[-1] > LEAST and math.prod(shape) == shape[-1]
    return Row(name, (0,) * (len(shape) - 1), shape[-1]) if fits else None


def row_name(tensor: str, leading: Index) -> str:
    """The name of an input's row."""
    return f"{tensor}@{leading[0]}" if leading and leading[0] else tensor


def changed(space: Space, cells: Mapping[Place, Any]) -> dict[str, Row]:
    """By name the rows of which more than a few cells are changed: an address says them whole."""
    counts = Counter((name, index[:-1]) for name, index in cells)
    names = [row_name(name, leading) for (name, leading), count in counts.items() if count > FEW]
    rows = {name: row_of(space, name) for name in names}
    return {name: row for name, row in rows.items() if row is not None}


def others(cells: Mapping[Place, Any], rows: Mapping[str, Row]) -> list[Place]:
    """The changed cells that are not in these rows."""
    within = {(row.tensor, row.leading) for row in rows.values()}
    return [(name, index) for name, index in cells if (name, index[:-1]) not in within]


def cells_of(space: Space, said: Mapping[str, float | str | None]) -> dict[Place, float | None]:
    """What is said of cells, or in one word of rows, by cell; None takes back. Raises ValueError for others."""
    found: dict[Place, float | None] = {}
    for name, value in said.items():
        if row := row_of(space, name):
            numbers = [None] * row.size if value is None else read(str(value), row.size, row.samples)
            found |= dict(zip(row.places, numbers, strict=True))
        else:
            place = space.place(name)
            found[place] = space.number(place[0], value)
    return found


def values(space: Space, cells: Mapping[Place, float], row: Row) -> list[float]:
    """A row's numbers: its defaults, but for what these cells say."""
    if row.tensor in space.inputs:
        examples, at = space.inputs[row.tensor].examples, row.leading[0]
        found = list(examples[at if at < len(examples) else 0])
    else:
        found = [single(one) for one in space.parameters[row.tensor].value.flatten().tolist()]
    for (name, index), number in cells.items():
        if name == row.tensor and index[:-1] == row.leading:
            found[index[-1]] = number
    return found


def said(space: Space, cells: Mapping[Place, float], row: Row) -> str:
    """A row's word."""
    return written(values(space, cells, row), row.samples)


def written(values: Sequence[float], samples: Samples | None = None) -> str:
    """The one word of these numbers."""
    place = samples.place(values) if samples else None
    return f"{samples.name}:{place}" if samples and place is not None else code(values)


def read(text: str, size: int, samples: Samples | None = None) -> list[float]:
    """The numbers of a word. Raises ValueError that says expected and got."""
    sample = re.fullmatch(r"(?:(?P<name>[a-z]+):)?(?P<place>\d{1,6})", text.strip(), re.ASCII)
    if samples is not None and sample is not None and sample["name"] in (None, samples.name):
        if int(sample["place"]) < samples.count:
            return list(samples.row(int(sample["place"])))
        raise ValueError(f"expected {samples.name}:0 to {samples.name}:{samples.count - 1}; got {text[:40]}")
    known = f"{samples.name}: and a number, or " if samples else ""
    try:
        return _decoded(text, size)
    except ValueError as error:
        raise ValueError(f"expected {known}the code of {size} numbers; got {text[:40]!r}") from error


def code(values: Sequence[float]) -> str:
    """base64url of the deflated float32 bytes, without padding."""
    packed = zlib.compress(np.asarray(values, dtype="<f4").tobytes(), 9)
    return base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")


def plain_code(values: Sequence[float]) -> str:
    """The same without deflating, as browsers write and read it."""
    return base64.urlsafe_b64encode(np.asarray(values, dtype="<f4").tobytes()).decode("ascii").rstrip("=")


def _decoded(text: str, size: int) -> list[float]:
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        length = size * _BYTES
        if len(packed) != length:
            packed = zlib.decompressobj().decompress(packed, length + 1)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise ValueError("expected base64url") from error
    if len(packed) != size * _BYTES:
        raise ValueError(f"expected {size} numbers")
    numbers = [float(one) for one in np.frombuffer(packed, dtype="<f4")]
    if not all(map(math.isfinite, numbers)):
        raise ValueError("expected finite numbers")
    return numbers
