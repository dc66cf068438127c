"""The check of the lesson on descent: a step by hand, a rate's limit, what a batch costs, momentum, a thought."""

from __future__ import annotations

import functools
import random

from app.exercise import Exercise
from app.lessons.attention_tables import apart, choices
from app.numbers import single, text
from app.shown import shown
from engine.experiments.cost_and_descent import curvatures, walk
from engine.models.cost_and_descent import POINTS

SLUG = "cost_and_descent"


@functools.lru_cache(maxsize=128)
def exercises(seed: int) -> tuple[Exercise, ...]:
    """The six questions in one variant."""
    chance = random.Random(seed)
    return _step(chance), _overshoot(chance), _cost(chance), _momentum(chance), _flat(chance), _thought()


def _step(chance: random.Random) -> Exercise:
    x, y = float(chance.choice((1, 2, 3))), float(chance.choice((-1, 0, 2)))
    w, rate = float(chance.choice((1, 2, 3))), chance.choice((0.1, 0.2, 0.5))
    run = shown(SLUG, set={"x[0]": x, "target[0]": y, "line.weight[0,0]": w, "line.bias[0]": 0}, lr=rate)
    answer, gradient = run.value("line.weight.updated", (0, 0)), run.value("line.weight.grad", (0, 0))
    return Exercise(
        n=1,
        kind="number",
        title="One step by hand",
        prompt=f"ŷ = w x + b with w = {text(w)}, b = 0, on one example x = {text(x)}, y = {text(y)}. The loss is "
        f"half the squared error. What is w after one step with rate {text(rate)}?",
        answer=answer,
        explanation=f"ŷ = {text(run.prediction)}; ∂L/∂w = (ŷ − y) x = {text(gradient)}; "
        f"w′ = {text(w)} − {text(rate)} · ({text(gradient)}) = {text(answer)}.",
        link=run.link("line.weight.updated", cell="line.weight.updated[0,0]"),
        link_text="this step",
        hint="∂L/∂w is (ŷ − y) x. Take the rate times that from w.",
        slips=apart(
            (
                (single(w + rate * gradient), "That step goes up: take it away, do not add it."),
                (gradient, "That is the gradient; now take the step."),
                (single(w - rate * (run.prediction - y)), "The factor x is missing: that is the bias' gradient."),
            ),
            answer,
        ),
        values=(x, y, w, rate, answer, gradient, run.prediction, 0.0),
    )


def _overshoot(chance: random.Random) -> Exercise:
    rate = chance.choice((0.1, 0.2, 0.3, 0.4))
    along = curvatures()[0]
    found = walk("sgd", rate, (0.0, -1.0), weight_only=True)
    rest = walk("sgd", 0.2, (0.0, -1.0), weight_only=True).places[-1][0]
    answer = single(1 - rate * along)
    return Exercise(
        n=2,
        kind="number",
        title="What is left",
        prompt=f"On a parabola of curvature {text(along)}, each step with rate {text(rate)} multiplies the "
        "distance from the lowest point by the same number. Which? Negative means: to the other side.",
        answer=answer,
        explanation=f"1 − {text(rate)} · {text(along)} = {text(answer)}. Measured on the lesson's points, from w = 0: "
        f"the distance goes from {text(single(-rest))} to {text(single(found.places[1][0] - rest))}.",
        link=shown(SLUG, rows=len(POINTS), lr=rate).link("line.weight.updated"),
        link_text="a step with this rate",
        hint="The slope at a distance d is the curvature times d. So the step is the rate times that.",
        tolerance=0.005,
        slips=apart(((single(rate * along), "That is the share that is taken away. What is left?"),), answer),
        values=(rate, along, answer, single(-rest), single(found.places[1][0] - rest), 1.0, 0.0),
    )


def _cost(chance: random.Random) -> Exercise:
    batch, epochs = chance.choice((1, 2, 4)), chance.choice((3, 5, 10))
    answer = len(POINTS) // batch * epochs
    return Exercise(
        n=3,
        kind="number",
        title="Steps for the same work",
        prompt=f"One walker looks at all {text(len(POINTS))} examples for each step and takes {text(epochs)} steps. "
        f"How many steps can one that looks at {text(batch)} a step take for as many gradients of examples?",
        answer=float(answer),
        explanation=f"{text(epochs)} · {text(len(POINTS))} = {text(epochs * len(POINTS))} gradients, "
        f"{text(batch)} a step: {text(answer)} steps.",
        link=shown(SLUG, rows=batch).link("line.weight.grad", cell="line.weight[0,0]", of="gradient"),
        link_text="a gradient of so few examples",
        hint="Count the gradients of the first walker.",
        values=(len(POINTS), epochs, batch, answer, epochs * len(POINTS)),
    )


def _momentum(chance: random.Random) -> Exercise:
    gradient = chance.choice((1.0, 2.0, -3.0))
    second, answer = single(1.9 * gradient), single(gradient * (1 + 0.9 + 0.81))
    return Exercise(
        n=4,
        kind="number",
        title="Velocity",
        prompt=f"Momentum 0.9 meets the same gradient, {text(gradient)}, three times. What is the velocity v "
        "of the third step?",
        answer=answer,
        explanation=f"v is {text(gradient)}, then 0.9 · ({text(gradient)}) + ({text(gradient)}) = {text(second)}, then "
        f"0.9 · ({text(second)}) + ({text(gradient)}) = {text(answer)}. It goes on to ten times the gradient.",
        link=shown(SLUG, rows=len(POINTS)).state.link(settings={"rule": "momentum"}),
        link_text="the descents with momentum",
        hint="The first velocity is the gradient. Then v becomes 0.9 v + gradient.",
        tolerance=0.005,
        slips=apart(
            (
                (second, "That is the second step's."),
                (3 * gradient, "Each step keeps 0.9 of v, not all of it."),
            ),
            answer,
        ),
        values=(gradient, answer, second, 0.9, 10.0),
    )


def _flat(chance: random.Random) -> Exercise:
    _, low, high = curvatures()
    found, key = choices(
        chance,
        [
            (
                f"Rates above {text(2 / high)} make it diverge.",
                f"That is 2 / {text(high)}: the steepest direction decides.",
            ),
            (
                f"Rates above {text(2 / low)} make it diverge.",
                f"Along the flattest, yes; the direction that bends by {text(high)} gives up long before.",
            ),
            (
                "No rate makes it diverge: the loss is a bowl.",
                "Steps that jump further than they came climb out of any bowl.",
            ),
            (
                f"Rates above {text(1 / high)} make it diverge.",
                "There it starts to jump to the other side, but still comes nearer.",
            ),
        ],
    )
    return Exercise(
        n=5,
        kind="choice",
        title="How long may a step be?",
        prompt=f"A loss bends by {text(high)} in one direction and by {text(low)} in the other. What holds for plain "
        "gradient descent on all examples?",
        answer=key,
        explanation=f"In each direction a step multiplies the distance by 1 − η h. It comes nearer only where η h is "
        f"below 2, so η has to be below 2 / {text(high)} = {text(2 / high)}.",
        link=shown(SLUG).state.link(settings={"rate": 0.4, "batch": "8"}),
        link_text="a descent with rate 0.4",
        choices=found,
        values=(low, high, 2 / high, 2 / low, 1 / high, 2.0, 0.4, 0.0, 1.0),
    )


def _thought() -> Exercise:
    return Exercise(
        n=6,
        kind="thought",
        title="A walker that never rests",
        prompt="Gradient descent on one example a step keeps wandering about the lowest point, however long it runs. "
        "Why? What would make it come to rest?",
        answer=None,
        explanation="At the lowest point the mean of the gradients is 0, but the single ones are not: each example "
        "pulls its own way, so each step moves. The wandering is as wide as the rate makes it. A rate that falls as "
        "training goes on, or larger batches towards the end, make it come to rest.",
        link=shown(SLUG).state.link(settings={"taken": 200}),
        link_text="two hundred steps",
        values=(0.0, 200.0),
    )
