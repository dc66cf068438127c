"""The check of "Softmax and temperature": a share after a cut, what top-p keeps, a gradient, a perplexity, the maximum.

A seed chooses the logits. Every answer and every number of a worked answer is read off a run.
"""

from __future__ import annotations

import functools
import random

from app.exercise import Exercise
from app.lessons.attention_tables import apart, choices
from app.numbers import single, text
from app.shown import Shown, shown
from engine.models.softmax_temperature import LOGITS, VOCABULARY

SLUG = "softmax_temperature"
PLACES = range(len(VOCABULARY))
STEPS = (3.5, 3, 2.5, 2, 1.5, 1, 0.5, 0, -0.5, -1)


@functools.lru_cache(maxsize=128)
def exercises(seed: int) -> tuple[Exercise, ...]:
    """The five questions in one variant."""
    chance = random.Random(seed)
    return (_after_cut(chance), _nucleus(chance), _slope(chance), _perplexity(chance), _maximum(chance))


def _logits(chance: random.Random) -> list[float]:
    while True:
        logits = sorted(chance.sample(STEPS, len(VOCABULARY)), reverse=True)
        if tuple(logits) != LOGITS:
            return [float(one) for one in logits]


def _run(logits: list[float], **cells: float) -> Shown:
    given = {f"logits[{place}]": value for place, value in enumerate(logits)}
    return shown(SLUG, set={**given, **{f"{name}[0]": value for name, value in cells.items()}})


def _shares(run: Shown, tensor: str = "probability") -> list[float]:
    return [run.value(tensor, (place,)) for place in PLACES]


def _listed(values: list[float]) -> str:
    return ", ".join(f"{word} {text(value)}" for word, value in zip(VOCABULARY, values, strict=False))


def _after_cut(chance: random.Random) -> Exercise:
    k, place = chance.choice((2, 3)), chance.choice((0, 1))
    run = _run(_logits(chance), top_k=k, top_p=1)
    shares, answer = _shares(run), run.value("renormalised", (place,))
    total = run.value("remaining_total", (0,))
    return Exercise(
        n=1,
        kind="number",
        title="After the cut",
        prompt=f"The probabilities are {_listed(shares)}. Top-k keeps {text(k)} words. What is the probability of "
        f"{VOCABULARY[place]} then? A fraction will do.",
        answer=answer,
        explanation=f"The words kept hold {text(total)} together. Divided by that, {text(shares[place])} becomes "
        f"{text(answer)}.",
        link=run.link("renormalised", cell=f"renormalised[{place}]"),
        link_text="the run, cut",
        hint="What is kept must sum to one again: divide by the sum of what is kept.",
        slips=apart([(shares[place], "That is its probability before the cut.")], answer),
        values=(k, *shares, total, answer),
    )


def _nucleus(chance: random.Random) -> Exercise:
    p = chance.choice((0.5, 0.7, 0.8, 0.95))
    run = _run(_logits(chance), top_k=6, top_p=p)
    shares, ahead = _shares(run), _shares(run, "ahead")
    kept = int(run.trace["kept"].sum())
    return Exercise(
        n=2,
        kind="number",
        title="How many stay",
        prompt=f"The probabilities are {_listed(shares)}. How many words does top-p with P = {text(p)} keep?",
        answer=float(kept),
        explanation=f"Before each word, the likelier ones hold {_listed(ahead)}. A word stays while that is below "
        f"{text(p)}: {text(kept)} words do.",
        link=run.link("kept", cell="kept[0]"),
        link_text="the run, cut",
        hint="Add from the likeliest down. The word that carries the sum to P or past it is the last that stays.",
        slips=((float(kept - 1), "The word that carries the sum past P stays too."),),
        values=(p, *shares, *ahead, kept),
    )


def _slope(chance: random.Random) -> Exercise:
    target, asked = chance.choice(((1, 1), (2, 2), (1, 0), (0, 0)))
    run = _run(_logits(chance), target=target)
    shares, answer = _shares(run), run.value("logits.grad", (asked,))
    onehot = float(asked == target)
    slips = [(-answer, "The sign is turned: it is p minus the onehot.")]
    if onehot:
        slips.append((shares[asked], "That is p; take the 1 of the target away."))
    return Exercise(
        n=3,
        kind="number",
        title="The gradient",
        prompt=f"At temperature 1 the probabilities are {_listed(shares)}, and the target is {VOCABULARY[target]}. "
        f"What is the gradient of the loss for the logit of {VOCABULARY[asked]}?",
        answer=answer,
        explanation=f"p − onehot: {text(shares[asked])} − {text(onehot)} = {text(answer)}.",
        link=run.link("logits.grad", cell=f"logits[{asked}]", of="gradient"),
        link_text="the gradient, written out",
        hint="The onehot is 1 for the target and 0 for every other word.",
        slips=apart(slips, answer),
        values=(*shares, onehot, answer, 1),
    )


def _perplexity(chance: random.Random) -> Exercise:
    target = chance.choice((0, 1, 2))
    run = _run(_logits(chance), target=target)
    share, loss, answer = run.value("probability", (target,)), run.loss, run.value("perplexity", (0,))
    return Exercise(
        n=4,
        kind="number",
        title="A perplexity",
        prompt=f"The target {VOCABULARY[target]} has probability {text(share)}. What is the perplexity of this one "
        "prediction? A fraction will do.",
        answer=answer,
        explanation=f"The loss is −ln {text(share)} = {text(loss)} nats, and exp of that is {text(answer)}: for one "
        "prediction, one over the probability.",
        link=run.link("perplexity", cell="perplexity[0]"),
        link_text="the perplexity",
        hint="Perplexity is exp(loss), and the loss is −ln p.",
        tolerance=0.02,
        slips=((loss, "That is the loss in nats; perplexity is its exponential."),) if abs(loss - answer) > 0.1 else (),
        values=(share, loss, answer),
    )


def _maximum(chance: random.Random) -> Exercise:
    logits = _logits(chance)
    by = float(chance.choice((90, 120, 200)))
    lifted = [single(value + by) for value in logits]
    run, same = _run(logits), _run(lifted)
    found, key = choices(
        chance,
        [
            (
                "None of them changes.",
                f"exp({text(by)}) is a factor of every exponential and of their sum: it cancels.",
            ),
            ("All of them grow.", "They must still sum to one."),
            ("The largest grows, the others shrink.", "That is what a lower temperature does; adding does not."),
            ("They all become NaN.", "Only without the maximum taken off, since exp then overflows."),
        ],
    )
    return Exercise(
        n=5,
        kind="choice",
        title="Lifted",
        prompt=f"{text(by)} is added to every logit, and the largest logit is subtracted before exp, as it should be. "
        "What happens to the probabilities?",
        answer=key,
        explanation=f"Only differences count: the first word has {text(run.value('probability', (0,)))} before and "
        f"{text(same.value('probability', (0,)))} after.",
        link=same.link("probability", cell="probability[0]"),
        link_text="the lifted run",
        choices=found,
        values=(by, run.value("probability", (0,)), same.value("probability", (0,))),
    )
