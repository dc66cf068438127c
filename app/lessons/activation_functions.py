"""Activation functions: what bends a network, what that is good for, and what it costs the gradient.

The text is templates/lessons/activation_functions.html; here are its numbers: of the run shown (`run`,
`four`, `one`), of runs and measurements that the text names, and, in the lab, of fading gradients and a curve of the
reader's choice.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from app.lessons import Lesson, Setting, activation_functions_check
from app.lessons.activation_functions_figures import BENT, CURVES, approximation, fading, functions, plane
from app.lessons.activation_functions_training import FOUR, TRAINING, answers
from app.lessons.attention_tables import Data, view
from app.shown import shown, step_of, written
from engine.collapse import collapse
from engine.experiments import activation_functions as measured
from engine.models import catalogue
from engine.models.activation_functions import BY_HAND, NAMES, XOR
from engine.trace import Trace

SLUG = "activation_functions"
PLACES = (-5, -1, 0, 1, 5)
KEPT = 1.4142
"""The gain that makes up for the half of the units that ReLU silences: √2."""
OWN = (0.0, 0.8, 0.2, -0.6, -0.2, 0.9, 0.4, -0.5, 0.0)
SOURCES = {
    "relu": "Glorot, Bordes and Bengio 2011",
    "gelu": "Hendrycks and Gimpel 2016",
    "silu": "Elfwing, Uchibe and Doya 2018",
    "xor": "Goodfellow, Bengio and Courville 2016",
    "limits": "Minsky and Papert 1969",
    "approximation": "Cybenko 1989; Hornik 1991",
    "start": "Glorot and Bengio 2010; He et al. 2015",
}


def prose(trace: Trace, baseline: Trace) -> dict[str, Any]:
    """The numbers of the text; lines are the first example's."""
    lead = (0,) if trace["x"].dim() == 2 else ()
    options = trace.request["options"]
    edits = trace.request["edits"]
    straight = {**options, "activation": "none"}

    def own(tensor: str, at: int = 0) -> Data:
        return written(trace, tensor, (*lead, at), baseline=baseline)

    return {
        "run": {
            "rows": trace["x"].shape[0] if lead else 1,
            "activation": NAMES[options["activation"]],
            "straight": options["activation"] == "none",
            "lines": [
                *(own(tensor, unit) for unit in (0, 1) for tensor in ("hidden.preactivation", "hidden.activation")),
                own("prediction"),
            ],
            "views": {
                "hidden": view(trace, "hidden.activation", (*lead, 0)),
                "slope": _slope_view(trace),
            },
        },
        "four": {**answers(options, edits), "plane": plane(options, edits)},
        "one": _collapsed(straight, edits),
        "sources": SOURCES,
        **_named(),
    }


def _slope_view(trace: Trace) -> Data | None:
    """Where the activation hands the gradient on."""
    if "hidden.preactivation.grad" not in trace.tensors:
        return None
    cell = f"hidden.preactivation[{'0,' if trace['x'].dim() == 2 else ''}0]"
    return {"step": step_of(trace, "hidden.preactivation.grad"), "cell": cell, "of": "gradient", "prove": None}


def _collapsed(straight: Mapping[str, str], edits: Any) -> Data:
    """The run's parameters without an activation, on the four points: two layers, and the one layer they are."""
    two = catalogue()[SLUG].trace({**FOUR, "options": straight, "edits": edits, "backward": False})
    one = collapse(two)
    rows = [
        {"x": list(x), "two": float(both), "one": float(single)}
        for (x, _), both, single in zip(XOR, two["prediction"].flatten(), one["prediction"].flatten(), strict=True)
    ]
    return {
        "weights": [written(one, "collapsed.weight", (0, place)) for place in (0, 1)],
        "bias": written(one, "collapsed.bias", (0,)),
        "rows": rows,
        "apart": float((two["prediction"] - one["prediction"]).abs().max()),
    }


@functools.cache
def _named() -> Mapping[str, Any]:
    table = {name: measured.slopes(name, PLACES) for name in BENT}
    steepest = {name: measured.steepest(name) for name in BENT}
    weights, error = measured.best_plane()
    answer = {"readout.weight[0,0]": 0, "readout.weight[0,1]": 0, "readout.bias[0]": 0.5}
    still = shown(SLUG, options={"activation": "none"}, rows=4, set=answer)
    gradients = [still.trace[f"{name}.grad"] for name in BY_HAND]
    return {
        "functions": {
            "figures": functions(),
            "places": list(PLACES),
            "values": [{"name": NAMES[name], "cells": table[name][0]} for name in BENT],
            "slopes": [{"name": NAMES[name], "cells": table[name][1]} for name in BENT],
            "steepest": [{"name": NAMES[name], "slope": slope, "at": at} for name, (slope, at) in steepest.items()],
        },
        "linear": {
            "weights": [round(one, 12) + 0.0 for one in weights[:2]],
            "bias": round(weights[2], 12),
            "error": round(error, 12),
            "gradient": max(float(one.abs().max()) for one in gradients),
            "link": still.link("loss"),
        },
        "by_hand": {"link": shown(SLUG, rows=4).link("prediction", cell="prediction[0,0]")},
        "random": {"link": shown(SLUG, rows=4, options={"weights": "random"}).link("loss")},
        "deep": {"layers": 5, "width": 16, "examples": 100, "apart": measured.collapsed()},
        "starts": _starts(),
        "deep_network": {
            "layers": measured.LAYERS,
            "width": measured.WIDTH,
            "kept": _left("relu", KEPT),
            "pushed": _left("tanh", 4.0),
        },
    }


def _left(activation: str, gain: float) -> Data:
    """What is left of the gradient at the first layer."""
    return {"gain": gain, "left": measured.fading(activation, gain)[-1]}


def _starts() -> Data:
    """From how many random starts each activation learned XOR."""
    found = measured.shipped()
    return {
        "count": measured.STARTS,
        "below": measured.SOLVED_BELOW,
        "rules": [{"rule": rule, "rate": rate, "steps": steps} for rule, (rate, steps) in measured.RULES.items()],
        "rows": [
            {"key": key, "name": name, "solved": [found[key][rule]["solved"] for rule in measured.RULES]}
            for key, name in NAMES.items()
        ],
    }


def lab(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is left of gradients in a deep network of this gain, and a curve out of so many units."""
    own = tuple(float(values[f"y{at + 1}"]) for at in range(len(OWN))) if values["curve"] == "own" else ()
    return {
        "fading": fading(float(values["gain"])),
        "fit": approximation(values["curve"], values["bend"], int(values["units"]), own),
    }


def exercises(seed: int) -> tuple[Any, ...]:
    """The check, in the variant of the seed."""
    return activation_functions_check.exercises(seed)


LESSON = Lesson(
    slug=SLUG,
    title="Activation functions: what bends a network",
    part="Learning",
    order=21,
    summary="Sigmoid, tanh, ReLU, GELU and SiLU with their slopes. Without one, layers collapse and XOR is out of "
    "reach; with one, units draw any curve, and gradients may fade.",
    model=SLUG,
    request={"update": {"rule": "sgd", "learning_rate": 0.1, "frozen": []}},
    examples=tuple({"x": list(x), "target": target} for x, target in XOR[1:]),
    script="activation_functions.js",
    prose=prose,
    exercises=exercises,
    settings=(
        Setting("curve", "Curve", "sine", choices=CURVES),
        Setting("units", "Hidden units", 8, least=1, limit=measured.UNITS, whole=True),
        Setting("bend", "Activation", "relu", choices=NAMES),
        *(Setting(f"y{at + 1}", f"height {at + 1}", height, least=-10, limit=10) for at, height in enumerate(OWN)),
        Setting("gain", "Gain of the weights", 1.0, least=0.05, limit=4),
    ),
    lab=lab,
    training=TRAINING,
)  # fmt: skip
