"""Cross-attention: the English so far asks, the French answers; a toy translation without a causal mask.

The text is templates/lessons/cross_attention.html; here are its numbers: of the run shown (`run`) and of named runs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from app.lessons import Lesson, cross_attention_check
from app.lessons.attention_tables import Data, cell, first, grid, row, typed, view, words_of, worked
from app.numbers import single
from app.shown import Shown, shown
from engine.experiments.one_attention_head import by_position
from engine.models.cross_attention import ASKED_FOR, ENGLISH, KINDS, MEANINGS, SO_FAR, SOURCE
from engine.trace import Index, Trace

SLUG = "cross_attention"
ASKING = SO_FAR.index("the")
MEANING_AT = len(KINDS)


def prose(trace: Trace, baseline: Trace) -> dict[str, Any]:
    """The numbers of the text; the word followed is the second English one of the run shown."""
    lead = first(trace)
    source, words = words_of(trace, "source"), words_of(trace)
    heard = max(range(len(source)), key=lambda at: float(trace["pattern"][(*lead, ASKING, at)]))
    carried = max(range(len(MEANINGS)), key=lambda at: abs(float(trace["mix"][(*lead, ASKING, MEANING_AT + at)])))

    def own(tensor: str, *index: int) -> Data:
        return worked(trace, tensor, (*lead, *index), baseline)

    return {
        "run": {
            "source": source,
            "words": words,
            "word": words[ASKING],
            "heard": source[heard],
            "kinds": list(KINDS),
            "query": row(trace, "queries", (*lead, ASKING), baseline),
            "key": row(trace, "keys", (*lead, heard), baseline),
            "score": own("scores", ASKING, heard),
            "scaled": own("scaled_scores", ASKING, heard),
            "weight": cell(trace, "pattern", (*lead, ASKING, heard), baseline),
            "pattern": grid(trace, "pattern", lead, words, source, baseline),
            "meaning": MEANINGS[carried],
            "mix": own("mix", ASKING, MEANING_AT + carried),
            "says": [_says(trace, lead, at, word) for at, word in enumerate(words)],
            "sizes": [
                {"name": name, "axes": [{"name": axis.name, "size": axis.size} for axis in trace.record(name).axes]}
                for name in ("queries", "keys", "values", "pattern")
            ],
            "loss": worked(trace, "loss", (), baseline),
            "views": {
                "queries": view(trace, "queries", (*lead, ASKING, 0)),
                "keys": view(trace, "keys", (*lead, heard, 0)),
                "pattern": view(trace, "pattern", (*lead, ASKING, heard)),
                "mix": view(trace, "mix", (*lead, ASKING, MEANING_AT + carried)),
                "prediction": view(trace, "prediction", (*lead, ASKING, 0)),
            },
        },
        **_named(),
    }


def _says(trace: Trace, lead: Index, at: int, word: str) -> Data:
    """The likeliest next word after an English one, and its probability."""
    logits = [float(one) for one in trace["prediction"][(*lead, at)]]
    best = max(range(len(ENGLISH)), key=logits.__getitem__)
    total = math.fsum(math.exp(one - logits[best]) for one in logits)
    return {
        "after": word,
        "said": ENGLISH[best],
        "logit": cell(trace, "prediction", (*lead, at, best)),
        "probability": single(1 / total),
    }


@functools.cache
def _named() -> Mapping[str, Any]:
    base = shown(SLUG)
    other = _of(("la", "forêt", "verte", "."), ("start", "the", "green"), ("the", "green", "forest"))
    turned = _of(("la", "bleue", "créature", "."), SO_FAR, ("the", "blue", "creature"))
    return {
        "sources": {"attention": "Vaswani et al. 2017, section 3.2"},
        "louder": round(math.exp(ASKED_FOR), 4),
        "parts": [single(one) for one in by_position(base.trace)],
        "other": {
            "source": other.trace.request["inputs"]["source"],
            "words": other.trace.request["inputs"]["tokens"],
            "loss": other.loss,
            "link": other.link("pattern", cell="pattern[1,2]"),
        },
        "turned": {
            "source": turned.trace.request["inputs"]["source"],
            "loss": turned.loss,
            "before": base.loss,
            "place": [
                run.value("pattern", (ASKING, at)) for run, at in ((base, SOURCE.index("bleue")), (turned, 1))
            ],
            "link": turned.link("pattern", cell="pattern[1,1]"),
        },
    }  # fmt: skip


def _of(source: Sequence[str], words: Sequence[str], target: Sequence[str]) -> Shown:
    given = {**typed("source", source), **typed("tokens", words), **typed("target", target)}
    return shown(SLUG, set=given)


LESSON = Lesson(
    slug=SLUG,
    title="Cross-attention",
    part="The transformer, part by part",
    order=16,
    summary="A toy translation: queries from the English so far, keys and values from the French. The grid need not be "
    "square, and nothing in it is masked.",
    model="cross_attention",
    request={"update": {"rule": "sgd", "learning_rate": 0.1, "frozen": []}},
    prose=prose,
    exercises=cross_attention_check.exercises,
)
