"""The charts of the training loop: memory step by step, and the loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from app.numbers import single, text
from engine.experiments.training_cost import moments
from engine.trace import Trace

Data = dict[str, Any]

PLAIN = {"fixedrange": True, "zeroline": False}
PARTS = (
    ("kept for the way back", "kept", "var(--pos)", ""),
    ("gradients on their way", "passing", "var(--soft)", "."),
    ("gradients of parameters", "gradients", "var(--neg)", "/"),
)


def memory_figure(trace: Trace) -> Data:
    """A stack of bars a step: what lies in memory once it is done; dotted lines between the phases."""
    after = moments(trace)
    steps = list(range(1, len(after) + 1))
    starts = [number for number in steps[1:] if _phase(trace, number) != _phase(trace, number - 1)]
    names = [
        (_phase(trace, start), (start + end - 1) / 2)
        for start, end in zip([1, *starts], [*starts, len(after) + 1], strict=True)
    ]
    top = max(moment.total for moment in after) or 1
    return {
        "data": [
            {
                "type": "bar", "name": name, "x": steps, "y": [getattr(moment, part) for moment in after],
                "marker": {"color": colour, "pattern": {"shape": pattern}},
                "hovertemplate": f"{name}<br>step %{{x}}: %{{y}} bytes<extra></extra>",
            }
            for name, part, colour, pattern in PARTS
        ],
        "layout": {
            "barmode": "stack", "bargap": 0, "showlegend": True,
            "legend": {"orientation": "h", "x": 0, "y": 1.12, "yanchor": "bottom"},
            "dragmode": False, "hovermode": "closest", "height": 340, "margin": {"l": 70, "r": 12, "t": 12, "b": 44},
            "shapes": [
                {
                    "type": "line", "x0": start - 0.5, "x1": start - 0.5, "yref": "paper", "y0": 0, "y1": 1,
                    "line": {"color": "var(--line-strong)", "dash": "dot", "width": 1},
                }
                for start in starts
            ],
            "annotations": [
                {"x": middle, "y": 1, "yref": "paper", "yanchor": "bottom", "text": name, "showarrow": False}
                for name, middle in names
            ],
            "xaxis": {"title": {"text": "step"}, **PLAIN, "showgrid": False, **_ticks(1, len(after))},
            "yaxis": {"title": {"text": "bytes"}, **PLAIN, "rangemode": "tozero", **_heights(top)},
        },
    }  # fmt: skip


def loss_figure(losses: Sequence[float]) -> Data:
    """The loss by step."""
    return {
        "data": [
            {
                "type": "scatter", "mode": "lines", "name": "loss", "x": list(range(len(losses))),
                "y": [single(loss) for loss in losses], "line": {"color": "var(--pos)", "width": 2.25},
                "hovertemplate": "step %{x}: loss %{y:.3g}<extra></extra>",
            }
        ],
        "layout": {
            "showlegend": False, "dragmode": False, "hovermode": "closest", "height": 280,
            "margin": {"l": 70, "r": 12, "t": 12, "b": 44},
            "xaxis": {"title": {"text": "step"}, **PLAIN, "showgrid": False, **_ticks(0, len(losses) - 1)},
            "yaxis": {
                "title": {"text": "loss"}, **PLAIN, "rangemode": "tozero", **_heights(max(losses, default=1) or 1),
            },
        },
    }  # fmt: skip


def _phase(trace: Trace, number: int) -> str:
    phase = trace.steps[number - 1].phase
    return "forward" if phase == "loss" else phase


def _ticks(low: int, high: int) -> Data:
    every = max(1, math.ceil((high - low) / 6))
    places = list(range(low, high + 1, every))
    return {"tickmode": "array", "tickvals": places, "ticktext": [text(place) for place in places]}


def _heights(top: float) -> Data:
    """At most six round heights from 0."""
    size = 10.0 ** math.floor(math.log10(top / 5))
    apart = next(size * times for times in (1, 2, 5, 10) if top <= 5 * size * times)
    places = [single(apart * number) for number in range(math.ceil(top / apart) + 1)]
    return {"tickmode": "array", "tickvals": places, "ticktext": [text(place) for place in places]}
