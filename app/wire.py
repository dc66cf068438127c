"""A trace as JSON-ready data, and data as JSON bytes.

float32 values become their shortest decimals, which read back to the same bits. NaN and the infinities are `null`, and
a `nonfinite` list beside them says which is where. No tensor is changed here and no number is computed but `stats`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np
import orjson

from engine.manifest import step_data
from engine.manifest import tensor_data as describe
from engine.trace import TensorRecord, Trace

INLINE_VALUES = 4096
API = "/api/v1"
_PYTHON_STATS_VALUES = 256
_NUMPY_DTYPES = frozenset(
    ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool")
)
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def dumps(data: Any) -> bytes:
    """JSON bytes. NaN and the infinities become null: what says so must stand beside them already."""
    return orjson.dumps(data, option=_OPTIONS)


def line(data: Any) -> bytes:
    """One line of JSON lines."""
    return orjson.dumps(data, option=_OPTIONS | orjson.OPT_APPEND_NEWLINE)


def trace_data(trace: Trace) -> dict[str, Any]:
    """The whole trace; `steps` in order, `tensors` by name, in order of appearance."""
    return {
        "schema": trace.schema,
        "id": trace.id,
        "request": plain(trace.request),
        "model": plain(trace.model),
        "steps": [step_data(step) for step in trace.steps],
        "tensors": {name: tensor_data(record, trace.id) for name, record in trace.tensors.items()},
        "result": result_data(trace.result),
        "links": links(trace),
    }


def links(trace: Trace) -> dict[str, str]:
    """What can be asked about a trace, as paths."""
    own = f"{API}/traces/{trace.id}"
    asks = {name: f"{own}/{name}" for name in ("file", "explain", "verify", "compare", "paths")}
    return {"self": own, **asks, "page": f"/traces/{trace.id}"}


def tensor_data(record: TensorRecord, trace_id: str) -> dict[str, Any]:
    """One tensor: `data` nested like its axes up to 4,096 values, beyond that `href`."""
    array = to_numpy(record)
    data = describe(record)
    if array.size > INLINE_VALUES:
        data["stats"] = _large_stats(array)
        data["href"] = f"{API}/traces/{trace_id}/tensors/{quote(record.name, safe='')}"
        return data
    values = values_data(array)
    data["stats"] = _stats(array, values)
    data["data"] = values
    if data["stats"]["nonfinite"]:
        data["nonfinite"] = nonfinite_cells(array)
    return data


def to_numpy(record: TensorRecord) -> np.ndarray:
    """The values as a C-ordered array, as they are; kinds that numpy does not have (bfloat16, float8) as float32."""
    value = record.value
    array = (value if record.dtype in _NUMPY_DTYPES else value.float()).numpy()
    return array if array.flags.c_contiguous else array.copy(order="C")


def values_data(array: np.ndarray) -> Any:
    """Nested lists (a number for no axes); not finite is None; float32 as its shortest decimal."""
    if array.ndim == 0:
        return orjson.loads(dumps(array.reshape(1)))[0]
    return orjson.loads(dumps(array)) if array.size else array.tolist()


def nonfinite_cells(array: np.ndarray, limit: int = INLINE_VALUES) -> list[dict[str, Any]]:
    """The first `limit` cells that are NaN or infinite, in C order: {index, value: "nan"|"inf"|"-inf"}."""
    if array.dtype.kind != "f":
        return []
    flat = array.reshape(-1)
    found = np.flatnonzero(~np.isfinite(flat))[:limit]
    shape = array.shape or (1,)
    indexes = np.stack(np.unravel_index(found, shape), -1).tolist() if array.ndim else [[] for _ in found]
    return [{"index": index, "value": word(flat[place])} for index, place in zip(indexes, found, strict=True)]


def word(value: float) -> str:
    """How a number that JSON lacks is named: nan, inf, -inf."""
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def cell_value(record: TensorRecord, value: float) -> float:
    """A float64 copy of one cell as `data` shows it: the shortest decimal of its float32."""
    if record.dtype != "float32" or not math.isfinite(value):
        return value
    return float(str(np.float32(value)))


def result_data(result: Mapping[str, Any]) -> dict[str, Any]:
    """The result; where a number is not finite, a list `nonfinite` of {at, value}."""
    found: list[dict[str, str]] = []
    data = plain(result, found)
    if found:
        data["nonfinite"] = found
    return data


def plain(value: Any, nonfinite: list[dict[str, str]] | None = None, at: str = "") -> Any:
    """Plain JSON data without NaN and infinities: they become None and, if asked for, entries of `nonfinite`."""
    if isinstance(value, Mapping):
        return {str(key): plain(part, nonfinite, f"{at}.{key}" if at else str(key)) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part, nonfinite, f"{at}[{number}]") for number, part in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        if nonfinite is not None:
            nonfinite.append({"at": at, "value": word(value)})
        return None
    return value


_EMPTY_STATS = {"min": None, "max": None, "mean": None, "std": None, "norm": None}


def _stats(array: np.ndarray, values: Any) -> dict[str, Any]:
    """min, max, mean, std (population), norm of the finite values, in float64; zeros and nonfinite are counts."""
    if array.size > _PYTHON_STATS_VALUES or array.dtype.kind not in "fiu":
        return _large_stats(array)
    flat = _flattened(values, array.ndim)
    finite = [value for value in flat if value is not None]
    counts = {"zeros": finite.count(0), "nonfinite": len(flat) - len(finite)}
    if not finite:
        return {**_EMPTY_STATS, **counts}
    mean = math.fsum(finite) / len(finite)
    return {
        "min": min(finite),
        "max": max(finite),
        "mean": mean,
        "std": math.hypot(*(value - mean for value in finite)) / math.sqrt(len(finite)),
        "norm": math.hypot(*finite),
        **counts,
    }


def _flattened(values: Any, depth: int) -> Sequence[float | None]:
    if depth == 0:
        return [values]
    for _ in range(depth - 1):
        values = [value for part in values for value in part]
    return values


def _large_stats(array: np.ndarray) -> dict[str, Any]:
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array.reshape(-1)
    zeros = int(array.size - np.count_nonzero(array))
    counts = {"zeros": zeros, "nonfinite": int(array.size - finite.size)}
    if not finite.size:
        return {**_EMPTY_STATS, **counts}
    exact = finite.astype(np.float64)
    least, most = finite.min(), finite.max()
    ends = [float(str(end)) for end in (least, most)] if array.dtype.kind == "f" else [int(least), int(most)]
    norm = float(np.linalg.norm(exact / scale) * scale) if (scale := float(np.abs(exact).max())) else 0.0
    mean = float(exact.mean())
    return {"min": ends[0], "max": ends[1], "mean": mean, "std": float(exact.std()), "norm": norm, **counts}
