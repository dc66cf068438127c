"""The dense network's picture: its numbers, its states, its labels."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import engine
from app import numbers
from app.scene import network
from tests.app.scene.pictures import box, clashes, distance

V1_ONLY = {"rule": "sgd", "learning_rate": 0.1, "frozen": [{"parameter": "hidden.weight", "index": None}]}
OFF = [{"at": "hidden.activation", "index": [1], "set": 0}]


def node(picture, cell):
    return next(node for node in picture["nodes"] if node["cell"] == cell)


def edge(picture, cell):
    return next(edge for edge in picture["edges"] if edge.get("cell") == cell)


def step(trace, name):
    return next(step.index for step in trace.steps if step.name == name)


def boxes(place):
    """Labels' boxes, and what they must not touch: nodes and biases."""
    labels = [(box(at["label"]), at) for at in place["edges"] if at["label"]]
    solid = [box(at) for at in place["nodes"]]
    solid += [box(at["bias"]) for at in place["nodes"] if at["bias"]]
    return labels, solid


def check_labels(picture):
    for place in picture["layouts"].values():
        labels, solid = boxes(place)
        assert not clashes([label for label, _ in labels], solid)
        for label, at in labels:
            assert distance(at["path"], (label.x, label.y)) < 2
            assert picture["edges"][at["edge"]]["characters"] * 8.4 <= label.width
            assert label.x - label.width / 2 > 0 and label.x + label.width / 2 < place["width"]


def test_every_unit_of_the_tiny_network_shows_its_value_and_gradient(tiny, facts):
    picture = network.draw(tiny())
    shown = [(n["kind"], n["label"], n["value"], n["gradient"]) for n in picture["nodes"]]
    assert shown == [
        ("input", "x₁", 2, 2.25),
        ("input", "x₂", -1, -4.5),
        ("preactivation", "z₁", 3, 3),
        ("preactivation", "z₂", 1, -1.5),
        ("preactivation", "z₃", -3.5, 0),
        ("activation", "h₁", 3, 3),
        ("activation", "h₂", 1, -1.5),
        ("activation", "h₃", 0, 1.5),
        ("output", "ŷ", 5.5, 1.5),
        ("target", "t", 4, None),
        ("error", "s", 2.25, 0.5),
        ("loss", "L", 1.125, 1),
    ]
    biases = [n["bias"]["value"] for n in picture["nodes"] if n["bias"]]
    assert biases == facts["tiny_network"]["parameters"]["hidden.bias"] + [0.5]


def test_every_weight_is_an_edge_with_its_contribution_gradient_and_flow(tiny):
    w21 = edge(network.draw(tiny()), "hidden.weight[1,0]")
    assert (w21["value"], w21["contribution"], w21["gradient"], w21["flow"]) == (0.5, 1, -3, -0.75)
    assert w21["said"] == "W₂₁ = 0.5, gradient −3"
    weights = [e["value"] for e in network.draw(tiny())["edges"] if e["kind"] == "weight"]
    assert weights == [1, -1, 0.5, 1, -1, 2, 2, -1, 1]


def test_width_follows_magnitude_and_sign_is_said(tiny):
    picture = network.draw(tiny(edits=[{"parameter": "hidden.weight", "index": [0, 0], "value": 0}]))
    zero, minus, two = (edge(picture, f"hidden.weight[{at}]") for at in ("0,0", "0,1", "2,1"))
    assert zero["width"] < minus["width"] < two["width"]
    assert [e["sign"] for e in (zero, minus, two)] == ["zero", "neg", "pos"]


def test_steps_before_the_current_one_are_done_and_later_ones_later(tiny):
    trace = tiny()
    picture = network.draw(trace, None, step(trace, "hidden.activation"))
    states = {n["label"]: n["state"] for n in picture["nodes"]}
    assert [states[label] for label in ("x₁", "z₂", "h₂", "ŷ", "L")] == ["done", "done", "now", "later", "later"]
    assert edge(picture, "readout.weight[0,0]")["state"] == "later"


def test_the_current_layer_and_the_selected_cells_edges_are_hot(tiny):
    trace = tiny()
    picture = network.draw(trace, None, step(trace, "hidden.preactivation"), "hidden.preactivation[1]")
    assert node(picture, "hidden.preactivation[1]")["selected"]
    assert all(edge(picture, f"hidden.weight[{unit},0]")["hot"] for unit in range(3))
    fed = [e["cell"] for e in picture["edges"] if e["kind"] == "weight" and e["part"]]
    assert fed == ["hidden.weight[1,0]", "hidden.weight[1,1]"]


def test_backward_shows_gradients_as_they_arrive(tiny):
    trace = tiny()
    picture = network.draw(trace, None, step(trace, "prediction.backward"))
    assert picture["shows"] == "gradient"
    h2 = node(picture, "hidden.activation[1]")
    assert (h2["top"], h2["main"], h2["sub"], h2["state"]) == ("∂L/∂h₂", -1.5, {"words": "h₂ =", "value": 1}, "now")
    assert node(picture, "hidden.preactivation[1]")["state"] == "later"
    assert node(picture, "prediction[0]")["state"] == "done"
    v1 = edge(picture, "readout.weight[0,0]")
    assert (v1["main"], v1["parts"], v1["state"], v1["hot"]) == (4.5, [{"value": 4.5}], "now", True)
    assert node(picture, "target[0]")["main"] == 4


def test_update_shows_old_and_new_weights_and_what_is_frozen(tiny):
    trace = tiny(update=V1_ONLY)
    picture = network.draw(trace, None, step(trace, "readout.weight.updated"))
    v1 = edge(picture, "readout.weight[0,0]")
    assert v1["parts"] == [{"value": 2}, {"text": " → "}, {"value": pytest.approx(1.55)}]
    assert v1["main"] == pytest.approx(1.55)
    picture = network.draw(trace, None, step(trace, "hidden.weight.updated"))
    w21 = edge(picture, "hidden.weight[1,0]")
    assert w21["frozen"] and w21["parts"] == [{"value": 0.5}, {"text": " frozen"}]
    assert edge(picture, "readout.weight[0,0]")["parts"] == [{"value": 2}]


def test_a_frozen_weight_is_marked_where_it_is_updated_and_nowhere_before(tiny):
    trace = tiny(update=V1_ONLY)
    for at in trace.steps:
        w21 = edge(network.draw(trace, None, at.index), "hidden.weight[1,0]")
        assert w21["frozen"] == (at.phase == "update"), at.name
        assert ("frozen" in w21["said"]) == (at.phase == "update"), at.name


def test_an_intervention_is_marked_with_what_was_computed_and_what_the_baseline_had(tiny):
    baseline, trace = tiny(), tiny(interventions=OFF)
    picture = network.draw(trace, baseline, step(trace, "hidden.activation"))
    h2 = node(picture, "hidden.activation[1]")
    assert (h2["top"], h2["main"], h2["computed"], h2["before"]) == ("h₂ ← 0", 0, 1, 1)
    assert h2["sub"] == {"words": "was", "value": 1}
    assert h2["said"] == "h₂ ← 0: 0, was 1, gradient −2.5"
    assert node(picture, "hidden.activation[0]")["mark"] is None
    y = node(picture, "prediction[0]")
    assert (y["main"], y["before"], y["changed"]) == (6.5, 5.5, True)
    alone = node(network.draw(trace), "hidden.activation[1]")
    assert alone["sub"] is None or alone["sub"]["value"] == -2.5


@pytest.mark.parametrize(("change", "mark"), [({"scale": 0.5}, "× 0.5"), ({"add": 1}, "+ 1"), ({"set": 0}, "← 0")])
def test_each_kind_of_intervention_says_what_it_does(tiny, change, mark):
    picture = network.draw(tiny(interventions=[{"at": "hidden.activation", "index": [0], **change}]))
    assert node(picture, "hidden.activation[0]")["mark"] == mark
    assert node(picture, "hidden.activation[2]")["mark"] is None


def test_what_differs_from_the_baseline_is_marked_on_weights_too(tiny):
    changed = tiny(edits=[{"parameter": "hidden.weight", "index": [1, 0], "value": 0.25}])
    picture = network.draw(changed, tiny())
    w21 = edge(picture, "hidden.weight[1,0]")
    assert (w21["before"], w21["changed"]) == (0.5, True)
    assert w21["said"] == f"W₂₁ = 0.25, was 0.5, gradient {numbers.text(w21['gradient'])}"
    assert not edge(picture, "hidden.weight[0,0]")["changed"]
    assert not any(n["changed"] for n in network.draw(tiny(), tiny())["nodes"])


def test_the_chosen_example_of_several_is_drawn(tiny):
    trace = tiny(inputs={"x": [[2, -1], [0, 1], [1, 0]]}, target=[4, 0, 1])
    picture = network.draw(trace, example=1)
    assert (picture["example"], picture["examples"]) == (1, 3)
    assert [n["value"] for n in picture["nodes"] if n["kind"] == "preactivation"] == [-1, 2, 2.5]
    assert [n["value"] for n in picture["nodes"] if n["kind"] in ("output", "target")] == [1, 0]
    assert node(picture, "x[1,0]")["value"] == 0
    with pytest.raises(ValueError, match="example must be from 0 to 2; got 3"):
        network.draw(trace, example=3)


def test_the_selected_gradient_cell_selects_what_it_is_the_gradient_of(tiny):
    picture = network.draw(tiny(), selected="hidden.preactivation.grad[1]")
    assert node(picture, "hidden.preactivation[1]")["selected"]
    assert not any(n["selected"] for n in network.draw(tiny(), selected="no such cell[")["nodes"])


def test_a_node_says_first_what_is_seen_of_it(tiny):
    trace = tiny(update={"rule": "sgd", "learning_rate": 0.1, "frozen": []})
    seen = {at: node(network.draw(trace, step=at), "hidden.preactivation[1]")["said"] for at in (0, 8, 10)}
    assert seen == {
        0: "z₂ = 1, gradient −1.5",
        8: "∂L/∂z₂ = −1.5, z₂ = 1",
        10: "z₂ = 1, ∂ −1.5",
    }
    weights = {at: edge(network.draw(trace, step=at), "hidden.weight[1,0]")["said"] for at in (0, 8, 10)}
    assert weights == {
        0: "W₂₁ = 0.5, gradient −3",
        8: "W₂₁ = 0.5, gradient ∂ −3",
        10: "W₂₁ = 0.5 → 0.8, gradient −3",
    }


def test_without_an_activation_the_same_columns_are_drawn(tiny):
    picture = network.draw(tiny(options={"activation": "none"}))
    assert node(picture, "hidden.activation[2]")["value"] == -3.5
    assert node(picture, "prediction[0]")["value"] == 2


def test_the_small_picture_leaves_out_target_loss_and_gradients(tiny):
    picture = network.draw(tiny(), small=True)
    assert {n["kind"] for n in picture["nodes"]} == {"input", "preactivation", "activation", "output"}
    assert all(n["sub"] is None for n in picture["nodes"])


def test_the_tall_layout_runs_downwards_and_fits_a_phone(tiny):
    place = network.draw(tiny())["layouts"]["tall"]
    assert place["width"] == 340
    heights = [at["y"] for at in place["nodes"]]
    assert heights[0] == heights[1] < heights[2] < heights[5] < heights[8] < heights[10]


def test_labels_sit_on_their_own_edge_and_touch_nothing(tiny):
    trace = tiny(update={"rule": "sgd", "learning_rate": 0.1, "frozen": []})
    for at in range(len(trace.steps)):
        picture = network.draw(trace, tiny(), at, "hidden.preactivation[1]")
        check_labels(picture)
        for place in picture["layouts"].values():
            assert sum(at["label"] is not None for at in place["edges"]) == 9


@settings(max_examples=40)
@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=9, max_size=9), st.integers(0, 13))
def test_labels_of_any_weights_sit_on_their_own_edge_and_touch_nothing(tiny, weights, at):
    edits = [{"parameter": "hidden.weight", "index": [n // 2, n % 2], "value": w} for n, w in enumerate(weights[:6])]
    edits += [{"parameter": "readout.weight", "index": [0, n], "value": w} for n, w in enumerate(weights[6:])]
    trace = tiny(edits=edits, update={"rule": "sgd", "learning_rate": 0.0123, "frozen": []})
    picture = network.draw(trace, tiny(), min(at, len(trace.steps) - 1))
    check_labels(picture)
    for place in picture["layouts"].values():
        assert sum(at["label"] is not None for at in place["edges"]) == 9


@pytest.mark.parametrize("sizes", [(1, 1), (2, 3, 1), (3, 4, 4, 2), (5, 3), (4, 6, 2), (1, 8, 1)])
def test_networks_of_other_sizes_are_drawn_from_their_steps_alone(dense, sizes):
    trace = dense(*sizes)
    picture = network.draw(trace, selected=None)
    check_labels(picture)
    assert picture["summary"].startswith(f"Dense network: {sizes[0]} input")
    last = [n["value"] for n in picture["nodes"] if n["kind"] == "output"]
    output = next(step for step in reversed(trace.steps) if step.phase == "forward").output
    assert last == pytest.approx(trace[output].tolist(), rel=1e-7)


def test_units_that_do_not_fit_are_counted_and_the_selected_one_is_shown(dense):
    trace = dense(20, 30, 3)
    name = next(step.output for step in trace.steps if step.op == "linear")
    picture = network.draw(trace, selected=f"{name}[29]")
    assert node(picture, f"{name}[29]")["selected"]
    assert [note["text"] for note in picture["layouts"]["wide"]["more"]] == ["12 more", "22 more", "22 more"]
    assert [note["text"] for note in picture["layouts"]["tall"]["more"]] == ["16 more", "26 more", "26 more"]
    tall = {picture["nodes"][at["node"]]["cell"] for at in picture["layouts"]["tall"]["nodes"]}
    assert f"{name}[29]" in tall
    check_labels(picture)


def test_a_run_that_is_no_chain_of_layers_is_refused():
    class Skip(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return self.layer(x) + x

    trace = engine.trace(Skip(), {"x": torch.ones(2)}, backward=False)
    assert not network.fits(trace)
    with pytest.raises(ValueError, match="expected linear layers and elementwise activations; got add"):
        network.draw(trace)


def test_a_step_outside_the_run_is_refused(tiny):
    with pytest.raises(ValueError, match="step must be from 0 to 9; got 99"):
        network.draw(tiny(), step=99)


def test_special_numbers_are_drawn_and_do_not_break_the_scale():
    layer = nn.Linear(2, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[3e38, 0], [float("nan"), 1]]))
    picture = network.draw(
        engine.trace(layer, {"input": torch.tensor([3.0, 1.0])}, loss=lambda output, _: output.sum())
    )
    first, second = [n for n in picture["nodes"] if n["kind"] == "output"]
    assert first["value"] == float("inf") and first["strength"] == 1 and first["sign"] == "pos"
    assert second["value"] != second["value"] and second["strength"] == 0 and second["sign"] == "none"
    check_labels(picture)
