"""The check of "A network you can account for": six questions, four of them numbers that the engine works out.

A seed chooses inputs, units and targets; the questions stay the same. Nothing is typed in: every answer, and every
number in a worked answer, is read off a run, and each question links to the page of that run.
"""

from __future__ import annotations

import functools
import random
from typing import Any

from app.exercise import Choice, Exercise
from app.numbers import single, text
from app.shown import Shown, numbers, shown, written
from engine.labels import cell_label
from engine.models import catalogue
from engine.paths import paths
from engine.trace import Trace

SLUG = "accountable_network"
UNITS = 3
STEPS = (-3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3)
FACTORS = (11, 21, 51, 101)
RATE, SMALL_RATE = 0.1, 0.01
Point = tuple[float, float]


@functools.lru_cache(maxsize=128)
def exercises(seed: int) -> tuple[Exercise, ...]:
    """The six questions in one variant."""
    chance = random.Random(seed)
    return (
        _predict(chance),
        _switch_off(chance),
        _elsewhere(chance),
        _gradient(chance),
        _overshoot(chance),
        _zero(),
    )


def _predict(chance: random.Random) -> Exercise:
    point = chance.choice([x for x, on in _points() if sum(on) == 2 and x != (2, -1)])
    run = _at(point)
    line = written(run.trace, "prediction", (0,))
    unbiased = _at(point, {"readout.bias[0]": 0})
    slips = [
        (_at(point, options={"activation": "none"}).prediction, "That is what comes out without the ReLU."),
        (unbiased.prediction, "The readout's own bias is missing."),
    ]
    return Exercise(
        n=1,
        kind="number",
        title="A prediction",
        prompt=f"All parameters as given. What is the prediction ŷ for x = {_pair(point)}?",
        answer=run.prediction,
        explanation=f"{_sums(run)} So ŷ = {_read(line['parts'])} = {text(run.prediction)}.",
        link=run.link("prediction", cell="prediction[0]"),
        link_text=f"ŷ at {_pair(point)}",
        hint="First the three sums z = W x + b, then zero for each that is not above zero, then v · h + c.",
        slips=_other(slips, run.prediction),
        values=(*point, *_activity(run), *numbers(line["parts"]), run.prediction),
    )


def _switch_off(chance: random.Random) -> Exercise:
    point, on = chance.choice([(x, on) for x, on in _points() if sum(on) == 2 and x != (2, -1)])
    unit = chance.choice([unit for unit in range(UNITS) if on[unit]])
    before = _at(point)
    after = _at(point, do={f"hidden.activation[{unit}]": "off"})
    name = cell_label(before.trace.record("hidden.activation"), (unit,))
    weight = before.value("readout.weight", (0, unit))
    sent = before.value("hidden.activation", (unit,))
    slips = [
        (before.prediction, "That is the prediction with the unit still on."),
        (2 * before.prediction - after.prediction, "Its share goes away: take it off, don't add it again."),
    ]
    direction = "rises" if after.prediction > before.prediction else "falls"
    return Exercise(
        n=2,
        kind="number",
        title="A unit switched off",
        prompt=f"For x = {_pair(point)} hidden unit {unit + 1} is switched off: {name} is set to 0. What is ŷ now?",
        answer=after.prediction,
        explanation=f"Before, ŷ = {text(before.prediction)}. The unit sent {text(sent)}, weighed by {text(weight)}: a "
        f"share of {text(single(weight * sent))}. Without it the prediction {direction} to {text(after.prediction)}.",
        link=after.link("hidden.activation", cell=f"hidden.activation[{unit}]"),
        link_text=f"the run with {name} set to 0",
        hint=f"Work out ŷ with the unit on; then take its share v{'₁₂₃'[unit]} · {name} away.",
        slips=_other(slips, after.prediction),
        values=(*point, before.prediction, sent, weight, single(weight * sent), after.prediction),
    )


def _elsewhere(chance: random.Random) -> Exercise:
    point, _ = chance.choice([(x, on) for x, on in _points() if on[2] and sum(on) == 2 and x != (0, 1)])
    factor = float(chance.choice(FACTORS))
    here = shown(SLUG, set={"readout.weight[0,2]": factor})
    before, after = _at(point), _at(point, {"readout.weight[0,2]": factor})
    sent, weight = before.value("hidden.activation", (2,)), before.value("readout.weight", (0, 2))
    slips = [(before.prediction, "That is the prediction without the edit, and here the edit matters.")]
    return Exercise(
        n=3,
        kind="number",
        title="No effect here",
        prompt=f"Set v₃ to {text(factor)}. For x = (2, −1) the prediction stays {text(here.prediction)}. "
        f"What is it for x = {_pair(point)}?",
        answer=after.prediction,
        explanation=f"Here unit 3 is not silent: it sends {text(sent)}, weighed now by {text(factor)} and not by "
        f"{text(weight)}. The prediction goes from {text(before.prediction)} to {text(after.prediction)}.",
        link=after.link("prediction", cell="prediction[0]"),
        link_text=f"the run at {_pair(point)}",
        hint="Is unit 3 silent at this input? Work out z₃ there first; v₃ weighs what the unit sends.",
        slips=_other(slips, after.prediction),
        values=(factor, here.prediction, *point, sent, weight, before.prediction, after.prediction),
    )


def _gradient(chance: random.Random) -> Exercise:
    column = chance.choice((0, 1))
    point = chance.choice([x for x, on in _points() if sum(on) == 2 and x != (2, -1)])
    prediction = _predictions()[point]
    target = chance.choice([t for t in (-2.0, -1.0, 1.0, 2.0, 3.0) if abs(prediction - t) not in (0, 1)])
    run = _at(point, {"target[0]": target})
    found = paths(run.trace, "x", (column,))
    answer, arriving = single(found.total), run.value("prediction.grad", (0,))
    ways = []
    for path in found.paths:
        factors = [_bracketed(single(hop.derivative), place) for place, hop in enumerate(path.hops)]
        ways.append(f"through {path.hops[0].label}: {' · '.join(factors)} = {text(single(path.value))}")
    slips = [
        (single(answer / arriving), "That is the slope of ŷ; the loss feels it ∂L/∂ŷ times."),
        (-answer, "The sign is turned: ∂L/∂ŷ is ŷ − t, not t − ŷ."),
    ]
    derivatives = [single(hop.derivative) for path in found.paths for hop in path.hops]
    return Exercise(
        n=4,
        kind="number",
        title="A sum over paths",
        prompt=f"For x = {_pair(point)} and target t = {text(target)}, what is {found.label}? "
        "Multiply along each path through the hidden units, then add the paths.",
        answer=answer,
        explanation=f"Path by path, {'; '.join(ways)}. The sum is {text(answer)}.",
        link=run.link("hidden.preactivation", cell=f"x[{column}]", of="gradient"),
        link_text=f"{found.label}, path by path",
        hint=f"Start with ∂L/∂ŷ = ŷ − t. A path through unit i multiplies it by v, by 1 if the unit is on, else 0, and "
        f"by its weight on x{'₁₂'[column]}.",
        slips=_other(slips, answer),
        values=(*point, target, *derivatives, *(single(path.value) for path in found.paths), answer),
    )


def _overshoot(chance: random.Random) -> Exercise:
    run, small = shown(SLUG, lr=RATE), shown(SLUG, lr=SMALL_RATE)
    before, after, gentle = run.loss, run.after, small.after
    target = run.value("target", (0,))
    replies = [
        (
            "The gradient points the wrong way.",
            f"With the same gradient and a rate of {text(SMALL_RATE)} the loss falls to {text(gentle['loss'])}: the "
            "direction is right.",
        ),
        (
            "Each gradient holds for a small move of one parameter; here all of them move far, together.",
            f"All the moves together carry the prediction from {text(run.prediction)} past the target {text(target)} "
            f"to {text(after['prediction'])}.",
        ),
        (
            "Unit 3 is silent, so its parameters spoil the step.",
            "Its gradients are 0: they do not move at all, and the prediction does not feel them.",
        ),
        (
            "The loss after the step is measured against another target.",
            f"The target is {text(target)} before and after; only the parameters have changed.",
        ),
    ]
    right = replies[1]
    chance.shuffle(replies)
    choices = tuple(Choice(key, *words) for key, words in zip("abcd", replies, strict=True))
    return Exercise(
        n=5,
        kind="choice",
        title="Downhill, and higher",
        prompt=f"One step with rate {text(RATE)} on all parameters takes the loss from {text(before)} to "
        f"{text(after['loss'])}, for x = (2, −1). Why does it rise?",
        answer=choices[replies.index(right)].key,
        explanation=f"A gradient is the slope where you stand. {right[1]} Rate {text(SMALL_RATE)} makes the step "
        f"short enough: the loss becomes {text(gentle['loss'])}.",
        link=run.link("readout.weight.updated", cell="readout.weight.updated[0,0]"),
        link_text="the update",
        choices=choices,
        values=(RATE, SMALL_RATE, before, after["loss"], after["prediction"], run.prediction, target, gentle["loss"]),
    )


def _zero() -> Exercise:
    here, there = shown(SLUG), _at((0, 1))
    cell = ("readout.weight.grad", (0, 2))
    sent_here, sent_there = (run.value("hidden.activation", (2,)) for run in (here, there))
    return Exercise(
        n=6,
        kind="thought",
        title="What a zero says",
        prompt=f"For x = (2, −1), ∂L/∂v₃ is {text(here.value(*cell))}. Does that mean v₃ does not matter? "
        "Say what the zero tells you, and what it does not.",
        answer=None,
        explanation=f"It speaks of this input: unit 3 sends {text(sent_here)} here, so moving v₃ changes nothing here. "
        f"It says nothing about other inputs: for x = (0, 1), with the same target, unit 3 sends {text(sent_there)} "
        f"and ∂L/∂v₃ is {text(there.value(*cell))}. No effect here is not no effect.",
        link=there.link("prediction", cell="readout.weight[0,2]", of="gradient"),
        link_text="∂L/∂v₃ at (0, 1)",
        values=(here.value(*cell), sent_here, sent_there, there.value(*cell)),
    )


def _at(point: Point, cells: dict[str, Any] | None = None, **changes: Any) -> Shown:
    """The lesson's run at another input, with further cells and changes."""
    return shown(SLUG, set={"x[0]": point[0], "x[1]": point[1], **(cells or {})}, **changes)


@functools.cache
def _grid() -> Trace:
    """One run of inputs with clean numbers, a row each."""
    rows = [[float(a), float(b)] for a in STEPS for b in STEPS]
    return catalogue()["tiny_network"].trace({"inputs": {"x": rows}, "backward": False})


@functools.cache
def _points() -> list[tuple[Point, tuple[bool, ...]]]:
    """The inputs that lie on no boundary, and which units each switches on."""
    rows, sums = _grid()["x"].tolist(), _grid()["hidden.preactivation"].tolist()
    return [((a, b), tuple(z > 0 for z in units)) for (a, b), units in zip(rows, sums, strict=True) if all(units)]


@functools.cache
def _predictions() -> dict[Point, float]:
    rows, found = _grid()["x"].tolist(), _grid()["prediction"].tolist()
    return {(a, b): single(prediction) for (a, b), (prediction,) in zip(rows, found, strict=True)}


def _sums(run: Shown) -> str:
    """What each unit's sum is, and what it sends."""
    said = []
    for unit in range(UNITS):
        z, h = run.value("hidden.preactivation", (unit,)), run.value("hidden.activation", (unit,))
        said.append(f"z{'₁₂₃'[unit]} = {text(z)}, so h{'₁₂₃'[unit]} = {text(h)}.")
    return " ".join(said)


def _activity(run: Shown) -> list[float]:
    return [run.value(name, (unit,)) for name in ("hidden.preactivation", "hidden.activation") for unit in range(UNITS)]


def _pair(point: Point) -> str:
    return f"({text(float(point[0]))}, {text(float(point[1]))})"


def _bracketed(value: float, place: int) -> str:
    return f"({text(value)})" if value < 0 and place else text(value)


def _read(parts: list[dict[str, Any]]) -> str:
    return "".join(part["text"] if "text" in part else text(part["number"]) for part in parts)


def _other(slips: list[tuple[float, str]], answer: float) -> tuple[tuple[float, str], ...]:
    """The slips that can be told from the answer and from one another."""
    values = [answer, *(value for value, _ in slips)]
    return tuple((value, words) for value, words in slips if sum(abs(value - other) < 0.01 for other in values) == 1)
