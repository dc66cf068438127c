"""From text to vectors: words, ids, rows of a table, the place put in four ways, and the table again to read out.

The text is templates/lessons/text_to_vectors.html; here are its numbers: of the run shown (`run`), of one word of it at
every place (`turned`), and of the lesson's own sentence with other encodings.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

from app.lessons import Lesson, text_to_vectors_check
from app.lessons.attention_tables import Data, cell, first, row, view, words_of
from app.numbers import single, text
from app.shown import Shown, shown, written
from engine.explain import explain
from engine.models import catalogue
from engine.models.text_to_vectors import BASE, FEATURES, SENTENCE, VOCABULARY
from engine.trace import Index, Trace

SLUG = "text_to_vectors"
WORD, UNSEEN, FEATURE = VOCABULARY.index("cat"), VOCABULARY.index("tree"), 0
PLACES = range(len(SENTENCE))
PAIRS = range(len(FEATURES) // 2)
SOURCES = {
    "bytes": "Sennrich et al. 2016",
    "sinusoidal": "Vaswani et al. 2017",
    "rotary": "Su et al. 2021",
    "tied": "Press and Wolf 2017",
    "gpt3": "Brown et al. 2020",
}
# GPT-3's sizes, as Brown et al. 2020 give them.
D_MODEL, TOKENS = 12288, 50257
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


def prose(trace: Trace, baseline: Trace) -> dict[str, Any]:
    """The numbers of the text; with several examples those of the first."""
    lead, words = first(trace), words_of(trace)
    options = trace.request["options"]

    def own(tensor: str, index: Index) -> Data:
        return written(trace, tensor, (*lead, *index), baseline=baseline)

    twice = _twice(words)
    return {
        "run": {
            "rows": trace["tokens"].shape[0] if lead else 1,
            "words": [{"word": word, "id": VOCABULARY.index(word), "place": at} for at, word in enumerate(words)],
            "features": list(FEATURES),
            "table": [
                {"word": word, "id": at, "row": row(trace, "embedding", (at,), baseline)}
                for at, word in enumerate(VOCABULARY)
            ],
            "encoding": options["encoding"],
            "lookup": options["lookup"],
            "second": words[1],
            "embedded": row(trace, "embedded", (*lead, 1), baseline),
            "line": own("encoded", (1, 0)),
            "rows_by_place": [
                {
                    "word": word,
                    "place": at,
                    "before": row(trace, "embedded", (*lead, at), baseline),
                    "after": row(trace, "encoded", (*lead, at), baseline),
                }
                for at, word in enumerate(words)
            ],
            "twice": None
            if twice is None
            else {"word": words[twice[0]], "places": list(twice), **_apart(trace, lead, twice)},
            "said": _said(trace, lead),
            "logit": own("prediction", (1, WORD)),
            "loss": written(trace, "loss", (), baseline=baseline),
            "uses": [_use(trace, place) for place in (WORD, UNSEEN)] if not lead else None,
            "views": {
                "embedded": view(trace, "embedded", (*lead, 1, 0)),
                "encoded": view(trace, "encoded", (*lead, 1, 0)),
                "prediction": view(trace, "prediction", (*lead, 1, WORD)),
                "gradient": _gradient_view(trace),
            },
        },
        "turned": _turned(words[1], tuple(map(tuple, _table(trace)))),
        "sources": SOURCES,
        "gpt3": {"tokens": TOKENS, "d_model": D_MODEL, "table": TOKENS * D_MODEL},
        **_named(),
        "figures": {"rotations": _rotations(_turned(words[1], tuple(map(tuple, _table(trace)))))},
    }


def _twice(words: list[str]) -> tuple[int, int] | None:
    """The first two places of the first word that stands twice."""
    for at, word in enumerate(words):
        if word in words[at + 1 :]:
            return at, words.index(word, at + 1)
    return None


def _apart(trace: Trace, lead: Index, places: tuple[int, int]) -> Data:
    """How far apart two places' vectors are, before and after the place is put in."""
    one, other = places
    gap = {
        name: single(float((trace[name][(*lead, one)] - trace[name][(*lead, other)]).norm()))
        for name in ("embedded", "encoded")
    }
    return {"before": gap["embedded"], "after": gap["encoded"]}


def _said(trace: Trace, lead: Index) -> list[Data]:
    """What the readout says at each place, and what the target is."""
    places = trace["prediction"][lead].argmax(-1).tolist()
    targets = trace["target"][lead].tolist()
    return [
        {"word": word, "says": VOCABULARY[said], "target": VOCABULARY[target]}
        for word, said, target in zip(words_of(trace), places, targets, strict=True)
    ]


def _use(trace: Trace, word: int) -> Data:
    """The parts of one embedding cell's gradient, each from the step that sends it."""
    found = explain(trace, "embedding", (word, FEATURE), what="gradient")
    names = {"prediction": "as a column of the readout", "embedded": "as a row that was looked up"}
    made = [trace.steps[trace.steps[part.step].forward or 0].output for part in found.contributions]
    return {
        "word": VOCABULARY[word],
        "parts": [
            {"from": names.get(name, name), "value": single(float(part.expression.value))}
            for name, part in zip(made, found.contributions, strict=True)
        ],
        "total": cell(trace, "embedding.grad", (word, FEATURE)),
    }


def _gradient_view(trace: Trace) -> Data | None:
    found = view(trace, "embedding.grad")
    return found and {**found, "cell": f"embedding[{WORD},{FEATURE}]", "of": "gradient"}


def _table(trace: Trace) -> list[list[float]]:
    return [[single(value) for value in one] for one in trace["embedding"].tolist()]


@functools.lru_cache(maxsize=64)
def _turned(word: str, table: tuple[tuple[float, ...], ...]) -> Data:
    """One word at every place under the rotary encoding, pair by pair, and the products of all its places."""
    edits = [
        {"parameter": "embedding", "index": [at, feature], "value": value}
        for at, one in enumerate(table)
        for feature, value in enumerate(one)
    ]
    options = {"encoding": "rotary"}
    run = catalogue()[SLUG].trace(
        {"inputs": {"tokens": [word] * len(SENTENCE)}, "options": options, "edits": edits, "backward": False}
    )
    after = run["encoded"]
    return {
        "word": word,
        "places": list(PLACES),
        "frequencies": [single(value) for value in run["frequency"].tolist()],
        "pairs": [
            {
                "names": [FEATURES[2 * pair], FEATURES[2 * pair + 1]],
                "rows": [
                    {
                        "place": place,
                        "angle": single(float(run["angle"][place, pair])),
                        "degrees": single(math.degrees(float(run["angle"][place, pair]))),
                        "x": single(float(after[place, 2 * pair])),
                        "y": single(float(after[place, 2 * pair + 1])),
                    }
                    for place in PLACES
                ],
            }
            for pair in PAIRS
        ],
        "products": [[single(round(value, 6)) for value in one] for one in (after @ after.T).tolist()],
    }


def _rotations(turned: Data) -> Data:
    """The first pair at every place: arrows from the middle, turned."""
    rows = turned["pairs"][0]["rows"]
    across, up = turned["pairs"][0]["names"]
    most = max([1.0, *(abs(one[axis]) for one in rows for axis in ("x", "y"))])
    reach, ticks = 1.25 * most, [-1, -0.5, 0, 0.5, 1]
    axis = {"range": [-reach, reach], "fixedrange": True, "tickvals": ticks, "ticktext": [text(one) for one in ticks]}
    return {
        "data": [
            {
                "type": "scatter", "mode": "lines+markers+text", "name": f"place {one['place']}",
                "x": [0, one["x"]], "y": [0, one["y"]], "text": ["", str(one["place"])], "textposition": "top center",
                "line": {"color": "var(--pos)", "dash": DASHES[at], "width": 2.25},
                "marker": {"size": [0, 8], "color": "var(--pos)"},
                "hovertemplate": f"place {one['place']}: {text(one['degrees'])}°<extra></extra>",
            }
            for at, one in enumerate(rows)
        ],
        "layout": {
            "showlegend": False, "dragmode": False, "hovermode": "closest", "height": 340,
            "margin": {"l": 52, "r": 12, "t": 12, "b": 44},
            "xaxis": {**axis, "title": {"text": across}, "constrain": "domain"},
            "yaxis": {**axis, "title": {"text": up}, "scaleanchor": "x", "scaleratio": 1},
        },
    }  # fmt: skip


@functools.cache
def _named() -> Mapping[str, Any]:
    """The lesson's own sentence under each encoding, and E times itself."""
    runs = {name: shown(SLUG, options={"encoding": name}) for name in ("none", "learned", "sinusoidal", "rotary")}
    base, product = runs["learned"], shown(SLUG, options={"lookup": "onehot"})
    pairs = base.trace["embedding"] @ base.trace["embedding"].T
    the, cat = VOCABULARY.index("the"), WORD
    bare, after = runs["none"], base.trace.result["after_update"]
    return {
        "encodings": [_encoding(name, run) for name, run in runs.items()],
        "sinusoid": {
            "rows": [[runs["sinusoidal"].value("sinusoid", (at, feature)) for feature in range(4)] for at in PLACES],
            "base": BASE,
            "link": runs["sinusoidal"].link("sinusoid", cell="sinusoid[1,0]"),
        },
        "rotary": runs["rotary"].link("encoded", cell="encoded[3,0]"),
        "onehot": {
            "row": [product.value("onehot", (1, at)) for at in range(len(VOCABULARY))],
            "line": written(product.trace, "embedded", (1, 0)),
            "link": product.link("embedded", cell="embedded[1,0]"),
        },
        "counts": {"E": base.trace["embedding"].numel(), "P": base.trace["position"].numel()},
        "tied": {
            "the_cat": single(float(pairs[the, cat])),
            "cat_the": single(float(pairs[cat, the])),
            "cat_cat": single(float(pairs[cat, cat])),
            "cat_dog": single(float(pairs[cat, VOCABULARY.index("dog")])),
            "loss": bare.loss,
            "link": bare.link("prediction", cell=f"prediction[1,{cat}]"),
        },
        "update": {"before": base.loss, "after": single(after["loss"]), "link": base.link("embedding.updated")},
    }


def _encoding(name: str, run: Shown) -> Data:
    """The word that stands twice in the lesson's sentence, at both its places, and the loss."""
    one, other = ([run.value("encoded", (at, feature)) for feature in range(len(FEATURES))] for at in (0, 3))
    return {
        "name": name,
        "first": one,
        "second": other,
        "apart": single(math.dist(one, other)),
        "loss": run.loss,
        "link": run.link("encoded", cell="encoded[3,0]"),
    }


LESSON = Lesson(
    slug=SLUG,
    title="From text to vectors",
    part="The transformer, part by part",
    order=11,
    summary="Words become ids, ids become rows of a table, and the place is added or turned in. The same table, read "
    "the other way, says the next word.",
    model=SLUG,
    request={"update": {"rule": "sgd", "learning_rate": 0.5, "frozen": []}},
    examples=({"tokens": ["a", "dog", "saw", "a", "tree"], "target": ["dog", "saw", "a", "tree", "."]},),
    prose=prose,
    exercises=text_to_vectors_check.exercises,
)
