"""The check of the training loop: bytes and operations counted by hand, two choices and a thought."""

from __future__ import annotations

import functools
import random

from app.exercise import Exercise
from app.lessons.attention_tables import apart, choices
from app.numbers import text
from app.shown import shown
from engine.experiments.training_cost import backward_flops, flops, kept, moments, peak
from engine.experiments.training_loop import step

SLUG = "training_loop"
NUMBER_BYTES = 4


@functools.lru_cache(maxsize=128)
def exercises(seed: int) -> tuple[Exercise, ...]:
    """The six questions in one variant."""
    chance = random.Random(seed)
    return _bytes(chance), _product(chance), _back(chance), _state(chance), _saves(chance), _thought()


def _bytes(chance: random.Random) -> Exercise:
    examples = chance.choice((3, 5, 6, 10, 16))
    trace = step("tiny_network", examples)
    answer, numbers = peak(trace), sum(trace[one.tensor].numel() for one in kept(trace))
    one = numbers // examples
    return Exercise(
        n=1,
        kind="number",
        title="What is kept",
        prompt=f"The 2-3-1 network runs over a batch of {text(examples)} examples, in numbers of {text(NUMBER_BYTES)} "
        "bytes. Kept for the way back are x, h, ŷ and t of each example. How many bytes are that?",
        answer=float(answer),
        explanation=f"An example has 2 + 3 + 1 + 1 = {text(one)} of these numbers, and {text(examples)} examples "
        f"{text(numbers)}. At {text(NUMBER_BYTES)} bytes each that is {text(answer)}.",
        link=shown(SLUG).link("loss"),
        link_text="the step at which all of it is kept",
        hint="Count the numbers of one example first.",
        slips=apart(
            (
                (float(numbers), "Those are the numbers. Each takes 4 bytes."),
                (float(NUMBER_BYTES * one), "That is one example's."),
            ),
            float(answer),
        ),
        values=(examples, NUMBER_BYTES, one, numbers, answer, 2, 3, 1),
    )


def _product(chance: random.Random) -> Exercise:
    examples = chance.choice((2, 4, 5, 8))
    layer = chance.choice(("hidden2", "output"))
    trace = step("digit_network", examples)
    weight = trace[f"{layer}.weight"]
    ahead = next(one for one in trace.steps if one.output == f"{layer}.preactivation")
    answer = backward_flops(trace, ahead, "weight")
    rows, columns = weight.shape
    return Exercise(
        n=2,
        kind="number",
        title="2 m k n",
        prompt=f"A batch of {text(examples)} rows of {text(columns)} numbers goes through a layer with {text(rows)} "
        "units. How many operations is the product, without the bias, a multiply-add being two?",
        answer=float(answer),
        explanation=f"Each of {text(examples)} · {text(rows)} outputs is a sum of {text(columns)} products: "
        f"2 · {text(examples)} · {text(columns)} · {text(rows)} = {text(answer)}.",
        link=shown(SLUG).link("hidden.preactivation"),
        link_text="a product of this kind in the run",
        hint="How many outputs are there, and how many products is each the sum of?",
        slips=apart(((answer / 2, "Each product is also added: a multiply-add is two."),), float(answer)),
        values=(examples, columns, rows, 2, answer),
    )


def _back(chance: random.Random) -> Exercise:
    examples = chance.choice((1, 2, 4))
    trace = step("one_block_one_step", examples)
    found = flops(trace)
    ahead, back = found.products
    return Exercise(
        n=3,
        kind="number",
        title="The way back",
        prompt=f"The products of a transformer block's forward run, over {text(examples)} "
        f"{'sentence' if examples == 1 else 'sentences'}, are {text(ahead)} operations. How many are the products of "
        "its backward run?",
        answer=float(back),
        explanation=f"A product has two factors, and each needs a gradient: two products of the same size on the way "
        f"back, 2 · {text(ahead)} = {text(back)}.",
        link=shown(SLUG).link("prediction.grad"),
        link_text="a step of the way back",
        hint="Of a product y = W x there is a gradient by W and one by x. What does each cost?",
        slips=apart(((float(ahead), "That is one of two: the gradient by W, or by x."),), float(back)),
        values=(examples, ahead, back, 2),
    )


def _state(chance: random.Random) -> Exercise:
    network, name = chance.choice(
        (("digit_network", "The digit network"), ("one_block_one_step", "The transformer block"))
    )
    trace = step(network, 1)
    parameters = trace.model["parameter_count"]
    gradients = moments(trace)[-1].gradients
    answer = 3 * NUMBER_BYTES * parameters + gradients
    return Exercise(
        n=4,
        kind="number",
        title="What AdamW holds",
        prompt=f"{name} has {text(parameters)} parameters of {text(NUMBER_BYTES)} bytes. AdamW keeps two moments for "
        "each. How many bytes are parameters, gradients and moments together?",
        answer=float(answer),
        explanation=f"Four numbers a parameter: itself, its gradient ({text(gradients)} bytes in the run), and two "
        f"moments. 4 · {text(NUMBER_BYTES)} · {text(parameters)} = {text(answer)}. The batch has no part in it.",
        link=shown(SLUG).link("hidden.weight.updated"),
        link_text="the update of this run",
        hint="How many numbers lie in memory for one parameter?",
        slips=apart(
            (
                (float(2 * NUMBER_BYTES * parameters), "Those are two of four: the moments are missing."),
                (float(3 * NUMBER_BYTES * parameters), "One is missing: itself, its gradient, two moments."),
            ),
            float(answer),
        ),
        values=(parameters, NUMBER_BYTES, gradients, answer, 4),
    )


def _saves(chance: random.Random) -> Exercise:
    network, examples = "digit_network", chance.choice((4, 8, 16))
    whole, one = peak(step(network, examples)), peak(step(network, 1))
    found, key = choices(
        chance,
        (
            ("what is kept for the way back", f"One example at a time it is {text(one)} bytes, not {text(whole)}."),
            ("the operations", "Every example still goes forward and back."),
            ("the gradients of the parameters", "They are what is added up, and they are as many as before."),
            ("the parameters", "They are the same, and they stay in memory."),
        ),
    )
    return Exercise(
        n=5,
        kind="choice",
        title="Example by example",
        prompt=f"A batch of {text(examples)} images goes through the digit network one by one, and their gradients are "
        "added up before the update. Which of these does that make less of?",
        answer=key,
        explanation=f"Once an image's gradients are added, nothing of it is needed any more: {text(one)} bytes are "
        f"kept at a time, instead of {text(whole)}. The sum is the batch's gradient, but for rounding.",
        link=shown(SLUG, settings={"network": network, "batch": examples}).link("loss"),
        link_text="this batch in the lab",
        choices=found,
        values=(examples, whole, one),
    )


def _thought() -> Exercise:
    return Exercise(
        n=6,
        kind="thought",
        title="The mountain",
        prompt="Why does memory rise on the way forward and fall on the way back, rather than stay level?",
        answer=None,
        explanation="The way back undoes the steps in reverse, so what the first step leaves is needed last. Each step "
        "forward adds what its own undoing will read; each step back reads it for the last time, and lets it go. At "
        "the turn all of it is there at once. A run that never goes back keeps none of it.",
        link=shown(SLUG).link("loss"),
        link_text="the turn in this run",
    )
