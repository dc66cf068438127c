"""The check of "One attention head": weights, a moved vector, the axis that sums to one, the division, the mask.

A seed chooses the words before the noun. Every answer and every number of a worked answer is read off a run.
"""

from __future__ import annotations

import functools
import random

from app.exercise import Exercise
from app.lessons.attention_tables import apart, choices, typed
from app.numbers import single, text
from app.shown import Shown, shown
from engine.experiments.one_attention_head import leak
from engine.models.one_attention_head import EMBEDDINGS, FEATURES, SENTENCE

SLUG = "one_attention_head"
NOUN = 3
BEFORE = ("a", "the", "fluffy", "blue", "verdant", "roamed")
PASSED_ON = ("soft", "blue", "green")
RULE = "A place later doubles a word's weight; an adjective counts 1.5 times, a soft word 4 times, a noun an eighth"


@functools.lru_cache(maxsize=128)
def exercises(seed: int) -> tuple[Exercise, ...]:
    """The five questions in one variant."""
    chance = random.Random(seed)
    return (_weight(chance), _moved(chance), _sums(chance), _division(chance), _mask())


def _run(chance: random.Random, **changes: dict[str, str]) -> tuple[list[str], Shown]:
    """Three other words before the noun, of which at least one hands something over, and their run."""
    while True:
        words = [*chance.sample(BEFORE, NOUN), chance.choice(("creature", "forest"))]
        if _givers(words) and words != list(SENTENCE[: NOUN + 1]):
            return words, _of(words, **changes)


def _of(words: list[str], **changes: dict[str, str]) -> Shown:
    return shown(SLUG, set=typed("tokens", words), **changes)


def _givers(words: list[str]) -> list[int]:
    return [place for place, word in enumerate(words) if set(EMBEDDINGS[word]) & set(PASSED_ON)]


def _row(run: Shown) -> list[float]:
    return [run.value("pattern", (NOUN, place)) for place in range(NOUN + 1)]


def _listed(words: list[str], row: list[float]) -> str:
    return ", ".join(f"{word} {text(weight)}" for word, weight in zip(words, row, strict=True))


def _weight(chance: random.Random) -> Exercise:
    words, run = _run(chance)
    place = chance.choice(_givers(words))
    row = _row(run)
    slips = [
        (
            run.value("scaled_scores", (NOUN, place)),
            "That is the score; softmax makes weights that sum to 1 of scores.",
        ),
        (
            single(row[place] / row[NOUN]),
            "That is the ratio to the noun's own weight; divide by the sum of all ratios.",
        ),
    ]
    return Exercise(
        n=1,
        kind="number",
        title="A weight",
        prompt=f"The sentence begins “{' '.join(words)}”. {RULE}. What weight does {words[NOUN]} give to "
        f"{words[place]}? A fraction will do.",
        answer=row[place],
        explanation=f"Each weight is its ratio over the sum of the four: {_listed(words, row)}.",
        link=run.link("pattern", cell=f"pattern[{NOUN},{place}]"),
        link_text=f"how {words[NOUN]} attends here",
        hint="Write down the four ratios, 1 for a word that is only the first; then divide by their sum. Words to come "
        "are masked and count 0.",
        slips=apart(slips, row[place]),
        values=(1.5, 4, *row),
    )


def _moved(chance: random.Random) -> Exercise:
    words, run = _run(chance)
    place = chance.choice(_givers(words))
    feature = next(name for name in PASSED_ON if name in EMBEDDINGS[words[place]])
    row, at = _row(run), FEATURES.index(feature)
    answer = run.value("updated", (NOUN, at))
    return Exercise(
        n=2,
        kind="number",
        title="A vector moves",
        prompt=f"In “{' '.join(words)}” the weights of {words[NOUN]} are: {_listed(words, row)}. How much {feature} "
        f"does the updated vector of {words[NOUN]} have?",
        answer=answer,
        explanation=f"{words[NOUN]} came in with {text(run.value('x', (NOUN, at)))} {feature}. The mix adds weight "
        f"times value over all words, and only {words[place]} hands over {feature}: {text(row[place])} times "
        f"{text(run.value('values', (place, at)))} makes {text(answer)}.",
        link=run.link("updated", cell=f"updated[{NOUN},{at}]"),
        link_text=f"the updated vector of {words[NOUN]}",
        hint="Which of the words hands over that feature, and with which weight?",
        values=(*row, run.value("x", (NOUN, at)), run.value("values", (place, at)), answer),
    )


def _sums(chance: random.Random) -> Exercise:
    run = shown(SLUG)
    column = single(float(run.trace["pattern"][:, 1].sum()))
    found, right = choices(
        chance,
        [
            ("Each row.", "The softmax runs over the keys of one query, and a query is a row here."),
            ("Each column.", f"The column of fluffy sums to {text(column)}: many words may listen to one."),
            ("The whole grid.", "The softmax does not mix queries: each has a weight of 1 to give away."),
            ("Rows and columns.", f"The rows do. The column of fluffy sums to {text(column)}."),
        ],
    )
    return Exercise(
        n=3,
        kind="choice",
        title="What sums to one",
        prompt="The grid has a query in each row and a key in each column. What sums to 1?",
        answer=right,
        explanation="Softmax runs over the keys of one query. Some drawings put queries in columns; then the columns "
        "sum to 1. It is the query that matters.",
        link=run.link("pattern", flip=True),
        link_text="the grid with queries in columns",
        choices=found,
        values=(column,),
    )


def _division(chance: random.Random) -> Exercise:
    words, run = _run(chance)
    sharp = _of(words, options={"scale": "off"})
    row, place = _row(run), max(range(NOUN + 1), key=_row(run).__getitem__)
    answer = sharp.value("pattern", (NOUN, place))
    return Exercise(
        n=4,
        kind="number",
        title="Without the division",
        prompt=f"In “{' '.join(words)}” the weights of {words[NOUN]} are: {_listed(words, row)}. Here √d_k is 2. What "
        f"is the weight of {words[place]} when the scores are not divided by it?",
        answer=answer,
        explanation=f"Twice a score is the square of its exponential. The squares, over their sum, are: "
        f"{_listed(words, _row(sharp))}.",
        link=sharp.link("pattern", cell=f"pattern[{NOUN},{place}]"),
        link_text="the run without the division",
        hint="Not dividing doubles every score. What does doubling do to an exponential?",
        slips=apart([(row[place], "That is the weight with the division.")], answer),
        tolerance=0.002,
        values=(2, *row, *_row(sharp)),
    )


def _mask() -> Exercise:
    found = leak()
    run = shown(SLUG, options={"mask": "none"})
    return Exercise(
        n=5,
        kind="thought",
        title="A loss too good",
        prompt=f"A head trained without a mask reaches a loss of {text(found['used_open'])} on random words. Why is "
        "that no success, and what would tell you so?",
        answer=None,
        explanation=f"Nobody can guess random words better than chance, which is a loss of {text(found['chance'])}. "
        "The head copies the next word, which the open mask shows it. Hide what is to come, as it is hidden when text "
        f"is written, and the same head has a loss of {text(found['used'])}, worse than chance.",
        link=run.link("pattern", cell=f"pattern[{NOUN},6]"),
        link_text="the open mask",
        values=(found["used_open"], found["chance"], found["used"]),
    )
