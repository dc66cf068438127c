"""A trace as one .safetensors file: tensors by name, the manifest as JSON in the metadata.

Any safetensors reader opens it; nothing in it is code. Operations the table has no row for can be read, not run again.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes

from engine.errors import InputError
from engine.manifest import encode, manifest, read
from engine.trace import SCHEMA, Trace

KEY = "longhand"
_LENGTH_BYTES = 8  # a safetensors file begins with the length of its JSON header


def dump(trace: Trace) -> bytes:
    """The file's content."""
    values = {name: record.value.contiguous().clone() for name, record in trace.tensors.items()}
    data = manifest(trace) | {"result": _finite(trace.result), "request": _finite(trace.request)}
    return to_bytes(values, metadata={KEY: json.dumps(data, ensure_ascii=False, allow_nan=False)})


def save(trace: Trace, path: str | Path) -> None:
    """Writes the file; any earlier file of that name is replaced whole."""
    target = Path(path)
    partial = target.with_name(f"{target.name}.partial")
    partial.write_bytes(dump(trace))
    partial.replace(target)


def load(path: str | Path) -> Trace:
    """Reads a trace file by memory map. Raises InputError for anything that is not one."""
    try:
        with safe_open(str(path), framework="pt") as file:
            text = (file.metadata() or {}).get(KEY)
            if text is None:
                raise InputError("file", f"be a trace ({SCHEMA} in its metadata)", "a safetensors file without")
            data = json.loads(text)
            values: dict[str, torch.Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise _unreadable(Path(path), str(error)[:200]) from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("file", "carry a manifest in JSON", str(error)[:200]) from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        got = data.get("schema") if isinstance(data, dict) else type(data).__name__
        raise InputError("file", f"have the schema {SCHEMA}", repr(got)[:80])
    try:
        return read(data, values)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InputError("file", "be whole and consistent", str(error)[:200]) from error


def _unreadable(path: Path, reason: str) -> InputError:
    """Why a file is no safetensors file: other content, or fewer or more bytes than its header says."""
    size = path.stat().st_size if path.is_file() else 0
    if not size:
        return InputError("file", "be a safetensors file", reason)
    with path.open("rb") as file:
        length, opening = int.from_bytes(file.read(_LENGTH_BYTES), "little"), file.read(1)
        if opening != b"{":
            return InputError("file", "be a safetensors file", f"{size} bytes of something else")
        if length > size - _LENGTH_BYTES:
            whole = f"be whole: {_LENGTH_BYTES + length} bytes for its header alone"
            return InputError("file", whole, f"{size} bytes")
        file.seek(_LENGTH_BYTES)
        try:
            header = json.loads(file.read(length))
            values = max(one["data_offsets"][1] for name, one in header.items() if name != "__metadata__")
            expected = _LENGTH_BYTES + length + int(values)
        except (ValueError, RecursionError, TypeError, KeyError, IndexError, AttributeError):
            return InputError("file", "be a safetensors file", reason)
    if expected == size:
        return InputError("file", "be a safetensors file", reason)
    return InputError("file", f"be whole: {expected} bytes, as its header says", f"{size} bytes")


def _finite(data: object) -> object:
    """JSON data in which NaN and infinities are written as `encode` writes them."""
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return encode(data) if isinstance(data, float) else data
