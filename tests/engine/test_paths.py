"""The gradient of a cell is the sum over the paths it takes to the loss."""

from __future__ import annotations

import itertools

import pytest
import torch

import engine
from engine.models import catalogue


def tiny(request=None) -> engine.Trace:
    return catalogue()["tiny_network"].trace(request or {})


def test_input_takes_three_paths_one_through_each_unit():
    found = engine.paths(tiny(), "x", [0])
    assert (found.label, found.total, found.complete) == ("∂L/∂x₁", 2.25, True)
    assert [path.value for path in found.paths] == [3.0, -0.75, 0.0]
    first = [(hop.label, hop.derivative) for hop in found.paths[0].hops]
    assert first == [("z₁", 1.0), ("h₁", 1.0), ("ŷ", 2.0), ("s", 3.0), ("L", 0.5)]


def test_blocked_path_is_shown_with_its_zero():
    hops = engine.paths(tiny(), "x", [0]).paths[2].hops
    assert [(hop.label, hop.derivative) for hop in hops][:2] == [("z₃", -1.0), ("h₃", 0.0)]


def test_renamed_tensor_is_passed_once():
    """Without an activation h is z by another name: one way on from z, and of W's none by way of the name alone."""
    trace = tiny({"options": {"activation": "none"}})
    named = next(step for step in trace.steps if step.name == "hidden.activation")
    assert [(one.role, one.tensor) for one in named.inputs] == [("input", "hidden.preactivation")]
    (only,) = engine.paths(trace, "hidden.weight", [2, 0]).paths
    assert [(hop.label, hop.derivative) for hop in only.hops][:3] == [("z₃", 2.0), ("h₃", 1.0), ("ŷ", 1.0)]
    assert only.value == trace["hidden.weight.grad"][2, 0].item() == -4.0


def test_paths_of_every_cell_sum_to_its_gradient():
    for request in ({}, {"inputs": {"x": [[2, -1], [0, 1]]}}, {"options": {"activation": "none"}}):
        trace = tiny(request)
        for record in trace.tensors.values():
            if record.gradient is None:
                continue
            for index in itertools.product(*map(range, record.shape)):
                found = engine.paths(trace, record.name, index)
                assert found.complete
                assert found.rest == pytest.approx(0, abs=1e-6)


def test_paths_left_out_are_counted_in_the_rest():
    found = engine.paths(tiny(), "x", [0], limit=1)
    assert (len(found.paths), found.complete) == (1, False)
    assert found.rest == pytest.approx(2.25 - 3.0)


def test_of_many_paths_the_strongest_are_shown_first():
    trace = catalogue()["one_attention_head"].trace({})
    few, many = engine.paths(trace, "x", [3, 0], limit=4), engine.paths(trace, "x", [3, 0], limit=2000)
    values = sorted((abs(path.value) for path in many.paths), reverse=True)
    assert len(few.paths) == 4
    assert not few.complete
    assert abs(few.paths[0].value) == pytest.approx(values[0])
    assert abs(few.rest) == pytest.approx(abs(few.total - sum(path.value for path in few.paths)))


def test_tensor_without_a_path_is_refused():
    with pytest.raises(engine.InputError, match="must have a path to the loss; got 'target'"):
        engine.paths(tiny(), "target", [0])


def test_two_uses_of_one_tensor_are_two_paths():
    class Square(torch.nn.Module):
        def forward(self, x):
            return (x * x).sum()

    found = engine.paths(engine.trace(Square(), torch.tensor([3.0])), "x", [0])
    assert [path.value for path in found.paths] == [3.0, 3.0]
