"""Timing calls side by side, so that what else the machine does falls on both alike; a site that has come to rest."""

from __future__ import annotations

import contextlib
import gc
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.row import Row
from tests.browser.site import running_site

Call = Callable[[], object]


def median_ms(*calls: Call, rounds: int = 50, warm_up: int = 5) -> list[float]:
    """The median time of each call, ms. The calls take turns; garbage is collected between rounds, not in them."""
    for _ in range(warm_up):
        for call in calls:
            call()
    taken: list[list[float]] = [[] for _ in calls]
    gc.disable()
    try:
        for _ in range(rounds):
            for call, times in zip(calls, taken, strict=True):
                start = time.perf_counter()
                call()
                times.append((time.perf_counter() - start) * 1000)
            gc.collect(0)
    finally:
        gc.enable()
    return [statistics.median(times) for times in taken]


def ratio(what: str, ours: Call, plain: Call, *, at_most: float | None = None, rounds: int = 50) -> Row:
    """How many times as long our call takes as the plain one, both measured in turns."""
    ours_ms, plain_ms = median_ms(ours, plain, rounds=rounds)
    return Row(what, ours_ms / plain_ms, "x", at_most=at_most, detail=f"{ours_ms:.3g} ms / {plain_ms:.3g} ms")


@contextlib.contextmanager
def resting_site() -> Iterator[str]:
    """The address of a site that has made all that it makes behind its start."""
    with tempfile.TemporaryDirectory() as folder, running_site(Path(folder)) as address:
        while "longhand_warming_up 1" in urllib.request.urlopen(f"{address}/metrics").read().decode():
            time.sleep(0.2)
        yield address
