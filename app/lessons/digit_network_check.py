"""The check of the digit network: its parameters counted, gradients read off, steps of an epoch, noise, random labels.

A seed chooses widths, images and batches. Every answer is read off a run or a module.
"""

from __future__ import annotations

import functools
import itertools
import math
import random

from app.exercise import Exercise
from app.lessons.attention_tables import apart, choices
from app.numbers import single, text
from app.shown import shown
from engine.data import mnist
from engine.experiments.digit_network import shipped_fittings
from engine.models.digit_network import DigitNetwork
from engine.training.recipe import TRAINING_IMAGES

SLUG = "digit_network"
IMAGES = (61, 233, 324, 502, 591)  # test images that are read right, but not surely


@functools.lru_cache(maxsize=128)
def exercises(seed: int) -> tuple[Exercise, ...]:
    """The six questions in one variant."""
    chance = random.Random(seed)
    return (_count(chance), _weight(chance), _asked(chance), _steps(chance), _noise(chance), _labels(chance))


def _count(chance: random.Random) -> Exercise:
    widths = [chance.choice((8, 12, 20, 24, 30)), chance.choice((10, 12, 15, 20))]
    answer = sum(one.numel() for one in DigitNetwork(hidden=widths).parameters())
    sizes = [mnist.PIXELS, *widths, len(mnist.DIGITS)]
    weights = sum(below * above for below, above in itertools.pairwise(sizes))
    layers = " + ".join(f"({below} + 1) · {above}" for below, above in itertools.pairwise(sizes))
    return Exercise(
        n=1,
        kind="number",
        title="Counted by layer",
        prompt=f"How many parameters has a network of {mnist.PIXELS} pixels, hidden layers of {widths[0]} and "
        f"{widths[1]} units, and {len(mnist.DIGITS)} outputs?",
        answer=answer,
        explanation=f"Each unit has a weight for every number below it, and a bias: {layers} = {text(answer)}.",
        link=shown(SLUG).link("hidden1.preactivation"),
        link_text="the lesson's own layers",
        hint="Weights of a layer: units times inputs. And one bias a unit.",
        slips=apart([(weights, "Those are the weights; each unit also has a bias.")], answer),
        values=(*sizes, 1, answer, weights),
    )


def _weight(chance: random.Random) -> Exercise:
    place = chance.choice(IMAGES)
    digit = int(mnist.images("test").labels[place])
    run = shown(SLUG, set={"x": f"test:{place}", "target[0]": str(digit)})
    share = run.value("probability", (digit,))
    active = [run.value("hidden2.activation", (unit,)) for unit in range(16)]
    unit = max(range(16), key=active.__getitem__)
    answer = run.value("output.weight.grad", (digit, unit))
    return Exercise(
        n=2,
        kind="number",
        title="One weight's gradient",
        prompt=f"Test image {place} shows {digit}, and p of {digit} is {text(share)}. With softmax and cross-entropy "
        f"the gradient at that output is p − 1. Unit {unit + 1} below gives {text(active[unit])}. What is the gradient "
        "of the weight from it to that output?",
        answer=answer,
        explanation=f"Weights get the gradient in proportion to what comes along them: ({text(share)} − 1) · "
        f"{text(active[unit])} = {text(answer)}.",
        link=run.link("output.weight.grad", cell=f"output.weight[{digit},{unit}]", of="gradient"),
        link_text="this weight's gradient",
        hint="The gradient at the output, times the activation below.",
        tolerance=0.01,
        slips=apart(
            [(-answer, "Mind the sign: p − 1 is negative."), (single(share - 1), "That is the bias's.")], answer
        ),
        values=(place, digit, share, 1, unit + 1, active[unit], answer),
    )


def _asked(chance: random.Random) -> Exercise:
    """What two outputs ask of one unit."""
    place = chance.choice(IMAGES)
    digit = int(mnist.images("test").labels[place])
    run = shown(SLUG, set={"x": f"test:{place}", "target[0]": str(digit)})
    sent = [run.value("output.preactivation.grad", (one,)) for one in range(10)]
    first, second = sorted(range(10), key=lambda one: -abs(sent[one]))[:2]
    unit = max(range(16), key=lambda one: abs(run.value("hidden2.activation.grad", (one,))))
    weights = [run.value("output.weight", (one, unit)) for one in (first, second)]
    asks = [single(sent[one] * weight) for one, weight in zip((first, second), weights, strict=True)]
    answer = single(sum(asks))
    whole_sum = run.value("hidden2.activation.grad", (unit,))
    return Exercise(
        n=3,
        kind="number",
        title="What two outputs ask",
        prompt=f"The gradients at outputs {first} and {second} are {text(sent[first])} and {text(sent[second])}; their "
        f"weights from unit {unit + 1} are {text(weights[0])} and {text(weights[1])}. What do the two send to the "
        "unit, together?",
        answer=answer,
        explanation=f"{text(sent[first])} · {text(weights[0])} + {text(sent[second])} · {text(weights[1])} = "
        f"{text(asks[0])} + {text(asks[1])} = {text(answer)}. With the other eight outputs it is {text(whole_sum)}.",
        link=run.link("hidden2.activation.grad", cell=f"hidden2.activation[{unit}]", of="gradient"),
        link_text="all ten of them",
        hint="Each output sends its gradient times its weight; a unit gets the sum.",
        tolerance=0.01,
        slips=apart([(asks[0], "That is the first one's alone."), (-answer, "Mind the signs.")], answer),
        values=(first, second, sent[first], sent[second], unit + 1, *weights, *asks, answer, whole_sum),
    )


def _steps(chance: random.Random) -> Exercise:
    size, epochs = chance.choice((32, 64, 128, 250, 500)), chance.choice((2, 3, 5))
    one = math.ceil(TRAINING_IMAGES / size)
    return Exercise(
        n=4,
        kind="number",
        title="How many updates",
        prompt=f"Training on {TRAINING_IMAGES} images with batches of {size}: how many updates are {epochs} epochs?",
        answer=one * epochs,
        explanation=f"An epoch is {TRAINING_IMAGES} / {size} batches, rounded up: {one}. Times {epochs}: "
        f"{one * epochs}.",
        link=shown(SLUG).state.link() + "#training",
        link_text="the training panel",
        hint="A last batch that is not full is a batch too.",
        slips=apart(
            [(one, "That is one epoch."), (TRAINING_IMAGES * epochs, "That would be batches of one.")], one * epochs
        ),
        values=(TRAINING_IMAGES, size, epochs, one, one * epochs, TRAINING_IMAGES * epochs),
    )


def _noise(chance: random.Random) -> Exercise:
    replies = (
        ("it was never shown what is no digit, and its ten outputs must sum to 1",
         "Nothing in training ever rewarded it for being unsure of such an image."),
        ("noise looks like that digit", "Not to anyone; the network does not know what a digit is."),
        ("its weights are still random", "An untrained network is unsure of noise, and of all else."),
    )  # fmt: skip
    options, key = choices(chance, replies)
    return Exercise(
        n=5,
        kind="choice",
        title="Sure of noise",
        prompt="The network is sure that noise is a digit. Why?",
        answer=key,
        explanation="Its confidence says how the ten outputs compare with one another, not whether the image is of the "
        "kind it was trained on.",
        link=shown(SLUG).link("probability"),
        link_text="the ten outputs",
        hint="What are the ten outputs able to say?",
        choices=options,
    )


def _labels(chance: random.Random) -> Exercise:
    found = shipped_fittings()[True]
    end, test = single(100 * found.accuracies[-1]), single(100 * found.test)
    replies = (
        (f"about {text(10)} %", "There was nothing to learn but the list itself: on new images it guesses."),
        (f"about {text(50)} %", "That would be something learned about digits; the labels said nothing about them."),
        (f"about {text(round(end))} %", "That is on the images it has learned by heart."),
    )
    options, key = choices(chance, replies)
    return Exercise(
        n=6,
        kind="choice",
        title="By heart",
        prompt=f"A network has learned {len(found.accuracies) - 1} epochs on images with random labels and gives "
        f"{text(end)} % of those labels. How many of the test images does it read right?",
        answer=key,
        explanation=f"Measured: {text(test)} %, about one in ten, as a guess among ten digits would be. Fitting what "
        "one was shown is not yet to have learned what it means.",
        link=shown(SLUG).state.link() + "#training",
        link_text="the training panel, where it can be tried",
        hint="What would it have learned about digits?",
        choices=options,
        values=(10, 50, round(end), end, test, len(found.accuracies) - 1),
    )
