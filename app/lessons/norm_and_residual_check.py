"""The check of "Norm and residual": four numbers that the engine works out, a choice that was measured, a thought."""

from __future__ import annotations

import functools
import random

from app.exercise import Choice, Exercise
from app.numbers import single, text
from app.shown import Shown, shown
from engine.experiments.norm_and_residual import MOST_LAYERS, by_depth, routes
from engine.models.norm_and_residual import FEATURES, LAYERS

SLUG = "norm_and_residual"
FIRST = "layers.0.norm"
TRIPLES = ((1, 7, 5), (7, 17, 13), (1, -7, 5), (7, -17, 13))  # a² + b² = 2 σ²: deviations with a whole spread


@functools.lru_cache(maxsize=128)
def exercises(seed: int) -> tuple[Exercise, ...]:
    """The six questions in one variant."""
    chance = random.Random(seed)
    return _layer_norm(chance), _rms_norm(chance), _stream(chance), _routes(chance), _hundred(), _word_by_word()


def _run(x: tuple[float, ...], norm: str) -> Shown:
    return shown(SLUG, set={f"x[{at}]": value for at, value in enumerate(x)}, options={"norm": norm})


def _pair(x: tuple[float, ...]) -> str:
    return f"({', '.join(text(value) for value in x)})"


def _layer_norm(chance: random.Random) -> Exercise:
    a, b, _ = chance.choice(TRIPLES)
    mean = chance.choice((-2, 0, 1, 4, 5))
    x = tuple(float(mean + each) for each in (a, b, -a, -b))
    at = chance.randrange(FEATURES)
    run = _run(x, "layer")
    answer = run.value(f"{FIRST}.normalised", (at,))
    centre, spread = run.value(f"{FIRST}.mean", (0,)), run.value(f"{FIRST}.deviation", (0,))
    exact = single(round(spread))
    raw = single(x[at] / exact)
    slips = ((raw, "The mean has not been taken off yet."),) if abs(raw - answer) > 0.01 else ()
    return Exercise(
        n=1,
        kind="number",
        title="A LayerNorm by hand",
        prompt=f"LayerNorm with gain 1 and bias 0 is given x = {_pair(x)}. What becomes of its number {at + 1}, "
        f"{text(x[at])}?",
        answer=answer,
        explanation=f"The mean is {text(centre)}, so {text(x[at])} lies {text(single(x[at] - centre))} from it. The "
        f"mean of the four squared distances has the root {text(exact)}. The quotient is {text(answer)}.",
        link=run.link(f"{FIRST}.normalised", cell=f"{FIRST}.normalised[{at}]"),
        link_text="this norm, step by step",
        hint="First the mean of the four. Then the four distances from it, squared, averaged, and the root.",
        tolerance=0.005,
        slips=slips,
        values=(*x, at + 1, answer, centre, single(x[at] - centre), exact),
    )


def _rms_norm(chance: random.Random) -> Exercise:
    size = float(chance.choice((2, 3, 4, 5, 6)))
    # Two numbers of one size and two zeros: the mean square is half of its square.
    signs = chance.choice(((1, 0, -1, 0), (0, 1, 0, 1), (-1, 0, 0, 1)))
    x = tuple(size * sign for sign in signs)
    run = _run(x, "rms")
    answer = run.value(f"{FIRST}.mean_square", (0,))
    return Exercise(
        n=2,
        kind="number",
        title="What RMSNorm divides by",
        prompt=f"RMSNorm is given x = {_pair(x)}. What is the mean of the squares, before the root is taken?",
        answer=answer,
        explanation=f"The squares are {', '.join(text(value * value) for value in x)}; their mean is {text(answer)}. "
        f"RMSNorm divides by its root, {text(run.value(f'{FIRST}.deviation', (0,)))}. No mean was taken off.",
        link=run.link(f"{FIRST}.mean_square", cell=f"{FIRST}.mean_square[0]"),
        link_text="the mean square in this run",
        hint="Square each of the four, zeros too, and divide their sum by four.",
        values=(*x, *(value * value for value in x), answer, run.value(f"{FIRST}.deviation", (0,))),
    )


def _stream(chance: random.Random) -> Exercise:
    at = chance.randrange(FEATURES)
    norm = chance.choice(("layer", "rms"))
    run = shown(SLUG, options={"norm": norm})
    start = run.value("x", (at,))
    added = [run.value(f"layers.{place}.branch", (at,)) for place in range(LAYERS)]
    answer = run.value("prediction", (at,))
    slips = ((single(sum(added)), "That is what the layers add. The input is still in the stream."),)
    name = {"layer": "LayerNorm", "rms": "RMSNorm"}[norm]
    said = ", ".join(text(value) for value in added)
    return Exercise(
        n=3,
        kind="number",
        title="What comes out of the stream",
        prompt=f"With {name} and the residual on, feature {at + 1} enters as {text(start)}, and the three layers add "
        f"{said} to it. What is the output there?",
        answer=answer,
        explanation=f"The stream is a sum: {text(start)} and what each layer adds, together {text(answer)}.",
        link=run.link("prediction", cell=f"prediction[{at}]"),
        link_text="the stream of this run",
        hint="Nothing is multiplied on the way. Add the four numbers.",
        slips=slips,
        values=(at + 1, start, *added, answer),
    )


def _routes(chance: random.Random) -> Exercise:
    place = chance.randrange(LAYERS)
    zeroed = {f"layers.{place}.weight[{row},{column}]": 0 for row in range(FEATURES) for column in range(FEATURES)}
    run = shown(SLUG, set=zeroed)
    found = routes(run.trace)
    answer = sum(any(route.gradient) for route in found)
    return Exercise(
        n=4,
        kind="number",
        title="Routes that are left",
        prompt=f"With the residual on there are {text(len(found))} routes back from the loss to x. Now every weight of "
        f"layer {place + 1} is 0. How many routes still carry a gradient?",
        answer=float(answer),
        explanation=f"A branch whose weights are 0 has the derivative 0, and so has every route through it: "
        f"{text(len(found) - answer)} of them. The {text(answer)} that stay on the stream there are untouched.",
        link=run.link("x.grad", cell="x[0]", of="gradient"),
        link_text=f"the run without layer {place + 1}'s weights",
        hint="At each layer a route takes the branch or stays on the stream. Which choice is closed now?",
        slips=((0.0, "The stream goes past the layer, and its derivative is 1."),),
        values=(len(found), place + 1, answer, len(found) - answer),
    )


def _hundred() -> Exercise:
    arriving = by_depth("plain").arriving[0]
    kept = by_depth("residual and norm").arriving[0]
    said = {"a": 0.01, "b": 1e-10, "c": 1e-20, "d": 1e-40}
    right = min(said, key=lambda key: max(said[key] / arriving, arriving / said[key]))
    reply = "Each layer takes about the same factor, so the factors multiply: a power of the depth, not a share of it."
    return Exercise(
        n=5,
        kind="choice",
        title="A hundred layers, no residual",
        prompt=f"{MOST_LAYERS} layers with PyTorch's default weights and no residual: about what share of the gradient "
        "at the top arrives at the bottom?",
        answer=right,
        explanation=f"Measured: {text(single(arriving))}. With residual and LayerNorm it is {text(single(kept))}.",
        link=shown(SLUG, options={"residual": "off"}).link(),
        link_text="three layers without the residual",
        choices=tuple(
            Choice(key, f"about {text(value)}", "" if key == right else reply) for key, value in said.items()
        ),
        values=(MOST_LAYERS, *said.values(), single(arriving), single(kept)),
    )


def _word_by_word() -> Exercise:
    return Exercise(
        n=6,
        kind="thought",
        title="Shared, not shrunk",
        prompt="With attention a word far back also gets only a part of the gradient. Why is that not the same trouble "
        "as in the recurrent network?",
        answer=None,
        explanation="The part is what softmax gave it among all words, near or far: the factor is paid once, at any "
        "distance. And it can be learned: a word that matters can be given nearly all of it. In a recurrent network a "
        "factor is paid at every word in between, so far words get the product, and no single weight can undo it.",
        link=shown(SLUG).link("x.grad", cell="x[0]", of="gradient"),
        link_text="a gradient and its parts",
    )
