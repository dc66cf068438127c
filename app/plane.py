"""The plane of a model's two inputs as page data: figures, boundaries, pieces, a table, and where the edit matters.

Numbers come from engine.plane; nothing is computed here but shares in per cent and the choice of a square.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from app import plane_figures
from app.numbers import single, text
from engine import plane as engine_plane
from engine.models import catalogue
from engine.models.model import Model
from engine.plane import Boundary, Region, Surface

HALF_WIDTH = 4.0
LARGEST_HALF_WIDTH = 1024.0
POINTS = 33
LATTICE_STEP = 4
HATCH_STEP = 2


def draw(model: Model, request: Mapping[str, Any], baseline_request: Mapping[str, Any]) -> dict[str, Any]:
    """`page.plane`: the edited and the baseline network over one square that holds the request's inputs.

    Both requests must have run on the model. The square's half width is 4, doubled until every input fits (at most to
    1,024); inputs beyond are said to lie outside.
    """
    field = model.inputs[0].name
    whole = model.canonical(request)
    given = whole["inputs"][field]
    rows = given if isinstance(given[0], list | tuple) else [given]
    half = _half_width(rows)
    here, there = _network(whole), _network(model.canonical(baseline_request))
    edited, baseline = _surface(model.name, here, half), _surface(model.name, there, half)
    inputs = _inputs(model, here, there, rows, half, edited)
    is_edited = here != there
    return {
        "axes": {"x": edited.inputs[0], "y": edited.inputs[1], "value": edited.output},
        "lower": -half,
        "upper": half,
        "points": POINTS,
        "summary": _summary(edited, half),
        "inputs": inputs,
        "lines": sum(1 for one in edited.boundaries if one.ends and one.bends is not False),
        "boundaries": [_boundary(one, edited) for one in edited.boundaries],
        "regions": [_region(one, POINTS * POINTS) for one in edited.regions],
        "lattice": _lattice(edited, baseline),
        "effect": _effect(edited, baseline, inputs) if is_edited else None,
        "figures": _figures(edited, baseline, inputs, is_edited),
    }


def _half_width(rows: Sequence[Sequence[float]]) -> float:
    largest = max(abs(number) for row in rows for number in row)
    half = HALF_WIDTH
    while half < min(largest, LARGEST_HALF_WIDTH):
        half *= 2
    return half


def _network(request: Mapping[str, Any]) -> bytes:
    """What of a request makes the function: its edits, interventions and options, as a key."""
    parts = {name: request[name] for name in ("edits", "interventions", "options")}
    parts["interventions"] = [{**one, "index": [one["index"][-1]]} for one in parts["interventions"]]
    return orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)


@functools.lru_cache(maxsize=64)
def _surface(model: str, network: bytes, half: float) -> Surface:
    return engine_plane.surface(catalogue()[model], orjson.loads(network), -half, half, POINTS)


@functools.lru_cache(maxsize=256)
def _predicted(model: str, network: bytes, places: tuple[tuple[float, ...], ...]) -> list[float]:
    return engine_plane.predictions(catalogue()[model], orjson.loads(network), places).tolist()


def _inputs(
    model: Model, here: bytes, there: bytes, rows: Sequence[Sequence[float]], half: float, edited: Surface
) -> list[dict[str, Any]]:
    """The request's own inputs: what both networks predict there."""
    names = f"({edited.inputs[0]}, {edited.inputs[1]})"
    places = tuple(tuple(map(float, row)) for row in rows)
    after, before = _predicted(model.name, here, places), _predicted(model.name, there, places)
    return [
        {
            "label": f"{names} = ({text(row[0])}, {text(row[1])})",
            "at": [float(row[0]), float(row[1])],
            "inside": max(abs(row[0]), abs(row[1])) <= half,
            "value": single(now),
            "before": single(was),
            "changed": abs(now - was) > engine_plane.TOLERANCE * max(1.0, abs(was)),
        }
        for row, now, was in zip(rows, after, before, strict=True)
    ]


def _boundary(one: Boundary, edited: Surface) -> dict[str, Any]:
    """kind: line, outside (runs beside the square) or constant (the unit does not look at the inputs)."""
    kind = "line" if one.ends else "outside" if any(one.slope) else "constant"
    return {
        "label": one.label,
        "equation": _affine(one.slope, one.offset, edited.inputs),
        "slope": [single(number) for number in one.slope],
        "offset": single(one.offset),
        "ends": one.ends,
        "kind": kind,
        "bends": one.bends,
        "on": one.offset > 0,
    }


def _region(one: Region, total: int) -> dict[str, Any]:
    return {
        "on": list(one.on),
        "slope": [single(number) for number in one.slope],
        "offset": single(one.offset),
        "points": one.points,
        "percent": _percent(one.points, total),
    }


def _affine(slope: Sequence[float], offset: float, inputs: Sequence[str]) -> str:
    """The left side of a boundary in words of its own numbers: 0.5 x₁ + (−1) x₂ + 1."""
    shown = [text(single(number)) for number in (*slope, offset)]
    bracketed = [f"({part})" if part.startswith("−") and place else part for place, part in enumerate(shown)]
    return f"{bracketed[0]} {inputs[0]} + {bracketed[1]} {inputs[1]} + {bracketed[2]}"


def _lattice(edited: Surface, baseline: Surface) -> dict[str, Any]:
    """Every fourth grid point as a table, the second input falling from row to row as it does in the picture."""
    keep = slice(None, None, LATTICE_STEP)
    changed = engine_plane.effect(edited, baseline).changed[keep, keep].tolist()
    now, was = _numbers(edited.prediction[keep, keep]), _numbers(baseline.prediction[keep, keep])
    axis = _numbers(edited.coordinates[keep])
    rows = [
        {
            "at": axis[row],
            "cells": [
                {"value": now[row][column], "before": was[row][column] if changed[row][column] else None}
                for column in range(len(axis))
            ],
        }
        for row in reversed(range(len(axis)))
    ]
    return {"across": axis, "rows": rows}


def _effect(edited: Surface, baseline: Surface, inputs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found = engine_plane.effect(edited, baseline)
    return {
        "points": found.points,
        "unchanged": found.total - found.points,
        "total": found.total,
        "percent": _percent(found.points, found.total),
        "here": any(one["changed"] for one in inputs),
    }


def _percent(part: int, whole: int) -> float:
    """To one decimal, but never 0 or 100 where it is not exactly so."""
    share = round(100 * part / whole, 1)
    return share if part in (0, whole) else min(max(share, 0.1), 99.9)


def _figures(
    edited: Surface, baseline: Surface, inputs: Sequence[Mapping[str, Any]], is_edited: bool
) -> dict[str, Any]:
    names = (*edited.inputs, edited.output)
    axis = _numbers(edited.coordinates)
    lines = [(f"{one.label} = 0", one.ends, one.bends is not False) for one in edited.boundaries if one.ends]
    points = [(one["label"], *one["at"]) for one in inputs if one["inside"]]
    values = _numbers(edited.prediction)
    signs = [
        (axis[column], axis[row], "+" if values[row][column] > 0 else "−" if values[row][column] < 0 else "0")
        for row in range(LATTICE_STEP // 2, POINTS, LATTICE_STEP)
        for column in range(LATTICE_STEP // 2, POINTS, LATTICE_STEP)
    ]
    figures = {"prediction": plane_figures.surface(axis, values, names, lines=lines, points=points, signs=signs)}
    if is_edited:
        found = engine_plane.effect(edited, baseline)
        difference, changed = _numbers(found.difference), found.changed.tolist()
        shown = [
            [one if kept else None for one, kept in zip(row, mask, strict=True)]
            for row, mask in zip(difference, changed, strict=True)
        ]
        hatch = [
            (axis[column], axis[row])
            for row in range(0, POINTS, HATCH_STEP)
            for column in range(0, POINTS, HATCH_STEP)
            if not changed[row][column]
        ]
        names = (*edited.inputs, f"change of {edited.output}")
        figures["effect"] = plane_figures.surface(axis, shown, names, lines=lines, points=points, hatch=hatch)
    return figures


def _summary(edited: Surface, half: float) -> str:
    """The picture in a sentence."""
    lines = sum(1 for one in edited.boundaries if one.ends)
    low, high = float(edited.prediction.min()), float(edited.prediction.max())
    square = f"{edited.inputs[0]} and {edited.inputs[1]} from {text(-half)} to {text(half)}"
    pieces = len(edited.regions)
    cut = f"{lines} {'line cuts' if lines == 1 else 'lines cut'} the square"
    flat = f"it has {pieces} flat {'piece' if pieces == 1 else 'pieces'}"
    return f"{edited.output} for {square}: from {text(single(low))} to {text(single(high))}. {cut}; {flat}."


def _numbers(tensor: Any) -> Any:
    """A float32 tensor as nested lists of the shortest numbers that read back as the same float32."""
    return orjson.loads(orjson.dumps(np.ascontiguousarray(tensor.numpy()), option=orjson.OPT_SERIALIZE_NUMPY))
