"""What stands on an edge of the graph: a tensor's cells with their gradients, or its shape where it is too big."""

from __future__ import annotations

import itertools
from typing import Any

from app import numbers
from app.inline import cell_name
from app.scene.readings import Readings
from app.scene.selection import Selection
from engine.trace import Index

MAX_CELLS, MAX_ROWS, MAX_CHARACTERS = 8, 4, 12
CHARACTER, ROW, _COLUMN_GAP, _SECTION_GAP, _PADDING = 8.1, 17.0, 8.0, 12.0, 6.0

Section = tuple[str, str, str | None]


def label(read: Readings, selection: Selection, tensor: str, sent: str | None) -> dict[str, Any]:
    """The label of an edge that carries a tensor: {width, height, headers, cells, shape}.

    sent: the tensor that holds what the reader at the edge's end sends back; None where nothing comes back. Cells have
    places relative to the label's upper left corner; numbers end at x.
    """
    sections: list[Section] = [("value", read.trace.record(tensor).symbol, tensor), ("gradient", "∂", sent)]
    if read.updating(tensor) and (updated := read.updated(tensor)):
        sections.append(("new", "new", updated))
    shape = [size for size in read.shape(tensor) if size > 1]
    if not shape:
        return _single(read, selection, tensor, sections)
    rows = shape[0]
    columns = shape[1] if len(shape) == 2 else 1
    if len(shape) <= 2 and rows <= MAX_ROWS and rows * columns <= MAX_CELLS:
        grid = _grid(read, selection, tensor, sections, rows, columns)
        if columns == 1 or grid["characters"] <= MAX_CHARACTERS:
            return grid
    return _shape(read, tensor, sections)


def _grid(
    read: Readings, selection: Selection, tensor: str, sections: list[Section], rows: int, columns: int
) -> dict[str, Any]:
    headers, cells = [], []
    right, characters = _PADDING, 0
    for number, (kind, symbol, name) in enumerate(sections):
        left = right = right + (_SECTION_GAP if number else 0)
        for column in range(columns):
            places = [_index(read.shape(tensor), row, column) for row in range(rows)]
            values = [read.value(name, place) if name else None for place in places]
            widest = max(_length(value) for value in values)
            widest = max(widest, len(symbol)) if columns == 1 else widest
            characters += widest
            right += widest * CHARACTER + (_COLUMN_GAP if column else 0)
            for row, (place, value) in enumerate(zip(places, values, strict=True)):
                cell = _cell(read, selection, tensor, kind, name, place, value)
                cells.append(cell | _stand(value, right, (row + 2) * ROW - 2))
        headers.append({"x": round((left + right) / 2, 1), "y": ROW - 2, "text": symbol, "kind": kind})
    return {
        "width": round(right + _PADDING, 1),
        "height": (rows + 1) * ROW + 6,
        "headers": headers,
        "cells": cells,
        "shape": None,
        "ruled": True,
        "characters": characters,
    }


def _single(read: Readings, selection: Selection, tensor: str, sections: list[Section]) -> dict[str, Any]:
    """One number: a line for each of value, gradient and new value."""
    place = (0,) * len(read.shape(tensor))
    values = [read.value(name, place) if name else None for _, _, name in sections]
    widest = max(len(symbol) + 1 + _length(value) for (_, symbol, _), value in zip(sections, values, strict=True))
    width = round(widest * CHARACTER + 2 * _PADDING, 1)
    headers, cells = [], []
    for row, ((kind, symbol, name), value) in enumerate(zip(sections, values, strict=True)):
        y = (row + 1) * ROW - 2
        x = round(_PADDING + len(symbol) * CHARACTER / 2, 1)
        headers.append({"x": x, "y": y, "text": symbol, "kind": kind})
        cell = _cell(read, selection, tensor, kind, name, place, value)
        cells.append(cell | _stand(value, width - _PADDING, y))
    height = len(sections) * ROW + 6
    return {"width": width, "height": height, "headers": headers, "cells": cells, "shape": None, "ruled": False}


def _shape(read: Readings, tensor: str, sections: list[Section]) -> dict[str, Any]:
    """Only the shape: 3 × 2. The numbers are in the details of the selected tensor."""
    sizes = " × ".join(f"{size:,}" for size in read.shape(tensor))
    texts = [f"{symbol} {sizes if name else '–'}" for _, symbol, name in sections]
    width = max(map(len, texts)) * CHARACTER + 2 * _PADDING
    headers = [
        {"x": round(width / 2, 1), "y": (row + 1) * ROW - 2, "text": text, "kind": sections[row][0]}
        for row, text in enumerate(texts)
    ]
    height = len(texts) * ROW + 6
    return {"width": round(width, 1), "height": height, "headers": headers, "cells": [], "shape": sizes, "ruled": False}


def _cell(
    read: Readings,
    selection: Selection,
    tensor: str,
    kind: str,
    name: str | None,
    index: Index,
    value: float | None,
) -> dict[str, Any]:
    """One number of a label. A gradient's link leads to the whole gradient; where it is only a part of that, `cell` is
    the part's own.
    """
    whole = read.gradient_name(tensor) if kind == "gradient" else name
    own = whole if whole is None or name is None or read.value(whole, index) == value else name
    before = read.before(whole, index)
    symbol = {"value": "", "gradient": "∂L/∂", "new": "new "}[kind] + read.label(tensor, index)
    said = f"{symbol} = {numbers.text(value)}" if value is not None else f"{symbol}: no path to the loss"
    if before is not None:
        said += f", was {numbers.text(before)}"
    selected = selection.has(tensor, index) and selection.of_gradient == (kind == "gradient") and kind != "new"
    return {
        "kind": kind,
        "cell": cell_name(own, index) if own else None,
        "of": cell_name(tensor, index),
        "value": value,
        "sign": numbers.sign(value) or "none",
        "before": before,
        "changed": before is not None,
        "selected": selected,
        "said": said,
    }


def details(read: Readings, tensor: str, limit: int = 64) -> dict[str, Any] | None:
    """A tensor's numbers as a table beside the picture: rows of (value, gradient) cells, at most `limit` of them.

    None for a tensor that is no part of the run. `left_out` says how many cells are not shown.
    """
    record = read.trace.tensors.get(tensor)
    if record is None:
        return None
    shape = record.shape
    columns = shape[-1] if shape else 1
    gradient = record.gradient
    places = list(itertools.islice(itertools.product(*map(range, shape)), limit))
    cells = [
        {
            "label": read.label(tensor, place),
            "cell": cell_name(tensor, place),
            "value": read.value(tensor, place),
            "gradient": read.value(gradient, place) if gradient else None,
            "gradient_cell": cell_name(gradient, place) if gradient else None,
        }
        for place in places
    ]
    return {
        "tensor": tensor,
        "symbol": record.symbol,
        "axes": [{"name": axis.name, "size": axis.size} for axis in record.axes],
        "rows": [cells[at : at + columns] for at in range(0, len(cells), columns)],
        "left_out": record.value.numel() - len(cells),
    }


def _stand(value: float | None, right: float, line: float) -> dict[str, float]:
    """Where a number ends (x, y), and the ground it covers (left, wide)."""
    wide = _length(value) * CHARACTER + 4
    return {"x": round(right, 1), "y": line, "left": round(right - wide + 2, 1), "wide": round(wide, 1)}


def _index(shape: tuple[int, ...], row: int, column: int) -> Index:
    """The index of a grid's cell in a tensor: axes of size 1 are 0."""
    rest = iter((row, column))
    return tuple(next(rest) if size > 1 else 0 for size in shape)


def _length(value: float | None) -> int:
    return 1 if value is None else len(numbers.text(value))
