"""Without an activation two layers are one, and its numbers are products that can be opened."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from engine.collapse import collapse
from engine.errors import InputError
from engine.explain import explain
from engine.expression import leaves
from engine.models import catalogue
from engine.run import trace

MODEL = catalogue()["tiny_network"]


def test_default_network_collapses_to_half_x1_minus_x2() -> None:
    found = collapse(MODEL.trace({}))
    assert found["collapsed.weight"].tolist() == [[0.5, -1]]
    assert found["collapsed.bias"].tolist() == [0]
    assert found["prediction"].tolist() == [2]


def test_prediction_is_that_of_the_network_without_relu_whatever_is_edited() -> None:
    request = {
        "inputs": {"x": [[2, -1], [0.5, 3], [-4, 1]]},
        "target": [0, 0, 0],
        "edits": [
            {"parameter": "readout.weight", "index": [0, 1], "value": 0.3},
            {"parameter": "hidden.bias", "index": [2], "value": -7},
        ],
        "options": {"activation": "none"},
    }
    linear = MODEL.trace(request)
    assert torch.allclose(collapse(linear)["prediction"], linear["prediction"], rtol=1e-6, atol=1e-6)


def test_coefficient_explains_itself_as_three_products_of_the_parameters() -> None:
    found = explain(collapse(MODEL.trace({})), "collapsed.weight", (0, 0))
    assert found.expression is not None
    assert [term.value for term in found.expression.args] == [2, -0.5, -1]
    assert [(leaf.tensor, leaf.index) for leaf in leaves(found.expression)][:2] == [
        ("readout.weight", (0, 0)),
        ("hidden.weight", (0, 0)),
    ]
    bias = explain(collapse(MODEL.trace({})), "collapsed.bias", (0,))
    assert bias.expression is not None
    assert [term.value for term in bias.expression.args] == [0, -1, 0.5, 0.5]


def test_run_of_another_model_is_refused() -> None:
    other = trace(nn.Linear(2, 1), {"input": torch.ones(2)})
    with pytest.raises(InputError, match=r"trace must have x, hidden.weight.*; got none named x, hidden.weight"):
        collapse(other)
