"""The check of "One word, three meanings": a cosine, a weight, what order says, and what a mask hides.

A seed chooses the words around `mole`. Every answer and every number of a worked answer is read off a run.
"""

from __future__ import annotations

import functools
import random

from app.exercise import Exercise
from app.lessons.attention_tables import apart, choices, typed
from app.numbers import single, text
from app.shown import Shown, shown
from engine.models.one_word_three_meanings import CONTEXTS, EMBEDDINGS, FEATURES, MEANINGS, WORD

SLUG = "one_word_three_meanings"
SILENT = ("an", "American", "of", "the")
SPEAKING = {"shrew": "animal", "CO2": "amount", "gram": "amount", "biopsy": "skin"}
HALF = ("one", "garden", "doctor")


@functools.lru_cache(maxsize=128)
def exercises(seed: int) -> tuple[Exercise, ...]:
    """The four questions in one variant."""
    chance = random.Random(seed)
    return (_weight(chance), _cosine(chance), _order(chance), _context(chance))


def _of(words: list[str]) -> Shown:
    return shown(SLUG, set=typed("tokens", words))


def _weight(chance: random.Random) -> Exercise:
    speaks = chance.choice(list(SPEAKING))
    words = [*chance.sample(SILENT, 2), speaks, WORD]
    chance.shuffle(words)
    run, at, mole = _of(words), words.index(speaks), words.index(WORD)
    answer = run.value("pattern", (mole, at))
    other = run.value("pattern", (mole, mole))
    return Exercise(
        n=1,
        kind="number",
        title="Who is heard",
        prompt=f"In “{' '.join(words)}” the query of mole gives {speaks} 8 times the weight of each other word, itself "
        f"included. What is the weight of {speaks}? A fraction will do.",
        answer=answer,
        explanation=f"The ratios are 8 and three times 1, so the weight is 8/11, {text(answer)}. Each other word has "
        f"{text(other)}.",
        link=run.link("pattern", cell=f"pattern[{mole},{at}]"),
        link_text="the pattern of mole",
        hint="The four weights sum to 1.",
        slips=apart(
            [(8 / 10, "The word itself is one of the four."), (8, "That is the ratio, not the share.")], answer
        ),
        values=(8, 1, 11, answer, other),
    )


def _cosine(chance: random.Random) -> Exercise:
    speaks = chance.choice(list(SPEAKING))
    words = [*chance.sample(SILENT, 2), speaks, WORD]
    run, meaning = _of(words), SPEAKING[speaks]
    place = MEANINGS.index(meaning)
    vector = [run.value("mole", (0, at)) for at in range(len(FEATURES))]
    answer, length = run.value("prediction", (0, place)), run.value("length", (0, 0))
    listed = ", ".join(f"{name} {text(value)}" for name, value in zip(FEATURES, vector, strict=True) if value)
    return Exercise(
        n=2,
        kind="number",
        title="A cosine",
        prompt=f"After attention in “{' '.join(words)}” the vector of mole is: {listed}. What is its cosine with the "
        f"direction {meaning}?",
        answer=answer,
        explanation=f"The part along {meaning} is {text(vector[place])}, the vector's length {text(length)}, the root "
        f"of the sum of the squares. The cosine is their quotient, {text(answer)}.",
        link=run.link("prediction", cell=f"prediction[0,{place}]"),
        link_text=f"the cosine with {meaning}",
        hint="The direction has length 1: divide the part along it by the length of the vector.",
        slips=apart([(vector[place], "That is the part along the direction; divide by the vector's length.")], answer),
        tolerance=0.005,
        values=(*vector, length, answer),
    )


def _order(chance: random.Random) -> Exercise:
    words = list(chance.choice(CONTEXTS))
    other = words[::-1]
    run, turned = _of(words), _of(other)
    best = max(range(len(MEANINGS)), key=lambda at: run.value("prediction", (0, at)))
    before, after = (single(round(one.value("prediction", (0, best)), 5)) for one in (run, turned))
    found, right = choices(
        chance,
        [
            (
                "Nothing.",
                f"The cosine with {MEANINGS[best]} is {text(before)} in one order and {text(after)} in the other.",
            ),
            ("It loses its meaning.", f"The cosine with {MEANINGS[best]} stays {text(after)}."),
            ("Later words weigh more.", "Nothing in this model knows where a word stands."),
            ("Only the mix changes.", "The mix is a sum over the words, and a sum has no order."),
        ],
    )
    return Exercise(
        n=3,
        kind="choice",
        title="Backwards",
        prompt=f"What happens to the vector of mole when “{' '.join(words)}” is written as “{' '.join(other)}”?",
        answer=right,
        explanation="This model adds no positions, and without them attention is a sum over a bag of words. Real "
        "models add the place to each vector.",
        link=turned.link("prediction", cell=f"prediction[0,{best}]"),
        link_text="the phrase backwards",
        choices=found,
        values=(before, after),
    )


def _context(chance: random.Random) -> Exercise:
    speaks = chance.choice(list(SPEAKING))
    weak = chance.choice([word for word in HALF if SPEAKING[speaks] not in EMBEDDINGS[word]])
    run = _of([weak, WORD, "of", speaks])
    cosines = [run.value("prediction", (0, at)) for at in range(len(MEANINGS))]
    said = next(name for name in MEANINGS if name in EMBEDDINGS[weak])
    heard = ", ".join(f"{name} {text(one)}" for name, one in zip(MEANINGS, cosines, strict=True))
    return Exercise(
        n=4,
        kind="thought",
        title="Two hints",
        prompt=f"“{weak} mole of {speaks}”: {weak} leans to {said} with 0.5, {speaks} to {SPEAKING[speaks]} with 1. "
        "Which meaning wins, and why by more than two to one?",
        answer=None,
        explanation=f"The cosines are: {heard}. A hint works twice: what a word carries decides how much it is heard, "
        f"8 to the power of it, and then it hands over as much. So the stronger hint counts for far more.",
        link=run.link("pattern", cell="pattern[1,3]"),
        link_text="how mole listens there",
        values=(0.5, 1, 8, *cosines),
    )
