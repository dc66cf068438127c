"""How strongly a cell is tinted, and what the members of an axis are called."""

from __future__ import annotations

import math
from typing import Any

from engine.trace import Axis, TensorRecord

MAX_SIDE = 24


def largest(record: TensorRecord) -> float:
    """The largest magnitude among the finite cells: what full strength means."""
    values = record.value.double().abs()
    values = values[values.isfinite()]
    return float(values.max()) if values.numel() else 0.0


def strong(cell: dict[str, Any], size: float) -> dict[str, Any]:
    """A cell with its strength: its magnitude as a share of `size`, 0 to 1."""
    value = cell.get("value")
    if not size or not isinstance(value, int | float) or not math.isfinite(value):
        return cell | {"strength": 0}
    return cell | {"strength": round(abs(value) / size, 3)}


def members(axis: Axis | None) -> list[str]:
    """The names of an axis' first members; numbers from 1 where they have none."""
    if axis is None:
        return [""]
    names = axis.labels or tuple(str(number + 1) for number in range(axis.size))
    return list(names[:MAX_SIDE])
