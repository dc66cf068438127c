"""The table of four cases, the gates, facts that do not touch one another, a fact of one's own, a fact learned."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import engine
from engine.models import catalogue
from engine.models.where_facts_live import FACTS, FEATURES, cases, learn, vector

MODEL = catalogue()["where_facts_live"]
BASKETBALL, TENNIS, SWIMMING = (FEATURES.index(sport) for sport in ("basketball", "tennis", "swimming"))
OWN = [
    {"parameter": "key.weight", "index": [2, FEATURES.index("Michael")], "value": 1},
    {"parameter": "key.weight", "index": [2, FEATURES.index("Phelps")], "value": 1},
    {"parameter": "key.bias", "index": [2], "value": -1.5},
    {"parameter": "value.weight", "index": [SWIMMING, 2], "value": 1},
]


def run(*names: str, activation: str = "relu", weights: str = "written", **request) -> engine.Trace:
    options = {"activation": activation, "weights": weights}
    inputs = request.pop("inputs", {"x": vector(*names)})
    return MODEL.trace({"inputs": inputs, "options": options, **request})


def test_row_is_m_plus_j_with_its_bias(facts):
    trace = run()
    assert trace["key.weight"][0].tolist() == vector("Michael", "Jordan")
    assert trace["key.bias"][0].item() == facts["fact_store"]["bias"] == -1.5
    assert trace["value.weight"][:, 0].tolist() == vector("basketball")


@pytest.mark.parametrize("case", range(4))
def test_four_cases_are_the_worked_ones(facts, case):
    worked = facts["fact_store"]["table"][case]
    names = [name for name, letter in (("Michael", "M"), ("Jordan", "J")) if worked[letter]]
    trace = run(*names)
    assert trace["match"][0].item() == worked["pre"]
    assert trace["gate"][0].item() == worked["post"]
    assert trace["written"].tolist() == [worked["post"] * part for part in vector("basketball")]
    assert trace["prediction"].tolist() == (trace["x"] + trace["written"]).tolist()


def test_gelu_does_not_close():
    for names in ((), ("Michael",), ("Michael", "Jordan")):
        trace = run(*names, activation="gelu")
        torch.testing.assert_close(trace["gate"], nn.functional.gelu(trace["match"]), rtol=1e-6, atol=1e-7)
    assert run("Michael", activation="gelu")["gate"][0].item() == pytest.approx(-0.1543, abs=1e-4)
    assert run("Michael", "Jordan", activation="gelu")["gate"][0].item() == pytest.approx(0.3457, abs=1e-4)


def test_facts_do_not_touch_one_another():
    serena = run("Serena", "Williams")
    assert serena["written"].tolist() == [0.5 * part for part in vector("tennis")]
    both = run("Michael", "Jordan", "Serena", "Williams")
    assert both["written"].tolist() == [0.5 * part for part in vector("basketball", "tennis")]
    assert run("Serena", "Jordan")["written"].abs().sum() == 0


def test_a_fact_of_ones_own_is_one_row_and_leaves_the_others_alone():
    phelps = run("Michael", "Phelps", edits=OWN)
    assert phelps["written"].tolist() == [0.5 * part for part in vector("swimming")]
    jordan = run("Michael", "Jordan", edits=OWN)
    assert jordan["written"].tolist() == [0.5 * part for part in vector("basketball")]
    assert run("Michael", edits=OWN)["written"].abs().sum() == 0


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_it_is_an_ordinary_mlp(activation):
    trace = run("Michael", "Jordan", "Phelps", activation=activation, weights="untrained")
    up, down = nn.Linear(8, 3), nn.Linear(3, 8, bias=False)
    up.weight.data, up.bias.data = trace["key.weight"].clone(), trace["key.bias"].clone()
    down.weight.data = trace["value.weight"].clone()
    whole = nn.Sequential(up, nn.ReLU() if activation == "relu" else nn.GELU(), down)
    torch.testing.assert_close(trace["x"] + whole(trace["x"]), trace["prediction"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("weights", ["written", "untrained", "learned"])
def test_gradients_agree_with_finite_differences(weights):
    trace = run("Michael", "Jordan", weights=weights)
    for name, index in (("key.weight", (0, 1)), ("key.bias", (0,)), ("value.weight", (BASKETBALL, 0)), ("x", (1,))):
        assert engine.verify(trace, name, index, what="gradient").ok


def test_a_closed_gate_learns_nothing():
    trace = run("Michael")
    assert trace["key.weight.grad"].abs().sum() == 0 and trace["value.weight.grad"].abs().sum() == 0


def test_loss_wants_the_whole_value():
    trace = run("Michael", "Jordan", update={"learning_rate": 0.2})
    assert trace.result["loss"] == 0.125
    assert trace["value.weight.grad"][BASKETBALL].tolist() == [-0.25, 0, 0]
    assert trace.result["after_update"]["loss"] < 0.125


def test_rows_of_examples_are_the_four_cases():
    inputs, targets = cases()
    trace = run(inputs={"x": inputs}, target=targets)
    assert trace["gate"][:, 0].tolist() == [0, 0, 0, 0.5]
    assert trace.result["loss"] == 0.125 / 4


def test_fact_is_learned_from_the_four_cases():
    steps = learn("relu")
    assert steps[0].loss > 0.1 and steps[-1].loss < 1e-4
    learned = MODEL.module({"weights": "learned"})
    for name, value in steps[-1].parameters.items():
        assert torch.equal(learned.state_dict()[name], value)
    key, bias = steps[-1].parameters["key.weight"], steps[-1].parameters["key.bias"]
    row = int(steps[-1].parameters["value.weight"][BASKETBALL].argmax())
    assert torch.equal(key[row, 0], key[row, 1])  # M and J come and go together, from one start to one weight
    assert key[row, 0] + bias[row] < 0.01 < key[row, :2].sum() + bias[row]


def test_learning_is_the_run_s_own_update_again_and_again():
    inputs, targets = cases()
    request = {"inputs": {"x": inputs}, "target": targets, "weights": "untrained"}
    trace = run(**request, update={"learning_rate": 0.5})
    for name, value in learn("relu")[1].parameters.items():
        torch.testing.assert_close(trace[f"{name}.updated"], value)


def test_names_of_texts_are_features():
    assert vector("tennis")[TENNIS] == 1 and sum(vector()) == 0 and len(FACTS) == 3
    with pytest.raises(ValueError, match="expected names of rows and columns; got golf"):
        vector("golf")
