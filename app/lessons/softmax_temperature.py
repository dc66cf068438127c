"""Softmax and temperature: from six logits to one drawn word, and the loss, step by step.

The text is templates/lessons/softmax_temperature.html; here are its numbers: of the run shown (`run`), of the run shown
at other temperatures and with other seeds (`sweep`, `draws`), and of runs that the text names.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

from app.lessons import Lesson, softmax_temperature_check
from app.lessons.attention_tables import Data, cell, chart, first, view
from app.numbers import single, text
from app.shown import shown, written
from engine.models import catalogue
from engine.models.softmax_temperature import DRAWS, LOGITS, PROMPT, VOCABULARY
from engine.trace import Index, Trace

SLUG = "softmax_temperature"
TEMPERATURES = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)
SHOWN_TEMPERATURES = (0.01, 0.5, 1, 2, 10)
NATS = (0.5, 1, 1.5, 2)
LIFT = 100
LARGEST_FLOAT32 = 3.4028234663852886e38
SOURCES = {"entropy": "Shannon 1948", "top_k": "Fan et al. 2018", "top_p": "Holtzman et al. 2020"}
COLUMNS = (
    "scaled",
    "shifted",
    "exponential",
    "probability",
    "rank",
    "ahead",
    "renormalised",
    "cumulative",
    "surprisal",
)


def prose(trace: Trace, baseline: Trace) -> dict[str, Any]:
    """The numbers of the text; with several examples those of the first."""
    lead = first(trace, "temperature")

    def own(tensor: str, index: Index = (0,)) -> Data:
        return written(trace, tensor, (*lead, *index), baseline=baseline)

    words = [_word(trace, lead, place, baseline) for place in range(len(VOCABULARY))]
    kept = [row for row in words if row["kept"]]
    drawn, target = int(trace["sampled"][(*lead, 0)]), int(trace["target"][(*lead, 0)])
    settings = _settings(trace)
    return {
        "run": {
            "prompt": PROMPT,
            "rows": trace["temperature"].shape[0] if lead else 1,
            "words": words,
            "shifted": "shifted" in trace.tensors,
            "temperature": settings[0],
            "top_k": settings[1],
            "top_p": settings[2],
            "seed": DRAWS[int(trace["draw"][(*lead, 0)])],
            "largest": own("largest") if "largest" in trace.tensors else None,
            "total": own("total"),
            "share": own("probability", (0,)),
            "entropy": own("entropy"),
            "limit": math.log(len(VOCABULARY)),
            "kept": {"count": len(kept), "share": single(float(trace["remaining_total"][(*lead, 0)]))},
            "cut": [row["word"] for row in words if not row["kept"]],
            "u": own("u"),
            "drawn": VOCABULARY[drawn] if drawn < len(VOCABULARY) else None,
            "target": VOCABULARY[target],
            "surprise": own("surprise"),
            "loss": written(trace, "loss", (), baseline=baseline),
            "perplexity": own("perplexity"),
            "views": {
                "largest": view(trace, "largest", (*lead, 0)),
                "share": view(trace, "probability", (*lead, 0)),
                "entropy": view(trace, "entropy", (*lead, 0)),
                "kept": view(trace, "kept", (*lead, 0)),
                "drawn": view(trace, "sampled", (*lead, 0)),
                "gradient": _gradient_view(trace, (*lead, target)),
                "perplexity": view(trace, "perplexity", (*lead, 0)),
            },
        },
        "sweep": _sweep(_logits(trace)),
        "draws": _draws(_logits(trace), settings),
        "figures": {"cut": _cut_figure(words), "sweep": _sweep_figure(_logits(trace))},
        **_named(),
    }


def _word(trace: Trace, lead: Index, place: int, baseline: Trace) -> Data:
    """One word's cells by step; the onehot and the gradient of the first example."""
    at = (*lead, place)
    found = {name: cell(trace, name, at, baseline) if name in trace.tensors else None for name in COLUMNS}
    gradient = "scaled.grad" in trace.tensors
    return {
        "word": VOCABULARY[place],
        "logit": cell(trace, "logits", (place,), baseline),
        **found,
        "kept": bool(trace["kept"][at]),
        "cut_by": [name for name, tensor in (("k", "in_top_k"), ("p", "in_top_p")) if not bool(trace[tensor][at])],
        "onehot": float(int(trace["target"][(*lead, 0)]) == place),
        "gradient": cell(trace, "scaled.grad", at, baseline) if gradient else None,
        "logit_gradient": cell(trace, "logits.grad", (place,), baseline) if gradient else None,
    }


def _gradient_view(trace: Trace, index: Index) -> Data | None:
    found = view(trace, "logits.grad")
    return found and {**found, "cell": f"scaled[{','.join(map(str, index))}]", "of": "gradient"}


def _logits(trace: Trace) -> tuple[float, ...]:
    return tuple(single(value) for value in trace["logits"].tolist())


def _settings(trace: Trace) -> tuple[float, float, float]:
    one, two, three = (single(float(trace[name].flatten()[0])) for name in ("temperature", "top_k", "top_p"))
    return one, two, three


@functools.lru_cache(maxsize=64)
def _rows(logits: tuple[float, ...], **inputs: Any) -> Trace:
    """One run of many examples with these logits."""
    edits = [{"parameter": "logits", "index": [place], "value": value} for place, value in enumerate(logits)]
    given = {name: [[one] for one in rows] for name, rows in inputs.items()}
    return catalogue()[SLUG].trace({"inputs": given, "edits": edits, "backward": False})


def _sweep(logits: tuple[float, ...]) -> Data:
    """What the run's logits give at other temperatures."""
    run = _rows(logits, temperature=SHOWN_TEMPERATURES)
    return {
        "rows": [
            {
                "temperature": temperature,
                "shares": [single(share) for share in run["probability"][row].tolist()],
                "entropy": single(float(run["entropy"][row])),
            }
            for row, temperature in enumerate(SHOWN_TEMPERATURES)
        ]
    }


def _sweep_figure(logits: tuple[float, ...]) -> Data:
    run = _rows(logits, temperature=TEMPERATURES)
    shares = run["probability"].T.tolist()
    order = sorted(range(len(VOCABULARY)), key=lambda place: -logits[place])[:3]
    lines = [(VOCABULARY[place], TEMPERATURES, shares[place]) for place in order]
    return chart(lines, "temperature", "probability", powers=True)


def _draws(logits: tuple[float, ...], settings: tuple[float, float, float]) -> Data:
    """The word of each seed, with the run's logits and settings, and how often each word came."""
    temperature, top_k, top_p = settings
    count = len(DRAWS)
    run = _rows(logits, temperature=(temperature,) * count, top_k=(top_k,) * count, top_p=(top_p,) * count, draw=DRAWS)
    places = [int(place) for place in run["sampled"].flatten()]
    return {
        "count": count,
        "rows": [
            {"seed": seed, "u": single(float(run["u"][row])), "word": VOCABULARY[place] if place < 6 else "nothing"}
            for row, (seed, place) in enumerate(zip(DRAWS, places, strict=True))
        ],
        "tally": [
            {
                "word": word,
                "times": places.count(place),
                "expected": single(count * float(run["renormalised"][0, place])),
            }
            for place, word in enumerate(VOCABULARY)
        ],
    }


def _cut_figure(words: list[Data]) -> Data:
    """A bar a word, as high as its probability; what is cut is hatched and grey."""
    bars = []
    for name, kept, colour, pattern in (("kept", True, "var(--pos)", ""), ("cut", False, "var(--soft)", "/")):
        rows = [row for row in words if row["kept"] is kept]
        bars.append(
            {
                "type": "bar",
                "name": name,
                "x": [row["word"] for row in rows],
                "y": [row["probability"]["value"] for row in rows],
                "text": [text(row["probability"]["value"]) for row in rows],
                "textposition": "outside",
                "cliponaxis": False,
                "marker": {"color": colour, "pattern": {"shape": pattern}},
                "hovertemplate": f"%{{x}}, {name}: %{{text}}<extra></extra>",
            }
        )
    heights = [0, 0.25, 0.5, 0.75, 1]
    return {
        "data": bars,
        "layout": {
            "showlegend": True,
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "dragmode": False,
            "height": 280,
            "margin": {"l": 52, "r": 12, "t": 12, "b": 44},
            "xaxis": {
                "fixedrange": True, "type": "category", "categoryorder": "array", "categoryarray": list(VOCABULARY),
            },
            "yaxis": {
                "title": {"text": "probability"}, "fixedrange": True, "zeroline": False, "range": [0, 1.1],
                "tickmode": "array", "tickvals": heights, "ticktext": [text(one) for one in heights],
            },
        },
    }  # fmt: skip


@functools.cache
def _named() -> Mapping[str, Any]:
    base = shown(SLUG)
    lifted = {f"logits[{place}]": value + LIFT for place, value in enumerate(LOGITS)}
    same, broken = shown(SLUG, set=lifted), shown(SLUG, set=lifted, options={"shift": "none"})
    return {
        "sources": SOURCES,
        "overflow": math.log(LARGEST_FLOAT32),
        "base": {"temperature": 1.0, "link": base.link("probability", cell="probability[0]")},
        "lift": {
            "by": LIFT,
            "largest": LIFT + LOGITS[0],
            "share": same.value("probability", (0,)),
            "before": base.value("probability", (0,)),
            "exponential": broken.value("exponential", (0,)),
            "broken": broken.value("probability", (0,)),
            "links": {
                "same": same.link("probability", cell="probability[0]"),
                "broken": broken.link("probability", cell="probability[0]"),
            },
        },
        "cold": shown(SLUG, set={"temperature[0]": 0.01}).link("probability", cell="probability[0]"),
        "hot": shown(SLUG, set={"temperature[0]": 10}).link("probability", cell="probability[0]"),
        "cuts": [_cut(k, p) for k, p in ((6, 1), (3, 1), (1, 1), (6, 0.9), (6, 0.5))],
        "nats": [_nats(nats) for nats in NATS],
        "alike": _alike(),
    }


def _cut(k: float, p: float) -> Data:
    run = shown(SLUG, set={"top_k[0]": k, "top_p[0]": p})
    return {
        "k": k,
        "p": p,
        "shares": [run.value("renormalised", (place,)) for place in range(len(VOCABULARY))],
        "kept": int(run.trace["kept"].sum()),
        "link": run.link("kept", cell="kept[0]"),
    }


def _nats(nats: float) -> Data:
    """A run with this loss: the target's logit is 0, and the others share e^loss - 1 among them."""
    others = single(math.log(math.expm1(nats) / (len(VOCABULARY) - 1)))
    cells = {"logits[0]": 0.0, **{f"logits[{place}]": others for place in range(1, len(VOCABULARY))}, "target[0]": 0.0}
    run = shown(SLUG, set=cells)
    return {
        "nats": nats,
        "loss": run.loss,
        "share": run.value("probability", (0,)),
        "perplexity": run.value("perplexity", (0,)),
        "link": run.link("perplexity", cell="perplexity[0]"),
    }


def _alike() -> Data:
    run = shown(SLUG, set={f"logits[{place}]": 0.0 for place in range(len(VOCABULARY))})
    link = run.link("perplexity", cell="perplexity[0]")
    return {"loss": run.loss, "perplexity": run.value("perplexity", (0,)), "words": len(VOCABULARY), "link": link}


LESSON = Lesson(
    slug=SLUG,
    title="Softmax and temperature",
    part="The transformer, part by part",
    order=12,
    summary="How scores become probabilities, what temperature, top-k and top-p do to them, how one word is drawn, and "
    "what the loss asks of each score.",
    model=SLUG,
    request={"update": {"rule": "sgd", "learning_rate": 0.5, "frozen": []}},
    examples=({"temperature": [0.5]}, {"temperature": [2]}),
    prose=prose,
    exercises=softmax_temperature_check.exercises,
)
