"""A small table out of a CSV file: columns of numbers, columns of words, and what is wrong with a cell that is neither.

Delimiters are , ; and tab, whichever parts the first row into most cells; numbers have a decimal point. The first row
gives names unless a cell of it is a number.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from engine.errors import InputError

FEWEST_COLUMNS, MOST_COLUMNS = 2, 20
FEWEST_ROWS, MOST_ROWS = 8, 5_000
MOST_BYTES = 1_000_000
MOST_WORDS = 12
"""A column of more different words is left out: each word would be an input of its own."""
LARGEST = 1e15
_LONGEST_NAME = 40
_DELIMITERS = ",;\t"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_MEANT = re.compile(r"[+-]?[\d.,' ]*\d[\d.,' ]*", re.ASCII)

Kind = Literal["numbers", "words", "left out"]


@dataclass(frozen=True)
class Column:
    """One column. values: float64 for numbers, else text, a value a row. words: the different ones, in order."""

    name: str
    kind: Kind
    values: np.ndarray
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """Columns of equal length, in the order of the file. named: whether the file's first row names them."""

    columns: tuple[Column, ...]
    named: bool
    delimiter: str

    @property
    def rows(self) -> int:
        return len(self.columns[0].values)


def read(content: bytes) -> Table:
    """A CSV file as a table. Raises InputError that says where, expected and got."""
    if len(content) > MOST_BYTES:
        raise InputError("table", f"have at most {MOST_BYTES:,} bytes", f"{len(content):,}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        got = f"the byte {content[error.start] if error.start < len(content) else 0:#x} at {error.start:,}"
        raise InputError("table", "be text in UTF-8", got) from error
    delimiter = _delimiter(text)
    lines = list(_lines(text, delimiter))
    named = bool(lines) and not any(_NUMBER.fullmatch(cell) for cell in lines[0][1])
    names = _names(lines[0][1] if named else [f"column {at}" for at in range(1, _width(lines) + 1)])
    body = lines[1:] if named else lines
    if not FEWEST_ROWS <= len(body) <= MOST_ROWS:
        raise InputError("table", f"have {FEWEST_ROWS} to {MOST_ROWS:,} rows below its names", f"{len(body):,}")
    for number, cells in body:
        if len(cells) != len(names):
            raise InputError(f"row {number}", f"have {len(names)} cells, as the first row has", len(cells))
    numbers = [number for number, _ in body]
    columns = [_column(name, [cells[at] for _, cells in body], numbers) for at, name in enumerate(names)]
    return Table(tuple(columns), named, delimiter)


def _delimiter(text: str) -> str:
    """What parts the first row that is not empty into most cells."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return max(_DELIMITERS, key=lambda one: len(next(csv.reader([first], delimiter=one), [])))


def _lines(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each line that is not empty: its number in the file, from 1, and its cells."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise InputError(f"row {reader.line_num}", "be a line of CSV", str(error)) from error


def _width(lines: Sequence[tuple[int, list[str]]]) -> int:
    return len(lines[0][1]) if lines else 0


def _names(names: list[str]) -> list[str]:
    if not FEWEST_COLUMNS <= len(names) <= MOST_COLUMNS:
        expected = f"have {FEWEST_COLUMNS} to {MOST_COLUMNS} columns, parted by commas, semicolons or tabs"
        raise InputError("table", expected, len(names))
    for at, name in enumerate(names):
        if not name or len(name) > _LONGEST_NAME or not name.isprintable():
            expected = f"have a name of 1 to {_LONGEST_NAME} characters"
            raise InputError(f"column {at + 1}", expected, repr(name[: 2 * _LONGEST_NAME]))
        if name in names[:at]:
            raise InputError(f"column {at + 1}", "have a name of its own", f"{name!r} again")
    return names


def _column(name: str, cells: list[str], numbers: list[int]) -> Column:
    """Numbers where at least half of the cells look like some: then all of them have to be. Else words."""
    for number, cell in zip(numbers, cells, strict=True):
        if not cell:
            raise InputError(f"row {number}, column {name}", "have a value", "an empty cell")
    if 2 * sum(_MEANT.fullmatch(cell) is not None or _NUMBER.fullmatch(cell) is not None for cell in cells) < len(
        cells
    ):
        words = tuple(sorted(set(cells)))
        few = len(words) <= MOST_WORDS
        return Column(name, "words" if few else "left out", np.array(cells), words if few else ())
    values = np.array([_number(name, number, cell) for number, cell in zip(numbers, cells, strict=True)])
    return Column(name, "numbers", values)


def _number(name: str, row: int, cell: str) -> float:
    found = float(cell) if _NUMBER.fullmatch(cell) else math.nan
    if not abs(found) <= LARGEST:
        expected = "be a number with a decimal point, such as -1.5" if math.isnan(found) else f"be within ±{LARGEST:g}"
        raise InputError(f"row {row}, column {name}", expected, repr(cell)[:80])
    return found
