"""Traces by id: the latest in memory, files in a folder, and the request of each, so that what was let go is run again.

An id is a hash of the question (engine) or, for an uploaded file, of its bytes: a file can't take the id of a run.
Every method may be called from any thread; `get`, `add_file` and `file` may take as long as a run.
"""

from __future__ import annotations

import dataclasses
import hashlib
import logging
import os
import re
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import orjson

import engine
from engine.trace import Trace

UPLOADED = "file-"
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)
_RECORD_BYTES = 1500  # what a record or step takes besides its values
logger = logging.getLogger("longhand")

Recompute = Callable[[str, Mapping[str, Any]], Trace]


class TraceStore(Protocol):
    """What the routes and pages need of a store."""

    def __len__(self) -> int:
        """How many traces are in memory."""

    def put(self, trace: Trace) -> None:
        """Keeps a trace that a model made."""

    def peek(self, trace_id: str) -> Trace | None:
        """A trace that is in memory, at once."""

    def get(self, trace_id: str) -> Trace | None:
        """A trace from memory, its file, or by running its request again; None for an unknown id."""

    def add_file(self, content: bytes) -> Trace:
        """Keeps an uploaded trace file. Raises InputError for what is not one."""

    def file(self, trace_id: str) -> Path | None:
        """The trace's file, written if it is not there yet; None for an unknown id."""

    def close(self) -> None:
        """Writes down what only memory holds."""


class LocalStore:
    """Memory, then a folder. recompute: (model name, request) -> trace."""

    def __init__(self, folder: Path, *, memory_bytes: int, disk_bytes: int, recompute: Recompute) -> None:
        self.folder = folder / "traces"
        self.memory_bytes = memory_bytes
        self.disk_bytes = disk_bytes
        self._recompute = recompute
        self._traces: OrderedDict[str, tuple[Trace, int]] = OrderedDict()
        self._held_bytes = 0
        self._written_bytes: int | None = None
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._traces)

    def put(self, trace: Trace) -> None:
        size = _size(trace)
        evicted = []
        with self._lock:
            _, before = self._traces.pop(trace.id, (None, 0))
            self._traces[trace.id] = (trace, size)
            self._held_bytes += size - before
            while self._held_bytes > self.memory_bytes and len(self._traces) > 1:
                _, (oldest, freed) = self._traces.popitem(last=False)
                self._held_bytes -= freed
                evicted.append(oldest)
        for old in evicted:
            self._keep_request(old)

    def peek(self, trace_id: str) -> Trace | None:
        with self._lock:
            found = self._traces.get(trace_id)
            if found is None:
                return None
            self._traces.move_to_end(trace_id)
            return found[0]

    def get(self, trace_id: str) -> Trace | None:
        if not _ID.fullmatch(trace_id):
            return None
        trace = self.peek(trace_id) or self._from_file(trace_id) or self._run_again(trace_id)
        if trace is not None:
            self.put(trace)
        return trace

    def add_file(self, content: bytes) -> Trace:
        trace_id = UPLOADED + hashlib.sha256(content).hexdigest()[:32]
        known = self.peek(trace_id)
        if known is not None:
            return known
        path = self._path(trace_id, "safetensors")
        with _replacing(path) as draft:
            draft.write_bytes(content)
            trace = _load(draft, trace_id)
        self._wrote(path)
        self.put(trace)
        return trace

    def file(self, trace_id: str) -> Path | None:
        if not _ID.fullmatch(trace_id):
            return None
        path = self._path(trace_id, "safetensors")
        if path.exists():
            return path
        trace = self.get(trace_id)
        if trace is None:
            return None
        with _replacing(path) as draft:
            engine.save(trace, draft)
        self._wrote(path)
        return path

    def close(self) -> None:
        with self._lock:
            traces = [trace for trace, _ in self._traces.values()]
        for trace in traces:
            self._keep_request(trace)

    def _path(self, trace_id: str, suffix: str) -> Path:
        return self.folder / f"{trace_id}.{suffix}"

    def _from_file(self, trace_id: str) -> Trace | None:
        path = self._path(trace_id, "safetensors")
        try:
            return _load(path, trace_id) if path.exists() else None
        except ValueError:
            logger.exception("a trace file cannot be read: %s", path.name)
            return None

    def _run_again(self, trace_id: str) -> Trace | None:
        try:
            kept = orjson.loads(self._path(trace_id, "json").read_bytes())
            trace = self._recompute(kept["model"], kept["request"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            logger.exception("the kept request of %s cannot be run", trace_id)
            return None
        return trace if trace.id == trace_id else None

    def _keep_request(self, trace: Trace) -> None:
        path = self._path(trace.id, "json")
        if trace.id.startswith(UPLOADED) or path.exists():
            return
        try:
            content = orjson.dumps({"model": trace.model["name"], "request": trace.request})
            with _replacing(path) as draft:
                draft.write_bytes(content)
            self._wrote(path)
        except (OSError, orjson.JSONEncodeError):
            logger.exception("the request of %s cannot be kept", trace.id)

    def _wrote(self, path: Path) -> None:
        """Counts a new file; above the bound, the oldest go until nine tenths are left."""
        with self._lock:
            if self._written_bytes is None:
                self._written_bytes = sum(one.stat().st_size for one in self.folder.iterdir())
            else:
                self._written_bytes += path.stat().st_size
            if self._written_bytes <= self.disk_bytes:
                return
            files = sorted(((one.stat(), one) for one in self.folder.iterdir()), key=lambda pair: pair[0].st_mtime_ns)
            left = sum(stat.st_size for stat, _ in files)
            for stat, one in files:
                if left <= self.disk_bytes * 0.9 or one == path:
                    break
                one.unlink(missing_ok=True)
                left -= stat.st_size
            self._written_bytes = left


class _replacing:
    """A draft beside a path that takes its place if the block succeeds, and is gone if not."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Path:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.path.parent, suffix=".draft")
        os.close(handle)
        self.draft = Path(name)
        return self.draft

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            os.replace(self.draft, self.path)
        else:
            self.draft.unlink(missing_ok=True)


def _load(path: Path, trace_id: str) -> Trace:
    return dataclasses.replace(engine.load(path), id=trace_id)


def _size(trace: Trace) -> int:
    values: int = sum(record.value.nbytes for record in trace.tensors.values())
    return values + _RECORD_BYTES * (len(trace.tensors) + len(trace.steps))
