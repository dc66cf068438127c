"""The check of "One block, one training step": three numbers and a choice that the engine works out, and a thought."""

from __future__ import annotations

import functools
import random

from app.exercise import Choice, Exercise
from app.inline import cell_name
from app.numbers import single, text
from app.shown import Shown, shown
from engine.labels import cell_label
from engine.models.one_block_one_step import FEATURES, HEADS, SENTENCE, WORDS

SLUG = "one_block_one_step"
RATES = (0.01, 0.02, 0.05, 0.1)


@functools.lru_cache(maxsize=64)
def exercises(seed: int) -> tuple[Exercise, ...]:
    """The five questions in one variant."""
    chance = random.Random(seed)
    words = tuple(chance.choice(WORDS[:-1]) for _ in SENTENCE)
    return _pattern(chance, words), _logit(chance, words), _adamw(chance), _still(chance, words), _same_size()


def _run(words: tuple[str, ...]) -> Shown:
    return shown(SLUG, set={f"tokens[{at}]": word for at, word in enumerate(words)})


def _pattern(chance: random.Random, words: tuple[str, ...]) -> Exercise:
    run, head, missing = _run(words), chance.randrange(HEADS), chance.randrange(len(words))
    row = [run.value("pattern", (head, len(words) - 1, at)) for at in range(len(words))]
    said = ", ".join(f"{text(value)} to word {at + 1}" for at, value in enumerate(row) if at != missing)
    others = [value for at, value in enumerate(row) if at != missing]
    return Exercise(
        n=1,
        kind="number",
        title="The weight that is left",
        prompt=f"The words are “{' '.join(words)}”. In head {head + 1} the last word gives {said}. What does it give "
        f"to word {missing + 1}?",
        answer=row[missing],
        explanation=f"A query's weights add up to 1, so {text(row[missing])} is left. The last word may look at every "
        "word, itself too.",
        link=run.link("pattern", cell=cell_name("pattern", (head, len(words) - 1, missing))),
        link_text="this head's pattern",
        hint="What do the weights of one query add up to?",
        values=(head + 1, *others, missing + 1, row[missing]),
    )


def _logit(chance: random.Random, words: tuple[str, ...]) -> Exercise:
    run, at = _run(words), chance.randrange(len(words))
    right = int(run.trace["target"][at])
    answer = run.value("prediction.grad", (at, right))
    share = single(float(run.trace["prediction"][at].double().softmax(-1)[right]))
    count = len(words)
    slips = ((single(share - 1), f"The loss is a mean over {count} positions: divide once more."),)
    return Exercise(
        n=2,
        kind="number",
        title="Where the way back begins",
        prompt=f"The words are “{' '.join(words)}”. After word {at + 1} the model gives the right next word, "
        f"“{WORDS[right]}”, the probability {text(share)}. What is the gradient of the loss by that word's logit?",
        answer=answer,
        explanation=f"Probability minus 1, as this is the right word, over {count} positions: {text(answer)}.",
        link=run.link("prediction.grad", cell=cell_name("prediction", (at, right)), of="gradient"),
        link_text="this gradient",
        hint="Softmax and cross-entropy together: probability minus target. And the loss is a mean.",
        tolerance=0.0005,
        slips=slips,
        values=(at + 1, share, count, answer),
    )


def _adamw(chance: random.Random) -> Exercise:
    rate = chance.choice(RATES)
    place = (chance.randrange(FEATURES), chance.randrange(len(WORDS)))
    run = shown(SLUG, lr=rate)
    label = cell_label(run.trace.record("W_U"), place)
    weight, gradient = run.value("W_U", place), run.value("W_U.grad", place)
    answer = run.value("W_U.updated", place)
    decay = run.state.request["update"].get("weight_decay", 0.01)
    plain = single(weight - rate * gradient)
    slips = ((plain, "That is plain gradient descent. AdamW divides the gradient's size away."),)
    return Exercise(
        n=3,
        kind="number",
        title="AdamW's first step",
        prompt=f"A weight {label} is {text(weight)}, its gradient {text(gradient)}. Learning rate {text(rate)}, weight "
        f"decay {text(decay)}, moments zero. What is the weight after the step?",
        answer=answer,
        explanation=f"First the decay: {text(weight)} times 1 − {text(rate)} · {text(decay)}. Then the first step of "
        f"AdamW is the rate against the gradient's sign, whatever its size: {text(answer)}.",
        link=run.link("W_U.updated", cell=cell_name("W_U.updated", place)),
        link_text="this cell's update",
        hint="On the first step the corrected first moment is the gradient, and the root of the second is its size.",
        tolerance=0.0005,
        slips=tuple(slip for slip in slips if abs(slip[0] - answer) > 0.002),
        values=(weight, gradient, rate, decay, answer),
    )


def _still(chance: random.Random, words: tuple[str, ...]) -> Exercise:
    run = _run(words)
    unread = chance.choice([word for word in WORDS if word not in words])
    read = words[-1]
    kinds = [
        (f"the embedding of “{read}”", run.trace["W_E.grad"][WORDS.index(read)]),
        (f"the embedding of “{unread}”", run.trace["W_E.grad"][WORDS.index(unread)]),
        (f"the logits' column of “{unread}”", run.trace["W_U.grad"][:, WORDS.index(unread)]),
        ("the vector of position 1", run.trace["W_P.grad"][0]),
    ]
    chance.shuffle(kinds)
    still = ["abcd"[at] for at, (_, gradient) in enumerate(kinds) if not gradient.any()]
    reply = "It takes part in this run, so the loss feels it."
    return Exercise(
        n=4,
        kind="choice",
        title="Who gets no gradient?",
        prompt=f"The words are “{' '.join(words)}”. Which of these has a gradient of exactly 0?",
        answer=still[0],
        explanation=f"“{unread}” is not read, so its row of the embedding is not looked up: no path leads there. "
        "Its logit is computed all the same at every position, since every word might come next.",
        link=run.link("W_E.grad", cell=cell_name("W_E", (WORDS.index(unread), 0)), of="gradient"),
        link_text=f"the embedding of “{unread}”",
        choices=tuple(
            Choice("abcd"[at], words_, "" if "abcd"[at] in still else reply) for at, (words_, _) in enumerate(kinds)
        ),
    )


def _same_size() -> Exercise:
    return Exercise(
        n=5,
        kind="thought",
        title="All by the same length",
        prompt="AdamW's first step moves a weight with a tiny gradient as far as one with a large one. What is the "
        "gain, and what is the danger?",
        answer=None,
        explanation="The gain: one learning rate fits parameters whose gradients differ by orders of magnitude. "
        "The danger: a gradient that is mere noise is taken as seriously as a clear one. That is one reason for "
        "starting with a small rate and warming it up. In later steps the moments average: noise that changes its "
        "sign cancels in the first and stays in the second, and the step shrinks.",
        link=shown(SLUG).link("W_U.updated", cell="W_U.updated[0,0]"),
        link_text="one cell's update",
    )
