"""The pictures of the lesson on descent: losses as contours and as a surface, with the ways that descents take."""

from __future__ import annotations

import functools
import html
import math
from collections.abc import Sequence
from typing import Any

from app import contours
from app.curves import COLOURS, DASHES, Curve, figure, ticks
from app.numbers import single, text
from engine.experiments import cost_and_descent as measured

Figure = dict[str, Any]
Places = Sequence[tuple[float, float]]
W_RANGE, B_RANGE = (-3.0, 5.0), (-6.0, 6.0)
POINTS = 33
TOP = 60.0
"""Where the surface is cut off: higher losses are not shown."""
LEVELS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
SLICE_LEVELS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
_FAR = 1e3


def grid(ends: tuple[float, float], points: int = POINTS) -> list[float]:
    """Evenly spaced numbers from one end to the other."""
    return [ends[0] + (ends[1] - ends[0]) * at / (points - 1) for at in range(points)]


@functools.cache
def heights() -> list[list[float]]:
    """The line's loss over the square of the pictures, a row for each b."""
    return [[single(one) for one in row] for row in measured.surface(grid(W_RANGE), grid(B_RANGE))]


@functools.cache
def _levels() -> list[Figure]:
    return _level_lines(
        grid(W_RANGE, 65), grid(B_RANGE, 65), measured.surface(grid(W_RANGE, 65), grid(B_RANGE, 65)), LEVELS
    )


def _level_lines(
    x: Sequence[float], y: Sequence[float], z: Sequence[Sequence[float]], levels: Sequence[float]
) -> list[Figure]:
    """The contour lines as one trace, and their levels written beside their highest points as another."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    labels: list[tuple[float, float, float]] = []
    for level in levels:
        found = contours.lines(x, y, z, level)
        for line in found:
            xs += [*(round(place[0], 3) for place in line), None]
            ys += [*(round(place[1], 3) for place in line), None]
        inside = [place for line in found for place in line if _room(place[0], x) and _room(place[1], y)]
        top = max(inside, key=lambda place: place[1], default=None)
        if top is not None and all(_apart(top, other, x, y) for other in labels):
            labels.append((*top, level))
    return [
        {
            "type": "scatter", "mode": "lines", "x": xs, "y": ys, "hoverinfo": "skip", "showlegend": False,
            "line": {"color": "var(--line-strong)", "width": 1},
        },
        {
            "type": "scatter", "mode": "text", "hoverinfo": "skip", "showlegend": False,
            "x": [round(one[0], 3) for one in labels], "y": [round(one[1], 3) for one in labels],
            "text": [text(one[2]) for one in labels], "textposition": "top center",
            "textfont": {"size": 11, "color": "var(--soft)"},
        },
    ]  # fmt: skip


def _room(place: float, axis: Sequence[float]) -> bool:
    """Whether a label at this place of an axis stays inside the picture."""
    edge = 0.07 * (axis[-1] - axis[0])
    return axis[0] + edge < place < axis[-1] - edge


def _apart(one: Sequence[float], other: Sequence[float], x: Sequence[float], y: Sequence[float]) -> bool:
    """Whether two labels do not touch."""
    across, up = (abs(one[0] - other[0]) / (x[-1] - x[0]), abs(one[1] - other[1]) / (y[-1] - y[0]))
    return across > 0.08 or up > 0.05


def contour(walks: Sequence[tuple[str, Places]]) -> Figure:
    """The line's loss from above, with the ways of some descents (name, places), and where it is least."""
    w, b, loss = measured.least()
    return _from_above(
        _levels(), walks, ("weight w", "bias b"), W_RANGE, B_RANGE, (w, b, f"least: {text(single(loss))}")
    )


@functools.lru_cache(maxsize=16)
def sliced(seed: int) -> Figure:
    """A slice of the digit network's loss from above, with the shadow of a descent."""
    found = measured.loss_slice(seed)
    levels = _level_lines(found.along, found.along, found.losses, SLICE_LEVELS)
    names = "first random direction", "second"
    shipped = 0.0, 0.0, "the shipped weights"
    return _from_above(levels, [("a descent's shadow", found.places)], names, (-1, 1), (-1, 1), shipped)


def _from_above(
    levels: Sequence[Figure],
    walks: Sequence[tuple[str, Places]],
    names: tuple[str, str],
    across: tuple[float, float],
    up: tuple[float, float],
    mark: tuple[float, float, str],
) -> Figure:
    ways = []
    for place, (name, places) in enumerate(walks):
        near = _near(places)
        ways.append(
            {
                "type": "scatter", "mode": "lines+markers", "name": html.escape(name),
                "x": [single(one[0]) for one in near], "y": [single(one[1]) for one in near],
                "line": {"color": COLOURS[place], "dash": DASHES[place], "width": 2},
                "marker": {"color": COLOURS[place], "size": 5, "symbol": ("circle", "diamond", "square")[place]},
                "text": [f"step {step}" for step in range(len(near))],
                "hovertemplate": f"{html.escape(name)}, %{{text}}<br>%{{x:.4g}}, %{{y:.4g}}<extra></extra>",
            }
        )  # fmt: skip
    marker = {
        "type": "scatter", "mode": "markers", "name": mark[2], "x": [mark[0]], "y": [mark[1]],
        "marker": {"symbol": "cross", "size": 11, "color": "var(--ink)"}, "hovertemplate": f"{mark[2]}<extra></extra>",
    }  # fmt: skip
    return {
        "data": [*levels, *ways, marker],
        "layout": {
            "showlegend": True,
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "dragmode": False, "hovermode": "closest", "height": 400,
            "margin": {"l": 52, "r": 12, "t": 12, "b": 44},
            "xaxis": {
                "title": {"text": names[0]}, "range": list(across), "fixedrange": True, "zeroline": False,
                "showgrid": False, **ticks(*across, 9),
            },
            "yaxis": {
                "title": {"text": names[1]}, "range": list(up), "fixedrange": True, "zeroline": False,
                "showgrid": False, **ticks(*up, 9),
            },
        },
    }  # fmt: skip


def _near(places: Places) -> Places:
    """The places up to the first that no picture could show."""
    far = next((at for at, place in enumerate(places) if max(map(abs, place)) > _FAR), len(places))
    return places[:far]


def surface(walks: Sequence[tuple[str, measured.Walk, int]]) -> Figure:
    """The line's loss as a surface, with walks (name, walk, steps shown) on it as long as they are over it."""
    names = ("weight w", "bias b", "loss")
    ways = []
    for place, (name, one, steps) in enumerate(walks):
        rows = [(*at, loss) for at, loss in zip(one.places, one.losses, strict=True)][: steps + 1]
        over = [row for row in rows if _inside(row)]
        ways.append(
            {
                "type": "scatter3d", "mode": "lines+markers", "name": html.escape(name),
                **{axis: [single(row[at]) for row in over] for at, axis in enumerate("xyz")},
                "line": {"color": COLOURS[place], "width": 4}, "marker": {"color": COLOURS[place], "size": 2.5},
                "hovertemplate": f"{html.escape(name)}<br>w %{{x:.4g}}, b %{{y:.4g}}, loss %{{z:.4g}}<extra></extra>",
            }
        )  # fmt: skip
    sheet = {
        "type": "surface", "x": grid(W_RANGE), "y": grid(B_RANGE), "z": heights(), "showscale": False, "opacity": 0.9,
        "colorscale": [[0, "var(--raised)"], [1, "var(--line-strong)"]], "name": "loss", "showlegend": False,
        "cmin": 0, "cmax": TOP / 2,
        "contours": {"z": {"show": True, "start": 0, "end": TOP, "size": 5, "color": "var(--soft)", "width": 1}},
        "hovertemplate": "w %{x:.4g}, b %{y:.4g}, loss %{z:.4g}<extra></extra>",
    }  # fmt: skip
    scene = {
        f"{axis}axis": {"title": {"text": name}, "range": ends, **ticks(*ends, 5)}
        for axis, name, ends in zip("xyz", names, (W_RANGE, B_RANGE, (0.0, TOP)), strict=True)
    }
    return {
        "data": [sheet, *ways],
        "layout": {
            "showlegend": True, "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "height": 420, "margin": {"l": 0, "r": 0, "t": 12, "b": 0},
            "scene": {
                **scene, "aspectmode": "cube", "dragmode": "turntable",
                "camera": {"eye": {"x": 1.65, "y": -1.87, "z": 1.2}, "center": {"x": 0, "y": 0, "z": -0.15}},
            },
        },
    }  # fmt: skip


def _inside(row: Sequence[float]) -> bool:
    return W_RANGE[0] <= row[0] <= W_RANGE[1] and B_RANGE[0] <= row[1] <= B_RANGE[1]


def by_cost(walks: Sequence[tuple[str, measured.Walk, int]]) -> Figure:
    """The loss against the gradients of examples that were computed for it."""
    curves = [
        Curve(name, [step * one.batch for step in range(len(losses))], losses)
        for name, one, steps in walks
        for losses in [_losses(one, steps)]
    ]
    return figure(curves, "examples looked at", "loss", height=260)


def by_step(walks: Sequence[tuple[str, measured.Walk, int]]) -> Figure:
    """The loss after each step."""
    curves = [
        Curve(name, list(range(len(losses))), losses) for name, one, steps in walks for losses in [_losses(one, steps)]
    ]
    return figure(curves, "step", "loss", height=260)


def _losses(one: measured.Walk, steps: int) -> list[float]:
    return [single(loss) for loss in one.losses[: steps + 1]]


def on_curve(b: float, walks: Sequence[tuple[str, measured.Walk, int]]) -> Figure:
    """The loss against the weight alone, with the steps of some descents on it."""
    w = grid(W_RANGE, 65)
    (row,) = measured.surface(w, [b])
    drawn = figure([Curve("loss", w, row)], "weight w", "loss", height=300, even=True)
    drawn["data"][0] |= {"line": {"color": "var(--line-strong)", "width": 1.5}}
    for place, (name, one, steps) in enumerate(walks):
        seen = [(at[0], loss) for at, loss in zip(one.places, one.losses, strict=True)][: steps + 1]
        seen = [at for at in seen if W_RANGE[0] <= at[0] <= W_RANGE[1]]
        drawn["data"].append(
            {
                "type": "scatter", "mode": "lines+markers", "name": html.escape(name),
                "x": [single(at[0]) for at in seen], "y": [single(at[1]) for at in seen],
                "line": {"color": COLOURS[place], "dash": DASHES[place], "width": 1.5},
                "marker": {"color": COLOURS[place], "size": 7, "symbol": ("circle", "diamond", "square")[place]},
                "hovertemplate": f"{html.escape(name)}<br>w %{{x:.4g}}: loss %{{y:.4g}}<extra></extra>",
            }
        )  # fmt: skip
    drawn["layout"]["showlegend"] = True
    return drawn


def by_rate(rates: Sequence[float], losses: Sequence[float], start: float) -> Figure:
    """The loss after one step against the learning rate, and the loss before it."""
    return figure(
        [Curve("after one step", rates, losses), Curve("before", [rates[0], rates[-1]], [start, start])],
        "learning rate", "loss", height=260, even=True,
    )  # fmt: skip


def rows(walks: Sequence[measured.Walk], steps: int, most: int = 12) -> list[dict[str, Any]]:
    """At most so many of the steps taken, the first and the last among them: step, and of each walk w, b, loss."""
    every = max(1, math.ceil(steps / (most - 1)))
    shown = [*range(0, steps, every), steps]
    return [{"step": step, "walks": [_row(one, step) for one in walks]} for step in shown]


def _row(one: measured.Walk, step: int) -> dict[str, Any] | None:
    if step >= len(one.losses):
        return None
    return {"w": single(one.places[step][0]), "b": single(one.places[step][1]), "loss": single(one.losses[step])}
