"""The selected cell of a page, as the pictures ask for it."""

from __future__ import annotations

import re

from engine.trace import Index, Trace

_CELL = re.compile(r"(?P<tensor>[^\[\]]+)(?:\[(?P<index>\d+(?:,\d+)*)\])?")


class Selection:
    """cell: a cell's name ("hidden.weight[1,0]", "loss"). The cell of a gradient selects what it is the gradient of.

    tensor: the selected tensor, None where nothing is selected or the name is no cell's.
    """

    def __init__(self, trace: Trace, cell: str | None) -> None:
        found = _CELL.fullmatch(cell or "")
        self.tensor = found["tensor"] if found else None
        self.index: Index = tuple(map(int, found["index"].split(","))) if found and found["index"] else ()
        self.of_gradient = False
        for record in trace.tensors.values():
            if record.gradient is not None and record.gradient == self.tensor:
                self.tensor, self.of_gradient = record.name, True
                break

    def has(self, name: str | None, index: Index) -> bool:
        return name is not None and name == self.tensor and index == self.index

    def unit(self, name: str) -> int | None:
        """The selected place on a tensor's last axis; None where another tensor, or nothing, is selected."""
        return self.index[-1] if name == self.tensor and self.index else None
