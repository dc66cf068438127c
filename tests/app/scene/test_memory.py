"""An MLP drawn as rows: each neuron's key, bias, sum, gate and value are the run's own numbers."""

from __future__ import annotations

import pytest

from app.page import source
from app.scene import memory
from engine.models import catalogue

MODEL = "one_block_one_step"


def scene(query: str = ""):
    page = source.page("model", MODEL, f"view=memory{query}", "http://localhost")
    return page.data["scene"], page.trace


def test_only_runs_with_a_layer_in_and_out_of_neurons_are_drawn_so():
    fits = {name: memory.fits(catalogue()[name].trace({})) for name in ("tiny_network", "one_attention_head", MODEL)}
    assert fits == {"tiny_network": False, "one_attention_head": False, MODEL: True}


def test_row_holds_the_neuron_s_weights_and_activations_at_the_selected_position():
    picture, trace = scene()
    row = picture["rows"][4]
    assert [cell["value"] for cell in row["key"]] == pytest.approx(trace["up.weight"][4].tolist())
    assert [cell["value"] for cell in row["value"]] == pytest.approx(trace["down.weight"][:, 4].tolist())
    assert row["bias"]["value"] == pytest.approx(float(trace["up.bias"][4]))
    assert row["before"]["value"] == pytest.approx(float(trace["preactivation"][0, 4]))
    assert row["after"]["value"] == pytest.approx(float(trace["activation"][0, 4]))
    assert len(picture["rows"]) == trace["preactivation"].shape[-1]


def test_position_is_the_selected_cell_s():
    picture, trace = scene("&cell=x[1,0]")
    assert [one["chosen"] for one in picture["positions"]] == [False, True, False, False]
    assert picture["rows"][0]["before"]["cell"] == "preactivation[1,0]"
    assert picture["rows"][0]["before"]["value"] == pytest.approx(float(trace["preactivation"][1, 0]))
