"""What a page's address may set: the cells, switches, options and update of a model's run, with their defaults.

Read off the default run itself, so nothing is listed twice. Reading an address is state.py's.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.inline import cell_name as cell_name
from app.numbers import single
from engine.labels import cell_label
from engine.models.model import Option
from engine.trace import Index, TensorRecord, Trace

MAX_ROWS = 16
Place = tuple[str, Index]
Frozen = tuple[str, Index | None]


@dataclass(frozen=True)
class Space:
    """Names, shapes and defaults.

    path:       the page's address without its query.
    request:    the default request, complete, in the API's form, for one example.
    inputs:     the default numbers of one example, by input name; targets: the default target, () where there is none.
    examples:   default rows after the first, each {input name: numbers, "target": number}.
    parameters: the records of the default run's parameters; switches: of the activations that can be replaced.
    options:    by name, each with its title, values and their names.
    frozen:     what the default update leaves alone.
    """

    path: str
    request: Mapping[str, Any]
    inputs: Mapping[str, tuple[float, ...]]
    targets: tuple[float, ...]
    examples: tuple[Mapping[str, Any], ...]
    parameters: Mapping[str, TensorRecord]
    switches: Mapping[str, TensorRecord]
    options: Mapping[str, Option]
    learning_rate: float
    frozen: frozenset[Frozen]

    def default(self, name: str, index: Index) -> float | None:
        """The default of one cell; inputs and targets are indexed [row, ...]. None where there is no such cell."""
        if name in self.parameters:
            return _at(self.parameters[name], index)
        if name == "target" and self.targets:
            return self._row(index, "target", self.targets) if len(index) == 1 else None
        if name in self.inputs and len(index) == 2 and index[1] < len(self.inputs[name]):
            return self._row(index, name, self.inputs[name])
        return None

    def cells(self, rows: int) -> Iterator[Place]:
        """Every cell that can be set, in the order of links: inputs by row, parameters, targets."""
        for name, numbers in self.inputs.items():
            yield from ((name, (row, column)) for row in range(rows) for column in range(len(numbers)))
        for name, record in self.parameters.items():
            yield from ((name, index) for index in indices(record.shape))
        if self.targets:
            yield from (("target", (row,)) for row in range(rows))

    def switch_places(self) -> Iterator[Place]:
        """Every activation cell that can be replaced, by its last axis."""
        for name, record in self.switches.items():
            yield from ((name, (unit,)) for unit in range(record.shape[-1]))

    def choice(self, option: str) -> str:
        """The default choice of an option."""
        return self.request.get("options", {}).get(option, self.options[option].default)

    def label(self, name: str, index: Index, rows: int = 1) -> str:
        """How a cell is written; rows: how many examples the run has."""
        if name in self.parameters:
            return cell_label(self.parameters[name], index)
        if name in self.switches:
            record = self.switches[name]
            return cell_label(record, (*(0,) * (len(record.shape) - 1), *index))
        symbol = "t" if name == "target" else name
        rest = "".join(_SUBSCRIPTS[int(digit)] for part in index[1:] for digit in str(part + 1))
        return f"{symbol}{rest}" + (f" of example {index[0] + 1}" if rows > 1 else "")

    def shape(self, name: str, rows: int) -> tuple[int, ...] | None:
        """The shape under which an address names the cells of a tensor."""
        leading = (rows,) if rows > 1 else ()
        if name in self.parameters:
            return self.parameters[name].shape
        if name == "target" and self.targets:
            return leading or (1,)
        if name in self.inputs:
            return (*leading, len(self.inputs[name]))
        return None

    def rowed(self, name: str, index: Index) -> Place | None:
        """The place an address names: `x[1]` is the first example's; None where the number of subscripts is wrong."""
        if name in self.inputs:
            return (name, (0, *index) if len(index) == 1 else index) if len(index) in (1, 2) else None
        if name == "target" and len(index) == 2 and index[1] == 0:  # the cell of the recorded tensor
            return name, index[:1]
        return (name, index) if name in self.parameters or len(index) == 1 else None

    def place(self, cell: str) -> Place:
        """The place of a cell's name; ValueError where there is none."""
        name, index = split_cell(cell)
        place = self.rowed(name, index) if index is not None else None
        if place is None or self.default(*place) is None:
            raise ValueError(f"expected a cell of an input, parameter or target; got {cell!r}")
        return place

    def switch(self, cell: str) -> Place:
        """The place of an activation's unit by name; ValueError where there is none."""
        name, index = split_cell(cell)
        if (name, index) not in set(self.switch_places()):
            raise ValueError(f"expected a unit of {', '.join(self.switches)}; got {cell!r}")
        return name, index or ()

    def frozen_of(self, names: Iterable[str]) -> frozenset[Frozen]:
        """Frozen places from names of parameters and of their cells; ValueError for others."""
        found: set[Frozen] = set()
        for given in names:
            name, index = (given, None) if given in self.parameters else split_cell(given)
            if (
                name not in self.parameters
                or (index is None and name != given)
                or (index is not None and self.default(name, index) is None)
            ):
                raise ValueError(f"expected a parameter or a cell of one; got {given!r}")
            found.add((name, index))
        return self.whole(found)

    def whole(self, frozen: Iterable[Frozen]) -> frozenset[Frozen]:
        """The same places with a parameter named once where all of it is frozen."""
        found = set(frozen)
        for name, record in self.parameters.items():
            cells: set[Frozen] = {(name, index) for index in indices(record.shape)}
            if (name, None) in found or cells <= found:
                found = (found - cells) | {(name, None)}
        return frozenset(found)

    def ordered(self, frozen: Iterable[Frozen]) -> list[Frozen]:
        """In the order of the parameters, then of their cells."""
        order = list(self.parameters)
        return sorted(frozen, key=lambda one: (order.index(one[0]), one[1] or ()))

    def _row(self, index: Index, name: str, first: tuple[float, ...]) -> float | None:
        row = index[0]
        if row >= MAX_ROWS:
            return None
        numbers: Any = first
        if 0 < row <= len(self.examples):
            numbers = self.examples[row - 1].get(name, first)
        return float(numbers[index[1]] if name != "target" else numbers[0] if isinstance(numbers, tuple) else numbers)


_SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉"


def space_of(
    path: str,
    request: Mapping[str, Any],
    trace: Trace,
    options: Sequence[Option] = (),
    examples: Sequence[Mapping[str, Any]] = (),
) -> Space:
    """The space of a default request (complete, one example) and its run."""
    update = request.get("update") or {}
    made = {output for step in trace.steps for output in step.outputs}
    target = request.get("target")
    return Space(
        path=path,
        request=request,
        inputs={name: tuple(map(float, numbers)) for name, numbers in request["inputs"].items()},
        targets=() if target is None else (float(target[0] if isinstance(target, list | tuple) else target),),
        examples=tuple(examples),
        parameters={
            name: record for name, record in trace.tensors.items() if record.kind == "parameter" and name not in made
        },
        switches=_switches(trace),
        options={option.name: option for option in options},
        learning_rate=float(update.get("learning_rate", 0.1)),
        frozen=frozenset((one["parameter"], _index(one.get("index"))) for one in update.get("frozen", ())),
    )


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


def _switches(trace: Trace) -> dict[str, TensorRecord]:
    found = {}
    for step in trace.steps:
        record = trace.tensors[step.output] if step.phase == "forward" else None
        if record is not None and record.kind == "activation" and record.shape and ":" not in record.name:
            found[record.name] = record
    return found


def _at(record: TensorRecord, index: Index) -> float | None:
    shape = record.shape
    if len(index) != len(shape) or any(not 0 <= at < size for at, size in zip(index, shape, strict=True)):
        return None
    value = float(record.value[tuple(index)])
    return single(value) if math.isfinite(value) else 0.0


def _index(index: Any) -> Index | None:
    return None if index is None else tuple(index)
