"""What a page's address may set follows the options of the run that it asks for."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest

from app.query import read
from app.space import cell_name
from app.spaces import space_of
from app.state import state_of
from engine.models import catalogue


@pytest.fixture(scope="module")
def facts_space():
    model = catalogue()["where_facts_live"]
    return space_of("/models/facts", model, model.defaults)


def test_fields_of_a_run_with_options_start_from_that_runs_own_parameters(facts_space):
    model = catalogue()["where_facts_live"]
    for choice in ("written", "untrained", "learned"):
        found = read(facts_space, [("weights", choice)])
        own = model.module({"weights": choice}).get_parameter("key.weight")
        assert found.value("key.weight", (0, 3)) == pytest.approx(own[0, 3].item(), rel=1e-6)
        assert found.request["edits"] == []
    assert read(facts_space, [("weights", "untrained")]).baseline.request["options"]["weights"] == "written"


def test_an_option_that_a_form_changes_brings_its_own_parameters_and_keeps_what_was_edited(facts_space):
    untouched, edited = ("key.weight[0,0]", "1"), ("key.weight[0,1]", "0.25")
    form = [untouched, edited, ("shown:weights", "written"), ("weights", "untrained")]
    found = read(facts_space, form)
    assert found.errors == ()
    assert found.request["edits"] == [{"parameter": "key.weight", "index": [0, 1], "value": 0.25}]
    assert found.address == "/models/facts?key.weight[0,1]=0.25&weights=untrained"
    as_a_link = read(facts_space, [untouched, ("weights", "untrained")])
    assert as_a_link.request["edits"] == [{"parameter": "key.weight", "index": [0, 0], "value": 1.0}]


def test_a_link_to_other_options_sets_cells_of_that_run(facts_space):
    start = state_of(facts_space)
    own = catalogue()["where_facts_live"].module({"weights": "learned"}).get_parameter("key.bias")[0].item()
    other = read(facts_space, [("weights", "learned")])
    assert start.link(set={"key.bias[0]": other.value("key.bias", (0,))}, options={"weights": "learned"}) == (
        "/models/facts?weights=learned"
    )
    assert other.value("key.bias", (0,)) == pytest.approx(own, rel=1e-6)
    assert other.link(options={"weights": None}) == "/models/facts"


def test_a_link_to_other_options_leaves_out_what_their_run_does_not_have():
    model = catalogue()["norm_and_residual"]
    space = space_of("/models/deep", model, model.defaults)
    (name, *_) = (name for name in space.switches if name.endswith(".mean"))
    start = state_of(space).changed(do={f"{name}[0]": "off"}, set={"layers.0.weight[0,0]": 0.375})
    assert name not in read(space, [("norm", "rms")]).space.switches
    assert start.link(options={"norm": "rms"}) == "/models/deep?layers.0.weight[0,0]=0.375&norm=rms"
    assert start.link(step=1).startswith(start.address)


@pytest.mark.parametrize("name", list(catalogue()))
def test_every_option_of_every_model_can_be_chosen_from_any_of_its_runs(name):
    model = catalogue()[name]
    space = space_of("/models/one", model, model.defaults)
    switches, cells = list(space.switches), list(space.parameters)
    start = state_of(space).changed(
        do={cell_name(one, (0,) * len(space.switches[one].shape)): "off" for one in switches},
        set={cell_name(one, (0,) * len(space.parameters[one].shape)): 0.123 for one in cells},
        frozen=cells,
    )
    for option in model.options:
        for choice in option.values:
            other = start.changed(options={option.name: choice})
            assert read(space, parse_qsl(urlsplit(other.address).query, keep_blank_values=True)) == other
            assert other.changed(options={option.name: None}).options == {}
