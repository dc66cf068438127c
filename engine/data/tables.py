"""Tables by number: the one that is shipped, 0, and those that readers bring, in a folder.

A number is the first bits of the SHA-256 of the file's bytes, so that it always means the same table. A process looks
in every folder that it was told of; which one a file is written to is its caller's.
"""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from pathlib import Path

from engine.data import table
from engine.errors import InputError

SHIPPED = 0
SHIPPED_FILE = Path(__file__).with_name("moons.csv")
LARGEST = 2**52
"""Every number below is exact wherever numbers are floats, in addresses and JSON too."""
MOST_TABLES = 200
MOST_BYTES = 50_000_000
_FOLDER = "tables"
_folders: dict[Path, None] = {}


def look_in(data: Path) -> None:
    """From now on this process finds the tables of this data folder too."""
    _folders[data.resolve() / _FOLDER] = None


def number_of(content: bytes) -> int:
    """The number of a file by its bytes, 1 or more."""
    if content == content_of(SHIPPED):
        return SHIPPED
    return 1 + int.from_bytes(hashlib.sha256(content).digest()[:8], "big") % (LARGEST - 1)


def keep(content: bytes, data: Path) -> int:
    """Keeps a table in a data folder; the oldest go where there are too many. Raises InputError as table.read does."""
    table.read(content)
    look_in(data)
    number = number_of(content)
    if number != SHIPPED:
        folder = data.resolve() / _FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=folder, suffix=".draft")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(draft).replace(folder / f"{number}.csv")
        _drop(folder)
    return number


def content_of(number: int) -> bytes:
    """The bytes of a table. Raises InputError for one that is not kept here."""
    if number == SHIPPED:
        return SHIPPED_FILE.read_bytes()
    for folder in _folders:
        try:
            return (folder / f"{int(number)}.csv").read_bytes()
        except FileNotFoundError:
            continue
    raise InputError("data", "be the number of a table that is kept here", number)


@functools.lru_cache(maxsize=16)
def find(number: int) -> table.Table:
    """A table by its number. Raises InputError for one that is not kept here."""
    return table.read(content_of(number))


def _drop(folder: Path) -> None:
    """Deletes the oldest beyond the bounds."""
    files = sorted(folder.glob("*.csv"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    total = 0
    for at, path in enumerate(files):
        total += path.stat().st_size
        if at >= MOST_TABLES or total > MOST_BYTES:
            path.unlink(missing_ok=True)
