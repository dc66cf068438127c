"""The check of the lesson on your own data: a number made ready, what is counted, what curves say."""

from __future__ import annotations

import functools
import math
import random

import numpy as np

from app.exercise import Exercise
from app.lessons.attention_tables import apart, choices
from app.numbers import single, text
from app.shown import shown
from engine.data.prepared import features_of
from engine.data.table import Column
from engine.models.own_data import layers

SLUG = "own_data"


@functools.lru_cache(maxsize=128)
def exercises(seed: int) -> tuple[Exercise, ...]:
    """The five questions in one variant."""
    chance = random.Random(seed)
    return _ready(chance), _parameters(chance), _steps(chance), _curves(chance), _thought()


def _ready(chance: random.Random) -> Exercise:
    middle, off = chance.choice((4.0, 10.0, 20.0)), chance.choice((2.0, 4.0))
    kept = middle + off * chance.choice((1.5, 2.0, -1.5, -3.0))
    seen = np.array([middle - off, middle + off])
    (made,) = features_of(Column("price", "numbers", np.array([*seen, kept])), np.array([0, 1]))
    (all_rows,) = features_of(Column("price", "numbers", np.array([*seen, kept])), np.array([0, 1, 2]))
    answer = single((kept - made.mean) / made.deviation)
    return Exercise(
        n=1,
        kind="number",
        title="A price made ready",
        prompt=f"Two rows are trained on, with the prices {text(seen[0])} and {text(seen[1])}. A third, {text(kept)}, "
        "is kept for validation. What number does the network get for it?",
        answer=answer,
        explanation=f"The mean of the two is {text(made.mean)}, each is {text(made.deviation)} away from it, so "
        f"that is the deviation. ({text(kept)} − {text(made.mean)}) / {text(made.deviation)} = {text(answer)}.",
        link=_page(column=0),
        link_text="the means and deviations of the table on this page",
        hint="Mean and deviation are of the two training rows alone. How many deviations is the third from the mean?",
        slips=apart(
            (
                (single((kept - all_rows.mean) / all_rows.deviation), "The third row must not help to prepare itself."),
                (single(kept - made.mean), "That is the distance from the mean. It is still to be divided."),
            ),
            answer,
        ),
        values=(*seen.tolist(), kept, made.mean, made.deviation, answer),
    )


def _parameters(chance: random.Random) -> Exercise:
    numbers, words, classes = chance.choice((2, 3, 4)), chance.choice((3, 4)), chance.choice((2, 3))
    hidden = chance.choice((4, 8))
    inputs = numbers + words
    answer = sum(fan_out * (fan_in + 1) for _, fan_in, fan_out in layers((inputs, hidden, classes)))
    return Exercise(
        n=2,
        kind="number",
        title="How many parameters?",
        prompt=f"A table has {text(numbers)} columns of numbers, one column with {text(words)} different words, and a "
        f"target of {text(classes)} classes. How many parameters has a network with {text(hidden)} hidden units?",
        answer=float(answer),
        explanation=f"The words make {text(words)} inputs, so there are {text(inputs)}. {text(hidden)} units with "
        f"{text(inputs)} weights and a bias each are {text(hidden * (inputs + 1))}; {text(classes)} outputs with "
        f"{text(hidden)} weights and a bias each are {text(classes * (hidden + 1))}. Together {text(answer)}.",
        link=_page(layers=str(hidden)),
        link_text=f"a network with {text(hidden)} hidden units on this page",
        hint="One input a word. Each unit and each output has a weight for everything below it, and a bias.",
        slips=apart(
            (
                (
                    sum(out * (fan_in + 1) for _, fan_in, out in layers((numbers + 1, hidden, classes))),
                    "The column of words is one input for each word, not one.",
                ),
                (
                    inputs * hidden + hidden * classes,
                    "Those are the weights. Each unit and each output has a bias too.",
                ),
            ),
            float(answer),
        ),
        values=(numbers, words, classes, hidden, inputs, hidden * (inputs + 1), classes * (hidden + 1), answer),
    )


def _steps(chance: random.Random) -> Exercise:
    rows, batch = chance.choice((200, 400, 1000)), chance.choice((16, 32, 64))
    training = rows - round(0.25 * rows)
    answer = math.ceil(training / batch)
    last = training - (answer - 1) * batch
    return Exercise(
        n=3,
        kind="number",
        title="Steps in a pass",
        prompt=f"A table has {text(rows)} rows; a quarter is kept for validation. Each step takes {text(batch)} rows. "
        "How many steps is one pass?",
        answer=float(answer),
        explanation=f"{text(training)} rows are trained on, {text(batch)} at a time: {text(answer)} steps, the last "
        f"with {text(last)} rows.",
        link=_page(batch=batch),
        link_text="training here with so many rows a step",
        hint="Only the training rows are taken, and the last step takes what is left.",
        slips=apart(
            ((math.ceil(rows / batch), "Validation rows are never trained on."),), float(answer)
        ),
        values=(rows, batch, training, answer, last),
    )  # fmt: skip


def _curves(chance: random.Random) -> Exercise:
    found, key = choices(
        chance,
        (
            ("It remembers the rows that it is trained on, and says less and less about others.", "Yes."),
            (
                "The learning rate is too large: each step leaps over the valley.",
                "Then the training loss would rise too.",
            ),
            ("It needs more passes: validation only lags behind.", "It came down and went up again. It does not lag."),
        ),
    )
    return Exercise(
        n=4,
        kind="choice",
        title="Two curves part",
        prompt="The training loss falls and falls. The validation loss falls at first, then rises. What is going on?",
        answer=key,
        explanation="The network fits its own rows closer, the accidents among them too. Rows that it never sees do "
        "not share those accidents. Stop earlier, give it more rows, or a smaller network.",
        link=_page(share=0.9, layers="32-32"),
        link_text="set it up here: few rows, many units",
        choices=found,
    )


def _thought() -> Exercise:
    return Exercise(
        n=5,
        kind="thought",
        title="Better than guessing?",
        prompt="A network foretells a class and is right for 95 % of the validation rows. Why may that be worth "
        "nothing? What would you compare it with?",
        answer=None,
        explanation="If 95 % of the rows are of one class, saying that class every time is right as often. Compare "
        "with the share of the largest class; of a number, with the error of always saying the mean. The panel gives "
        "that figure beside the network's own.",
        link=_page(column=0),
        link_text="the panel on this page",
        values=(95.0,),
    )


def _page(**settings: float | str) -> str:
    """The lesson's page with these settings."""
    return shown(SLUG).state.link(settings=settings)
