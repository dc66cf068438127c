"""The network that looks at a picture: every number drawn is the run's."""

from __future__ import annotations

import numpy as np
import pytest

from app import numbers
from app.page import source
from app.picture import picture
from app.scene import image
from engine.models import catalogue


@pytest.fixture(scope="module")
def trace():
    return catalogue()["digit_network"].trace({})


def scene(query: str) -> dict:
    return source.page("model", "digit_network", query, "").data["scene"]


def test_only_runs_that_read_a_picture_through_a_chain_of_layers_are_drawn_so(trace):
    assert image.fits(trace)
    assert not any(image.fits(catalogue()[name].trace({})) for name in ("tiny_network", "one_attention_head"))
    assert [column.units for column in image.columns_of(trace)] == [784, 16, 16, 10]
    assert source.page("model", "digit_network", "", "").data["views"][0] == "image"


def test_nodes_show_the_tensor_that_the_step_is_about(trace):
    at_z, at_a, end = scene("step=2"), scene("step=3"), scene("step=9")
    assert [column["tensor"] for column in at_z["columns"]] == [
        "hidden1.activation", "hidden2.preactivation", "probability",
    ]  # fmt: skip
    assert at_a["columns"][1]["tensor"] == "hidden2.activation"
    shown = [node["main"] for node in end["columns"][2]["nodes"]]
    assert shown == [numbers.single(value) for value in trace["probability"].tolist()]
    assert [node["name"] for node in end["columns"][2]["nodes"]] == list("0123456789")
    assert end["columns"][2]["answer"] == end["columns"][2]["target"] == 7


def test_the_answer_is_marked_once_it_is_there():
    assert scene("step=3")["columns"][2]["answer"] is None
    assert scene("step=9&target[0]=3")["columns"][2]["target"] == 3


def test_edges_are_those_through_which_most_passes_and_all_of_the_chosen_unit(trace):
    found = scene("step=3&cell=hidden2.activation[8]")
    flow = trace["hidden2.weight"].double().numpy() * trace["hidden1.activation"].double().numpy()
    edges = [edge for edge in found["edges"] if edge["target"][0] == 2]
    assert [edge["source"][1] for edge in edges if edge["part"]] == list(range(16))
    for edge in edges:
        assert edge["value"] == pytest.approx(flow[edge["target"][1], edge["source"][1]], rel=1e-6)
    drawn = {(edge["target"][1], edge["source"][1]) for edge in edges}
    strongest = np.argsort(-np.abs(flow), axis=None)[: image.STRONGEST]
    assert {tuple(map(int, np.unravel_index(at, flow.shape))) for at in strongest} <= drawn
    assert found["chosen"] == [2, 8]


def test_a_chosen_unit_of_the_first_layer_shows_its_weights_and_what_they_make_of_the_picture(trace):
    found = {one["key"]: one for one in scene("step=0&cell=hidden1.preactivation[3]")["pictures"]}
    weight, x = trace["hidden1.weight"][3].double(), trace["x"].double()
    assert found["weights"]["src"] == picture(weight.numpy(), (28, 28))
    assert found["products"]["src"] == picture((weight * x).numpy(), (28, 28))
    bias = float(trace["hidden1.bias"][3])
    assert found["products"]["sum"] + bias == pytest.approx(float(trace["hidden1.preactivation"][3]), rel=1e-5)
    assert found["weights"]["cell"].startswith("hidden1.weight[3,")
    assert list({one["key"] for one in scene("step=4")["pictures"]}) == ["input"]


def test_backward_shows_gradients_where_they_have_arrived(trace):
    found = scene("step=18&cell=hidden1.weight[3,400]")
    assert found["shows"] == "gradient"
    z = [node["main"] for node in found["columns"][0]["nodes"]]
    assert z == [numbers.single(value) for value in trace["hidden1.preactivation.grad"].tolist()]
    pictures = {one["key"]: one for one in found["pictures"]}
    assert pictures["input"]["src"] == picture(trace["x.grad"].numpy(), (28, 28))
    assert pictures["weights"]["src"] == picture(trace["hidden1.weight.grad"][3].numpy(), (28, 28))
    assert pictures["weights"]["cell"] == "hidden1.weight.grad[3,400]"
    assert scene("step=12")["pictures"][0]["src"] == picture(trace["x"].numpy(), (28, 28))


def test_the_update_shows_new_weights(trace):
    pictures = {one["key"]: one for one in scene("step=19&lr=0.5&x=test:1&cell=hidden1.weight[3,400]")["pictures"]}
    assert pictures["weights"]["symbol"].endswith("′") and "products" not in pictures
