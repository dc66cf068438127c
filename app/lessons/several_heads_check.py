"""The check of "Several heads": a delta, a sum, counts of parameters, and whose job it was.

A seed chooses the words and the sizes. Every answer and every number of a worked answer is read off a run or counted.
"""

from __future__ import annotations

import functools
import random

from app.exercise import Exercise
from app.lessons.attention_tables import apart, choices, typed
from app.numbers import single, text
from app.shown import Shown, shown
from engine.experiments.one_attention_head import by_position
from engine.models.several_heads import FEATURES, PHRASE

SLUG = "several_heads"
NOUN = 3
ADJECTIVES = ("fluffy", "blue", "sleepy")
SIZES = ((512, 64), (768, 64), (1024, 64), (4096, 128))


@functools.lru_cache(maxsize=128)
def exercises(seed: int) -> tuple[Exercise, ...]:
    """The four questions in one variant."""
    chance = random.Random(seed)
    return (_delta(chance), _sum(chance), _pair(chance), _job(chance))


def _of(words: list[str]) -> Shown:
    return shown(SLUG, set=typed("tokens", words))


def _delta(chance: random.Random) -> Exercise:
    words = ["a", *chance.sample(ADJECTIVES, 2), chance.choice(("creature", "moss"))]
    place = next(at for at in (1, 2) if words[at] != "sleepy")
    feature = {"fluffy": "soft", "blue": "blue"}[words[place]]
    run, at = _of(words), FEATURES.index(feature)
    weight, answer = run.value("pattern", (1, NOUN, place)), run.value("deltas", (1, NOUN, at))
    own = run.value("pattern", (1, NOUN, NOUN))
    helped = f", and {words[NOUN]} hands over its own softness with {text(own)}" if answer != weight else ""
    return Exercise(
        n=1,
        kind="number",
        title="One head's delta",
        prompt=f"In “{' '.join(words)}” the second head of {words[NOUN]} gives each adjective 9 times the weight of "
        f"each other word. How much {feature} does this head add to {words[NOUN]}?",
        answer=answer,
        explanation=f"The ratios are 1, 9, 9 and 1, so an adjective weighs 9/20, {text(weight)}. {words[place]} "
        f"carries 1 of {feature}{helped}: {text(answer)}.",
        link=run.link("deltas", cell=f"deltas[1,{NOUN},{at}]"),
        link_text="that cell of the delta",
        hint="The four weights sum to 1. What a word hands over is its weight times what it carries; does any other "
        "word carry this feature?",
        slips=apart([(9.0, "That is the ratio; divide by the sum of all four.")], answer),
        values=(9, 1, 20, weight, own, answer),
    )


def _sum(chance: random.Random) -> Exercise:
    words = ["a", *chance.sample(ADJECTIVES, 2), "moss"]
    run, at = _of(words), FEATURES.index("soft")
    before, update = run.value("x", (NOUN, at)), run.value("update", (NOUN, at))
    deltas = [run.value("deltas", (head, NOUN, at)) for head in (0, 1)]
    answer = run.value("updated", (NOUN, at))
    return Exercise(
        n=2,
        kind="number",
        title="The sum",
        prompt=f"In “{' '.join(words)}” moss comes in with {text(before)} soft. The first head adds "
        f"{text(deltas[0])}, the second {text(deltas[1])}. How soft is moss afterwards?",
        answer=answer,
        explanation=f"The deltas of all heads are added to what was there: {text(before)} + {text(deltas[0])} + "
        f"{text(deltas[1])} = {text(answer)}.",
        link=run.link("updated", cell=f"updated[{NOUN},{at}]"),
        link_text="moss afterwards",
        hint="Nothing is replaced: heads add.",
        slips=apart([(update, "That is the update alone; it is added to what was there.")], answer),
        values=(before, *deltas, update, answer),
    )


def _pair(chance: random.Random) -> Exercise:
    d_model, d_head = chance.choice(SIZES)
    square, answer = d_model * d_model, float(2 * d_model * d_head)
    run = shown(SLUG)
    return Exercise(
        n=3,
        kind="number",
        title="Two thin matrices",
        prompt=f"With d_model {text(d_model)} and d_head {text(d_head)}, how many parameters have a head's value down "
        "and value up together?",
        answer=answer,
        explanation=f"Each has d_model times d_head, and there are two: {int(answer)}. One square matrix would have "
        f"{square}.",
        link=run.link("values", cell="values[0,2,1]"),
        link_text="the value of a head, on its way down",
        hint="Value down takes d_model numbers to d_head, value up takes them back.",
        slips=apart(
            [
                (answer / 2, "That is one of the two."),
                (float(square), "That is the square matrix that they stand for."),
            ],
            answer,
        ),
        values=(d_model, d_head, answer, square),
    )


def _job(chance: random.Random) -> Exercise:
    blue = PHRASE.index("blue")
    both = single(by_position(shown(SLUG).trace)[blue])
    alone = {
        heads: single(by_position(shown(SLUG, options={"heads": heads}).trace)[blue])
        for heads in ("before", "adjectives")
    }
    found, right = choices(
        chance,
        [
            (
                "The first, which looks at the word before.",
                f"Without it −ln p rises to {text(alone['adjectives'])}: blue no longer knows that it follows an "
                "adjective.",
            ),
            (
                "The second, which collects adjectives.",
                f"Without it −ln p is {text(alone['before'])}, no higher: blue is no noun and has little to collect.",
            ),
            ("Both, half each.", f"Without the second nothing is lost here: −ln p is {text(alone['before'])}."),
            (
                "Neither; blue can tell by itself.",
                f"Its own vector is the same after a and after fluffy. Without the first head −ln p is "
                f"{text(alone['adjectives'])}.",
            ),
        ],
    )
    run = shown(SLUG, options={"heads": "adjectives"})
    return Exercise(
        n=4,
        kind="choice",
        title="Whose job was it?",
        prompt=f"After “a fluffy blue” the guess creature has −ln p = {text(both)}. Which head does this guess need?",
        answer=right,
        explanation="Two adjectives in a row call for a noun, and only the first head says that the word before was an "
        "adjective.",
        link=run.link("updated", cell=f"updated[{blue},{FEATURES.index('after adjective')}]"),
        link_text="the run without the first head",
        choices=found,
        values=(both, *alone.values()),
    )
