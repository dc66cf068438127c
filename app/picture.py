"""Rows of numbers as small pictures: blue for positive, orange for negative, as strong as the number is large.

A picture is a PNG as a data URI with a clear ground, so that one picture serves both themes and needs no script.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Sequence

import numpy as np

from engine.models import catalogue
from engine.trace import TensorRecord, Trace

POSITIVE = (47, 119, 201)
NEGATIVE = (208, 99, 24)
Grid = tuple[int, int]
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def grid_of(trace: Trace, record: TensorRecord) -> Grid | None:
    """(rows, columns) of the grid that a tensor's last axis is, by its model's `grids`; None where it is none."""
    model = catalogue().get(str(trace.model.get("name")))
    axis = record.axes[-1] if record.axes else None
    shape = model.grids.get(axis.name) if model is not None and axis is not None else None
    return shape if shape is not None and axis is not None and math.prod(shape) == axis.size else None


def picture(values: Sequence[float] | np.ndarray, grid: Grid, largest: float | None = None) -> str:
    """A data URI of the picture of rows * columns numbers, row by row.

    largest: the magnitude of full strength; None takes the largest there is. Numbers that are not finite stay clear.
    """
    return f"data:image/png;base64,{base64.b64encode(png(values, grid, largest)).decode('ascii')}"


def png(values: Sequence[float] | np.ndarray, grid: Grid, largest: float | None = None) -> bytes:
    """The picture as a file: 8 bits for red, green, blue and strength each. Raises ValueError for another count."""
    rows, columns = grid
    numbers = np.asarray(values, dtype=np.float64).reshape(-1)
    if numbers.size != rows * columns:
        raise ValueError(f"expected {rows} x {columns} numbers; got {numbers.size}")
    numbers = np.where(np.isfinite(numbers), numbers, 0.0)
    size = float(np.abs(numbers).max()) if largest is None else largest
    strength = np.clip(np.abs(numbers) / size, 0, 1) if size > 0 else np.zeros_like(numbers)
    pixels = np.zeros((rows, columns, 4), dtype=np.uint8)
    alpha = np.rint(strength * 255).astype(np.uint8).reshape(grid)
    pixels[..., :3] = np.where((numbers < 0).reshape(rows, columns, 1), NEGATIVE, POSITIVE)
    pixels[alpha == 0] = 0
    pixels[..., 3] = alpha
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), pixels.reshape(rows, -1)], axis=1)  # 0: no filter
    head = struct.pack(">IIBBBBB", columns, rows, 8, 6, 0, 0, 0)
    return (
        _SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)) + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
