"""The check of "Where facts live": a sum, what is written, a bias to find, what a gradient reaches, and superposition.

A seed chooses the names, biases and amounts. Every answer and every number of a worked answer is read off a run.
"""

from __future__ import annotations

import functools
import random

from app.exercise import Exercise
from app.lessons.attention_tables import apart, choices
from app.numbers import single, text
from app.shown import Shown, shown
from engine.experiments.where_facts_live import DIMENSIONS, crowded
from engine.models.where_facts_live import FEATURES, vector

SLUG = "where_facts_live"
BIASES = (-1.75, -1.25, -0.75, -0.5)
AMOUNTS = (0.5, 0.75, 1.25, 1.5, 2)
B = FEATURES.index("basketball")


@functools.lru_cache(maxsize=128)
def exercises(seed: int) -> tuple[Exercise, ...]:
    """The five questions in one variant."""
    chance = random.Random(seed)
    return (_sum(chance), _write(chance), _slope(chance), _bias(chance), _crowd())


def _run(amounts: dict[str, float], cells: dict[str, float | None] | None = None) -> Shown:
    x = {f"x[{at}]": amounts.get(name, 0.0) for at, name in enumerate(FEATURES)}
    return shown(SLUG, set={**x, **(cells or {})})


def _said(amounts: dict[str, float]) -> str:
    return " and ".join(f"{text(value)} of {name}" for name, value in amounts.items())


def _sum(chance: random.Random) -> Exercise:
    amounts = {"Michael": chance.choice(AMOUNTS), "Williams": 1.0}
    if chance.random() < 0.5:
        amounts = {"Michael": 1.0, "Jordan": chance.choice(AMOUNTS)}
    run = _run(amounts)
    answer, bias = run.value("match", (0,)), run.value("key.bias", (0,))
    slips = [(single(answer - bias), "The bias is missing."), (max(0.0, answer), "That is after the gate.")]
    return Exercise(
        n=1,
        kind="number",
        title="A sum",
        prompt=f"Row 1 has the key Michael + Jordan and the bias {text(bias)}. A vector holds {_said(amounts)}. What "
        "does the row sum to, before the gate?",
        answer=answer,
        explanation=f"Key times vector is {text(single(answer - bias))}; with the bias {text(answer)}.",
        link=run.link("match", cell="match[0]"),
        link_text="the sum, written out",
        hint="Multiply key and vector part by part, add, and add the bias.",
        slips=apart(slips, answer),
        values=(1, bias, *amounts.values(), single(answer - bias), answer),
    )


def _write(chance: random.Random) -> Exercise:
    bias, value = chance.choice(BIASES), chance.choice((2.0, 3.0, -1.0))
    cells: dict[str, float | None] = {"key.bias[0]": bias, f"value.weight[{B},0]": value}
    run = _run({"Michael": 1.0, "Jordan": 1.0}, cells)
    gate, answer = run.value("gate", (0,)), run.value("written", (B,))
    return Exercise(
        n=2,
        kind="number",
        title="What is written",
        prompt=f"Set the bias of row 1 to {text(bias)} and its value's basketball to {text(value)}. How much "
        "basketball does the MLP write for Michael Jordan?",
        answer=answer,
        explanation=f"Two names and the bias make {text(gate)}, the gate lets that through, and {text(gate)} times "
        f"{text(value)} is {text(answer)}.",
        link=run.link("written", cell=f"written[{B}]"),
        link_text="the run with this row",
        hint="First the sum, then the ReLU, then times the value.",
        slips=apart([(gate, "That is what the gate lets through; the value is still to be multiplied.")], answer),
        values=(1, bias, value, gate, answer),
    )


def _slope(chance: random.Random) -> Exercise:
    bias = chance.choice(BIASES)
    run = _run({"Michael": 1.0, "Jordan": 1.0}, {"key.bias[0]": bias})
    gate, error = run.value("gate", (0,)), run.value("error", (B,))
    answer = run.value("value.weight.grad", (B, 0))
    return Exercise(
        n=3,
        kind="number",
        title="What the loss asks",
        prompt=f"Row 1 has the bias {text(bias)} and lets {text(gate)} through for Michael Jordan; the target is 1 of "
        "basketball, and L is half the squared distance. What is the gradient of L for the value's basketball?",
        answer=answer,
        explanation=f"The output has {text(gate)} of basketball and misses by {text(error)}. Times what the gate let "
        f"through, {text(error)} · {text(gate)} = {text(answer)}.",
        link=run.link("value.weight.grad", cell=f"value.weight[{B},0]", of="gradient"),
        link_text="the gradient, written out",
        hint="The error (output minus target), times what the value is multiplied by.",
        slips=apart(
            [(-answer, "The sign is turned."), (error, "That is the error; times what the gate let through.")], answer
        ),
        values=(1, bias, gate, error, answer),
    )


def _bias(chance: random.Random) -> Exercise:
    least, most = chance.choice(((-1.9, -1.1), (-1.75, -1.25), (-1.6, -1.4)))
    right, loose, tight = (
        _run(dict.fromkeys(names, 1.0), {"key.bias[0]": bias})
        for names, bias in ((("Michael", "Jordan"), least), (("Michael",), -0.5), (("Michael", "Jordan"), -2.5))
    )
    found, key = choices(
        chance,
        [
            (f"Any from {text(least)} to {text(most)}.", "One name stays at or below zero, two come above it."),
            ("−0.5, so that it opens easily.", f"Then one name alone lets {text(loose.value('gate', (0,)))} through."),
            (
                "−2.5, to be safe.",
                f"Then both names together sum to {text(tight.value('match', (0,)))}: nothing opens.",
            ),
            ("0, as a key needs no bias.", "Then one name alone opens the gate with all it has."),
        ],
    )
    return Exercise(
        n=4,
        kind="choice",
        title="An and",
        prompt="A row should speak for Michael and Jordan together, and for neither alone. Which biases do?",
        answer=key,
        explanation=f"The key gives 1 for one name and 2 for both, so the bias must lie between −2 and −1. With "
        f"{text(least)}, both names let {text(right.value('gate', (0,)))} through.",
        link=right.link("gate", cell="gate[0]"),
        link_text="such a row",
        choices=found,
        values=(
            least, most, -0.5, -2.5, 0, 1, 2, -2, -1, right.value("gate", (0,)), loose.value("gate", (0,)),
            tight.value("match", (0,)),
        ),
    )  # fmt: skip


def _crowd() -> Exercise:
    row = crowded()[-1]
    gated, ungated = single(100 * row.right_gated), single(100 * row.right_ungated)
    run = shown(SLUG, set={f"x[{at}]": value for at, value in enumerate(vector("Michael", "Serena"))})
    return Exercise(
        n=5,
        kind="thought",
        title="More facts than dimensions",
        prompt=f"How can {text(float(row.facts))} facts be told apart in {text(float(DIMENSIONS))} dimensions, and "
        "what does it cost?",
        answer=None,
        explanation="Directions need not be at right angles, only far enough apart: then another fact's key reaches a "
        "row only a little, and a gate with a negative bias keeps that out. The cost is interference when keys come "
        f"close: with the gate {text(gated)} % of the facts are still read right, without it {text(ungated)} %.",
        link=run.link("match", cell="match[0]"),
        link_text="two half keys that open nothing",
        values=(row.facts, DIMENSIONS, gated, ungated),
    )
