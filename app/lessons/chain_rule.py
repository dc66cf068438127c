"""The chain rule: a gradient as a train of gears, the sum over trains, how far it carries, and what it costs.

The text is templates/lessons/chain_rule.html; here are its numbers: of the run shown (`run`), of runs that the text
names (`two`, `paths`), what was counted (`cost`), and, in the lab, what was timed just now and a chain of one's own.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from typing import Any

from app.lessons import Lesson, Setting, chain_rule_check
from app.lessons.attention_tables import COLOURS, DASHES, Data, view
from app.lessons.chain_rule_gears import picture, trains
from app.numbers import single, text
from app.shown import shown, written
from engine.experiments.chain_rule import REPEATS, WIDTHS, along_chain, cost, nudged, routes, seconds
from engine.models.chain_rule import LAYERS
from engine.models.digit_network import layers as digit_layers
from engine.trace import Index, Trace

SLUG = "chain_rule"
LAST, FIRST = "layer3.weight", "layer1.weight"
NUDGES = (1.0, 0.1, 0.01, 0.001)
CHAINS = ((1.0, 0.0), (2.0, -1.0), (4.0, -2.0), (8.0, -4.0))
DISTANCES = (1, 5, 10, 20)
SOURCES = {"chain": "Nielsen 2015", "backward": "Rumelhart, Hinton and Williams 1986", "check": "Baydin et al. 2018"}
CELLS = tuple(
    (f"layer{n}.{part}", (0, 0) if part == "weight" else (0,)) for n in (1, 2, 3) for part in ("weight", "bias")
)


def prose(trace: Trace, baseline: Trace) -> dict[str, Any]:
    """The numbers of the text; with several examples those of the first, where no gradient is meant."""
    lead = (0,) if trace["x"].dim() == 2 else ()
    width = int(trace.request["options"]["width"])

    def own(tensor: str) -> Data:
        return written(trace, tensor, (*lead, 0), baseline=baseline)

    layers = [(f"layer{n}.preactivation", f"layer{n}.activation" if n < LAYERS else "prediction") for n in (1, 2, 3)]
    cells = [row for tensor, index in CELLS if (row := _cell(trace, tensor, index))]
    last, first = trains(trace, LAST, (0, 0)), trains(trace, FIRST, (0, 0))
    return {
        "run": {
            "rows": trace["x"].shape[0] if lead else 1,
            "width": width,
            "lines": [own(name) for pair in layers for name in pair],
            "loss": written(trace, "loss", (), baseline=baseline),
            "last": last and {**last, "picture": picture(last["trains"][0]["wheels"])},
            "first": first and {**first, "picture": picture(first["trains"][0]["wheels"])},
            "cells": cells,
            "apart": max((abs(row["total"] - row["gradient"]) for row in cells), default=None),
            "steepness": [
                {"label": f"σ′(z{raised})", "z": own(z)["value"], "value": _slope(trace, (*lead, 0), a)}
                for raised, (z, a) in zip("¹²³", layers, strict=True)
            ],
            "nudges": _nudges(trace) if not lead else None,
            "views": {
                "loss": view(trace, "loss"),
                "last": view(trace, f"{LAST}.grad", (0, 0)) and _gradient(trace, LAST, (0, 0)),
                "first": view(trace, f"{FIRST}.grad", (0, 0)) and _gradient(trace, FIRST, (0, 0)),
            },
        },
        "sources": SOURCES,
        **_named(),
    }


def _slope(trace: Trace, index: Index, activation: str) -> float:
    """σ'(z) = a (1 - a) of one cell."""
    a = float(trace[activation][index])
    return single(a * (1 - a))


def _gradient(trace: Trace, tensor: str, index: Index) -> Data | None:
    """A parameter's gradient, as State.link takes it."""
    found = view(trace, f"{tensor}.grad")
    return found and {**found, "cell": f"{tensor}[{','.join(map(str, index))}]", "of": "gradient"}


def _cell(trace: Trace, tensor: str, index: Index) -> Data | None:
    """A parameter's first train as numbers and the gradient, for the table of all six."""
    found = trains(trace, tensor, index)
    if found is None:
        return None
    gears = found["trains"][0]["gears"]
    return {
        "start": found["start"],
        "factors": [gear["value"] for gear in gears],
        "paths": len(found["trains"]),
        "total": found["total"],
        "gradient": found["gradient"],
    }


def _nudges(trace: Trace) -> Data:
    """What really happens along the last train when the last weight is moved, by less and less."""
    tensors = ("layer3.preactivation", "prediction", "loss")
    moved = nudged(trace.request, LAST, (0, 0), NUDGES, tensors)
    rows = [{"by": by, "changes": changes, "rate": changes[-1] / by} for by, changes in zip(NUDGES, moved, strict=True)]
    return {"labels": [trace.record(name).symbol for name in tensors], "rows": rows}


@functools.cache
def _named() -> Mapping[str, Any]:
    two = shown(SLUG, options={"width": "2"})
    found = trains(two.trace, FIRST, (0, 0))
    assert found is not None
    all_of_x = trains(two.trace, "x", (0,))
    assert all_of_x is not None
    widths = tuple(fan_out for _, _, fan_out in digit_layers())
    ways, edges = routes(widths)
    costs = [cost(width) for width in WIDTHS]
    return {
        "two": {
            **found,
            "links": {
                "first": two.link(f"{FIRST}.grad", cell=f"{FIRST}[0,0]", of="gradient"),
                "x": two.link("x.grad", cell="x[0]", of="gradient"),
            },
            "x": {"paths": len(all_of_x["trains"]), "gradient": all_of_x["gradient"]},
        },
        "paths": {"widths": list(widths), "ways": ways, "edges": edges},
        "chains": {
            "distances": list(DISTANCES),
            "rows": [
                {"weight": weight, "bias": bias, "left": _left(weight, bias, DISTANCES)} for weight, bias in CHAINS
            ],
        },
        "cost": {
            "rows": [
                {
                    "parameters": one.parameters,
                    "one_side": one.one_side,
                    "both_sides": one.both_sides,
                    "errors": list(one.errors),
                }
                for one in costs
            ]
        },
    }


def _left(weight: float, bias: float, distances: tuple[int, ...]) -> list[float]:
    found = along_chain(weight, bias, max(distances) + 1)
    return [found[distance] for distance in distances]


@functools.lru_cache(maxsize=64)
def _timed(take: int) -> Mapping[str, Any]:
    """What one measurement found, in milliseconds; kept while the process lives."""
    rows = []
    for width in WIDTHS:
        measured = seconds(width)
        rows.append(
            {
                "parameters": cost(width).parameters,
                "forward_ms": 1e3 * measured.forward,
                "backward_ms": 1e3 * measured.backward,
                "tried_out_ms": 1e3 * measured.tried_out,
                "passes": measured.backward / measured.forward,
                "ratio": measured.tried_out / measured.backward,
            }
        )
    return {"take": take, "next": take % TAKES + 1, "rows": rows, "repeats": REPEATS, "figure": _times_figure(rows)}


def _times_figure(rows: list[Data]) -> Data:
    names = (("forward passes, one a parameter", "tried_out_ms"), ("one forward, one backward", "backward_ms"))
    return _figure(
        [(name, [row["parameters"] for row in rows], [row[key] for row in rows]) for name, key in names],
        "parameters", "milliseconds", [row["parameters"] for row in rows],
    )  # fmt: skip


def _chain_figure(weight: float, bias: float, layers: int) -> Data:
    own = along_chain(weight, bias, layers)
    bound = [(abs(weight) / 4) ** distance for distance in range(layers)]
    lines = []
    for name, values in (("this chain", own), ("at most", bound)):
        above = list(itertools.takewhile(lambda value: value > 0, values))  # a power of ten has no place for 0
        lines.append((name, list(range(len(above))), above))
    every = max(1, (layers - 1) // 5)
    return _figure(lines, "layers down", "share of the gradient", list(range(0, layers, every)), powers=False)


def _figure(
    lines: list[tuple[str, list[Any], list[float]]], across: str, up: str, ticks: list[Any], *, powers: bool = True
) -> Data:
    """Lines with upward powers of ten; powers: across as well."""
    exponents = [math.log10(value) for _, _, values in lines for value in values] or [0.0]
    low, high = math.floor(min(exponents)), math.ceil(max(exponents))
    apart = max(1, round((high - low) / 6))
    heights = [10.0**power for power in range(low - low % apart, high + 1, apart)]
    return {
        "data": [
            {
                "type": "scatter", "mode": "lines+markers", "name": name, "x": xs, "y": ys,
                "line": {"color": colour, "dash": dash, "width": 2.25},
                "hovertemplate": f"{name}<br>{across} %{{x}}: %{{y:.3g}}<extra></extra>",
            }
            for (name, xs, ys), colour, dash in zip(lines, COLOURS, DASHES, strict=False)
        ],
        "layout": {
            "showlegend": True, "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "dragmode": False, "hovermode": "closest", "height": 300, "margin": {"l": 70, "r": 12, "t": 12, "b": 44},
            "xaxis": {
                "title": {"text": across}, "type": "log" if powers else "linear", "fixedrange": True,
                "showgrid": False, "zeroline": False, "tickmode": "array", "tickvals": ticks,
                "ticktext": [text(tick) for tick in ticks],
            },
            "yaxis": {
                "title": {"text": up}, "type": "log", "fixedrange": True, "zeroline": False,
                "tickmode": "array", "tickvals": heights, "ticktext": [text(one) for one in heights],
            },
        },
    }  # fmt: skip


def lab(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """A chain of the reader's own, and the times of one measurement."""
    weight, bias, layers, take = (
        float(values["weight"]),
        float(values["bias"]),
        int(values["layers"]),
        int(values["take"]),
    )
    own = along_chain(weight, bias, layers)
    bound = (abs(weight) / 4) ** (layers - 1)
    return {
        "chain": {
            "weight": weight, "bias": bias, "layers": layers, "furthest": layers - 1, "left": own[-1], "bound": bound,
            "figure": _chain_figure(weight, bias, layers),
        },
        "timed": _timed(take),
    }  # fmt: skip


def exercises(seed: int) -> tuple[Any, ...]:
    """The check, in the variant of the seed."""
    return chain_rule_check.exercises(seed)


TAKES = 32

LESSON = Lesson(
    slug=SLUG,
    title="The chain rule, gear by gear",
    part="Learning",
    order=23,
    summary="Why a gradient is a product: each factor of it on the page, the sum over all ways, how fast it fades, and "
    "what one backward pass saves.",
    model=SLUG,
    request={"update": {"rule": "sgd", "learning_rate": 1.0, "frozen": []}},
    prose=prose,
    exercises=exercises,
    settings=(
        Setting("weight", "weight", 1.0, least=-100, limit=100),
        Setting("bias", "bias", 0.0, least=-100, limit=100),
        Setting("layers", "layers", 21, least=2, limit=60, whole=True),
        Setting("take", "measurement", 1, least=1, limit=TAKES, whole=True),
    ),
    lab=lab,
)
