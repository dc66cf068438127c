"""Reads a page's query into a State: every bad field is an error of its own, and the rest still runs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from app import whole
from app.exercise import read_number
from app.fields import FieldError
from app.numbers import exact, text
from app.space import MAX_ROWS, Frozen, Place, Space, cell_name, split_cell
from app.state import KINDS, VIEWS, State, Switch, normal, state_of

LARGEST = 1e6
MAX_STEP = 9_999
MAX_SEED = 2**31 - 1
MAX_TEXT = 2_000
BY = "0.5"
"""What a switch's field holds before it is used."""
SHOWN = "shown:"
_LONGEST = 40
_FLAGS = {"1": True, "": False, "0": False}


def read(space: Space, pairs: Iterable[tuple[str, str]]) -> State:
    """The state of a query, given as (name, value) pairs in order.

    A name given twice counts once, the last time; where a number can't be read then, the one before stays in use.
    A form says with which options its fields were filled in (`shown:weights`): what was the default there is no edit.
    """
    pairs = list(pairs)
    options = {name: value for name, value in pairs if name in space.options}
    shown = {name.removeprefix(SHOWN): value for name, value in pairs if name.startswith(SHOWN)}
    reader = _Reader(space.with_options(options), space.with_options({**options, **shown}))
    given: dict[str, str] = {}
    frozen: list[str] = []
    for name, value in pairs:
        if name == "frozen":
            frozen.append(value)
        else:
            if name in given:
                reader.earlier[name] = given.pop(name)
            given[name] = value
    if "rows" in given:
        reader.whole("rows", given.pop("rows"), 1, space.most_rows, 1)
    for name in sorted(given, key=lambda name: whole.row_of(space, name) is None):  # cells are set within their row
        reader.take(name, given[name])
    if frozen:
        reader.freeze(frozen)
    return reader.state(given)


@dataclass
class _Reader:
    space: Space
    shown: Space
    fields: dict[str, Any] = field(default_factory=dict)
    cells: dict[Place, float] = field(default_factory=dict)
    kinds: dict[Place, str] = field(default_factory=dict)
    numbers: dict[Place, tuple[str, float | None]] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    settings: dict[str, float | str] = field(default_factory=dict)
    answers: dict[int, str] = field(default_factory=dict)
    earlier: dict[str, str] = field(default_factory=dict)
    errors: list[FieldError] = field(default_factory=list)

    def take(self, name: str, value: str) -> None:
        if name in self.space.options:
            self.choose(name, value)
        elif name in self.space.settings:
            self.set(name, value)
        elif name == "run" and self.space.trains:
            self.training(value)
        elif name == "lr":
            self.rate(value)
        elif name == "step":
            self.whole(name, value, 0, MAX_STEP, 0)
        elif name == "example":
            self.whole(name, value, 0, MAX_ROWS - 1, 0)
        elif name == "seed":
            self.whole(name, value, 0, MAX_SEED, 0)
        elif name == "view":
            self.one_of(name, value, VIEWS)
        elif name == "of":
            self.one_of(name, value, ("value", "gradient"))
        elif name in ("prove", "predict", "flip"):
            if value in _FLAGS:
                self.fields[name] = _FLAGS[value]
            else:
                self.error(name, name, "be 1 or 0", value, "0")
        elif name in ("cell", "guess"):
            self.words(name, value)
        elif match := re.fullmatch(r"a(\d{1,2})", name, re.ASCII):
            self.answers[int(match[1])] = value[:MAX_TEXT]
        elif name.startswith(SHOWN):
            pass
        elif name.startswith(("do:", "by:")):
            self.switch(name, value)
        elif row := whole.row_of(self.space, name):
            self.row(name, row, value)
        else:
            self.cell(name, value)

    def state(self, raw: dict[str, str]) -> State:
        switches = {place: self._switch(place, kind) for place, kind in self.kinds.items()}
        start = state_of(self.space)
        fields = {
            **self.fields,
            "cells": self.cells,
            "switches": {place: switch for place, switch in switches.items() if switch},
            "options": self.options,
            "settings": self.settings,
            "answers": self.answers,
            "errors": tuple(self.errors),
            "raw": raw,
        }
        return normal(State(**{"space": self.space, "frozen": start.frozen, **fields}))

    def error(self, name: str, label: str, expected: str, got: str, using: str) -> None:
        self.errors.append(FieldError(name, label, expected, _shown(got), using))

    def number(self, name: str, label: str, value: str, default: float, smallest: float = -LARGEST) -> float | None:
        """A number; where it can't be read an error, and the one given before it, or None."""
        number = _number(value)
        if smallest <= number <= LARGEST:
            return number
        expected = "be a number" if smallest < 0 else "be a number of 0 or more"
        if abs(number) > LARGEST:
            expected = f"be a number from {text(max(smallest, -LARGEST))} to {text(LARGEST)}"
        kept = _number(self.earlier.get(name, ""))
        usable = smallest <= kept <= LARGEST
        self.error(name, label, expected, value, text(kept if usable else default))
        return kept if usable else None

    def cell(self, name: str, value: str) -> None:
        rows = self.fields.get("rows", 1)
        tensor, index = split_cell(name)
        if self.shown is not self.space and tensor in self.shown.parameters and index is not None:
            default = self.shown.default(tensor, index)
            if default is not None and _number(value) == default:
                return
        shape = self.space.shape(tensor, rows) if index is not None else None
        if shape is None or index is None:
            known = ", ".join(self.space.known)
            self.error(name, f"the field {_shown(name)}", f"be a cell of {known}", value, "the run without it")
            return
        place = self.space.rowed(tensor, index)
        default = self.space.default(*place) if place else None
        if place is None or default is None:
            wanted = f"have an index inside {' by '.join(map(str, shape))}, from 0"
            self.error(name, tensor, wanted, cell_name("", index), "the run without it")
            return
        number = self.given(name, place, value, self.cells.get(place, default))
        if number is not None and (tensor in self.space.parameters or place[1][0] < rows):
            self.cells[place] = number

    def row(self, name: str, row: whole.Row, value: str) -> None:
        """A whole row as one word; nothing is its default."""
        if not value.strip():
            return
        given = self.space.inputs.get(row.tensor)
        limit, least = (given.field.limit, given.field.least) if given else (LARGEST, -LARGEST)
        try:
            numbers = whole.read(value, row.size, row.samples)
        except ValueError as error:
            expected = str(error).removeprefix("expected ").partition("; got")[0]
            self.error(name, name, f"be {expected}", value, "its default")
            return
        if any(abs(number) > limit or number < least for number in numbers):
            bounds = f"{text(max(least, -limit))} to {text(limit)}"
            self.error(name, name, f"hold numbers from {bounds}", "others", "its default")
            return
        if row.tensor in self.space.parameters or row.leading[0] < self.fields.get("rows", 1):
            self.cells |= dict(zip(row.places, numbers, strict=True))

    def given(self, name: str, place: Place, value: str, default: float) -> float | None:
        """What a cell is set to: a number, or the place of a word; None with an error."""
        label = self.space.label(*place, self.fields.get("rows", 1))
        given = self.space.inputs.get(place[0])
        if given is None:
            return self.number(name, label, value, default)
        if not given.field.words:
            return self.number(name, label, value, default, given.field.least)
        word = given.field.place(value.strip())
        if word is None:
            self.error(name, label, f"be one of {', '.join(given.field.words)}", value, str(given.said(default)))
        return word

    def switch(self, name: str, value: str) -> None:
        part, cell = name[:2], name[3:]
        tensor, index = split_cell(cell)
        place = (tensor, index or ())
        if not self.space.has_switch(*place):
            if self.shown.has_switch(*place) and value in ("", "computed", BY):
                return
            known = ", ".join(self.space.switches)
            self.error(name, f"the field {_shown(name)}", f"be a cell of {known}", value, "the run without it")
        elif part == "do":
            if value in KINDS:
                self.kinds[place] = value
            elif value not in ("", "computed"):
                expected = f"be one of computed, {', '.join(KINDS)}"
                self.error(name, self.space.label(*place), expected, value, "computed")
        elif value.strip():
            self.numbers[place] = value, None

    def _switch(self, place: Place, kind: str) -> Switch | None:
        """A switch with its number, where it needs one. Where that can't be read: an error, and the number before it,
        or None.
        """
        if kind == "off":
            return kind, 0.0
        name, label = f"by:{cell_name(*place)}", self.space.label(*place)
        value = self.numbers.get(place, ("", None))[0]
        number, kept = _number(value), _number(self.earlier.get(name, ""))
        if abs(number) <= LARGEST:
            return kind, number
        usable = abs(kept) <= LARGEST
        expected = f"have a number to {kind}{' it to' if kind == 'set' else ''}"
        self.error(name, label, expected, value, text(kept) if usable else "the computed value")
        return (kind, kept) if usable else None

    def choose(self, name: str, value: str) -> None:
        option = self.space.options[name]
        if value in option.values:
            self.options[name] = value
        else:
            self.error(name, option.title, f"be one of {', '.join(option.values)}", value, self.space.choice(name))

    def set(self, name: str, value: str) -> None:
        """A setting beside the run."""
        one = self.space.settings[name]
        number = _number(value) if one.choices is None else math.nan
        given: float | str = value if one.choices is not None else int(number) if number.is_integer() else number
        if one.fits(given):
            self.settings[name] = given
        else:
            self.error(name, one.title, one.expected, value, one.shown(one.default))

    def training(self, value: str) -> None:
        if re.fullmatch(r"[0-9a-f]{32}|", value, re.ASCII):
            self.fields["run"] = value
        else:
            self.error("run", "run", "be the id of a training run", value, "none")

    def rate(self, value: str) -> None:
        number = self.number("lr", "learning rate", value, self.space.learning_rate, 0.0)
        if number is not None:
            self.fields["learning_rate"] = float(exact(number))

    def whole(self, name: str, value: str, smallest: int, largest: int, default: int) -> None:
        if re.fullmatch(r"\d{1,10}", value, re.ASCII) and smallest <= int(value) <= largest:
            self.fields[name] = int(value)
        elif value or name == "rows":
            self.error(name, name, f"be a whole number from {smallest} to {largest}", value, str(default))

    def one_of(self, name: str, value: str, choices: tuple[str, ...]) -> None:
        if value in choices:
            self.fields[name] = value
        else:
            self.error(name, name, f"be one of {', '.join(choices)}", value, choices[0])

    def words(self, name: str, value: str) -> None:
        if len(value) <= MAX_TEXT // 10:
            self.fields[name] = value.strip()
        else:
            self.error(name, name, f"have at most {MAX_TEXT // 10} characters", value, "none")

    def freeze(self, names: list[str]) -> None:
        frozen: set[Frozen] = set()
        for name in filter(None, names):
            try:
                frozen |= self.space.frozen_of([name])
            except ValueError:
                known = ", ".join(self.space.parameters)
                self.error("frozen", "frozen", f"name a parameter or a cell of {known}", name, "the others")
        self.fields["frozen"] = frozenset(frozen)


def _number(value: str) -> float:
    """NaN where it can't be read."""
    try:
        return float(read_number(value))
    except (ValueError, OverflowError):
        return math.nan


def _shown(value: str) -> str:
    if not value.strip():
        return "nothing"
    return f"“{value if len(value) <= _LONGEST else value[:_LONGEST] + '…'}”"
