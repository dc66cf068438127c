"""The check of "A detector by hand": a sum of weights, a threshold, what the surround is for, and which way it learns.

A seed chooses the image, the bias and the strokes. Every answer is read off a run.
"""

from __future__ import annotations

import functools
import random

from app import whole
from app.exercise import Exercise
from app.lessons.attention_tables import apart, choices
from app.numbers import single, text
from app.shown import Shown, shown
from engine.data import mnist
from engine.models.detector_by_hand import AROUND, BIAS, COLUMNS, MIDDLE, ROWS

SLUG = "detector_by_hand"
IMAGES = (0, 17, 26, 34, 36, 41, 60, 64, 70, 75)


@functools.lru_cache(maxsize=128)
def exercises(seed: int) -> tuple[Exercise, ...]:
    """The four questions in one variant."""
    chance = random.Random(seed)
    return (_strokes(chance), _threshold(chance), _surround(chance), _gradient(chance))


def _sum(run: Shown, bias: float = BIAS) -> float:
    return single(run.value("preactivation", (0,)) - bias)


def _strokes(chance: random.Random) -> Exercise:
    """An image of full ink on a few cells of the bar and a few above it."""
    inside, outside = chance.randint(14, 30), chance.randint(2, 12)
    bar = [row * mnist.SIDE + column for row in range(*ROWS) for column in range(*COLUMNS)]
    above = [(ROWS[0] - 1) * mnist.SIDE + column for column in range(*COLUMNS)]
    ink = [0.0] * mnist.PIXELS
    for place in (*bar[:inside], *above[:outside]):
        ink[place] = 1.0
    run = shown(SLUG, set={"x": whole.code(ink)})
    answer = run.value("prediction", (0,))
    total = _sum(run)
    return Exercise(
        n=1,
        kind="number",
        title="Ink in and out of the bar",
        prompt=f"An image has full ink, 1, on {inside} cells where the weight is {text(MIDDLE)} and on {outside} where "
        f"it is {text(AROUND)}, and none elsewhere. The bias is {text(BIAS)}. What is a?",
        answer=answer,
        explanation=f"w·x is {inside} · {text(MIDDLE)} + {outside} · ({text(AROUND)}) = {text(total)}; with the bias "
        f"that is {text(single(total + BIAS))}, and the ReLU makes {text(answer)} of it.",
        link=run.link("preactivation", cell="preactivation[0]"),
        link_text="the run on this image",
        hint="Ink times weight, summed; then the bias; then the ReLU, which lets nothing below 0 through.",
        slips=apart([(total, "That is w·x, without the bias."), (total + BIAS, "The ReLU gives 0 for it.")], answer),
        values=(inside, outside, MIDDLE, AROUND, BIAS, total, single(total + BIAS), answer),
    )


def _threshold(chance: random.Random) -> Exercise:
    place = chance.choice(IMAGES)
    run = shown(SLUG, set={"x": f"test:{place}"})
    total = _sum(run)
    return Exercise(
        n=2,
        kind="number",
        title="As a threshold",
        prompt=f"For test image {place}, w·x is {text(total)}. Below which bias does the unit stay dark? "
        "Two decimals will do.",
        answer=-total,
        explanation=f"The unit is lit while w·x + b is above 0, that is while b is above {text(-total)}.",
        link=run.link("preactivation", cell="preactivation[0]"),
        link_text="this image's run",
        hint="At the edge w·x + b is 0.",
        tolerance=0.02,
        slips=((total, "That is the sum itself: a bias of this size helps the unit instead of holding it back."),),
        values=(total, -total, float(place), 0),
    )


def _surround(chance: random.Random) -> Exercise:
    replies = (
        ("so that ink beside the bar counts against it: edges count, not mere ink",
         "With 0 around, an image full of ink lights the unit as well as a bar does."),
        ("so that the weights sum to 0", "They need not, and here they do not."),
        ("so that the unit gives negative numbers", "After the ReLU it never does."),
    )  # fmt: skip
    options, key = choices(chance, replies)
    return Exercise(
        n=3,
        kind="choice",
        title="What the surround is for",
        prompt=f"Why is the weight around the bar {text(AROUND)}, and not 0?",
        answer=key,
        explanation="A weight of 0 does not care what stands there. A negative one asks for paper: the bar must end.",
        link=shown(SLUG, set={"x": whole.code([1.0] * mnist.PIXELS)}).link("preactivation"),
        link_text="an image that is all ink",
        hint="What would an image that is all ink give, with and without it?",
        choices=options,
        values=(AROUND, 0),
    )


def _gradient(chance: random.Random) -> Exercise:
    replies = (
        ("none: every weight's gradient is 0", "The ReLU gave 0, and its slope there is 0: nothing flows back."),
        ("they grow where the image has ink", "They would if the unit were lit; behind a dark ReLU nothing arrives."),
        ("they shrink everywhere", "An update moves weights against the gradient, and here there is none."),
    )  # fmt: skip
    options, key = choices(chance, replies)
    run = shown(SLUG, set={"x": "test:1"})
    return Exercise(
        n=4,
        kind="choice",
        title="Learning in the dark",
        prompt=f"Test image 1 does not light the unit, but the target is {text(1)}. How do the weights move in one "
        "update?",
        answer=key,
        explanation="The loss would fall if the unit gave more, but its slope is 0 where z is below 0. "
        "A unit that is dark for every image can't learn at all.",
        link=run.link("preactivation.grad", cell="preactivation[0]"),
        link_text="the gradient at the ReLU",
        hint="Look at the slope of the ReLU where z is negative.",
        choices=options,
        values=(1, 0),
    )
