"""Norm and residual: two norms in numbers, the stream around a stack, and how far gradients get with and without it.

The text is templates/lessons/norm_and_residual.html; here are its numbers: of the run shown (`run`), of runs that the
text names (`forgets`), and of measurements (`depth`, `distance`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from app.lessons import Lesson, norm_and_residual_check
from app.numbers import single, text
from app.shown import cells, shown, step_of, written
from engine.experiments.norm_and_residual import (
    MOST_LAYERS,
    SEQUENCES,
    STACKS,
    STATE,
    WIDTH,
    WORDS,
    Depth,
    by_depth,
    by_distance,
    routes,
)
from engine.models.norm_and_residual import FEATURES, LAYERS
from engine.trace import Index, Trace

SLUG = "norm_and_residual"
FIRST = "layers.0.norm"
PLACES = (0, 1, 10, 20, 50, 100)
DISTANCES = (0, 1, 2, 4, 8, 16, 31)
SOURCES = {
    "layer_norm": "Ba, Kiros and Hinton 2016",
    "rms_norm": "Zhang and Sennrich 2019",
    "residual": "He et al. 2015",
    "pre_norm": "Xiong et al. 2020",
}
NAMES = {
    "plain": "no residual",
    "He": "no residual, He's weights",
    "residual": "residual",
    "residual and norm": "residual and LayerNorm",
}
DASHES = ("solid", "dash", "dot", "dashdot")
COLOURS = ("var(--neg)", "var(--soft)", "var(--pos)", "var(--ink)")


def prose(trace: Trace, baseline: Trace) -> dict[str, Any]:
    """`run` of the run shown; `forgets` of LayerNorm and RMSNorm on changed inputs; what was measured."""
    example: Index = (0,) if trace["x"].dim() == 2 else ()
    options = trace.request["options"]

    def own(tensor: str, index: Index = ()) -> dict[str, Any] | None:
        place = (*example, *index)
        return written(trace, tensor, place, baseline=baseline) if tensor in trace.tensors else None

    parts = ("mean", "mean_square", "deviation")
    lines = [own(f"{FIRST}.{part}", (0,)) for part in parts]
    lines += [own(f"{FIRST}.normalised", (feature,)) for feature in range(FEATURES)]
    return {
        "run": {
            "rows": trace["x"].shape[0] if example else 1,
            "norm": options["norm"],
            "residual": options["residual"] == "on",
            "x": cells(trace, "x", example),
            "lines": [line for line in lines if line],
            "stream": _stream(trace, example),
            "loss": own("loss") if not example else written(trace, "loss", (), baseline=baseline),
            "routes": _routes(trace) if not example and not trace.request["interventions"] else None,
            "views": _views(trace, example),
        },
        "forgets": _forgets(),
        "sources": SOURCES,
        **_measured(),
    }


def _stream(trace: Trace, example: Index) -> dict[str, Any]:
    """A row a feature: the input, what each layer adds, and what comes out."""
    names = ["x", *(f"layers.{place}.branch" for place in range(LAYERS)), "prediction"]
    columns = [cells(trace, name, example) for name in names]
    return {
        "heads": [trace.record(name).symbol for name in names],
        "rows": [list(row) for row in zip(*columns, strict=True)],
    }


def _routes(trace: Trace) -> dict[str, Any]:
    """Each way back through the stack with its part of the gradient, and their sum as the run has it."""
    found = routes(trace)
    whole = trace["x.grad"].double()
    highway = math.hypot(*found[0].gradient) / float(whole.norm()) if not found[0].through else None
    return {
        "rows": [
            {"through": _through(route.through), "parts": [single(part) for part in route.gradient]} for route in found
        ],
        "count": len(found),
        "total": [single(float(part)) for part in whole],
        "highway": None if highway is None else single(highway),
        "labels": [cell["label"] for cell in cells(trace, "x.grad")],
        "cells": [cell["cell"] for cell in cells(trace, "x")],
    }


def _through(places: Sequence[int]) -> str:
    return ", ".join(str(place + 1) for place in places) or "none"


def _views(trace: Trace, example: Index) -> dict[str, Any]:
    """Where the text points within the run shown, as State.link takes it; None for what this run does not have."""

    def view(step: str, tensor: str, index: Index = (), **look: Any) -> dict[str, Any] | None:
        if step not in trace.tensors:
            return None
        cell = f"{tensor}[{','.join(map(str, (*example, *index)))}]"
        return {"step": step_of(trace, step), "cell": cell, "of": None, "prove": None, **look}

    return {
        "normalised": view(f"{FIRST}.normalised", f"{FIRST}.normalised", (1,)),
        "added": view("layers.0.output", "layers.0.output", (0,)),
        "gradient": view("x.grad", "x", (0,), of="gradient"),
    }


@functools.cache
def _forgets() -> dict[str, Any]:
    """What each norm makes of the lesson's x, of twice x, and of x with the same number added everywhere."""
    base = [float(value) for value in shown(SLUG).trace["x"]]
    shift = 3.0
    given = {"x": base, "twice": [2 * value for value in base], "shifted": [value + shift for value in base]}
    rows = []
    for name, x in given.items():
        run = {
            norm: shown(SLUG, set={f"x[{at}]": value for at, value in enumerate(x)}, options={"norm": norm})
            for norm in ("layer", "rms")
        }
        rows.append(
            {
                "name": name,
                "x": x,
                **{
                    norm: {
                        "out": [one.value(f"{FIRST}.normalised", (at,)) for at in range(FEATURES)],
                        "link": one.link(f"{FIRST}.normalised", cell=f"{FIRST}.normalised[0]"),
                    }
                    for norm, one in run.items()
                },
            }
        )
    return {"shift": shift, "rows": rows}


@functools.cache
def _measured() -> dict[str, Any]:
    depth = {stack: by_depth(stack) for stack in STACKS}
    rnn, attention = by_distance("RNN"), by_distance("attention")
    return {
        "depth": {
            "layers": MOST_LAYERS,
            "width": WIDTH,
            "rows": [
                {"name": NAMES[stack], "cells": [_at(depth[stack], place) for place in PLACES]} for stack in STACKS
            ],
            "places": list(PLACES),
            "plain": _ends(depth["plain"]),
            "he": _ends(depth["He"]),
            "residual": _ends(depth["residual"]),
            "kept": _ends(depth["residual and norm"]),
        },
        "distance": {
            "words": WORDS,
            "state": STATE,
            "sequences": SEQUENCES,
            "rows": [
                {"distance": place, "rnn": single(rnn[place]), "attention": single(attention[place])}
                for place in DISTANCES
            ],
            "rnn": single(rnn[-1]),
            "furthest": WORDS - 1,
            "attention": single(attention[-1]),
        },
        "figures": {
            "size": _figure(
                [(NAMES[stack], depth[stack].size) for stack in STACKS], "layer", "size of the activations"
            ),
            "arriving": _figure(
                [(NAMES[stack], depth[stack].arriving) for stack in STACKS],
                "layer",
                "share of the gradient",
            ),
            "distance": _figure([("RNN", rnn), ("attention", attention)], "words back", "share of the gradient"),
        },
    }


def _at(depth: Depth, place: int) -> dict[str, float]:
    return {"size": single(depth.size[place]), "arriving": single(depth.arriving[place])}


def _ends(depth: Depth) -> dict[str, float]:
    return {"size": single(depth.size[-1]), "arriving": single(depth.arriving[0])}


def _figure(lines: Sequence[tuple[str, Sequence[float]]], across: str, up: str) -> dict[str, Any]:
    """Lines over whole numbers from 0, upwards in powers of ten."""
    exponents = [math.log10(value) for _, values in lines for value in values]
    lowest, highest = math.floor(min(exponents)), math.ceil(max(exponents))
    apart = max(1, round((highest - lowest) / 6))
    ticks = [10.0**power for power in range(lowest - lowest % apart, highest + 1, apart)]
    steps = range(0, len(lines[0][1]), max(1, (len(lines[0][1]) - 1) // 5))
    return {
        "data": [
            {
                "type": "scatter", "mode": "lines", "name": name, "x": list(range(len(values))), "y": list(values),
                "line": {"color": COLOURS[place], "dash": DASHES[place], "width": 2.25},
                "hovertemplate": f"{name}<br>{across} %{{x}}: %{{y:.3g}}<extra></extra>",
            }
            for place, (name, values) in enumerate(lines)
        ],
        "layout": {
            "showlegend": True,
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "dragmode": False,
            "hovermode": "closest",
            "height": 320,
            "margin": {"l": 76, "r": 12, "t": 12, "b": 44},
            "xaxis": {
                "title": {"text": across}, "fixedrange": True, "showgrid": False, "zeroline": False,
                "tickmode": "array", "tickvals": list(steps), "ticktext": [text(step) for step in steps],
            },
            "yaxis": {
                "title": {"text": up}, "type": "log", "fixedrange": True, "zeroline": False, "tickmode": "array",
                "tickvals": ticks, "ticktext": [text(tick) for tick in ticks],
            },
        },
    }  # fmt: skip


def exercises(seed: int) -> tuple[Any, ...]:
    """The check, in the variant of the seed."""
    return norm_and_residual_check.exercises(seed)


_REQUEST: Mapping[str, Any] = {"update": {"rule": "sgd", "learning_rate": 0.1, "frozen": []}}

LESSON = Lesson(
    slug=SLUG,
    title="Norm and residual",
    part="The transformer, part by part",
    order=18,
    summary="LayerNorm and RMSNorm by hand, the stream that layers only add to, and why gradients survive a hundred "
    "layers and a whole sentence.",
    model="norm_and_residual",
    request=_REQUEST,
    prose=prose,
    exercises=exercises,
)
