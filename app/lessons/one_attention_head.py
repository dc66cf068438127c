"""One attention head: what each word asks, offers and hands over, worked out for eight words.

The text is templates/lessons/one_attention_head.html; here are its numbers: of the run shown (`run`), of the lesson's
own sentence with the mask open or without the division (`open`, `sharp`), and of measurements (`leak`, `widths`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

from app.lessons import Lesson, one_attention_head_check
from app.lessons.attention_tables import Data, cell, chart, first, row, typed, view, words_of, worked
from app.numbers import single
from app.shown import shown
from engine.experiments.one_attention_head import by_position, leak, widths
from engine.models.one_attention_head import ASKED, FEATURES, QUESTIONS, SENTENCE
from engine.trace import Index, Trace

SLUG = "one_attention_head"
NOUN, ADJECTIVE, LEAKED = (SENTENCE.index(word) for word in ("creature", "fluffy", "verdant"))
SOFT, GREEN = FEATURES.index("soft"), FEATURES.index("green")
SOURCE = {"a": 0.05, "fluffy": 0.6, "blue": 0.3, "creature": 0.05}


def prose(trace: Trace, baseline: Trace) -> dict[str, Any]:
    """The numbers of the text: `run` follows the word at the fourth place of the run shown."""
    lead, words = first(trace), words_of(trace)
    here: Index = (*lead, NOUN)
    options = trace.request["options"]

    def own(tensor: str, index: Index) -> Data | None:
        return worked(trace, tensor, index, baseline) if tensor in trace.tensors else None

    return {
        "run": {
            "words": words,
            "word": words[NOUN],
            "other": words[ADJECTIVE],
            "masked": options["mask"] == "causal",
            "scaled": options["scale"] == "on",
            "asked": list(ASKED),
            "d_k": len(ASKED),
            "query": row(trace, "queries", here, baseline),
            "key": row(trace, "keys", (*lead, ADJECTIVE), baseline),
            "score": own("scores", (*here, ADJECTIVE)),
            "scaled_score": own("scaled_scores", (*here, ADJECTIVE)),
            "keys": [_key(trace, here, place, word, baseline) for place, word in enumerate(words)],
            "soft": own("mix", (*here, SOFT)),
            "features": _features(trace, here, baseline),
            "sums": {
                "row": single(float(trace["pattern"][here].sum())),
                "column": single(float(trace["pattern"][lead][:, ADJECTIVE].sum())),
            },
            "loss": own("loss", ()),
            "views": {
                "query": view(trace, "queries", (*here, 0)),
                "score": view(trace, "scores", (*here, ADJECTIVE)),
                "masked": view(trace, "masked_scores", (*here, NOUN + 1)),
                "weight": view(trace, "pattern", (*here, ADJECTIVE)),
                "mix": view(trace, "mix", (*here, SOFT)),
                "updated": view(trace, "updated", (*here, SOFT)),
                "gradient": view(trace, "scaled_scores.grad", None),
            },
        },
        **_named(),
    }


def _key(trace: Trace, here: Index, place: int, word: str, baseline: Trace) -> Data:
    """One word as the fourth place's query meets it, from score to weight; parts that the run leaves out are None."""
    names = ("scores", "scaled_scores", "pattern")
    parts = {name: cell(trace, name, (*here, place), baseline) if name in trace.tensors else None for name in names}
    hidden = "masked_scores" in trace.tensors and not bool(trace["mask"][here[-1], place])
    return {"word": word, "hidden": hidden, "source": SOURCE.get(word), **parts}


def _features(trace: Trace, here: Index, baseline: Trace) -> list[Data]:
    """The vector of the fourth place by feature: before, what the mix adds, after."""
    rows = zip(FEATURES, *(row(trace, name, here, baseline) for name in ("x", "mix", "updated")), strict=True)
    return [{"name": name, "x": x, "mix": mix, "updated": updated} for name, x, mix, updated in rows]


@functools.cache
def _named() -> Mapping[str, Any]:
    base, open_, sharp = shown(SLUG), shown(SLUG, options={"mask": "none"}), shown(SLUG, options={"scale": "off"})
    scores = base.trace["scaled_scores"][NOUN, : NOUN + 1]
    return {
        "by_hand": {
            "ratios": [round(math.exp(float(one - scores[0])), 4) for one in scores],
            **{name: round(math.exp(score), 4) for name, score in QUESTIONS["noun"].items()},
        },
        "sources": {"attention": "Vaswani et al. 2017", "weights": "A Brief Introduction to Deep Learning"},
        "source": [{"word": word, "weight": weight} for word, weight in SOURCE.items()],
        "open": {
            "words": [
                {"word": word, "next": next_, "masked": single(masked), "open": single(seen)}
                for word, next_, masked, seen in zip(
                    SENTENCE, base.trace.request["target"], by_position(base.trace), by_position(open_.trace),
                    strict=True,
                )
            ],
            "masked_loss": base.loss,
            "open_loss": open_.loss,
            "green": open_.value("updated", (NOUN, GREEN)),
            "weight": open_.value("pattern", (NOUN, LEAKED)),
            "link": open_.link("pattern", cell=f"pattern[{NOUN},{LEAKED}]"),
        },
        "sharp": {
            "rows": [
                {"word": word, "scaled": base.value("pattern", (NOUN, at)), "plain": sharp.value("pattern", (NOUN, at))}
                for at, word in enumerate(SENTENCE[: NOUN + 1])
            ],
            "link": sharp.link("pattern", cell=f"pattern[{NOUN},{ADJECTIVE}]"),
        },
        "swap": _swap(),
        **_measured(),
    }  # fmt: skip


def _swap() -> Data:
    """The same sentence with `the` in the place of `blue`: the rest of the weights share out what it had."""
    words = [*SENTENCE[:2], "the", *SENTENCE[3:]]
    run = shown(SLUG, set=typed("tokens", words))
    return {
        "weight": run.value("pattern", (NOUN, ADJECTIVE)),
        "article": run.value("pattern", (NOUN, 2)),
        "link": run.link("pattern", cell=f"pattern[{NOUN},{ADJECTIVE}]"),
    }


def _measured() -> Data:
    found, rows = leak(), widths()
    steps = found["steps"]
    sizes = [row["d_k"] for row in rows]
    return {
        "leak": {
            **{name: found[name] for name in ("words", "chance", "honest", "used_open", "used")},
            "last": steps[-1],
            "rows": [
                {"step": step, "masked": masked, "open": open_}
                for step, masked, open_ in list(zip(steps, found["masked"], found["open"], strict=True))[::4]
            ],
        },
        "widths": {"rows": [dict(row) for row in rows], "most": 0.25, "last": dict(rows[-1])},
        "figures": {
            "leak": chart(
                [
                    ("with the mask", steps, found["masked"]),
                    ("without the mask", steps, found["open"]),
                    ("chance", steps, [found["chance"]] * len(steps)),
                ],
                "training step",
                "loss",
            ),
            "widths": chart(
                [
                    ("divided by √d_k", sizes, [row["scaled_largest"] for row in rows]),
                    ("not divided", sizes, [row["plain_largest"] for row in rows]),
                ],
                "d_k",
                "largest weight",
                powers=True,
            ),
        },
    }


LESSON = Lesson(
    slug=SLUG,
    title="One attention head",
    part="The transformer, part by part",
    order=13,
    summary="Eight words, and one question asked of all of them: queries, keys, scores, mask, pattern, values and the "
    "updated vector, down to every product.",
    model="one_attention_head",
    request={"update": {"rule": "sgd", "learning_rate": 0.1, "frozen": []}},
    prose=prose,
    exercises=one_attention_head_check.exercises,
)
