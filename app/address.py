"""How the parts of an address are written."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import quote


def written(value: Any) -> str:
    """A field's value: nothing for None and False."""
    if value is None or value is False:
        return ""
    return "1" if value is True else str(value)


def encoded(pairs: Iterable[tuple[str, str]]) -> str:
    """A query of these names and values; brackets and commas stay as they are."""
    return "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in pairs)


@lru_cache(maxsize=8192)
def _quoted(text: str) -> str:
    return quote(text, safe="[],:@", errors="replace")
