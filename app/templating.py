"""The templates, compiled once, with the few functions that they all have."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from app import numbers

TEMPLATES = Path(__file__).resolve().parent.parent / "templates"


class DataEnvironment(Environment):
    """Jinja whose dots read plain data first: `page.update` is the key, not the dict's method."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if type(obj) is dict and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)


@functools.cache
def environment() -> Environment:
    """The environment, with autoescape."""
    made = DataEnvironment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False, cache_size=-1,
    )  # fmt: skip
    writers = {"number": numbers.html, "number_text": numbers.text, "exact": numbers.exact, "sign": numbers.sign}
    made.globals |= {**writers, "filled": filled, "relation": numbers.relation}
    made.filters |= {
        "tex": tex,
        "json": json,
        "tspan": numbers.tspan,
        "cells": numbers.cells,
        "sentence": sentence,
        **writers,
    }
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
        return Markup(made)  # made by our own build from our own formulas
    return Markup('<span class="tex" data-tex="{0}">{0}</span>').format(formula)


def sentence(said: str) -> str:
    """A message as a sentence of its own."""
    return f"{said[:1].upper()}{said[1:]}" + ("" if said.endswith((".", "?", "!")) else ".")


def json(data: Any) -> Markup:
    """Data for a `<script type="application/json">`: JSON in which no `<` can end the element."""
    return Markup(orjson.dumps(data).decode().replace("<", "\\u003c"))


def filled(tensor: Mapping[str, Any]) -> Any:
    """A tensor's `data` with NaN and the infinities where JSON has null."""
    values = tensor["data"]
    if "nonfinite" not in tensor:
        return values
    values = copy.deepcopy(values)
    for one in tensor["nonfinite"]:
        *outer, last = one["index"] or [None]
        if last is None:
            return float(one["value"])
        row = functools.reduce(lambda part, place: part[place], outer, values)
        row[last] = float(one["value"])
    return values


@functools.cache
def _formulas() -> Mapping[str, str]:
    path = TEMPLATES / "maths.json"
    return orjson.loads(path.read_bytes()) if path.is_file() else {}
