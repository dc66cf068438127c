"""The store: what is let go comes back, by its request or its file, and never under another's id."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
import torch

import engine
from app.store import LocalStore
from engine.errors import InputError
from engine.models import catalogue
from engine.trace import Trace

MODEL = catalogue()["tiny_network"]


class Runs:
    """Counts how often a request was run again."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, model: str, request: Mapping[str, Any]) -> Trace:
        self.count += 1
        return catalogue()[model].trace(request)


def store_in(folder: Path, runs: Runs | None = None, *, memory: int = 10**7, disk: int = 10**7) -> LocalStore:
    return LocalStore(folder, memory_bytes=memory, disk_bytes=disk, recompute=runs or Runs())


def test_a_trace_in_memory_is_the_same_object(tmp_path: Path) -> None:
    store, trace = store_in(tmp_path), MODEL.trace({})
    store.put(trace)
    assert store.get(trace.id) is trace
    assert store.peek(trace.id) is trace


def test_a_trace_that_was_let_go_is_run_again_to_the_same_bits(tmp_path: Path) -> None:
    runs = Runs()
    store = store_in(tmp_path, runs, memory=1)
    first, second = MODEL.trace({"target": 1}), MODEL.trace({"target": 2})
    store.put(first)
    store.put(second)
    assert store.peek(first.id) is None
    again = store.get(first.id)
    assert again is not None
    assert runs.count == 1
    assert again.id == first.id
    for name, record in first.tensors.items():
        assert torch.equal(again[name], record.value)


def test_after_a_restart_traces_come_back_from_their_requests(tmp_path: Path) -> None:
    runs, trace = Runs(), MODEL.trace({"target": 3})
    before = store_in(tmp_path)
    before.put(trace)
    before.close()
    again = store_in(tmp_path, runs).get(trace.id)
    assert again is not None
    assert (again.id, runs.count) == (trace.id, 1)


def test_a_kept_request_that_leads_to_another_trace_is_not_that_trace(tmp_path: Path) -> None:
    store, trace = store_in(tmp_path), MODEL.trace({})
    (tmp_path / "traces").mkdir()
    kept = {"model": "tiny_network", "request": {"target": 9}}
    (tmp_path / "traces" / f"{trace.id}.json").write_bytes(orjson.dumps(kept))
    assert store.get(trace.id) is None


@pytest.mark.parametrize(
    "kept", [b"", b"{}", b"[]", b'{"model": "gone", "request": {}}', b'{"model": 1, "request": 2}']
)
def test_a_kept_request_that_cannot_be_run_is_no_trace(tmp_path: Path, kept: bytes) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "abc.json").write_bytes(kept)
    assert store_in(tmp_path).get("abc") is None


@pytest.mark.parametrize("trace_id", ["", "..", "../secret", "a/b", "a\x00", "é", "x" * 101])
def test_an_id_that_is_no_id_never_reaches_the_disk(tmp_path: Path, trace_id: str) -> None:
    store = store_in(tmp_path)
    assert store.get(trace_id) is None
    assert store.file(trace_id) is None


def test_a_file_is_kept_under_the_hash_of_its_bytes_whatever_it_claims(tmp_path: Path) -> None:
    store, trace = store_in(tmp_path), MODEL.trace({})
    forged = dataclasses.replace(trace, result={"prediction": 666.0})
    opened = store.add_file(engine.dump(forged))
    assert opened.id.startswith("file-")
    assert opened.id != trace.id
    assert store.get(trace.id) is None
    assert store.add_file(engine.dump(forged)) is opened


def test_an_uploaded_file_outlives_memory_and_a_restart(tmp_path: Path) -> None:
    content = engine.dump(MODEL.trace({"target": 5}))
    opened = store_in(tmp_path).add_file(content)
    later = store_in(tmp_path).get(opened.id)
    assert later is not None
    assert later.id == opened.id
    path = store_in(tmp_path).file(opened.id)
    assert path is not None
    assert path.read_bytes() == content


def test_what_is_no_trace_file_leaves_nothing_behind(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with pytest.raises(InputError):
        store.add_file(b"nonsense")
    assert list((tmp_path / "traces").iterdir()) == []


def test_the_file_of_a_trace_is_written_once(tmp_path: Path) -> None:
    store, trace = store_in(tmp_path), MODEL.trace({})
    store.put(trace)
    path = store.file(trace.id)
    assert path is not None
    changed = path.stat().st_mtime_ns
    assert store.file(trace.id) == path
    assert path.stat().st_mtime_ns == changed
    assert torch.equal(engine.load(path)["prediction"], trace["prediction"])


def test_above_the_bound_the_oldest_files_go(tmp_path: Path) -> None:
    size = len(engine.dump(MODEL.trace({"target": 0.5})))
    store = store_in(tmp_path, disk=int(size * 3.5))
    opened = [store.add_file(engine.dump(MODEL.trace({"target": 0.5 + number}))) for number in range(6)]
    left = {path.stem for path in (tmp_path / "traces").iterdir()}
    assert opened[-1].id in left
    assert opened[0].id not in left
    assert sum(path.stat().st_size for path in (tmp_path / "traces").iterdir()) <= size * 3.5
