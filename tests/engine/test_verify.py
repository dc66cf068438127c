"""Verification: float64 for values, float64 autograd and finite differences for gradients, and kinks called kinks."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
import torch

import engine
from engine.models import catalogue


def tiny(request=None) -> engine.Trace:
    return catalogue()["tiny_network"].trace(request or {})


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"inputs": {"x": [[0.3, -1.7], [2.5, 1.1]]}, "target": [1.5, -2]},
        {"edits": [{"parameter": "hidden.weight", "index": [0, 1], "value": 0.37}]},
        {"interventions": [{"at": "hidden.activation", "index": [1], "set": 0.5}]},
        {"interventions": [{"at": "hidden.preactivation", "index": [0], "scale": 0.3}]},
    ],
    ids=["default", "batch", "edit", "set", "scale"],
)
def test_every_gradient_agrees_with_finite_differences_to_a_millionth(request_):
    trace = tiny(request_)
    for record in trace.tensors.values():
        if record.gradient is None:
            continue
        for index in itertools.product(*map(range, record.shape)):
            found = engine.verify(trace, record.name, index, what="gradient")
            assert found.ok, found
            assert not found.kink
            assert abs(found.autograd64 - found.finite_difference) <= 1e-6 * max(1, abs(found.autograd64))


def test_value_is_recomputed_in_float64():
    found = engine.verify(tiny({"inputs": {"x": [0.1, 0.2]}}), "hidden.preactivation", [1])
    assert found.ok
    assert found.recomputed == pytest.approx(0.5 * 0.1 + 0.2 + 1, abs=1e-7)
    assert found.difference == found.recomputed - found.captured


def test_wrong_value_is_found_out():
    trace = tiny()
    record = trace.record("hidden.preactivation")
    forged = dataclasses.replace(record, value=record.value + torch.tensor([0.0, 0.01, 0.0]))
    wrong = dataclasses.replace(trace, tensors={**trace.tensors, record.name: forged})
    assert not engine.verify(wrong, record.name, [1]).ok
    assert engine.verify(wrong, record.name, [0]).ok


def test_wrong_gradient_is_found_out():
    trace = tiny()
    record = trace.record("hidden.weight.grad")
    forged = dataclasses.replace(record, value=record.value * 1.01)
    wrong = dataclasses.replace(trace, tensors={**trace.tensors, record.name: forged})
    assert not engine.verify(wrong, "hidden.weight", [0, 0], what="gradient").ok


def test_kink_is_called_a_kink_with_both_slopes():
    """At x = (1, 1) the first unit's pre-activation is exactly 0: the loss has two slopes there."""
    trace = tiny({"inputs": {"x": [1, 1]}})
    found = engine.verify(trace, "hidden.preactivation", [0], what="gradient")
    assert found.kink
    assert found.ok
    assert found.autograd64 == 0.0
    assert found.left == pytest.approx(0.0, abs=1e-4)
    assert found.right == pytest.approx(2 * (1.5 * 1 + 1.5 - 2.5 - 4 - 1.0) / 1, abs=20)
    assert abs(found.right) > 0.1


def test_given_value_is_its_own_proof():
    found = engine.verify(tiny(), "x", [0])
    assert found.ok and "given, not computed" in found.method


def test_gradient_by_its_own_name_is_the_same_proof():
    trace = tiny()
    by_name = engine.verify(trace, "hidden.weight.grad", [0, 0])
    assert by_name == engine.verify(trace, "hidden.weight", [0, 0], what="gradient")


def test_part_of_a_gradient_is_refused():
    trace = tiny()
    part = next(one.tensor for step in trace.steps for one in step.sends)
    with pytest.raises(engine.InputError, match="be a value or a whole gradient"):
        engine.verify(trace, part, [0] * len(trace.record(part).shape))


def test_tensor_without_a_path_is_refused():
    with pytest.raises(engine.InputError, match="have a path to the loss"):
        engine.verify(tiny(), "target", [0], what="gradient")
