"""Rows of numbers that can be drawn: an input, or a parameter of one row, whose last axis is a grid."""

from __future__ import annotations

from typing import Any

from app import whole
from app.numbers import text
from app.page.run import Data, Run
from app.picture import grid_of, picture

IMAGE = (("ink", 1.0), ("half", 0.5), ("erase", 0.0))
WEIGHTS = (("+1", 1.0), (f"{text(-0.5)}", -0.5), ("0", 0.0))


def paints(run: Run) -> dict[str, Data]:
    """By the name under which an address sets it whole: {name, symbol, grid, code, full, brushes, src, is_input, word,
    last, error}.

    code: the numbers as scripts read them; full: the magnitude drawn at full strength; word: the sample's number, "" of
    a drawing; last: the last sample's number, None where there are none.
    """
    space = run.state.space
    found = {}
    for name in [*space.inputs, *space.parameters]:
        for row in range(run.state.rows if name in space.inputs else 1):
            if one := _paint(run, whole.row_name(name, (row,))):
                found[one["name"]] = one
    return found


def _paint(run: Run, name: str) -> Data | None:
    row = whole.row_of(run.state.space, name)
    record = run.trace.tensors.get(row.tensor) if row is not None else None
    grid = grid_of(run.trace, record) if record is not None else None
    if row is None or record is None or grid is None:
        return None
    values = whole.values(run.state.space, run.state.cells, row)
    given = run.state.space.inputs.get(row.tensor)
    full = max(1.0, *map(abs, values)) if given is None else given.field.limit
    word: Any = whole.written(values, row.samples) if row.samples else ""
    return {
        "name": name,
        "symbol": record.symbol,
        "grid": list(grid),
        "code": whole.plain_code(values),
        "full": full,
        "brushes": [{"words": words, "value": value} for words, value in (IMAGE if given else WEIGHTS)],
        "src": picture(values, grid, full),
        "is_input": given is not None,
        "word": word.partition(":")[2],
        "last": row.samples.count - 1 if row.samples else None,
        "error": next((one.message for one in run.state.errors if one.field == name), None),
    }
