"""The pictures of the lesson on activation functions, and what its lab finds: fading gradients, curves out of units."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from app import plane_figures
from app.curves import Curve, figure
from app.numbers import single
from engine.experiments import activation_functions as measured
from engine.models import catalogue
from engine.models.activation_functions import NAMES, XOR
from engine.plane import surface

Data = dict[str, Any]
BENT = tuple(name for name in NAMES if name != "none")
CURVES = {"sine": "a sine wave", "step": "a step", "bump": "a bump", "zigzag": "a zigzag", "own": "your own"}
COUNTS = (1, 2, 4, 8, 16, 32)
DISTANCES = (1, 5, 10, 20, 29)
LOWER, UPPER, POINTS = -0.5, 1.5, 33
_EVERY = 4
_RANGE = [step / 10 for step in range(-60, 61)]


@functools.cache
def functions() -> Data:
    """All activations and their derivatives from -6 to 6, as two figures."""
    drawn = {name: measured.slopes(name, _RANGE) for name in BENT}
    return {
        what: figure([Curve(NAMES[name], _RANGE, drawn[name][place]) for name in BENT], "z", up, height=300)
        for place, (what, up) in enumerate((("values", "a(z)"), ("slopes", "slope a′(z)")))
    }


@functools.lru_cache(maxsize=64)
def fading(gain: float) -> Data:
    """What is left of the gradient, layer by layer down, for each activation."""
    found = {name: measured.fading(name, gain) for name in NAMES}
    layers = list(range(measured.LAYERS))
    curves = [Curve(NAMES[name], layers, [one or None for one in left]) for name, left in found.items()]
    return {
        "gain": gain,
        "distances": list(DISTANCES),
        "rows": [{"name": NAMES[name], "left": [left[at] for at in DISTANCES]} for name, left in found.items()],
        "figure": figure(curves, "layers down", "share of the gradient", height=300),
    }


@functools.lru_cache(maxsize=128)
def drawn(curve: str, bend: str, own: tuple[float, ...]) -> tuple[measured.Fit, ...]:
    """The nearest sums of 1 to 32 units to a curve."""
    target = measured.curve(curve, own)
    return tuple(measured.fit(target, units, bend) for units in range(1, measured.UNITS + 1))


@functools.lru_cache(maxsize=128)
def approximation(curve: str, bend: str, units: int, own: tuple[float, ...]) -> Data:
    """A curve, the sum of n units that comes nearest to it, the units' parts, and the error for each n."""
    fits, flat, found = drawn(curve, bend, own), drawn(curve, "none", own), drawn(curve, bend, own)[units - 1]
    x = [at / (measured.GRID - 1) for at in range(0, measured.GRID, _EVERY)]
    target = measured.curve(curve, own)[::_EVERY].tolist()
    counts = list(range(1, measured.UNITS + 1))
    errors = [Curve(NAMES[bend], counts, [one.error for one in fits])]
    if bend != "none":
        errors.append(Curve("no activation", counts, [one.error for one in flat]))
    return {
        "curve": CURVES[curve],
        "bend": NAMES[bend],
        "units": units,
        "constant": found.constant,
        "error": found.error,
        "worst": found.worst,
        "rows": [{"units": n, "error": fits[n - 1].error, "worst": fits[n - 1].worst} for n in COUNTS],
        "halved": fits[15].error / fits[31].error if fits[31].error > 1e-9 else None,
        "weights": [{"unit": at + 1, "knot": at / units, "weight": weight} for at, weight in enumerate(found.weights)],
        "sum": figure(
            [Curve("the sum", x, found.values[::_EVERY].tolist()), Curve("the curve", x, target)],
            "x",
            "y",
            height=280,
            even=True,
        ),
        "parts": _parts(x, found),
        "errors": figure(errors, "units n", "error", height=260),
    }


def _parts(x: Sequence[float], found: measured.Fit) -> Data:
    """Each unit's weighted output: blue where its weight is positive, orange where it is negative."""
    parts = found.parts[:, ::_EVERY].tolist()
    made = figure(
        [Curve(f"unit {at + 1}", x, values) for at, values in enumerate(parts)], "x", "part", height=240, even=True
    )
    for line, weight in zip(made["data"], found.weights, strict=True):
        line["line"] = {"color": "var(--pos)" if weight >= 0 else "var(--neg)", "dash": "solid", "width": 1.5}
    made["layout"]["showlegend"] = False
    return made


def plane(options: Mapping[str, str], edits: Sequence[Mapping[str, Any]]) -> Data:
    """The network over the square around the four points of XOR, as a figure."""
    key = orjson.dumps([options, edits], option=orjson.OPT_SORT_KEYS)
    return _plane(key)


@functools.lru_cache(maxsize=64)
def _plane(key: bytes) -> Data:
    options, edits = orjson.loads(key)
    found = surface(catalogue()["activation_functions"], {"options": options, "edits": edits}, LOWER, UPPER, POINTS)
    axis = [single(one) for one in found.coordinates.tolist()]
    values = [[single(one) for one in row] for row in found.prediction.tolist()]
    lines = [(f"{one.label} = 0", one.ends, one.bends is not False) for one in found.boundaries if one.ends]
    points = [(f"({x[0]:g}, {x[1]:g}): target {target:g}", *x) for x, target in XOR]
    made = plane_figures.surface(axis, values, (*found.inputs, found.output), lines=lines, points=points)
    made["data"].append(
        {
            "type": "scatter", "mode": "text", "hoverinfo": "skip", "x": [x[0] + 0.12 for x, _ in XOR],
            "y": [x[1] + 0.12 for x, _ in XOR], "text": [f"{target:g}" for _, target in XOR],
            "textfont": {"size": 15, "color": "var(--ink)"},
        }
    )  # fmt: skip
    layout = made["layout"]
    layout |= {"height": 340, "margin": {**layout["margin"], "l": 60}}
    layout["yaxis"]["title"] = {**layout["yaxis"]["title"], "standoff": 12}
    return made
