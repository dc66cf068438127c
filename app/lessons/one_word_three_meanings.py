"""One word, three meanings: the vector of `mole` in three contexts, measured by its cosines before and after attention.

The text is templates/lessons/one_word_three_meanings.html; here are its numbers: of the run shown (`run`), and of the
three contexts unedited (`contexts`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

from app.lessons import Lesson, one_word_three_meanings_check
from app.lessons.attention_tables import Data, cell, first, row, typed, view, words_of, worked
from app.shown import Shown, shown
from engine.models.one_word_three_meanings import CONTEXTS, FEATURES, MEANINGS, QUESTION, WORD, WORDS
from engine.trace import Index, Trace

SLUG = "one_word_three_meanings"


def prose(trace: Trace, baseline: Trace) -> dict[str, Any]:
    """The numbers of the text; `run.mole` is None where the word is missing or stands twice."""
    lead, words = first(trace), words_of(trace)

    def own(tensor: str, index: Index = ()) -> Data:
        return worked(trace, tensor, (*lead, *index), baseline)

    found: Data | None = None
    if words.count(WORD) == 1:
        here = (*lead, words.index(WORD))
        place = here[-1]
        meaning = max(range(len(MEANINGS)), key=lambda at: float(trace["prediction"][(*lead, 0, at)]))
        listened = max(range(len(words)), key=lambda at: float(trace["pattern"][(*here, at)]))
        found = {
            "place": place,
            "weights": [
                {"word": word, "weight": cell(trace, "pattern", (*here, at), baseline)} for at, word in enumerate(words)
            ],
            "listened": words[listened],
            "score": own("scores", (place, listened)),
            "moved": own("mix", (place, meaning)),
            "meaning": MEANINGS[meaning],
            "features": [
                {"name": name, "x": before, "updated": after}
                for name, before, after in zip(
                    FEATURES, row(trace, "x", here, baseline), row(trace, "updated", here, baseline), strict=True
                )
            ],
            "length": own("length", (0, 0)),
            "cosine": own("prediction", (0, meaning)),
            "cosines": [
                {"name": name, "cosine": one}
                for name, one in zip(MEANINGS, row(trace, "prediction", (*lead, 0), baseline), strict=True)
            ],
        }
    return {
        "run": {
            "words": words,
            "masked": trace.request["options"]["mask"] == "causal",
            "mole": found,
            "loss": worked(trace, "loss", (), baseline),
            "views": {
                "pattern": view(trace, "pattern", None if found is None else (*lead, found["place"], 0)),
                "mix": view(trace, "mix", None if found is None else (*lead, found["place"], 0)),
                "cosine": view(trace, "prediction", (*lead, 0, 0)),
            },
        },
        **_named(),
    }


def _at(context: tuple[str, ...], meaning: str, **changes: Any) -> Shown:
    """The unedited model in a context, with the meaning that the context calls for as its target."""
    return shown(SLUG, set={**typed("tokens", context), "target[0]": meaning}, **changes)


def _cosines(run: Shown) -> list[float]:
    return [run.value("prediction", (0, at)) for at in range(len(MEANINGS))]


@functools.cache
def _named() -> Mapping[str, Any]:
    rows: list[Data] = []
    for context, meaning in zip(CONTEXTS, MEANINGS, strict=True):
        held = {f"mix[{context.index(WORD)},{at}]": "off" for at in range(len(MEANINGS))}
        run, still = _at(context, meaning), _at(context, meaning, do=held)
        rows.append(
            {
                "words": " ".join(context),
                "meaning": meaning,
                "before": _cosines(still),
                "after": _cosines(run),
                "loss": run.loss,
                "link": run.link("prediction", cell=f"prediction[0,{MEANINGS.index(meaning)}]"),
                "still": still.link("prediction", cell="prediction[0,0]"),
            }
        )
    masked = _at(CONTEXTS[1], MEANINGS[1], options={"mask": "causal"})
    return {
        "sources": {"encoder": "BERT, Devlin et al. 2018"},
        "meanings": list(MEANINGS),
        "loudness": round(math.exp(QUESTION["mole"]["meaning"]), 4),
        "contexts": rows,
        "embedding": [
            {"name": name, "value": shown(SLUG).value("W_E", (WORDS.index(WORD), at))}
            for at, name in enumerate(FEATURES)
        ],
        "causal": {
            "cosine": masked.value("prediction", (0, 1)),
            "loss": masked.loss,
            "open": rows[1]["after"][1],
            "open_loss": rows[1]["loss"],
            "link": masked.link("pattern", cell="pattern[1,0]"),
        },
        "three": shown(SLUG, rows=3).link("prediction", cell="prediction[0,0,0]"),
    }


LESSON = Lesson(
    slug=SLUG,
    title="One word, three meanings",
    part="The transformer, part by part",
    order=14,
    summary="The vector of “mole” goes in once and comes out three ways: as an animal, an amount, a spot on the skin, "
    "as the words around it say.",
    model="one_word_three_meanings",
    request={"update": {"rule": "sgd", "learning_rate": 0.1, "frozen": []}},
    examples=tuple(
        {"tokens": list(context), "target": meaning}
        for context, meaning in zip(CONTEXTS[1:], MEANINGS[1:], strict=True)
    ),
    prose=prose,
    exercises=one_word_three_meanings_check.exercises,
)
