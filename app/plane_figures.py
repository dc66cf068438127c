"""The plane's two pictures as Plotly figures: the prediction, and where the edit matters.

Plotly checks the style once; a page's numbers are then put into copies of it. Colours are names of the site's custom
properties (var(--pos)), which static/charts.js turns into the present theme's. Text is escaped: Plotly reads markup.
"""

from __future__ import annotations

import functools
import html
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

from app.curves import ticks

Figure = dict[str, Any]
Line = tuple[str, Sequence[Sequence[float]], bool]

DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_LABEL_PLACES = (0.88, 0.12, 0.8, 0.2, 0.72, 0.28, 0.64, 0.36)
_CLEARANCE = 0.16
_EDGE = 0.1


def surface(
    axis: Sequence[float],
    values: Sequence[Sequence[float | None]],
    names: tuple[str, str, str],
    *,
    lines: Sequence[Line],
    points: Sequence[tuple[str, float, float]],
    signs: Sequence[tuple[float, float, str]] = (),
    hatch: Sequence[tuple[float, float]] = (),
) -> Figure:
    """A heat map over the square with boundaries and inputs on it.

    values: rows along the second axis; None leaves a gap. names: of the two axes and of the value.
    lines:  (label, two ends, whether the prediction bends there), each drawn in a dash of its own.
    points: (label, x1, x2) of the inputs. signs: where a + or − is written. hatch: grid points that get a stroke.
    """
    across, up, value = (html.escape(name) for name in names)
    style = _style()
    size = max((abs(one) for row in values for one in row if one is not None), default=0.0) or 1.0
    heat, strokes, marks, line, inputs = style["data"]
    data = [
        {
            **heat,
            "x": list(axis),
            "y": list(axis),
            "z": values,
            "zmin": -size,
            "zmax": size,
            "colorbar": {**heat["colorbar"], **ticks(-size, size, 7)},
            "hovertemplate": f"{across} = %{{x}}<br>{up} = %{{y}}<br>{value} = %{{z}}<extra></extra>",
        }
    ]
    if hatch:
        data.append({**strokes, "x": [x for x, _ in hatch], "y": [y for _, y in hatch]})
    if signs:
        places = {"x": [x for x, _, _ in signs], "y": [y for _, y, _ in signs]}
        data.append({**marks, **places, "text": [sign for _, _, sign in signs]})
    for place, (label, ends, bends) in enumerate(lines):
        drawn = {**line["line"], "dash": DASHES[place % len(DASHES)], "width": 2.25 if bends else 1}
        x, y = [end[0] for end in ends], [end[1] for end in ends]
        data.append({**line, "x": x, "y": y, "name": html.escape(label), "line": drawn})
    if points:
        labels = [html.escape(label) for label, _, _ in points]
        data.append({**inputs, "x": [x for _, x, _ in points], "y": [y for _, _, y in points], "text": labels})
    lower, upper = axis[0], axis[-1]
    layout, marked = style["layout"], ticks(lower, upper, 9)
    return {
        "data": data,
        "layout": {
            **layout,
            "xaxis": {**layout["xaxis"], "title": {"text": across}, "range": [lower, upper], **marked},
            "yaxis": {**layout["yaxis"], "title": {"text": up}, "range": [lower, upper], **marked},
            "annotations": _labels(lines, points, (lower, upper), layout["annotations"][0]),
        },
    }


def _labels(
    lines: Sequence[Line], points: Sequence[tuple[str, float, float]], ends: tuple[float, float], style: Figure
) -> list[Figure]:
    """Each line's label on the line, at the first place along it that is clear of the edge, inputs and other labels."""
    taken, labels = [(x, y) for _, x, y in points], []
    width = ends[1] - ends[0]
    for label, ((x1, y1), (x2, y2)), _ in lines:
        places = [(x1 + (x2 - x1) * part, y1 + (y2 - y1) * part) for part in _LABEL_PLACES]
        inside = [(x, y) for x, y in places if min(x - ends[0], ends[1] - x) > _EDGE * width] or places
        clear = [place for place in inside if all(_far(place, other, width) for other in taken)] or inside
        taken.append(clear[0])
        labels.append({**style, "x": clear[0][0], "y": clear[0][1], "text": html.escape(label)})
    return labels


def _far(one: tuple[float, float], other: tuple[float, float], width: float) -> bool:
    return abs(one[0] - other[0]) > _CLEARANCE * width or abs(one[1] - other[1]) > _CLEARANCE * width / 2


@functools.cache
def _style() -> Figure:
    """The figure without its numbers, checked by Plotly: heat map, hatch, signs, one boundary, the inputs."""
    axis = {
        "constrain": "domain",
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "ticks": "outside",
    }
    figure = go.Figure(
        data=[
            go.Heatmap(
                x=[0],
                y=[0],
                z=[[0]],
                zmid=0,
                colorscale=_SCALE,
                zsmooth=False,
                hoverongaps=False,
                colorbar={"thickness": 12, "len": 1, "outlinewidth": 0},
            ),
            go.Scatter(
                mode="markers",
                hoverinfo="skip",
                marker={"symbol": "line-ne", "size": 11, "line": {"width": 1, "color": "black"}},
            ),
            go.Scatter(mode="text", hoverinfo="skip", textfont={"size": 11, "color": "black"}),
            go.Scatter(mode="lines", hoverinfo="name", line={"color": "black"}),
            go.Scatter(
                mode="markers",
                hovertemplate="%{text}<extra></extra>",
                marker={"size": 13, "color": "yellow", "line": {"width": 2.5, "color": "black"}},
                cliponaxis=False,
            ),
        ],
        layout={
            "template": go.layout.Template(),
            "showlegend": False,
            "dragmode": False,
            "hovermode": "closest",
            "margin": {"l": 44, "r": 8, "t": 10, "b": 44},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "xaxis": axis,
            "yaxis": {**axis, "scaleanchor": "x", "scaleratio": 1},
            "annotations": [{"showarrow": False, "font": {"size": 13}, "bgcolor": "white", "borderpad": 2}],
        },
    ).to_plotly_json()
    del figure["layout"]["template"]
    return _themed(figure)


# Plotly checks colours, so the style is built with plain ones and these take their place.
_SCALE = [[0, "orange"], [0.5, "white"], [1, "blue"]]
_THEME = {
    "black": "var(--ink)",
    "yellow": "var(--mark-line)",
    "white": "var(--raised)",
    "orange": "var(--neg)",
    "blue": "var(--pos)",
}


def _themed(part: Any) -> Any:
    if isinstance(part, dict):
        return {name: _themed(inner) for name, inner in part.items()}
    if isinstance(part, list | tuple):
        return [_themed(inner) for inner in part]
    return _THEME.get(part, part) if isinstance(part, str) else part
