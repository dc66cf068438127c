"""What a page's address may set: the cells, switches, options and update of a model's run, with their defaults.

Read off the model and its default run, so nothing is listed twice. Reading an address is query.py's.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from app.fields import Setting
from app.inline import cell_name as cell_name
from app.numbers import single
from engine.labels import cell_label, subscripts
from engine.models.fields import InputField
from engine.models.model import Option
from engine.trace import Index, TensorRecord

MAX_ROWS = 16
TARGET = "target"
Place = tuple[str, Index]
Frozen = tuple[str, Index | None]
Options = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Given:
    """An input, or the target: rows of numbers, words as their places; examples are its default rows, at least one."""

    field: InputField
    symbol: str
    examples: tuple[tuple[float, ...], ...]

    @property
    def size(self) -> int:
        return self.field.size

    def default(self, row: int, column: int) -> float | None:
        """None beyond the rows that there may be; rows without a default of their own are like the first."""
        if not (0 <= row < min(MAX_ROWS, self.field.rows) and 0 <= column < self.size):
            return None
        return self.examples[row if row < len(self.examples) else 0][column]

    def said(self, number: float) -> float | str:
        """A number as a request has it: the word where it stands for one."""
        return self.field.words[int(number)] if self.field.words else number


@dataclass(frozen=True)
class Space:
    """Names, shapes and defaults.

    path:       the page's address without its query.
    request:    the default request, complete, in the API's form, for one example.
    inputs:     by name; the target, where there is one, is the last of them.
    parameters: the records of the run's parameters; switches: of the activations that can be replaced.
    options:    by name, each with its title, values and their names.
    frozen:     what the default update leaves alone.
    of_options: the space where options are chosen, by those that are not the default; None where there are none.
    settings:   by name, what may be chosen beside the run; trains: whether the page has a training panel.
    """

    path: str
    request: Mapping[str, Any]
    inputs: Mapping[str, Given] = field(default_factory=dict)
    parameters: Mapping[str, TensorRecord] = field(default_factory=dict)
    switches: Mapping[str, TensorRecord] = field(default_factory=dict)
    options: Mapping[str, Option] = field(default_factory=dict)
    learning_rate: float = 0.0
    frozen: frozenset[Frozen] = frozenset()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    trains: bool = False
    of_options: Callable[[Options], Space] | None = field(default=None, compare=False, repr=False)

    def with_options(self, options: Mapping[str, str | None]) -> Space:
        """The space of the run with these options, which may have other parameters, or other values of them."""
        known = {name: choice for name, choice in options.items() if choice and name in self.options}
        chosen = {name: choice for name, choice in known.items() if choice in self.options[name].values}
        others = tuple(sorted((name, choice) for name, choice in chosen.items() if choice != self.choice(name)))
        return self.of_options(others) if self.of_options else self

    @property
    def known(self) -> list[str]:
        """The names of what can be set, as an error lists them."""
        return sorted([*self.inputs, *self.parameters], key=lambda name: self._order[name])

    @property
    def most_rows(self) -> int:
        """How many examples a run may have."""
        return min([MAX_ROWS, *(given.field.rows for given in self.inputs.values())])

    def default(self, name: str, index: Index) -> float | None:
        """The default of one cell; inputs are indexed [row, column]. None where there is no such cell."""
        if name in self.parameters:
            return _at(self.parameters[name], index)
        return self.inputs[name].default(*index) if name in self.inputs and len(index) == 2 else None

    def has_switch(self, name: str, index: Index) -> bool:
        """Whether an activation has such a cell; its index is without the example."""
        shape = self.switches[name].shape if name in self.switches else None
        return shape is not None and _inside(index, shape)

    def has_parameter(self, name: str, index: Index | None) -> bool:
        """Whether there is such a parameter, or such a cell of one."""
        return name in self.parameters and (index is None or _inside(index, self.parameters[name].shape))

    def in_order(self, places: Iterable[Place]) -> list[Place]:
        """In the order of links: inputs, parameters, the target; switches by their making."""
        return sorted(places, key=lambda place: (self._order[place[0]], place[1]))

    @cached_property
    def _order(self) -> Mapping[str, int]:
        inputs = [name for name in self.inputs if name != TARGET]
        names = dict.fromkeys([*inputs, *self.parameters, TARGET, *self.switches])
        return {name: number for number, name in enumerate(names)}

    def choice(self, option: str) -> str:
        """The default choice of an option."""
        return self.request.get("options", {}).get(option, self.options[option].default)

    def chosen(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings that differ from their defaults, None counting as one; ValueError for what does not fit."""
        for name, value in settings.items():
            if name not in self.settings:
                raise ValueError(f"expected one of the settings {', '.join(self.settings) or '(none)'}; got {name!r}")
            if value is not None and not self.settings[name].fits(value):
                raise ValueError(f"expected {name} to {self.settings[name].expected}; got {value!r}")
        return {
            name: settings[name] for name, one in self.settings.items() if settings.get(name) not in (None, one.default)
        }

    def label(self, name: str, index: Index, rows: int = 1) -> str:
        """How a cell is written; rows: how many examples the run has."""
        if name in self.parameters:
            return cell_label(self.parameters[name], index)
        if name in self.switches:
            return cell_label(self.switches[name], index)
        given = self.inputs[name]
        below = subscripts(index[1:]) if given.size > 1 else ""
        return f"{given.symbol}{below}" + (f" of example {index[0] + 1}" if rows > 1 else "")

    def said(self, name: str, number: float) -> float | str:
        """A cell's number as it is written: the word where it stands for one."""
        return self.inputs[name].said(number) if name in self.inputs else number

    def number(self, name: str, said: float | str | None) -> float | None:
        """The number of what is said of a cell; ValueError for a word that is not known there."""
        if not isinstance(said, str):
            return said
        place = self.inputs[name].field.place(said) if name in self.inputs else None
        if place is None:
            raise ValueError(f"expected a number or a word of {name}; got {said!r}")
        return place

    def field(self, name: str, index: Index, rows: int) -> str:
        """The name under which an address sets a cell: of one example without its row, of one column without that."""
        if name in self.inputs:
            index = index[:1] if self.inputs[name].size == 1 else index[1:] if rows == 1 else index
        return cell_name(name, index)

    def shape(self, name: str, rows: int) -> tuple[int, ...] | None:
        """The shape under which an address names the cells of a tensor."""
        if name in self.parameters:
            return self.parameters[name].shape
        if name not in self.inputs:
            return None
        size = self.inputs[name].size
        return (rows,) if size == 1 else (rows, size) if rows > 1 else (size,)

    def rowed(self, name: str, index: Index) -> Place | None:
        """The place an address names: `x[1]` is the first example's, `target[1]`, of one column, the second's.

        None where the number of subscripts is wrong.
        """
        if name in self.parameters:
            return name, index
        if name in self.inputs and len(index) == 1:
            return name, ((*index, 0) if self.inputs[name].size == 1 else (0, *index))
        return (name, index) if name in self.inputs and len(index) == 2 else None

    def place(self, cell: str) -> Place:
        """The place of a cell's name; ValueError where there is none."""
        name, index = split_cell(cell)
        place = self.rowed(name, index) if index is not None else None
        if place is None or self.default(*place) is None:
            raise ValueError(f"expected a cell of an input, parameter or target; got {cell!r}")
        return place

    def switch(self, cell: str) -> Place:
        """The place of an activation's cell by name; ValueError where there is none."""
        name, index = split_cell(cell)
        if index is None or not self.has_switch(name, index):
            raise ValueError(f"expected a cell of {', '.join(self.switches)}; got {cell!r}")
        return name, index

    def frozen_of(self, names: Iterable[str]) -> frozenset[Frozen]:
        """Frozen places from names of parameters and of their cells; ValueError for others."""
        found: set[Frozen] = set()
        for given in names:
            name, index = (given, None) if given in self.parameters else split_cell(given)
            if (index is None and name != given) or not self.has_parameter(name, index):
                raise ValueError(f"expected a parameter or a cell of one; got {given!r}")
            found.add((name, index))
        return self.whole(found)

    def whole(self, frozen: Iterable[Frozen]) -> frozenset[Frozen]:
        """The same places with a parameter named once where all of it is frozen."""
        found = set(frozen)
        for name in {name for name, _ in found}:
            cells = {place for place in found if place[0] == name and place[1] is not None}
            if (name, None) in found or len(cells) == math.prod(self.parameters[name].shape):
                found = (found - cells) | {(name, None)}
        return frozenset(found)

    def ordered(self, frozen: Iterable[Frozen]) -> list[Frozen]:
        """In the order of the parameters, then of their cells."""
        return sorted(frozen, key=lambda one: (self._order[one[0]], one[1] or ()))


def split_cell(cell: str) -> tuple[str, Index | None]:
    """The tensor and index of a cell's name; index () for a bare name, None where the brackets can't be read."""
    match = _CELL.fullmatch(cell)
    if match is None:
        return cell, None if "[" in cell else ()
    return match["name"], tuple(int(part) for part in match["index"].split(","))


_CELL = re.compile(r"(?P<name>[^\[\]]+)\[(?P<index>\d{1,6}(?:,\d{1,6}){0,7})\]", re.ASCII)


def indices(shape: tuple[int, ...]) -> Iterator[Index]:
    """Every index of a shape, last axis fastest; one empty index for a scalar."""
    return itertools.product(*map(range, shape))


def _inside(index: Index, shape: tuple[int, ...]) -> bool:
    return len(index) == len(shape) and all(0 <= at < size for at, size in zip(index, shape, strict=True))


def _at(record: TensorRecord, index: Index) -> float | None:
    if not _inside(index, record.shape):
        return None
    value = float(record.value[tuple(index)])
    return single(value) if math.isfinite(value) else 0.0
