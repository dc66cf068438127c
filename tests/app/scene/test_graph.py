"""The computation graph's picture: operations, tensors on edges, where they stand."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import engine
from app.scene import graph
from tests.app.scene.pictures import box, clashes, distance

OFF = [{"at": "hidden.activation", "index": [1], "set": 0}]


def edge(picture, tensor, number=0):
    return [edge for edge in picture["edges"] if edge["tensor"] == tensor][number]


def node(picture, text):
    return next(node for node in picture["nodes"] if node["text"] == text)


def numbers(edge, kind):
    return [cell["value"] for cell in edge["label"]["cells"] if cell["kind"] == kind]


def step(trace, name):
    return next(step.index for step in trace.steps if step.name == name)


def check_layouts(picture):
    for place in picture["layouts"].values():
        labels = [box(at["label"]) for at in place["edges"]]
        nodes = [box(at) for at in place["nodes"]]
        assert not clashes(labels, nodes)
        assert not clashes(nodes)
        for at, label in zip(place["edges"], labels, strict=True):
            assert distance(at["path"], (label.x, label.y)) < 2
        for one in labels + nodes:
            assert one.x - one.width / 2 >= -0.1 and one.x + one.width / 2 <= place["width"] + 0.1
            assert one.y - one.height / 2 >= -0.1 and one.y + one.height / 2 <= place["height"] + 0.1


def test_operations_are_nodes_in_order_with_leaves_before_them_and_the_loss_at_the_end(tiny):
    picture = graph.draw(tiny())
    named = [node["text"] for node in picture["nodes"] if node["kind"] == "operation"]
    assert named == ["linear", "relu", "linear", "mse loss", "÷ 2"]
    leaves = [(node["kind"], node["text"]) for node in picture["nodes"] if node["kind"] in ("input", "parameter")]
    assert leaves == [
        ("input", "x"),
        ("parameter", "W"),
        ("parameter", "b"),
        ("parameter", "v"),
        ("parameter", "c"),
        ("input", "t"),
    ]
    assert (picture["nodes"][-1]["kind"], picture["nodes"][-1]["text"]) == ("end", "L")
    assert picture["nodes"][picture["edges"][-1]["target"]]["text"] == "L"


def test_every_edge_carries_its_tensors_value_and_gradient(tiny, facts):
    picture = graph.draw(tiny())
    z = edge(picture, "hidden.preactivation")
    assert (numbers(z, "value"), numbers(z, "gradient")) == ([3, 1, -3.5], [3, -1.5, 0])
    w = edge(picture, "hidden.weight")
    assert numbers(w, "value") == [1, 0.5, -1, -1, 1, 2]
    assert numbers(w, "gradient") == [6, -3, 0, -3, 1.5, 0]
    v = edge(picture, "readout.weight")
    assert numbers(v, "gradient") == facts["tiny_network"]["gradients"]["readout.weight"][0]
    loss = edge(picture, "loss")
    assert (numbers(loss, "value"), numbers(loss, "gradient")) == ([1.125], [1])
    t = edge(picture, "target")
    assert (numbers(t, "value"), numbers(t, "gradient"), t["flow"]) == ([4], [None], "forward only")


def test_a_tensor_read_twice_shows_on_each_edge_what_comes_back_along_it():
    class Twice(nn.Module):
        def forward(self, x):
            return (x * x + torch.sin(x)).sum()

    trace = engine.trace(Twice(), {"x": torch.tensor([1.0, 2.0])})
    picture = graph.draw(trace)
    carrying = [e for e in picture["edges"] if e["tensor"] == "x"]
    into = {picture["nodes"][e["target"]]["text"] for e in carrying}
    assert into == {"mul", "sin"}
    sine = next(e for e in carrying if picture["nodes"][e["target"]]["text"] == "sin")
    assert numbers(sine, "gradient") == pytest.approx(torch.cos(trace["x"]).tolist())
    check_layouts(picture)


def test_the_cell_of_every_number_holds_that_number():
    class Twice(nn.Module):
        def forward(self, x):
            return (x * x).sum() + (x * 3).sum()

    trace = engine.trace(Twice(), torch.tensor([2.0, 5.0]))
    cells = [cell for edge in graph.draw(trace, None, 0, None)["edges"] for cell in edge["label"]["cells"]]
    named = [(cell["cell"], cell["value"]) for cell in cells if cell["cell"] and cell["cell"].endswith("[1]")]
    assert len(named) > 5
    for name, value in named:
        assert trace[name.removesuffix("[1]")][1].item() == value, name


def test_a_tensor_too_big_for_its_edge_shows_its_shape_and_its_numbers_when_selected(tiny):
    trace = tiny(inputs={"x": [[2, -1], [0, 1], [1, 0]]}, target=[4, 0, 1])
    z = edge(graph.draw(trace), "hidden.preactivation")
    assert (z["label"]["shape"], z["label"]["cells"]) == ("3 × 3", [])
    assert [head["text"] for head in z["label"]["headers"]] == ["Z 3 × 3", "∂ 3 × 3"]
    assert graph.draw(trace)["details"] is None
    details = graph.draw(trace, selected="hidden.preactivation[1,2]")["details"]
    assert [[cell["value"] for cell in row] for row in details["rows"]] == [[3, 1, -3.5], [-1, 2, 2.5], [1, 1.5, -0.5]]
    assert details["left_out"] == 0
    assert edge(graph.draw(trace, selected="hidden.preactivation[1,2]"), "hidden.preactivation")["cell"] == (
        "hidden.preactivation[1,2]"
    )


def test_the_current_step_is_marked_and_later_ones_wait(tiny):
    trace = tiny()
    picture = graph.draw(trace, None, step(trace, "hidden.activation"))
    states = {node["text"]: node["state"] for node in picture["nodes"] if node["kind"] == "operation"}
    assert states == {"linear": "later", "relu": "now", "mse loss": "later", "÷ 2": "later"}
    assert edge(picture, "hidden.preactivation")["state"] == "done"
    assert edge(picture, "hidden.preactivation")["hot"]
    assert edge(picture, "hidden.activation")["state"] == "now"
    assert edge(picture, "hidden.activation")["gradient_state"] == "later"


def test_backward_highlights_the_gradients_that_arrive(tiny):
    trace = tiny()
    picture = graph.draw(trace, None, step(trace, "prediction.backward"))
    assert picture["shows"] == "gradient"
    assert edge(picture, "readout.weight")["gradient_state"] == "now"
    assert edge(picture, "prediction")["gradient_state"] == "done"
    assert edge(picture, "hidden.weight")["gradient_state"] == "later"
    linear = [node for node in picture["nodes"] if node["text"] == "linear"]
    assert [node["state"] for node in linear] == ["later", "now"]
    assert linear[1]["step"] == step(trace, "prediction.backward")


def test_an_update_step_adds_the_new_value_to_its_parameter(tiny):
    trace = tiny(update={"rule": "sgd", "learning_rate": 0.1, "frozen": []})
    picture = graph.draw(trace, None, step(trace, "readout.weight.updated"))
    v = edge(picture, "readout.weight")
    assert numbers(v, "new") == pytest.approx([1.55, -1.15, 1])
    assert node(picture, "v")["state"] == "now"
    assert numbers(edge(picture, "hidden.weight"), "new") == []


def test_an_intervention_is_an_operation_in_its_own_words(tiny):
    picture = graph.draw(tiny(interventions=OFF), tiny())
    off = node(picture, "h₂ ← 0")
    assert off["note"] == "intervention"
    assert numbers(edge(picture, "hidden.activation:computed"), "value") == [3, 1, 0]
    h = edge(picture, "hidden.activation")
    assert [(cell["value"], cell["before"]) for cell in h["label"]["cells"] if cell["kind"] == "value"] == [
        (3, None),
        (0, 1),
        (0, None),
    ]
    assert not any(node["kind"] == "constant" for node in picture["nodes"])
    check_layouts(picture)


def test_the_selected_cell_is_marked_on_its_edge_value_or_gradient(tiny):
    value = edge(graph.draw(tiny(), selected="hidden.weight[1,0]"), "hidden.weight")
    assert [(c["kind"], c["cell"]) for c in value["label"]["cells"] if c["selected"]] == [
        ("value", "hidden.weight[1,0]")
    ]
    gradient = edge(graph.draw(tiny(), selected="hidden.weight.grad[1,0]"), "hidden.weight")
    assert [(c["kind"], c["cell"]) for c in gradient["label"]["cells"] if c["selected"]] == [
        ("gradient", "hidden.weight.grad[1,0]")
    ]


def test_the_main_line_runs_straight_in_both_layouts(tiny):
    picture = graph.draw(tiny())
    line = [n for n, node in enumerate(picture["nodes"]) if node["kind"] in ("operation", "end")]
    wide, tall = picture["layouts"]["wide"], picture["layouts"]["tall"]
    assert max(wide["nodes"][n]["y"] for n in line) - min(wide["nodes"][n]["y"] for n in line) < 0.1
    assert max(tall["nodes"][n]["x"] for n in line) - min(tall["nodes"][n]["x"] for n in line) < 0.1
    assert [wide["nodes"][n]["x"] for n in line] == sorted(wide["nodes"][n]["x"] for n in line)
    assert tall["width"] == 340


def test_labels_sit_on_their_edge_and_touch_nothing_at_every_step(tiny):
    trace = tiny(update={"rule": "sgd", "learning_rate": 0.1, "frozen": []}, interventions=OFF)
    for at in range(len(trace.steps)):
        check_layouts(graph.draw(trace, tiny(), at))


@settings(max_examples=30)
@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=9, max_size=9), st.integers(0, 13))
def test_labels_of_any_numbers_sit_on_their_edge_and_touch_nothing(tiny, weights, at):
    edits = [{"parameter": "hidden.weight", "index": [n // 2, n % 2], "value": w} for n, w in enumerate(weights[:6])]
    edits += [{"parameter": "readout.weight", "index": [0, n], "value": w} for n, w in enumerate(weights[6:])]
    trace = tiny(edits=edits, update={"rule": "sgd", "learning_rate": 0.0123, "frozen": []})
    check_layouts(graph.draw(trace, tiny(), at))


def test_edges_that_pass_layers_keep_clear_of_nodes_and_labels():
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(self, x):
            hidden = x + torch.tanh(self.first(x))
            return (hidden + torch.relu(self.second(hidden)) * x).sum()

    picture = graph.draw(engine.trace(Residual(), {"x": torch.randn(3)}))
    check_layouts(picture)
    assert len([e for e in picture["edges"] if e["tensor"] == "x"]) == 3


def test_networks_of_other_sizes_are_drawn_from_their_steps_alone(dense):
    for sizes in ((1, 1), (4, 5, 3, 2), (20, 30, 3)):
        check_layouts(graph.draw(dense(*sizes)))
        check_layouts(graph.draw(dense(*sizes, rows=3)))


def test_a_run_of_too_many_operations_is_refused_with_the_number():
    class Long(nn.Module):
        def forward(self, x):
            for _ in range(50):
                x = torch.sin(x)
            return x

    trace = engine.trace(Long(), {"x": torch.ones(1)}, backward=False)
    assert not graph.fits(trace)
    with pytest.raises(ValueError, match="expected a run of 1 to 40 operations; got 50"):
        graph.draw(trace)
