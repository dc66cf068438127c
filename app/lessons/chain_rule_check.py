"""The check of the chain rule: three gradients by hand, a count of paths, a count of passes, a thought."""

from __future__ import annotations

import functools
import random

from app.exercise import Exercise
from app.lessons.attention_tables import apart
from app.lessons.chain_rule_gears import trains
from app.numbers import single, text
from app.shown import shown
from engine.experiments.chain_rule import WIDTHS, cost

SLUG = "chain_rule"
HALF = {  # all three z are 0: every a is 1/2, every slope of a sigmoid 1/4
    "layer1.weight[0,0]": 2.0, "layer1.bias[0]": -3.0, "x[0]": 1.5, "layer2.bias[0]": 1.0, "layer2.weight[0,0]": -2.0,
}  # fmt: skip


@functools.lru_cache(maxsize=128)
def exercises(seed: int) -> tuple[Exercise, ...]:
    """The six questions in one variant."""
    chance = random.Random(seed)
    return _three(chance), _seven(chance), _bias(chance), _paths(chance), _passes(chance), _thought()


def _three(chance: random.Random) -> Exercise:
    weight = float(chance.choice((-3, -2, 2, 3)))
    target = chance.choice((0.0, 1.0, 0.25))
    run = shown(SLUG, set={**HALF, "layer3.weight[0,0]": weight, "layer3.bias[0]": -weight / 2, "target[0]": target})
    answer = run.value("layer3.weight.grad", (0, 0))
    activation, miss = run.value("layer2.activation", (0,)), run.prediction - target
    slope = single(run.prediction * (1 - run.prediction))
    return Exercise(
        n=1,
        kind="number",
        title="Three gears",
        prompt=f"In a run a² = {text(activation)}, z³ = 0, and the target is y = {text(target)}. What is ∂L/∂w³?",
        answer=answer,
        explanation=f"∂z³/∂w³ is a² = {text(activation)}. σ(0) is {text(run.prediction)}, so ∂a³/∂z³ is "
        f"{text(slope)}. ∂L/∂a³ is 2 · ({text(run.prediction)} − {text(target)}) = {text(single(2 * miss))}. "
        f"Their product is {text(answer)}.",
        link=run.link("layer3.weight.grad", cell="layer3.weight[0,0]", of="gradient"),
        link_text="this gradient, factor by factor",
        hint="First a³ = σ(0). Then three factors: a², the slope a³(1 − a³), and twice the miss.",
        slips=apart(
            (
                (single(activation * slope * miss), "The square's derivative has a 2 in front."),
                (single(activation * 2 * miss), "The slope of the sigmoid is missing."),
                (single(slope * 2 * miss), "That is ∂L/∂b³. The weight's first gear is a², not 1."),
            ),
            answer,
        ),
        values=(activation, 0.0, target, run.prediction, slope, 2.0, single(2 * miss), answer),
    )


def _seven(chance: random.Random) -> Exercise:
    weight, target = float(chance.choice((-4, -2, 2, 4))), chance.choice((0.0, 1.0))
    run = shown(SLUG, set={**HALF, "layer3.weight[0,0]": weight, "layer3.bias[0]": -weight / 2, "target[0]": target})
    found = trains(run.trace, "layer1.weight", (0, 0))
    assert found is not None
    factors = [single(gear["value"]) for gear in found["trains"][0]["gears"]]
    said = " · ".join(text(one) if one >= 0 else f"({text(one)})" for one in factors)
    return Exercise(
        n=2,
        kind="number",
        title="The whole train",
        prompt=f"All three z are 0. The input is x = {text(factors[0])}, w² = {text(factors[2])}, "
        f"w³ = {text(factors[4])}, and y = {text(target)}. What is ∂L/∂w¹?",
        answer=found["gradient"],
        explanation=f"Seven factors, from w¹ to L: {said} = {text(found['gradient'])}.",
        link=run.link("layer1.weight.grad", cell="layer1.weight[0,0]", of="gradient"),
        link_text="this gradient, factor by factor",
        hint="x, then slope, weight, slope, weight, slope, and 2 (a³ − y). The slope of σ at 0 is 1/4.",
        slips=apart(
            ((single(found["gradient"] / factors[0]), "That is ∂L/∂b¹: the factor x is missing."),), found["gradient"]
        ),
        values=(0.0, *factors, target, found["gradient"], 2.0, 0.25),
    )


def _bias(chance: random.Random) -> Exercise:
    x = chance.choice((-2.0, -1.0, 0.5, 3.0))
    run = shown(SLUG, set={"x[0]": x})
    weight, bias = run.value("layer2.weight.grad", (0, 0)), run.value("layer2.bias.grad", (0,))
    below = run.value("layer1.activation", (0,))
    return Exercise(
        n=3,
        kind="number",
        title="From a bias to its weight",
        prompt=f"A run has a¹ = {text(below)} and ∂L/∂b² = {text(bias)}. What is ∂L/∂w²?",
        answer=weight,
        explanation=f"Both trains share every gear but the first: 1 for the bias, a¹ for the weight. So it is "
        f"{text(below)} · ({text(bias)}) = {text(weight)}.",
        link=run.link("layer2.weight.grad", cell="layer2.weight[0,0]", of="gradient"),
        link_text="the weight's gradient in this run",
        hint="How does z² = w² a¹ + b² move with b², and how with w²?",
        tolerance=0.0005,
        slips=apart(((bias, "That is the bias' own. The weight's first gear is a¹."),), weight),
        values=(below, bias, weight, 1.0),
    )


def _paths(chance: random.Random) -> Exercise:
    tensor, index, name = chance.choice(
        (("x", (0,), "x"), ("layer1.weight", (1, 0), "w¹₂"), ("layer1.bias", (0,), "b¹₁"), ("layer2.bias", (1,), "b²₂"))
    )
    run = shown(SLUG, options={"width": "2"})
    found = trains(run.trace, tensor, index)
    assert found is not None
    answer = len(found["trains"])
    products = [single(train["product"]) for train in found["trains"]]
    listed = " + ".join(text(one) if one >= 0 else f"({text(one)})" for one in products)
    return Exercise(
        n=4,
        kind="number",
        title="How many trains?",
        prompt=f"With two neurons in each hidden layer, how many paths lead from {name} to the loss?",
        answer=float(answer),
        explanation=f"Follow it upwards, neuron by neuron: {text(answer)}. Their products, {listed}, add up to the "
        f"gradient {text(found['gradient'])}.",
        link=run.link(f"{tensor}.grad", cell=f"{tensor}[{','.join(map(str, index))}]", of="gradient"),
        link_text="the paths in this run",
        hint="At each hidden layer above, the path may go through either neuron. At the layer it starts in, only one.",
        values=(answer, *products, found["gradient"]),
    )


def _passes(chance: random.Random) -> Exercise:
    one = cost(chance.choice(WIDTHS))
    return Exercise(
        n=5,
        kind="number",
        title="Passes to try out every slope",
        prompt=f"A network has {text(one.parameters)} parameters. Each is moved once, to one side. How many forward "
        "passes does it take to try out all the slopes?",
        answer=float(one.one_side),
        explanation=f"One to know the loss where it stands, and one a parameter: {text(one.one_side)} were counted. "
        f"Moving to both sides takes {text(one.both_sides)}. One forward and one backward pass give all of them.",
        link=shown(SLUG).link("loss"),
        link_text="the one forward pass of this run",
        hint="One pass for each moved parameter. And with what is each compared?",
        slips=(
            (float(one.parameters), "Each moved loss is compared with the one that was not moved: one pass more."),
            (float(one.both_sides), "That is for moving each to both sides."),
        ),
        values=(one.parameters, one.one_side, one.both_sides),
    )


def _thought() -> Exercise:
    return Exercise(
        n=6,
        kind="thought",
        title="A gear that stands still",
        prompt="w² is set to 0. Which parameters no longer learn, and which still do? Say it with the trains.",
        answer=None,
        explanation="∂z²/∂a¹ is w², a gear of every train that starts in layer 1: w¹ and b¹ get the gradient 0. The "
        "train of w² itself starts above that gear, with a¹ as its first, so w² still learns, and so do b², w³ and b³. "
        "After one step w² is no longer 0, and layer 1 learns again.",
        link=shown(SLUG, set={"layer2.weight[0,0]": 0}).link(
            "layer1.weight.grad", cell="layer1.weight[0,0]", of="gradient"
        ),
        link_text="the run with w² = 0",
        values=(0.0, 1.0),
    )
