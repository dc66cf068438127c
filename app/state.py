"""The address is the state: what a page's query says, its run as a request, and its one canonical link.

Reading a query is query.py's. Nothing else in the app writes the query of a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from app import run_request, whole
from app.address import encoded, written
from app.fields import FieldError
from app.numbers import exact, single
from app.scene import catalogue
from app.space import Frozen, Place, Space, cell_name
from engine.trace import Index

KINDS = ("off", "set", "scale", "add")
VIEWS = (*catalogue(), "matrices")
Switch = tuple[str, float]


@dataclass(frozen=True)
class State:
    """Everything that a page's address says, without what is default. Made by `state_of` and by read, never by hand.

    cells:    values that differ from the default, inputs and targets indexed [row, ...].
    switches: (activation, (unit,)) -> (kind, number); "off" is "set to 0".
    options:  option -> choice, where it is not the default.
    settings: what is chosen beside the run, where it is not the default; run: the id of the training run shown.
    frozen:   what the update leaves alone (all of it, not the difference); index None is the whole parameter.
    answers:  exercise number -> what was answered.
    raw:      what was sent for each field, for the form; errors: what could not be read.
    """

    space: Space = field(compare=False, repr=False)
    frozen: frozenset[Frozen] = frozenset()
    cells: Mapping[Place, float] = field(default_factory=dict)
    rows: int = 1
    switches: Mapping[Place, Switch] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, float | str] = field(default_factory=dict)
    learning_rate: float | None = None
    step: int = 0
    cell: str = ""
    of: str = "value"
    view: str = "network"
    prove: bool = False
    predict: bool = False
    guess: str = ""
    example: int = 0
    flip: bool = False
    seed: int = 0
    run: str = ""
    answers: Mapping[int, str] = field(default_factory=dict)
    errors: tuple[FieldError, ...] = field(default=(), compare=False)
    raw: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def rate(self) -> float:
        return self.space.learning_rate if self.learning_rate is None else self.learning_rate

    @property
    def chosen(self) -> dict[str, float | str]:
        """The value of every setting."""
        return {name: self.settings.get(name, one.default) for name, one in self.space.settings.items()}

    @property
    def start(self) -> State:
        """The default run, with what stands beside it as it is."""
        return replace(state_of(self.space), settings=self.settings, run=self.run)

    @property
    def baseline(self) -> State:
        """The default run with as many rows."""
        return replace(state_of(self.space), rows=self.rows)

    def value(self, name: str, index: Index) -> float:
        """What a cell is set to, else its default; KeyError where there is no such cell."""
        if (name, index) in self.cells:
            return self.cells[name, index]
        default = self.space.default(name, index)
        if default is None:
            raise KeyError(cell_name(name, index))
        return default

    @cached_property
    def request(self) -> dict[str, Any]:
        """The run in the API's form."""
        return run_request.of(self)

    # Links

    @property
    def address(self) -> str:
        """The canonical address: only what differs from the default, in a fixed order."""
        return self._address(self._look)

    def link(self, **changes: Any) -> str:
        """The canonical address of this state with changes; None takes a change back.

        Names are the fields', with `lr`, `set` ({cell or whole row: number, word or None}), `do` ({cell name: kind,
        (kind, number) or None}) and, as `options`, `settings` ({name: value or None}). Raises ValueError for an unknown
        name, cell or word.
        """
        if self.guess and "step" in changes:
            changes.setdefault("guess", None)  # another step asks another question
        if "cell" in changes:
            changes.setdefault("prove", None)  # a proof is of the cell it was asked for
        if changes.keys() <= _LOOK.keys():  # the run stays: most links of a page
            look = self._look | {
                name: _LOOK[name] if value is None else written(value) for name, value in changes.items()
            }
            return self._address({name: value for name, value in look.items() if value != _LOOK[name]})
        return self.changed(**changes).address

    def carry(self, address: str) -> str:
        """Another run's canonical address with what stands beside this one: settings, training and exercises."""
        kept = [*(pair for pair in self._look.items() if pair[0] in ("seed", "run")), *self._chosen, *self._answers]
        return f"{address}{'&' if '?' in address else '?'}{encoded(kept)}" if kept else address

    def show(self, **changes: Any) -> str:
        """The address of the default run with changes."""
        return self.start.link(**changes)

    def changed(self, **changes: Any) -> State:
        """This state with the changes that `link` takes."""
        options = {**self.options, **changes.pop("options", {})}
        space = self.space.with_options(options)
        start = self if space is self.space else self._within(space)
        fields: dict[str, Any] = {"options": options}
        for name, value in changes.items():
            if name == "set":
                back, given = _back_and_given(value)
                fields["cells"] = _without(start.cells, whole.cells_of(self.space, back)) | whole.cells_of(space, given)
            elif name == "do":
                back, given = _back_and_given(value)
                fields["switches"] = _without(start.switches, map(self.space.switch, back))
                fields["switches"] |= {space.switch(cell): switch for cell, switch in given.items()}
            elif name == "lr":
                fields["learning_rate"] = value
            elif name == "frozen":
                fields["frozen"] = space.frozen if value is None else space.frozen_of(value)
            elif name == "settings":
                fields["settings"] = {**self.settings, **value}
            elif name in _LOOK or name in ("rows", "answers"):
                fields[name] = _DEFAULTS[name] if value is None else value
            else:
                raise ValueError(f"expected a field of the state; got {name!r}")
        return normal(replace(start, errors=(), raw={}, **fields))

    def _within(self, space: Space) -> State:
        """This state in the space of other options, without what is not there."""
        return replace(
            self,
            space=space,
            cells={place: value for place, value in self.cells.items() if space.default(*place) is not None},
            switches={place: switch for place, switch in self.switches.items() if space.has_switch(*place)},
            frozen=frozenset(one for one in self.frozen if space.has_parameter(*one)),
        )

    def hidden(self, *without: str) -> list[tuple[str, str]]:
        """(name, value) pairs of the canonical query for hidden inputs, without those fields.

        "traced" leaves out all that makes the trace; "answers" all answers; else a name of the query ("guess", "rows").
        """
        traced = [] if "traced" in without else self.traced
        answers = [] if "answers" in without else self._answers
        return [pair for pair in (*traced, *self._look.items(), *self._chosen, *answers) if pair[0] not in without]

    @property
    def numbers(self) -> list[tuple[str, str]]:
        """The numbers in `traced`: a form sends them before its fields, and one that can't be read keeps its own."""
        return [
            pair for pair in self.traced if pair[0] not in ("rows", "frozen", *self.options) and pair[0][:3] != "do:"
        ]

    @cached_property
    def _look(self) -> dict[str, str]:
        values = {name: written(getattr(self, name)) for name in _LOOK}
        return {name: value for name, value in values.items() if value != _LOOK[name]}

    @property
    def _answers(self) -> list[tuple[str, str]]:
        return [(f"a{n}", answer) for n, answer in sorted(self.answers.items())]

    @property
    def _chosen(self) -> list[tuple[str, str]]:
        return [(name, self.space.settings[name].said(value)) for name, value in self.settings.items()]

    @cached_property
    def traced(self) -> list[tuple[str, str]]:
        """The part of the query that makes the trace."""
        rows = whole.changed(self.space, self.cells)
        pairs = [(name, whole.said(self.space, self.cells, row)) for name, row in rows.items()]
        for name, index in whole.others(self.cells, rows):
            said = self.space.said(name, self.cells[name, index])
            pairs.append((self.space.field(name, index, self.rows), said if isinstance(said, str) else exact(said)))
        if self.rows > 1:
            pairs.append(("rows", str(self.rows)))
        for place, (kind, number) in self.switches.items():
            pairs.append((f"do:{cell_name(*place)}", kind))
            if kind != "off":
                pairs.append((f"by:{cell_name(*place)}", exact(number)))
        pairs.extend(sorted(self.options.items()))
        if self.learning_rate is not None:
            pairs.append(("lr", exact(self.learning_rate)))
        if self.frozen != self.space.frozen:
            names = [
                name if index is None else cell_name(name, index) for name, index in self.space.ordered(self.frozen)
            ]
            pairs.extend(("frozen", name) for name in names or [""])
        return pairs

    @cached_property
    def _ends(self) -> tuple[str, str]:
        return encoded(self.traced), encoded([*self._chosen, *self._answers])

    def _address(self, look: Mapping[str, str]) -> str:
        traced, beside = self._ends
        query = "&".join(
            part for part in (traced, encoded((name, look[name]) for name in _LOOK if name in look), beside) if part
        )
        return f"{self.space.path}?{query}" if query else self.space.path


_LOOKED = ("step", "cell", "of", "view", "prove", "predict", "guess", "example", "flip", "seed", "run")
_DEFAULTS: dict[str, Any] = {one.name: one.default for one in fields(State) if one.name in (*_LOOKED, "rows")}
_DEFAULTS["answers"] = {}


def _back_and_given(value: Mapping[str, Any]) -> tuple[dict[str, None], dict[str, Any]]:
    """What is taken back, which the present run has, and what is given, which the changed one has."""
    given = {name: one for name, one in value.items() if one is not None}
    return dict.fromkeys(value.keys() - given.keys()), given


def _without(found: Mapping[Place, Any], places: Iterable[Place]) -> dict[Place, Any]:
    gone = set(places)
    return {place: value for place, value in found.items() if place not in gone}


def state_of(space: Space) -> State:
    """The default state."""
    space = space.with_options({})
    return State(space, space.frozen)


def normal(state: State) -> State:
    """The state without what is default, so that one meaning has one form. Raises ValueError for what does not fit."""
    space = state.space
    cells, switches = {}, {}
    for place in space.in_order(state.cells):
        number = state.cells[place]
        if place[0] in space.inputs and place[1][0] >= state.rows:
            continue
        if number is not None and single(number) != space.default(*place):
            cells[place] = single(number)
    for place in space.in_order(state.switches):
        if (switch := state.switches[place]) is not None:
            kind, number = (switch, 0.0) if isinstance(switch, str) else switch
            if kind not in KINDS:
                raise ValueError(f"expected one of {', '.join(KINDS)}; got {kind!r}")
            number = 0.0 if kind == "off" else single(number)
            switches[place] = ("off", 0.0) if (kind, number) == ("set", 0) else (kind, number)
    options = {name: choice for name, choice in state.options.items() if choice not in (None, space.choice(name))}
    rate = None if state.learning_rate == space.learning_rate else state.learning_rate
    example = state.example if state.example < state.rows else 0
    return replace(
        state, cells=cells, switches=switches, options=options, learning_rate=rate, example=example,
        frozen=space.whole(state.frozen), settings=space.chosen(state.settings),
        answers={n: text for n, text in state.answers.items() if text},
    )  # fmt: skip


_LOOK = {name: written(_DEFAULTS[name]) for name in _LOOKED}
