"""The templates, compiled once, with the few functions that they all have."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from app import numbers

TEMPLATES = Path(__file__).resolve().parent.parent / "templates"


@functools.cache
def environment() -> Environment:
    """Jinja with autoescape."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False, cache_size=-1,
    )  # fmt: skip
    made.globals |= {"number": numbers.html, "number_text": numbers.text, "exact": numbers.exact, "sign": numbers.sign}
    made.filters |= {"tex": tex, "json": json}
    return made


def render(name: str, context: Mapping[str, Any]) -> str:
    """A template with its context."""
    return environment().get_template(name).render(context)


def has(name: str) -> bool:
    """Whether there is a template of that name."""
    return (TEMPLATES / name).is_file()


def tex(formula: str) -> Markup:
    """A formula as the MathML that was made of it, else its LaTeX for the browser to set."""
    made = _formulas().get(formula)
    if made is not None:
        return Markup(made)  # noqa: S704 - made by our own build from our own formulas
    return Markup('<span class="tex" data-tex="{0}">{0}</span>').format(formula)


def json(data: Any) -> Markup:
    """Data for a `<script type="application/json">`: JSON in which no `<` can end the element."""
    return Markup(orjson.dumps(data).decode().replace("<", "\\u003c"))  # noqa: S704 - escaped by the line itself


@functools.cache
def _formulas() -> Mapping[str, str]:
    path = TEMPLATES / "maths.json"
    return orjson.loads(path.read_bytes()) if path.is_file() else {}
