"""Any cell opens into the expression that made it; its leaves are cells of the trace, its value is the number shown."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn

import engine
from engine.expression import leaves
from engine.models import catalogue

REQUESTS = (
    {"update": {"learning_rate": 0.1}},
    {"inputs": {"x": [[2, -1], [0, 1], [1, 0]]}},
    {"interventions": [{"at": "hidden.activation", "index": [1], "set": 0}]},
    {"options": {"activation": "none"}, "update": {"learning_rate": 0.1, "frozen": [{"parameter": "hidden.bias"}]}},
)


def tiny(request=None) -> engine.Trace:
    return catalogue()["tiny_network"].trace(request or {})


def places(shape) -> list[tuple[int, ...]]:
    return list(itertools.product(*map(range, shape)))


@pytest.mark.parametrize("request_", REQUESTS, ids=["update", "batch", "intervention", "no activation"])
def test_every_cell_of_every_tensor_explains_itself(request_):
    trace = tiny(request_)
    for name, record in trace.tensors.items():
        for index in places(record.shape):
            found = engine.explain(trace, name, index)
            assert found.expression is not None
            assert found.residual == pytest.approx(0, abs=1e-6)
            for leaf in leaves(found.expression):
                assert leaf.value == float(trace[leaf.tensor][leaf.index])


def test_preactivation_is_the_weighted_sum_and_the_bias():
    found = engine.explain(tiny(), "hidden.preactivation", [1])
    assert (found.label, found.captured, found.residual) == ("z₂", 1.0, 0.0)
    terms = [
        (term.kind, [(arg.tensor, arg.index, arg.value) for arg in term.args] or term.value)
        for term in found.expression.args
    ]
    assert terms == [
        ("product", [("hidden.weight", (1, 0), 0.5), ("x", (0,), 2.0)]),
        ("product", [("hidden.weight", (1, 1), 1.0), ("x", (1,), -1.0)]),
        ("ref", 1.0),
    ]


def test_gradient_of_an_input_is_the_sum_over_the_units_it_feeds():
    found = engine.explain(tiny(), "x", [0], what="gradient")
    assert found.label == "∂L/∂x₁"
    assert [term.value for term in found.expression.args] == [3.0, -0.75, -0.0]
    assert found.captured == 2.25


def test_gradient_of_a_tensor_read_twice_has_one_contribution_a_step():
    class Twice(nn.Module):
        def forward(self, x):
            return (x * x).sum() + (x * 3).sum()

    trace = engine.trace(Twice(), torch.tensor([2.0]))
    found = engine.explain(trace, "x", [0], what="gradient")
    assert sorted(part.expression.value for part in found.contributions) == [2.0, 2.0, 3.0]
    assert found.captured == 7.0


def test_long_sums_keep_the_largest_terms_and_one_exact_remainder():
    layer = nn.Linear(100, 1)
    trace = engine.trace(layer, torch.arange(100.0))
    found = engine.explain(trace, ":linear.0", [0], limit=5)
    *largest, rest, bias = found.expression.args
    assert (rest.kind, rest.count, len(largest), bias.tensor) == ("rest", 95, 5, "bias")
    assert found.expression.value == pytest.approx(found.captured, abs=1e-4)


def test_operation_without_a_row_is_linearised_in_its_operands():
    class Bessel(nn.Module):
        def forward(self, x):
            return torch.special.i0(x).sum()

    trace = engine.trace(Bessel(), torch.tensor([1.0, 2.0]))
    found = engine.explain(trace, trace.steps[0].name, [1])
    assert found.note == "linearised"
    slope = torch.special.i1(torch.tensor(2.0, dtype=torch.float64)).item()
    straight, offset = found.expression.args[0].args
    assert straight.args[0].value == pytest.approx(slope, rel=1e-9)
    assert straight.args[0].value * straight.args[1].value + offset.value == pytest.approx(found.captured, rel=1e-9)
    gradient = engine.explain(trace, "x", [1], what="gradient")
    assert (gradient.note, gradient.expression.value) == ("linearised", pytest.approx(slope, rel=1e-6))


@pytest.mark.parametrize(
    ("tensor", "index", "message"),
    [
        ("missing", [0], "tensor must be one of x, target"),
        ("x", [2], r"index\[0\] must be from 0 to 1; got 2"),
        ("x", [-1], r"index\[0\] must be from 0 to 1; got -1"),
        ("x", [0, 0], "index must have 1 numbers"),
    ],
)
def test_unknown_cell_is_refused(tensor, index, message):
    with pytest.raises(engine.InputError, match=message):
        engine.explain(tiny(), tensor, index)
