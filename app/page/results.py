"""What came out: the cards, the warning where a step raises the loss, predict first, and the run in a sentence."""

from __future__ import annotations

import math
from typing import Any

from app.inline import cell_name
from app.numbers import single, text
from app.page.run import Data, Run
from app.query import LARGEST
from app.scene import layers
from app.space import indices
from engine.trace import Step

SHOWN_CELLS = 16
MOST_MOVED = 64
_RELATIVE = 1e-3


def results(run: Run) -> Data:
    """{cards: [{key, label, cells, more}], warning: null or {before, after, rate, update}, next}.

    warning: the update raises the loss; update: the link to its first step, null where the current step is an update.
    next: the link to the run that starts from the updated parameters, null where there is none.
    """
    cards = _cards(run)
    loss = next((card["cells"][0]["value"] for card in cards if card["key"] == "loss"), None)
    after = next((card["cells"][0]["value"] for card in cards if card["key"] == "after_update"), None)
    warning = None
    if loss is not None and after is not None and after > loss:
        warning = {"before": loss, "after": after, "rate": run.state.rate, "update": _update(run)}
    return {"cards": cards, "warning": warning, "next": None if run.asking else _next(run)}


def _cards(run: Run) -> list[Data]:
    last = {step.phase: step for step in run.trace.steps}
    cards = []
    if "forward" in last:
        cards.append(_card(run, "prediction", "prediction", last["forward"]))
    if "loss" in last:
        cards.append(_card(run, "loss", "loss", last["loss"]))
    after = run.trace.result.get("after_update")
    if after and "loss" in last and after.get("loss") is not None:
        cell: Data = {"label": "loss after the update", "cell": None, "hidden": run.asking}
        cell["value"] = None if run.asking else single(after["loss"])
        before = _before_after_update(run)
        if before is not None and not run.asking and before != cell["value"]:
            cell["before"] = before
        cards.append({"key": "after_update", "label": "loss after the update", "cells": [cell], "more": 0})
    return cards


def _update(run: Run) -> str | None:
    steps = [step.index for step in run.trace.steps if step.phase == "update"]
    return None if not steps or run.state.step in steps else run.state.link(step=steps[0], cell=None, prove=None)


def _next(run: Run) -> str | None:
    """Where the update leads: its parameters as edits. None where nothing moves, a number is too large to be set, or
    there are too many for an address."""
    if sum(math.prod(record.shape) for record in run.state.space.parameters.values()) > MOST_MOVED:
        return None
    moved: dict[str, float | None] = {}
    for name, record in run.state.space.parameters.items():
        if (updated := f"{name}.updated") not in run.trace.tensors:
            return None
        moved |= {cell_name(name, index): run.value(updated, index) for index in indices(record.shape)}
    if not all(value is not None and abs(value) <= LARGEST for value in moved.values()):
        return None
    link = run.state.link(set=moved, guess=None)
    return None if link == run.state.link(guess=None) else link


def prediction(run: Run) -> Data | None:
    """Predict first: {cell, label, asking, given, status: right|wrong|unread, message, value}; None outside it.

    While it is asked there is no value, and a status only where what was given can't be read.

    The question is the first result that lies ahead of the current step: the prediction, the loss, else what the next
    step sends first. At the end there is none.
    """
    step = _ahead(run) if run.state.predict else None
    if step is None:
        return None
    output = step.sends[0].to if step.sends else step.output
    index = (0,) * len(run.trace.tensors[output].shape)
    cell = cell_name(output, index)
    data: Data = {"cell": cell, "label": run.label(cell), "asking": run.asking, "given": run.state.guess}
    guess, problem = run.guess
    if guess is None:
        return data | ({"status": "unread", "message": problem, "value": None} if problem else {})
    value = run.value(output, index)
    right = value is not None and math.isfinite(value) and abs(guess - value) <= _RELATIVE * max(1.0, abs(value))
    return data | {"status": "right" if right else "wrong", "message": "", "value": value, "guess": guess}


def _ahead(run: Run) -> Step | None:
    later = run.trace.steps[run.state.step + 1 :]
    last = {step.phase: step for step in run.trace.steps}
    results = [last[phase] for phase in ("forward", "loss") if phase in last and last[phase] in later]
    return next(iter([*results, *later]), None)


def summary(run: Run) -> str:
    """The run in a sentence, for who does not see the picture."""
    outputs = {step.phase: step.output for step in run.trace.steps if step.phase in ("forward", "loss")}
    said = []
    if "forward" in outputs:
        said.append(f"the prediction is {_numbers(run, outputs['forward'])}")
    if "loss" in outputs:
        said.append(f"the loss {_numbers(run, outputs['loss'])}")
    given = _shape(run)
    return f"{given[0].upper()}{given[1:]}; {', '.join(said) or 'nothing was computed'}."


def announcement(run: Run) -> str:
    """What is said aloud after a change."""
    if run.asking:
        return f"{run.guess[1]} Results are hidden until you have answered.".lstrip()
    said = []
    for card in _cards(run):
        first = card["cells"][0]
        was = f", was {text(first['before'])}" if "before" in first else ""
        said.append(f"{card['label']} {text(first['value'])}{was}")
    return ". ".join(one[0].upper() + one[1:] for one in said) + "." if said else ""


def _card(run: Run, key: str, label: str, step: Step) -> Data:
    cells = run.cells(step.output, SHOWN_CELLS)
    count = run.trace.tensors[step.output].value.numel()
    symbol = run.trace.tensors[step.output].symbol
    return {"key": key, "label": f"{label} {symbol}", "cells": cells, "more": count - len(cells)}


def _before_after_update(run: Run) -> float | None:
    baseline = run.recorded.baseline
    after: Any = baseline.result.get("after_update") if baseline is not None else None
    return single(after["loss"]) if after and after.get("loss") is not None else None


def _shape(run: Run) -> str:
    """A dense network by its units, any other run by its inputs."""
    names = [name for name, record in run.trace.tensors.items() if record.kind == "input" and name != "target"]
    if not layers.fits(run.trace):
        return " and ".join(_size(run, name) for name in names) or "no inputs"
    columns = layers.read(run.trace).columns
    made = [column.units for column in columns if column.weight is not None]
    said = [_count(columns[0].units, "input"), *(_count(units, "hidden unit") for units in made[:-1])]
    said += [_count(units, "output") for units in made[-1:]]
    shape = run.trace.tensors[columns[0].tensor].shape
    return ", ".join(said) + (f", {_count(shape[0], 'example')}" if len(shape) == 2 else "")


def _count(number: int, noun: str) -> str:
    word = _WORDS[number] if number < len(_WORDS) else str(number)
    return f"{word} {noun}{'' if number == 1 else 's'}"


_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def _size(run: Run, name: str) -> str:
    shape = run.trace.tensors[name].shape
    if not shape:
        return f"one number {name}"
    count = _count(shape[-1], "input")
    return f"{_count(shape[0], 'example')} of {count}" if len(shape) == 2 else count


def _numbers(run: Run, tensor: str) -> str:
    if run.hidden(tensor):
        return "hidden"
    cells = run.cells(tensor, 4)
    more = run.trace.tensors[tensor].value.numel() - len(cells)
    return ", ".join(text(cell["value"]) for cell in cells) + (f" and {more} more" if more else "")
