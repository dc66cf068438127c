"""What tests of training runs share: the runs of a folder as a server has them, a long run, and what a run came to."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from app.heavy_lane import HeavyLane
from app.live_run import LiveRun
from app.run_store import RunStore
from app.runs import Runs

LONG = 100_000
SLOW = {"update": {"rule": "sgd", "learning_rate": 1e-6}}


def opened(folder: Path, **limits: int) -> Runs:
    """The runs of one data folder, as a server that starts has them."""
    given = {"cpu_seconds": 600, "memory_bytes": 2**31, "kept": 100, **limits}
    runs = Runs(RunStore(f"sqlite:///{folder / 'runs.sqlite'}"), HeavyLane(workers=1), folder, **given)
    runs.recover()
    return runs


def start(runs: Runs, steps: int = LONG, **request: Any) -> LiveRun:
    return runs.start("tiny_network", {**SLOW, **request}, steps=steps, recipe={})


def wait_for(condition: Callable[[], object], seconds: float = 30) -> float:
    """Seconds until the condition holds; fails the test after `seconds`."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < seconds, "waited too long"
        time.sleep(0.005)
    return time.monotonic() - started


def losses(runs: Runs, run_id: str) -> list[float]:
    kept = runs.checkpoint(run_id)
    assert kept is not None
    return kept["losses"].tolist()


def parameters(runs: Runs, run_id: str) -> dict[str, np.ndarray]:
    kept = runs.checkpoint(run_id)
    assert kept is not None
    return {name: value.numpy() for name, value in kept["state"]["parameters"].items()}


def assert_same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert np.array_equal(value, other[name]), name
