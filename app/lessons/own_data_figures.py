"""The pictures of a network that was trained on a table: its plane or its line, and its misses."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from app.curves import COLOURS, ticks
from app.numbers import text
from engine.experiments.own_data import Fitted, Row, curve, dots, plane

Figure = dict[str, Any]
POINTS = 33
MOST_DOTS = 300
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star", "triangle-down")
TWO = [[0, "var(--neg)"], [0.5, "var(--raised)"], [1, "var(--pos)"]]
SPLITS = {"training": "trained on", "validation": "validation"}


def drawn(found: Fitted, told: Sequence[Row]) -> list[dict[str, Any]]:
    """{name, figure, summary} each: of two inputs the plane, of one the line; of a number the misses.

    told: the validation rows.
    """
    data = found.data
    pictures = []
    if data.plane:
        pictures.append(_plane(found))
    elif len(data.features) == 1 and data.features[0].word is None:
        pictures.append(_line(found))
    if data.task == "number":
        pictures.append(_misses(found, told))
    return pictures


def _plane(found: Fitted) -> dict[str, Any]:
    data = found.data
    across, up, outputs = plane(found, POINTS)
    names = [one.name for one in data.features]
    if data.task == "number":
        values = [[cell[0] for cell in row] for row in outputs]
        ends = _ends(values, data.aim.mean)
        ground = _heat(across, up, values, TWO, ends, f"{data.target_name} %{{z:.4g}}", scale=True)
        traces = [ground, *_coloured_dots(found, ends)]
        summary = f"What the network foretells of {data.target_name} for every {names[0]} and {names[1]}"
    elif len(data.classes) == 2:
        values = [[cell[1] for cell in row] for row in outputs]
        ground = _heat(across, up, values, TWO, (0.0, 1.0), f"p({_text(data.classes[1])}) %{{z:.4g}}", scale=True)
        edge = {
            "type": "contour", "x": across, "y": up, "z": values, "showscale": False, "hoverinfo": "skip",
            "contours": {"start": 0.5, "end": 0.5, "size": 1, "coloring": "none"}, "showlegend": False,
            "line": {"color": "var(--ink)", "width": 2},
        }  # fmt: skip
        traces = [ground, edge, *_class_dots(found, ("var(--neg)", "var(--pos)"))]
        summary = f"The probability of {data.classes[1]} for every {names[0]} and {names[1]}"
        summary += "; along the line it is one half"
    else:
        values = [[max(range(len(cell)), key=cell.__getitem__) for cell in row] for row in outputs]
        steps = [[at / len(data.classes), colour] for at, colour in _twice(_colours(len(data.classes)))]
        ends = (-0.5, len(data.classes) - 0.5)
        ground = {**_heat(across, up, values, steps, ends, "", scale=False), "opacity": 0.3, "hoverinfo": "skip"}
        del ground["hovertemplate"]
        traces = [ground, *_class_dots(found, _colours(len(data.classes)))]
        summary = f"The most probable {data.target_name} for every {names[0]} and {names[1]}"
    figure = {"data": traces, "layout": _layout(names[0], names[1], (across[0], across[-1]), (up[0], up[-1]), 400)}
    return {"name": "plane", "figure": figure, "summary": f"{summary}."}


def _line(found: Fitted) -> dict[str, Any]:
    """The prediction over the only input: of a class one line each."""
    data = found.data
    name = data.features[0].name
    across, outputs = curve(found, 2 * POINTS)
    names = list(data.classes) or [data.target_name]
    colours = _colours(len(names))
    traces: list[Figure] = [
        {
            "type": "scatter", "mode": "lines", "name": _text(one), "x": across, "y": [row[at] for row in outputs],
            "line": {"color": colours[at], "width": 2.5},
        }
        for at, one in enumerate(names)
    ]  # fmt: skip
    up, ends = "probability", (-0.05, 1.05)
    if data.task == "number":
        for split, symbol in (("training", "circle"), ("validation", "circle-open")):
            some = dots(found, split, MOST_DOTS)
            traces.append(_dots(some.inputs[0], some.targets, SPLITS[split], symbol, "var(--ink)"))
        reached = [value for trace in traces for value in trace["y"]]
        up, ends = data.target_name, _room(min(reached), max(reached))
    figure = {"data": traces, "layout": _layout(name, up, (across[0], across[-1]), ends, 340)}
    return {"name": "line", "figure": figure, "summary": f"What the network says for every {name}."}


def _misses(found: Fitted, told: Sequence[Row]) -> dict[str, Any]:
    """Of the validation rows, what is foretold against what is so."""
    few = told[:: max(1, len(told) // MOST_DOTS)]
    x, y = [float(one.target) for one in few], [float(one.prediction) for one in few]
    ends = _room(min(*x, *y), max(*x, *y))
    diagonal = {
        "type": "scatter", "mode": "lines", "x": list(ends), "y": list(ends), "hoverinfo": "skip", "showlegend": False,
        "line": {"color": "var(--soft)", "width": 1.5, "dash": "dash"},
    }  # fmt: skip
    dots = {**_dots(x, y, "validation rows", "circle", "var(--pos)"), "showlegend": False}
    name = found.data.target_name
    figure = {"data": [diagonal, dots], "layout": _layout(f"{name} in the table", "foretold", ends, ends, 340)}
    summary = f"{name} of the validation rows, foretold against what the table says; on the dashed line both are equal."
    return {"name": "misses", "figure": figure, "summary": summary}


def _class_dots(found: Fitted, colours: Sequence[str]) -> list[Figure]:
    """The rows by class, a symbol each; those for validation hollow."""
    data = found.data
    traces = []
    for split, hollow in (("training", ""), ("validation", "-open")):
        some = dots(found, split, MOST_DOTS)
        for at, name in enumerate(data.classes):
            x, y = ([value for value, one in zip(axis, some.targets, strict=True) if one == at] for axis in some.inputs)
            symbol = SYMBOLS[at % len(SYMBOLS)] + hollow
            made = _dots(x, y, f"{name}, {SPLITS[split]}", symbol, colours[at])
            traces.append(made | {"showlegend": not hollow, "name": _text(name), "legendgroup": str(at)})
    return traces


def _coloured_dots(found: Fitted, ends: tuple[float, float]) -> list[Figure]:
    traces = []
    for split, symbol in (("training", "circle"), ("validation", "diamond")):
        some = dots(found, split, MOST_DOTS)
        made = _dots(some.inputs[0], some.inputs[1], SPLITS[split], symbol, "var(--ink)")
        made["marker"] |= {"color": some.targets, "colorscale": TWO, "cmin": ends[0], "cmax": ends[1]}
        made |= {"text": [text(value) for value in some.targets], "hovertemplate": "%{text}<extra></extra>"}
        traces.append(made)
    return traces


def _dots(x: list[float], y: list[float], name: str, symbol: str, colour: str) -> Figure:
    hollow = symbol.endswith("-open")
    edge = colour if hollow else "var(--ink)"
    return {
        "type": "scatter", "mode": "markers", "name": _text(name), "x": x, "y": y,
        "hovertemplate": f"{_text(name)}<extra></extra>",
        "marker": {
            "symbol": symbol, "size": 8, "color": colour, "line": {"color": edge, "width": 2 if hollow else 0.75},
        },
    }  # fmt: skip


def _heat(
    x: list[float], y: list[float], z: Sequence[Sequence[float]], scale_: Any, ends: tuple[float, float], hover: str,
    *, scale: bool,
) -> Figure:  # fmt: skip
    bar = {"thickness": 12, "len": 1, "outlinewidth": 0, **ticks(*ends, 6)}
    return {
        "type": "heatmap", "x": x, "y": y, "z": z, "colorscale": scale_, "zmin": ends[0], "zmax": ends[1],
        "showscale": scale, "zsmooth": False, "opacity": 0.75, "hovertemplate": f"{hover}<extra></extra>",
        **({"colorbar": bar} if scale else {}),
    }  # fmt: skip


def _layout(across: str, up: str, x: tuple[float, float], y: tuple[float, float], height: int) -> Figure:
    plain = {"fixedrange": True, "showgrid": False, "zeroline": False}
    return {
        "height": height, "dragmode": False, "hovermode": "closest", "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "margin": {"l": 64, "r": 8, "t": 12, "b": 44},
        "xaxis": {**plain, "title": {"text": _text(across)}, "range": list(x), **ticks(*x, 6)},
        "yaxis": {**plain, "title": {"text": _text(up)}, "range": list(y), **ticks(*y, 6)},
    }  # fmt: skip


def _ends(values: Sequence[Sequence[float]], middle: float) -> tuple[float, float]:
    """As far below the middle as above it, so that both colours mean as much."""
    far = max(abs(cell - middle) for row in values for cell in row) or 1.0
    return middle - far, middle + far


def _room(least: float, most: float) -> tuple[float, float]:
    room = (most - least) * 0.06 or 1.0
    return least - room, most + room


def _colours(count: int) -> list[str]:
    return [COLOURS[at % len(COLOURS)] for at in range(count)]


def _twice(colours: Sequence[str]) -> list[tuple[int, str]]:
    """Each colour from its place to the next: steps of a scale without transitions."""
    return [(at + end, colour) for at, colour in enumerate(colours) for end in (0, 1)]


def _text(words: str) -> str:
    """Plotly reads markup in text, and a % in a hover line begins a value."""
    return html.escape(words).replace("%{", "% {")
