"""Many requests at once over one shared model give exactly what they give alone, and leave nothing behind."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

import engine
from engine.models import catalogue

THREADS, ROUNDS = 8, 50


def request(worker: int) -> dict:
    return {
        "inputs": {"x": [worker / 4, 1 - worker]},
        "edits": [{"parameter": "hidden.weight", "index": [worker % 3, worker % 2], "value": worker / 8}],
        "interventions": [{"at": "hidden.activation", "index": [worker % 3], "scale": worker / 2}],
        "update": {"learning_rate": 0.01 * worker, "frozen": []},
    }


def fingerprint(trace: engine.Trace) -> dict[str, list]:
    return {name: record.value.tolist() for name, record in trace.tensors.items()}


def state(module: torch.nn.Module) -> tuple:
    return (
        {name: (value.tolist(), value._version, value.grad) for name, value in module.named_parameters()},
        [len(part._forward_hooks) + len(part._forward_pre_hooks) for part in module.modules()],
    )


def test_eight_threads_with_different_edits_equal_their_solo_runs():
    model = catalogue()["tiny_network"]
    before = state(model.module())
    alone = [fingerprint(model.trace(request(worker))) for worker in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(ROUNDS):
            together = list(pool.map(lambda worker: fingerprint(model.trace(request(worker))), range(THREADS)))
            assert together == alone
    assert state(model.module()) == before


def test_failing_requests_among_good_ones_change_nothing():
    model = catalogue()["tiny_network"]
    before = state(model.module())
    alone = fingerprint(model.trace(request(1)))
    bad = [
        {"edits": [{"parameter": "missing", "index": [0], "value": 1}]},
        {"interventions": [{"at": "missing", "index": [0], "set": 1}]},
        {"inputs": {"x": [1, 2, 3]}},
    ]

    def run(number: int) -> dict | None:
        if number % 2:
            return fingerprint(model.trace(request(1)))
        with pytest.raises(engine.InputError):
            model.trace(bad[number // 2 % 3])
        return None

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(run, range(48)))
    assert [one for one in found if one is not None] == [alone] * 24
    assert state(model.module()) == before
