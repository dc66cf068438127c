"""The check of "From text to vectors": a place added, a logit, a turn, a word twice, and a gradient of an unseen word.

A seed chooses the words and places. Every answer and every number of a worked answer is read off a run.
"""

from __future__ import annotations

import functools
import math
import random
from typing import Any

from app.exercise import Exercise
from app.lessons.attention_tables import apart, choices, typed
from app.numbers import single, text
from app.shown import Shown, shown
from engine.models.text_to_vectors import FEATURES, SENTENCE, VOCABULARY

SLUG = "text_to_vectors"
NOUNS = ("cat", "dog", "tree")


@functools.lru_cache(maxsize=128)
def exercises(seed: int) -> tuple[Exercise, ...]:
    """The five questions in one variant."""
    chance = random.Random(seed)
    return (_added(chance), _logit(chance), _turn(chance), _twice(chance), _unseen())


def _run(words: list[str], **changes: Any) -> Shown:
    return shown(SLUG, set=typed("tokens", words), **changes)


def _sentence(chance: random.Random) -> list[str]:
    return [
        chance.choice(("the", "a")),
        chance.choice(NOUNS),
        chance.choice(("saw", "chased")),
        "a",
        chance.choice(NOUNS),
    ]


def _vector(run: Shown, tensor: str, index: tuple[int, ...]) -> list[float]:
    return [run.value(tensor, (*index, at)) for at in range(len(FEATURES))]


def _listed(values: list[float]) -> str:
    return f"({', '.join(map(text, values))})"


def _added(chance: random.Random) -> Exercise:
    words, place, feature = _sentence(chance), chance.choice((1, 4)), chance.choice((0, 2))
    run = _run(words)
    vector, position = _vector(run, "embedded", (place,)), _vector(run, "position", (place,))
    answer = run.value("encoded", (place, feature))
    return Exercise(
        n=1,
        kind="number",
        title="A word at a place",
        prompt=f"The row of {words[place]} in E is {_listed(vector)}, row {text(place + 1)} of P is "
        f"{_listed(position)}; the features are {', '.join(FEATURES)}. With the learned encoding, how much "
        f"{FEATURES[feature]} does the vector of {words[place]} have at that place?",
        answer=answer,
        explanation=f"The rows are added: {text(vector[feature])} and {text(position[feature])} make {text(answer)}.",
        link=run.link("encoded", cell=f"encoded[{place},{feature}]"),
        link_text="the sum, written out",
        hint="Add the two rows, feature by feature.",
        slips=apart([(vector[feature], "That is the word alone; add its place.")], answer),
        values=(place + 1, *vector, *position, answer),
    )


def _logit(chance: random.Random) -> Exercise:
    words, said = _sentence(chance), chance.choice(NOUNS)
    run = _run(words, options={"encoding": "none"})
    place, at = 1, VOCABULARY.index(said)
    here, there = _vector(run, "encoded", (place,)), _vector(run, "embedding", (at,))
    answer = run.value("prediction", (place, at))
    return Exercise(
        n=2,
        kind="number",
        title="A logit",
        prompt=f"Without a place, the vector of {words[place]} is {_listed(here)}, and the row of {said} in E is "
        f"{_listed(there)}. The readout is E again. What is the logit of {said} there?",
        answer=answer,
        explanation=f"Part by part and added up: {text(answer)}.",
        link=run.link("prediction", cell=f"prediction[{place},{at}]"),
        link_text="the logit, written out",
        hint="The dot product of the two rows.",
        values=(*here, *there, answer),
    )


def _turn(chance: random.Random) -> Exercise:
    place = chance.choice((1, 2, 3, 4))
    words = list(SENTENCE)
    words[place] = "the"
    run = _run(words, options={"encoding": "rotary"})
    angle, answer = run.value("angle", (place, 0)), run.value("encoded", (place, 1))
    return Exercise(
        n=3,
        kind="number",
        title="A turn",
        prompt=f"“the” is 1 of article and nothing else. The rotary encoding turns the pair (thing, article) by "
        f"{text(angle)} radians at place {text(place)}. How much article is left?",
        answer=answer,
        explanation=f"(0, 1) turned by φ is (−sin φ, cos φ), and the cosine of {text(angle)} is {text(answer)}.",
        link=run.link("turned_second", cell=f"turned_second[{place},0]"),
        link_text="the turn, written out",
        hint="Turning (0, 1) by φ gives (−sin φ, cos φ). Radians, not degrees.",
        slips=apart(
            [
                (single(math.cos(math.radians(angle))), "That is the cosine of so many degrees; these are radians."),
                (single(math.sin(angle)), "That is the sine; the second part of a turned (0, 1) is the cosine."),
            ],
            answer,
        ),
        values=(1, 0, angle, place, answer),
    )


def _twice(chance: random.Random) -> Exercise:
    word = chance.choice(NOUNS)
    words = ["the", word, "saw", "the", word]
    bare, placed = _run(words, options={"encoding": "none"}), _run(words)
    one, other = (placed.value("encoded", (place, 0)) for place in (1, 4))
    same = bare.value("encoded", (1, 0))
    found, key = choices(
        chance,
        [
            ("Nothing.", "The same id takes the same row, and nothing else has gone into it."),
            ("Their ids.", "The id belongs to the word, not to the place."),
            ("Their rows of E.", "There is one row for a word, wherever it stands."),
            ("The second has seen the first.", "Nothing mixes the places here; that is attention's work."),
        ],
    )
    return Exercise(
        n=4,
        kind="choice",
        title="Twice the same word",
        prompt=f"In “{' '.join(words)}” no place is put in. What tells the two vectors of {word} apart?",
        answer=key,
        explanation=f"Both have {text(same)} of {FEATURES[0]}, and so on. With the learned encoding they have "
        f"{text(one)} and {text(other)}.",
        link=placed.link("encoded", cell="encoded[4,0]"),
        link_text="the two, with their places",
        choices=found,
        values=(same, one, other),
    )


def _unseen() -> Exercise:
    tree = VOCABULARY.index("tree")
    run = shown(SLUG)
    gradient, before, after = (
        run.value(name, (tree, 0)) for name in ("embedding.grad", "embedding", "embedding.updated")
    )
    return Exercise(
        n=5,
        kind="thought",
        title="A word that is not there",
        prompt=f"“tree” does not stand in the lesson's sentence, yet its row of E moves in the update: "
        f"{FEATURES[0]} goes from {text(before)} to {text(after)}. Why?",
        answer=None,
        explanation="The table is tied. As a row to look up, tree is not used, and no gradient comes that way. But the "
        "readout compares every vector with every row, and softmax takes a little from each word that was not next: "
        f"from there its gradient, {text(gradient)}, comes.",
        link=run.link("embedding.grad", cell=f"embedding[{tree},0]", of="gradient"),
        link_text="that gradient, written out",
        values=(before, after, gradient),
    )
