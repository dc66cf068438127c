"""A tensor whose last axis is a grid, as a figure: a picture for each of its rows, and one line of cells at a time."""

from __future__ import annotations

from app.inline import cell_name
from app.page.run import Data, Run, axes_data
from app.picture import Grid, picture
from app.space import indices, split_cell
from engine.trace import Index, TensorRecord

MAX_PICTURES = 16


def pictured(run: Run, record: TensorRecord, grid: Grid) -> Data:
    """{tensor, symbol, axes, pictures: [{src, label, cell, chosen}], rows (a line), columns, line, above, below, more}.

    The line is the selected cell's, of any tensor on this grid, else the middle one; its row the selected one, else the
    drawn example's or the first. above, below: the cells that choose the lines beside, None at an edge.
    """
    height, width = grid
    rows = list(indices(record.shape[:-1]))[:MAX_PICTURES]
    pixel = _pixel(run, record)
    pixel = height // 2 * width + width // 2 if pixel is None else pixel
    leading, line = _leading(run, record, rows), pixel // width

    def cell(number: int) -> str | None:
        place = (*leading, number * width + pixel % width)
        return cell_name(record.name, place) if 0 <= number < height else None

    values = record.value.numpy()
    largest = float(abs(values).max(initial=0.0))
    pictures = [
        {
            "src": picture(values[row], grid, largest),
            "label": _name(record, row),
            "cell": cell_name(record.name, (*row, pixel)),
            "chosen": row == leading,
        }
        for row in rows
        if not run.hidden(record.name)
    ]
    return {
        "tensor": record.name,
        "symbol": record.symbol,
        "axes": axes_data(record.axes),
        "pictures": pictures,
        "rows": [[run.cell(record.name, (*leading, line * width + column)) for column in range(width)]],
        "columns": list(range(1, width + 1)),
        "line": line,
        "above": cell(line - 1),
        "below": cell(line + 1),
        "more": f"line {line + 1} of {height}" + (f", {_name(record, leading)}" if len(rows) > 1 else ""),
    }


def _pixel(run: Run, record: TensorRecord) -> int | None:
    """The selected place on the grid."""
    tensor, index = split_cell(run.state.cell)
    known = run.trace.tensors.get(tensor)
    return index[-1] if index and known is not None and known.axes[-1:] == record.axes[-1:] else None


def _leading(run: Run, record: TensorRecord, rows: list[Index]) -> Index:
    tensor, index = split_cell(run.state.cell)
    if tensor == record.name and index and index[:-1] in rows:
        return index[:-1]
    examples = record.axes[0].name == "example"
    return rows[run.state.example] if examples and run.state.example < len(rows) else rows[0]


def _name(record: TensorRecord, row: Index) -> str:
    """What a row is called: its symbol, or the axis and number."""
    return ", ".join(f"{axis.name} {at + 1}" for axis, at in zip(record.axes, row, strict=False)) or record.symbol
