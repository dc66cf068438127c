"""Interventions happen where they are named, before anything reads the value, and explain themselves."""

from __future__ import annotations

import pytest

import engine
from engine.models import catalogue


def tiny(*interventions: dict, **request) -> engine.Trace:
    return catalogue()["tiny_network"].trace({**request, "interventions": list(interventions)})


def test_setting_the_second_unit_to_zero_raises_the_prediction(facts):
    case = facts["tiny_network"]["interventions"][0]
    trace = tiny({"at": "hidden.activation", "index": [1], "set": case["set h2"]}, inputs={"x": case["x"]})
    assert trace.result["prediction"] == case["prediction"]
    assert trace["hidden.activation:computed"].tolist() == [3.0, 1.0, 0.0]
    assert trace["hidden.activation"].tolist() == [3.0, 0.0, 0.0]
    assert [step.symbol for step in trace.steps if step.note == "intervention" and step.phase == "forward"] == [
        "h₂ ← 0"
    ]


def test_nothing_flows_back_through_a_value_that_is_held():
    trace = tiny({"at": "hidden.activation", "index": [1], "set": 0})
    assert trace["hidden.preactivation.grad"].tolist() == [5.0, 0.0, 0.0]
    assert trace["hidden.activation.grad"].tolist() == [5.0, -2.5, 2.5]


def test_scaling_lets_the_scaled_gradient_through():
    trace = tiny({"at": "hidden.activation", "index": [0], "scale": 0.5})
    assert trace.result["prediction"] == 2 * 1.5 - 1 + 0.5
    assert trace["hidden.preactivation.grad"].tolist() == [-1.5, 1.5, 0.0]


def test_adding_moves_the_value_and_leaves_the_gradient_s_way():
    trace = tiny({"at": "hidden.preactivation", "index": [2], "add": 4})
    assert trace["hidden.activation"].tolist() == [3.0, 1.0, 0.5]
    assert trace.result["prediction"] == 6.0


def test_patch_takes_a_whole_row_of_values():
    trace = tiny({"at": "hidden.activation", "index": [None], "patch": [1.0, 2.0, 3.0]})
    assert trace.result["prediction"] == 2 - 2 + 3 + 0.5


def test_interventions_on_one_tensor_apply_in_their_order():
    set_then_scale = tiny(
        {"at": "hidden.activation", "index": [0], "set": 2}, {"at": "hidden.activation", "index": [0], "scale": 3}
    )
    scale_then_set = tiny(
        {"at": "hidden.activation", "index": [0], "scale": 3}, {"at": "hidden.activation", "index": [0], "set": 2}
    )
    assert set_then_scale["hidden.activation"].tolist() == [6.0, 1.0, 0.0]
    assert scale_then_set["hidden.activation"].tolist() == [2.0, 1.0, 0.0]


def test_null_means_every_example():
    trace = tiny({"at": "hidden.activation", "index": [None, 1], "set": 0}, inputs={"x": [[2, -1], [0, 1], [1, 0]]})
    assert trace["hidden.activation"][:, 1].tolist() == [0.0, 0.0, 0.0]
    assert trace.result["prediction"] == [6.5, 3.0, 2.5]


def test_unknown_name_is_refused_with_the_names_there_are():
    with pytest.raises(
        engine.InputError, match=r"must be one of hidden.preactivation, hidden.activation.*'hidden.act'"
    ):
        tiny({"at": "hidden.act", "index": [0], "set": 0})


@pytest.mark.parametrize(
    ("index", "message"),
    [([3], "must be from 0 to 2; got 3"), ([0, 0], "have 1 number"), ([-1], "must be from 0 to 2; got -1")],
)
def test_index_that_does_not_fit_is_refused(index, message):
    with pytest.raises(engine.InputError, match=message):
        tiny({"at": "hidden.activation", "index": index, "set": 0})


def test_patch_of_another_shape_is_refused():
    with pytest.raises(engine.InputError, match=r"have shape \(3,\); got \(2,\)"):
        tiny({"at": "hidden.activation", "index": [None], "patch": [1.0, 2.0]})
