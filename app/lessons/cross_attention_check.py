"""The check of "Cross-attention": the grid's size, a weight, whose gradient it is, and why no mask.

A seed chooses the words and the lengths. Every answer and every number of a worked answer is read off a run or counted.
"""

from __future__ import annotations

import functools
import random

from app.exercise import Exercise
from app.lessons.attention_tables import apart, choices, typed
from app.numbers import text
from app.shown import shown
from engine.models.cross_attention import MEANINGS, SO_FAR, SOURCE

SLUG = "cross_attention"
NOUNS = {"créature": "creature", "forêt": "forest"}
COLOURS = {"bleue": "blue", "verte": "green"}


@functools.lru_cache(maxsize=128)
def exercises(seed: int) -> tuple[Exercise, ...]:
    """The four questions in one variant."""
    chance = random.Random(seed)
    return (_size(chance), _weight(chance), _change(chance), _mask())


def _size(chance: random.Random) -> Exercise:
    french, english, heads = chance.randint(5, 12), chance.randint(3, 9), chance.choice((2, 4, 8))
    answer = float(french * english * heads)
    run = shown(SLUG)
    return Exercise(
        n=1,
        kind="number",
        title="The grid",
        prompt=f"{french} French words, {english} English words so far, {heads} heads of cross-attention. How many "
        "weights are there in all?",
        answer=answer,
        explanation=f"A weight for each query and key, in each head: {english} · {french} · {heads} = {int(answer)}. "
        f"Here one head has {len(SO_FAR)} queries and {len(SOURCE)} keys.",
        link=run.link("pattern", cell="pattern[0,0]"),
        link_text="the grid of the lesson",
        hint="A row for each English word, a column for each French one.",
        slips=apart(
            [
                (float(english * english * heads), "Those are the English among themselves: self-attention."),
                (float(french * english), "That is one head."),
            ],
            answer,
        ),
        values=(french, english, heads, answer, len(SO_FAR), len(SOURCE)),
    )


def _weight(chance: random.Random) -> Exercise:
    noun, colour = chance.choice(list(NOUNS)), chance.choice(list(COLOURS))
    source = ["la", noun, colour, "."]
    doubled = chance.choice((noun, colour))
    source[3] = doubled
    chance.shuffle(source)
    asking = "the" if doubled == colour else COLOURS[colour]
    words = ["start", "the", COLOURS[colour]]
    run = shown(SLUG, set={**typed("source", source), **typed("tokens", words)})
    at, key = words.index(asking), source.index(doubled)
    answer = run.value("pattern", (at, key))
    kind = "an adjective" if doubled == colour else "a noun"
    rest = next(place for place, word in enumerate(source) if word != doubled)
    other = run.value("pattern", (at, rest))
    return Exercise(
        n=2,
        kind="number",
        title="Said twice",
        prompt=f"The French is “{' '.join(source)}”. “{asking}” asks for {kind}, which weighs 27 times as much as any "
        f"other word. What weight does the first {doubled} get?",
        answer=answer,
        explanation=f"Both of them are what is asked for: the ratios are 27, 27, 1 and 1, and 27/56 is {text(answer)}. "
        f"Each other word has {text(other)}.",
        link=run.link("pattern", cell=f"pattern[{at},{key}]"),
        link_text=f"how “{asking}” listens there",
        hint=f"{doubled} stands there twice. Write down the four ratios and divide by their sum.",
        slips=apart([(0.9, "That would be the weight if it stood there once.")], answer),
        values=(27, 1, 56, answer, other),
    )


def _change(chance: random.Random) -> Exercise:
    noun = chance.choice(list(NOUNS))
    other = next(one for one in NOUNS if one != noun)
    before = shown(SLUG, set=typed("source", ["la", noun, "bleue", "."]))
    after = shown(SLUG, set=typed("source", ["la", other, "bleue", "."]))
    thing = 4 + MEANINGS.index("thing")
    mixes = [run.value("mix", (2, thing)) for run in (before, after)]
    weight = after.value("pattern", (2, 1))
    found, right = choices(
        chance,
        [
            (
                "The values, and with them the mix.",
                f"The same weight, {text(weight)}, now brings another value: the mix along “thing” goes from "
                f"{text(mixes[0])} to {text(mixes[1])}.",
            ),
            ("The queries.", "They come from the English, which is the same."),
            ("The pattern.", f"Both are nouns and are found by the same key: the weight stays {text(weight)}."),
            ("Everything after the keys.", "The key says noun, as before, so scores and pattern stay."),
        ],
    )
    return Exercise(
        n=3,
        kind="choice",
        title="Another noun",
        prompt=f"In “la {noun} bleue .” {noun} is replaced by {other}. The English so far stays. Which of these "
        "changes?",
        answer=right,
        explanation="Queries come from the English, keys and values from the French. A key says what a word can be "
        "found by, here its kind; a value says what it hands over, here its meaning.",
        link=after.link("mix", cell=f"mix[2,{thing}]"),
        link_text="the mix with the other noun",
        choices=found,
        values=(weight, *mixes),
    )


def _mask() -> Exercise:
    run = shown(SLUG)
    weight = run.value("pattern", (1, 2))
    return Exercise(
        n=4,
        kind="thought",
        title="Why no mask?",
        prompt=f"The second English word gives {text(weight)} of its attention to the third French one. In "
        "self-attention that would be looking ahead. Why is it none here?",
        answer=None,
        explanation="The mask hides what is still to be written. The French is there as a whole before the first "
        "English word is written; its third word is not in the future of anything. What must stay hidden are later "
        "English words, in the decoder's own self-attention.",
        link=run.link("pattern", cell="pattern[1,2]"),
        link_text="that weight",
        values=(weight,),
    )
