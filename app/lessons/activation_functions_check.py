"""The check of the lesson on activation functions: a slope, XOR by hand, one layer for two, a limit, a thought."""

from __future__ import annotations

import functools
import random

from app.exercise import Exercise
from app.lessons.attention_tables import apart
from app.numbers import single, text
from app.shown import shown
from engine.collapse import collapse
from engine.experiments.activation_functions import best_plane, fading, slopes

SLUG = "activation_functions"


@functools.lru_cache(maxsize=128)
def exercises(seed: int) -> tuple[Exercise, ...]:
    """The six questions in one variant."""
    chance = random.Random(seed)
    return _slope(chance), _fourth(chance), _collapse(chance), _least(chance), _fading(chance), _thought()


def _slope(chance: random.Random) -> Exercise:
    bias = chance.choice((-2.0, -1.0, 1.0, 2.0))
    run = shown(SLUG, options={"activation": "sigmoid"}, set={"hidden.bias[0]": bias})
    h = run.value("hidden.activation", (0,))
    (answer,) = slopes("sigmoid", [bias])[1]
    return Exercise(
        n=1,
        kind="number",
        title="A sigmoid's slope",
        prompt=f"A sigmoid gives σ(z) = {text(h)}. How steep is it there? You do not need z.",
        answer=answer,
        explanation=f"σ′(z) = σ(z) (1 − σ(z)) = {text(h)} · {text(single(1 - h))} = {text(answer)}.",
        link=run.link("hidden.activation", cell="hidden.activation[0]"),
        link_text="this sigmoid",
        hint="The slope follows from the value alone: a (1 − a).",
        slips=apart(((h, "That is the value itself."), (single(1 - h), "That is 1 − a; multiply it with a.")), answer),
        values=(h, single(1 - h), answer, 1.0),
    )


def _fourth(chance: random.Random) -> Exercise:
    b2 = chance.choice((-2.0, -1.5, -0.5, 0.0))
    run = shown(SLUG, set={"x[0]": 1, "x[1]": 1, "hidden.bias[1]": b2})
    h1, h2 = run.value("hidden.activation", (0,)), run.value("hidden.activation", (1,))
    return Exercise(
        n=2,
        kind="number",
        title="The fourth point",
        prompt=f"The network set by hand has h₁ = ReLU(x₁ + x₂) and ŷ = h₁ − 2 h₂. Its second bias is changed: "
        f"h₂ = ReLU(x₁ + x₂ + ({text(b2)})). What does it say at x = (1, 1)?",
        answer=run.prediction,
        explanation=f"x₁ + x₂ = 2. h₁ = {text(h1)}, h₂ = {text(h2)}, so ŷ = {text(h1)} − 2 · {text(h2)} = "
        f"{text(run.prediction)}. XOR wants 0.",
        link=run.link("prediction", cell="prediction[0]"),
        link_text="this run",
        hint="First both sums, then the ReLU of each, then h₁ − 2 h₂.",
        slips=apart(((single(h1 - h2), "h₂ counts twice, with a minus."),), run.prediction),
        values=(b2, h1, h2, run.prediction, 2.0, 1.0, 0.0),
    )


def _collapse(chance: random.Random) -> Exercise:
    v1, w21 = float(chance.choice((-3, -1, 2, 3))), float(chance.choice((-2, 3, 4)))
    run = shown(SLUG, options={"activation": "none"}, set={"readout.weight[0,0]": v1, "hidden.weight[1,0]": w21})
    answer = single(float(collapse(run.trace)["collapsed.weight"][0, 0]))
    w11, v2 = run.value("hidden.weight", (0, 0)), run.value("readout.weight", (0, 1))
    return Exercise(
        n=3,
        kind="number",
        title="One layer for two",
        prompt=f"Without an activation: z₁ = {text(w11)} x₁ + x₂, z₂ = {text(w21)} x₁ + x₂ − 1, and "
        f"ŷ = {text(v1)} z₁ + ({text(v2)}) z₂. Write ŷ as one layer. What is its weight for x₁?",
        answer=answer,
        explanation=f"v W begins with {text(v1)} · {text(w11)} + ({text(v2)}) · ({text(w21)}) = {text(answer)}.",
        link=run.link("prediction", cell="prediction[0]"),
        link_text="the two layers",
        hint="Put both sums into ŷ and collect what stands with x₁.",
        slips=apart(
            ((single(v1 * w11), "Unit 2 looks at x₁ too."), (single(v1 + v2), "Weigh each v with its W.")), answer
        ),
        values=(w11, w21, v1, v2, answer, 1.0, -1.0),
    )


def _least(chance: random.Random) -> Exercise:
    moved = chance.choice((0.0, 1.0, 3.0))
    _, error = best_plane()
    scale = chance.choice((1.0, 2.0, 4.0))
    answer = single(error * scale**2)
    run = shown(SLUG, rows=4, options={"activation": "none"}, set={
        "readout.weight[0,0]": 0, "readout.weight[0,1]": 0, "readout.bias[0]": moved + scale / 2,
        "target[0]": moved, "target[1]": moved + scale, "target[2]": moved + scale, "target[3]": moved,
    })  # fmt: skip
    low, high = moved, moved + scale
    return Exercise(
        n=4,
        kind="number",
        title="The least loss without a bend",
        prompt=f"XOR with other targets: {text(low)} where the inputs are the same, {text(high)} where they differ. "
        "What is the least mean squared error of a network without activations on the four points?",
        answer=run.loss,
        explanation=f"The best it can do is to say {text(single(moved + scale / 2))} everywhere: each error is "
        f"{text(scale / 2)}, its square {text(answer)}, and so is their mean.",
        link=run.link("loss"),
        link_text="this constant, on the four points",
        hint="In the text the targets are 0 and 1, and the least is 1/4. What if targets lie further apart?",
        slips=apart(
            (
                (single(scale / 2), "That is the error; the loss is its square."),
                (single(scale**2), "Each error is half the distance."),
            ),
            answer,
        ),
        values=(low, high, single(moved + scale / 2), scale / 2, answer, run.loss, 0.0, 1.0, 0.25, 4.0),
    )


def _fading(chance: random.Random) -> Exercise:
    layers = chance.choice((3, 4, 5, 6))
    answer = 0.25**layers
    found = fading("sigmoid", 1.0)[layers]
    return Exercise(
        n=5,
        kind="number",
        title="At most",
        prompt=f"In a chain of one sigmoid a layer, all weights are 1. At most what share of the gradient is left "
        f"{text(layers)} layers down? A fraction will do.",
        answer=answer,
        explanation=f"Each layer multiplies it by a slope of at most 1/4: 1/4 to the power of {text(layers)} is "
        f"{text(answer)}. In the deep network of the text, {text(layers)} layers down, {text(found)} was measured.",
        link=shown(SLUG, options={"activation": "sigmoid"}).link(
            "hidden.preactivation.grad", cell="hidden.preactivation[0]", of="gradient"
        ),
        link_text="a gradient through one sigmoid",
        hint="How steep is a sigmoid at its steepest?",
        tolerance=0.00001,
        slips=(),
        values=(layers, answer, found, 0.25, 1.0, 4.0),
    )


def _thought() -> Exercise:
    return Exercise(
        n=6,
        kind="thought",
        title="A dead unit",
        prompt="A ReLU unit's z is below 0 for every example. What happens to its weights in training? Would a GELU "
        "unit fare better? Say it with the slopes.",
        answer=None,
        explanation="The slope of ReLU below 0 is 0, so the gradient of everything in front of it is 0, and plain "
        "gradient descent never moves its weights again: the unit is dead unless other parameters bring its z above 0. "
        "GELU and SiLU have slopes below 0 that are small but not 0, so their units can come back, while z is not far "
        "below.",
        link=shown(SLUG, rows=4, set={"hidden.bias[1]": -3}).link(
            "hidden.preactivation.grad", cell="hidden.preactivation[3,1]", of="gradient"
        ),
        link_text="a unit that is never on, and its gradient",
        values=(0.0,),
    )
