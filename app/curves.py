"""Curves as Plotly figures, with every number of the picture made here: points, ranges and ticks."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.numbers import text

Figure = dict[str, Any]

COLOURS = ("var(--pos)", "var(--neg)", "var(--ink)", "var(--soft)", "var(--good)", "var(--ax-unit)")
DASHES = ("solid", "dash", "dot", "dashdot")
_APART = 100.0
_FEW_POWERS = 2.5


@dataclass(frozen=True)
class Curve:
    """One curve: its name, and its points in order. A y that is None or not finite leaves a gap."""

    name: str
    x: Sequence[float]
    y: Sequence[float | None]


def figure(curves: Sequence[Curve], across: str, up: str, *, height: int = 240, even: bool = False) -> Figure:
    """Curves over one axis from the smallest x to the largest, each in a colour and a dash of its own.

    Upwards in powers of ten where all is positive and the largest y is more than 100 times the smallest, unless
    even. height: px.
    """
    xs = [x for curve in curves for x in curve.x] or [0.0]
    ys = [y for curve in curves for y in curve.y if y is not None and math.isfinite(y)] or [0.0]
    first, last = min(xs), max(xs) if max(xs) > min(xs) else min(xs) + 1
    decades = not even and min(ys) > 0 and max(ys) > _APART * min(ys)
    return {
        "data": [_line(curve, place, across) for place, curve in enumerate(curves)],
        "layout": {
            "showlegend": len(curves) > 1,
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "dragmode": False,
            "hovermode": "closest",
            "height": height,
            "margin": {"l": 72, "r": 12, "t": 12, "b": 44},
            "xaxis": {
                "title": {"text": html.escape(across)}, "range": [first, last], "fixedrange": True, "showgrid": False,
                "zeroline": False, **ticks(first, last, 6),
            },
            "yaxis": {
                "title": {"text": html.escape(up), "standoff": 6}, "fixedrange": True, "zeroline": False,
                **(_powers(min(ys), max(ys)) if decades else _even(min(ys), max(ys))),
            },
        },
    }  # fmt: skip


def ticks(lower: float, upper: float, most: int) -> Figure:
    """Where an axis is labelled, and how: at most `most` multiples of 1, 2 or 5 times a power of ten."""
    least = (upper - lower) / (most - 1)
    power = 10.0 ** math.floor(math.log10(least))
    step = next(part * power for part in (1, 2, 5, 10) if part * power >= least * (1 - 1e-9))
    first, last = math.ceil(lower / step - 1e-9), math.floor(upper / step + 1e-9)
    return _labelled([float(f"{number * step:.12g}") for number in range(first, last + 1)])


def _line(curve: Curve, place: int, across: str) -> Figure:
    y = [None if y is None or not math.isfinite(y) else y for y in curve.y]
    name = html.escape(curve.name)
    alone = sum(value is not None for value in y) < 2
    return {
        "type": "scatter", "mode": "lines+markers" if alone else "lines", "name": name, "x": list(curve.x), "y": y,
        "line": {"color": COLOURS[place % len(COLOURS)], "dash": DASHES[place % len(DASHES)], "width": 2.25},
        "hovertemplate": f"{name}<br>{html.escape(across)} %{{x}}: %{{y:.4g}}<extra></extra>",
    }  # fmt: skip


def _even(lower: float, upper: float) -> Figure:
    room = (upper - lower) * 0.06 or abs(upper) * 0.1 or 1.0
    ends = lower - room, upper + room
    return {"range": list(ends), **ticks(*ends, 6)}


def _powers(lower: float, upper: float) -> Figure:
    """Powers of ten are labelled, some of them where there are many; where there are few, also 2 and 5 times them."""
    low, high = math.log10(lower), math.log10(upper)
    room = (high - low) * 0.06
    low, high = low - room, high + room
    apart = max(1, math.ceil((high - low) / 6))
    parts = (1, 2, 5) if high - low < _FEW_POWERS else (1,)
    powers = range(math.floor(low), math.floor(high) + 1)
    marked = [part * 10.0**power for power in powers if power % apart == 0 for part in parts]
    marked = [value for value in marked if low <= math.log10(value) <= high]
    return {"type": "log", "range": [low, high], **_labelled(marked)}


def _labelled(values: list[float]) -> Figure:
    return {"tickmode": "array", "tickvals": values, "ticktext": [text(value) for value in values]}
