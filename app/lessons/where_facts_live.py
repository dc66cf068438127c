"""Where facts live: a fact as a key, a gate and a value, the four cases, many facts, and the same fact learned.

The text is templates/lessons/where_facts_live.html; here are its numbers: of the run shown (`run`), of the four cases
with the run's own weights (`cases`), of training with the run's gate and learning rate (`learned`), of runs that the
text names, and of measurements (`crowd`, `starts`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from app.lessons import Lesson, where_facts_live_check
from app.lessons.attention_tables import Data, cell, chart, first, row, view
from app.numbers import single
from app.shown import shown, written
from engine.experiments.where_facts_live import DIMENSIONS, LEARNED, THRESHOLD, Crowd, crowded, starts
from engine.models import catalogue
from engine.models.where_facts_live import (
    CASES,
    FACTS,
    FEATURES,
    RATE,
    SPREAD,
    STEPS,
    cases,
    learn,
    vector,
)
from engine.trace import Index, Trace

SLUG = "where_facts_live"
M, J, B = (FEATURES.index(name) for name in ("Michael", "Jordan", "basketball"))
EMPTY = FACTS.index("empty")
SNAPSHOTS = (0, 10, 20, 30, 50, 100)
SOURCES = {
    "memory": "Geva et al. 2021",
    "bound": "Welch 1974",
    "toy": "Elhage et al. 2022",
    "gpt3": "Brown et al. 2020",
}
STARTS = 200
# GPT-3's sizes as Brown et al. 2020 give them, biases and norms left out.
D_MODEL, NEURONS, LAYERS, VOCABULARY = 12288, 49152, 96, 50257


def prose(trace: Trace, baseline: Trace) -> dict[str, Any]:
    """The numbers of the text; with several examples those of the first."""
    lead = first(trace, "x")
    options = trace.request["options"]

    def own(tensor: str, index: Index) -> Data:
        return written(trace, tensor, (*lead, *index), baseline=baseline)

    rate = single(float((trace.request["update"] or {"learning_rate": RATE})["learning_rate"]))
    return {
        "run": {
            "rows": trace["x"].shape[0] if lead else 1,
            "text": _named_features(trace, lead),
            "gate": {"relu": "ReLU", "gelu": "GELU"}[options["activation"]],
            "weights": options["weights"],
            "features": list(FEATURES),
            "memory": [_memory(trace, lead, neuron, baseline) for neuron in range(len(FACTS))],
            "match": own("match", (0,)),
            "open": own("gate", (0,)),
            "delta": own("written", (B,)),
            "prediction": own("prediction", (B,)),
            "loss": written(trace, "loss", (), baseline=baseline),
            "views": {
                "match": view(trace, "match", (*lead, 0)),
                "gate": view(trace, "gate", (*lead, 0)),
                "written": view(trace, "written", (*lead, B)),
                "prediction": view(trace, "prediction", (*lead, B)),
            },
        },
        "cases": _cases(trace),
        "learned": _learned(options["activation"], rate),
        "sources": SOURCES,
        "gpt3": _gpt3(),
        "starts": {"count": STARTS, "below": LEARNED, "relu": starts("relu", STARTS), "gelu": starts("gelu", STARTS)},
        **_named(),
        "figures": {
            "crowd": _named()["crowd_figure"],
            "loss": _loss_figure(options["activation"], rate),
        },
    }


def _gpt3() -> Data:
    """GPT-3's rows of memory, and the percentage of its parameters that stands in them."""
    memory, attention = 2 * D_MODEL * NEURONS * LAYERS, 4 * D_MODEL * D_MODEL * LAYERS
    total = memory + attention + 2 * VOCABULARY * D_MODEL
    return {"d_model": D_MODEL, "neurons": NEURONS, "layers": LAYERS, "percent": single(100 * memory / total)}


def _named_features(trace: Trace, lead: Index) -> str:
    """The names that the vector holds, with their amounts where these are not 1."""
    amounts = [(name, single(float(trace["x"][(*lead, at)]))) for at, name in enumerate(FEATURES)]
    said = [name if amount == 1 else f"{amount:g} {name}" for name, amount in amounts if amount]
    return " + ".join(said) or "nothing"


def _memory(trace: Trace, lead: Index, neuron: int, baseline: Trace) -> Data:
    """One row: its key and bias, what it sums to, what the gate lets through, and the value it writes."""
    return {
        "name": FACTS[neuron],
        "key": row(trace, "key.weight", (neuron,), baseline),
        "bias": cell(trace, "key.bias", (neuron,), baseline),
        "match": cell(trace, "match", (*lead, neuron), baseline),
        "gate": cell(trace, "gate", (*lead, neuron), baseline),
        "value": [cell(trace, "value.weight", (at, neuron), baseline) for at in range(len(FEATURES))],
    }


def _cases(trace: Trace) -> list[Data]:
    """The four cases through the run's own weights and gate, and through the other gate."""
    inputs, _ = cases()
    found = {}
    for activation in ("relu", "gelu"):
        options = {**trace.request["options"], "activation": activation}
        request = {"inputs": {"x": inputs}, "target": inputs, "edits": trace.request["edits"], "options": options}
        found[activation] = catalogue()[SLUG].trace({**request, "backward": False})
    run = found[trace.request["options"]["activation"]]
    return [
        {
            "M": m,
            "J": j,
            "match": single(float(run["match"][at, 0])),
            "relu": single(float(found["relu"]["gate"][at, 0])),
            "gelu": single(float(found["gelu"]["gate"][at, 0])),
            "writes": single(float(run["written"][at, B])),
        }
        for at, (m, j) in enumerate(CASES)
    ]


@functools.lru_cache(maxsize=32)
def _learned(activation: str, rate: float) -> Data:
    """The fact learned by gradient steps: the loss, and the row that comes to write basketball, step by step."""
    steps = learn(activation, rate)
    last = steps[-1].parameters
    neuron = int(last["value.weight"][B].abs().argmax())
    inputs, targets = cases()
    edits = [
        {"parameter": name, "index": list(index), "value": single(float(value[index]))}
        for name, value in last.items()
        for index in ((at, *rest) for at in range(value.shape[0]) for rest in _rest(value.shape[1:]))
    ]
    request = {"inputs": {"x": inputs}, "target": targets, "edits": edits, "options": {"activation": activation}}
    run = catalogue()[SLUG].trace({**request, "backward": False})
    return {
        "rate": rate,
        "steps": STEPS,
        "first": single(steps[0].loss),
        "last": single(steps[-1].loss),
        "below": LEARNED,
        "worked": steps[-1].loss < LEARNED,
        "neuron": neuron + 1,
        "rows": [
            {
                "step": at,
                "loss": single(steps[at].loss),
                **{
                    name: single(float(steps[at].parameters[parameter][index]))
                    for name, parameter, index in (
                        ("M", "key.weight", (neuron, M)),
                        ("J", "key.weight", (neuron, J)),
                        ("bias", "key.bias", (neuron,)),
                        ("value", "value.weight", (B, neuron)),
                    )
                },
            }
            for at in SNAPSHOTS
        ],
        "cases": [
            {
                "M": m,
                "J": j,
                "match": single(float(run["match"][at, neuron])),
                "gate": single(float(run["gate"][at, neuron])),
                "writes": single(float(run["written"][at, B])),
            }
            for at, (m, j) in enumerate(CASES)
        ],
    }


def _rest(shape: tuple[int, ...]) -> list[Index]:
    return [(at,) for at in range(shape[0])] if shape else [()]


@functools.lru_cache(maxsize=32)
def _loss_figure(activation: str, rate: float) -> Data:
    steps = learn(activation, rate)
    return chart([("loss", [one.step for one in steps], [one.loss for one in steps])], "step", "loss")


@functools.cache
def _named() -> Mapping[str, Any]:
    own = _own_fact()
    here, jordan, half = (
        shown(SLUG, set={**own, **_text(*names)})
        for names in (("Michael", "Phelps"), ("Michael", "Jordan"), ("Michael",))
    )
    swimming = FEATURES.index("swimming")
    both = shown(SLUG, set=_text("Michael", "Jordan", "Serena", "Williams"))
    mixed = shown(SLUG, set=_text("Serena", "Jordan"))
    rows = crowded()
    return {
        "own": {
            "phelps": here.value("written", (swimming,)),
            "jordan": jordan.value("written", (B,)),
            "half": half.value("written", (swimming,)),
            "link": here.link("match", cell=f"match[{EMPTY}]"),
            "jordan_link": jordan.link("match", cell="match[0]"),
        },
        "two": {
            "basketball": both.value("written", (B,)),
            "tennis": both.value("written", (FEATURES.index("tennis"),)),
            "mixed": max(abs(mixed.value("written", (at,))) for at in range(len(FEATURES))),
            "link": both.link("written", cell=f"written[{B}]"),
            "mixed_link": mixed.link("match", cell="match[0]"),
        },
        "links": {
            "untrained": shown(SLUG, options={"weights": "untrained"}).link("key.weight.grad"),
            "learned": shown(SLUG, options={"weights": "learned"}).link("match", cell="match[2]"),
            "gelu": shown(SLUG, set=_text("Michael"), options={"activation": "gelu"}).link("gate", cell="gate[0]"),
        },
        "crowd": {
            "dimensions": DIMENSIONS,
            "threshold": THRESHOLD,
            "rows": [_crowd(one) for one in rows],
            "full": _crowd(next(one for one in rows if one.facts == 16 * DIMENSIONS)),
            "times": 16,
        },
        "crowd_figure": chart(
            [
                ("no gate", [one.facts for one in rows], [one.ungated for one in rows]),
                ("ReLU gate", [one.facts for one in rows], [one.gated for one in rows]),
            ],
            "facts",
            "what the others add",
            powers=True,
        ),
        "learning": {"spread": SPREAD, "rate": RATE},
    }


def _crowd(one: Crowd) -> Data:
    return {
        "facts": one.facts,
        "closest": single(one.closest),
        "bound": single(one.bound),
        "ungated": single(one.ungated),
        "gated": single(one.gated),
        "right_ungated": single(100 * one.right_ungated),
        "right_gated": single(100 * one.right_gated),
    }


def _text(*names: str) -> dict[str, float | None]:
    """An input that holds these names, as State.link's `set` takes it."""
    return {f"x[{at}]": value for at, value in enumerate(vector(*names))}


def _own_fact() -> dict[str, float | None]:
    """Michael Phelps swims, in the empty row."""
    keys = {f"key.weight[{EMPTY},{FEATURES.index(name)}]": 1.0 for name in ("Michael", "Phelps")}
    return {**keys, f"key.bias[{EMPTY}]": -1.5, f"value.weight[{FEATURES.index('swimming')},{EMPTY}]": 1.0}


LESSON = Lesson(
    slug=SLUG,
    title="Where facts live",
    part="The transformer, part by part",
    order=17,
    summary="An MLP as rows of memory. Write a fact by hand as key, gate and value, add one of your own, crowd many "
    "into few dimensions, and watch gradient steps find the same row.",
    model=SLUG,
    request={"update": {"rule": "sgd", "learning_rate": RATE, "frozen": []}},
    examples=(
        {"x": vector("Michael"), "target": vector("Michael")},
        {"x": vector("Jordan"), "target": vector("Jordan")},
        {"x": vector(), "target": vector()},
    ),
    prose=prose,
    exercises=where_facts_live_check.exercises,
)
