"""Several heads: two jobs side by side, each head's own delta, their sum, and the value as a pair of low rank.

The text is templates/lessons/several_heads.html; here are its numbers: of the run shown (`run`), of the unedited phrase
with one head at a time (`alone`), and counts of parameters, here and in GPT-3 (`counts`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

from app.lessons import Lesson, several_heads_check
from app.lessons.attention_tables import Data, cell, first, grid, row, view, words_of, worked
from app.numbers import single
from app.shown import shown
from engine.experiments.one_attention_head import by_position
from engine.models.several_heads import ADJECTIVE, BEFORE, D_HEAD, FEATURES, HEADS, PHRASE
from engine.trace import Trace

SLUG = "several_heads"
NOUN = PHRASE.index("creature")
SOFT = FEATURES.index("soft")
AFTER = FEATURES.index("after adjective")
GPT3 = {"d_model": 12288, "d_head": 128, "n_heads": 96}  # Brown et al. 2020, table 2.1


def prose(trace: Trace, baseline: Trace) -> dict[str, Any]:
    """The numbers of the text; the word followed is the one at the fourth place of the run shown."""
    lead, words = first(trace), words_of(trace)
    only = trace.request["options"]["heads"]
    here = (*lead, NOUN)

    def own(tensor: str, *index: int) -> Data:
        return worked(trace, tensor, (*lead, *index), baseline)

    return {
        "run": {
            "words": words,
            "word": words[NOUN],
            "before": words[NOUN - 1],
            "only": None if only == "both" else only,
            "patterns": [grid(trace, "pattern", (*lead, head), words, words, baseline) for head in range(len(HEADS))],
            "scores": [own("scores", 0, NOUN, NOUN - 1), own("scores", 1, NOUN, 1)],
            "down": [
                own("values", 0, NOUN - 1, 1),
                own("mix", 0, NOUN, 1),
                own("deltas", 0, NOUN, AFTER),
            ],
            "features": [
                {"name": name, "x": x, "deltas": deltas, "update": update, "updated": updated}
                for name, x, *deltas, update, updated in zip(
                    FEATURES,
                    row(trace, "x", here, baseline),
                    *(row(trace, "deltas", (*lead, head, NOUN), baseline) for head in range(len(HEADS))),
                    row(trace, "update", here, baseline),
                    row(trace, "updated", here, baseline),
                    strict=True,
                )
            ],
            "sum": own("update", NOUN, SOFT),
            "loss": worked(trace, "loss", (), baseline),
            "weight": cell(trace, "pattern", (*lead, 0, NOUN, NOUN - 1), baseline),
            "views": {
                "before": view(trace, "pattern", (*lead, 0, NOUN, NOUN - 1)),
                "adjectives": view(trace, "pattern", (*lead, 1, NOUN, 1)),
                "down": view(trace, "values", (*lead, 0, NOUN - 1, 1)),
                "deltas": view(trace, "deltas", (*lead, 0, NOUN, AFTER)),
                "update": view(trace, "update", (*lead, NOUN, SOFT)),
            },
        },
        **_named(),
    }


@functools.cache
def _named() -> Mapping[str, Any]:
    runs = {heads: shown(SLUG, options={"heads": heads}) for heads in ("both", *HEADS)}
    parts = {heads: by_position(run.trace) for heads, run in runs.items()}
    return {
        "sources": {"sizes": "Brown et al. 2020"},
        "by_hand": {"before": round(math.exp(BEFORE), 4), "adjective": round(math.exp(ADJECTIVE), 4)},
        "alone": {
            "rows": [
                {"word": word, "next": runs["both"].trace.request["target"][at]}
                | {heads: single(parts[heads][at]) for heads in runs}
                for at, word in enumerate(PHRASE)
            ],
            "loss": {heads: run.loss for heads, run in runs.items()},
            "links": {heads: run.link("updated", cell=f"updated[{NOUN},{SOFT}]") for heads, run in runs.items()},
        },
        "counts": {
            "here": _counts(len(FEATURES), D_HEAD, len(HEADS)),
            "gpt3": _counts(GPT3["d_model"], GPT3["d_head"], GPT3["n_heads"]),
        },
    }


def _counts(d_model: int, d_head: int, heads: int) -> Data:
    """Parameters of a head: its value as one square matrix and as a pair, and all four matrices of a head."""
    square, pair = d_model * d_model, 2 * d_model * d_head
    return {
        "d_model": d_model,
        "d_head": d_head,
        "heads": heads,
        "one": d_model * d_head,
        "square": square,
        "pair": pair,
        "ratio": square / pair,
        "head": 4 * d_model * d_head,
        "all": heads * 4 * d_model * d_head,
    }


LESSON = Lesson(
    slug=SLUG,
    title="Several heads",
    part="The transformer, part by part",
    order=15,
    summary="Two heads read the same vectors and do different jobs. What each adds, why a value comes as a pair of "
    "thin matrices, and how the deltas sum.",
    model="several_heads",
    request={"update": {"rule": "sgd", "learning_rate": 0.1, "frozen": []}},
    prose=prose,
    exercises=several_heads_check.exercises,
)
