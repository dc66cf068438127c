"""An option that changes a model's parameters changes what the page's fields hold, and untouched fields follow it."""

from __future__ import annotations

from typing import Any

import pytest

from app.inline import cell_name
from app.page import source
from app.page.source import Page
from app.space import indices
from tests.app.markup import parse

CHAIN, XOR = "chain_rule", "activation_functions"


def page(slug: str, query: str) -> Page:
    found = source.page("lesson", slug, query, "")
    assert found is not None
    return found


def fields(found: Page) -> dict[str, Any]:
    groups = found.data["forms"]["groups"]
    return {field["name"]: field["number"] for group in groups for row in group["rows"] for field in row}


@pytest.mark.parametrize(
    ("slug", "query"), [(CHAIN, ""), (CHAIN, "width=2"), (XOR, "weights=random"), (XOR, "weights=hand")]
)
def test_every_parameter_s_field_holds_what_the_run_has(slug, query):
    found = page(slug, query)
    shown = fields(found)
    for name, record in found.trace.tensors.items():
        if record.kind == "parameter" and not name.endswith(".updated"):
            for index in indices(record.shape):
                assert shown[cell_name(name, index)] == pytest.approx(float(record.value[index])), name


def test_a_neuron_that_an_option_adds_can_be_edited():
    found = page(CHAIN, "width=2&layer1.weight[1,0]=3")
    assert found.status == 200
    assert found.trace["layer1.weight"][1, 0] == 3
    assert found.state.address == "/lessons/chain_rule?layer1.weight[1,0]=3&width=2"
    assert page(CHAIN, "layer1.weight[1,0]=3").status == 422


def test_a_value_that_is_another_choice_s_default_is_an_edit():
    hand = fields(page(XOR, ""))["hidden.weight[0,0]"]
    found = page(XOR, f"weights=random&hidden.weight[0,0]={hand}")
    assert found.trace["hidden.weight"][0, 0] == hand
    assert len(found.data["edits"]) == 2


def submitted(client: Any, address: str, **chosen: str) -> str:
    """The query of a page's form of fields with other options chosen in it."""
    form = parse(client.get(address, headers={"accept": "text/html"}).text).one("form", id="forms")
    sent = []
    for field in form.all("input"):
        if field.get("type") not in ("radio", "checkbox") and field.get("name"):
            sent.append((field["name"], field.get("value") or ""))
    sent += [(field["name"], "") for field in form.all("select") if field["name"].startswith("do:")]
    return str(client.build_request("GET", "/", params=[*sent, *chosen.items()]).url.query, "ascii")


def test_a_form_with_another_option_keeps_edits_and_leaves_defaults_to_the_option(client):
    before = f"/lessons/{CHAIN}?layer1.weight[0,0]=2.5&width=2"
    narrow = page(CHAIN, submitted(client, before, width="1"))
    assert (narrow.status, narrow.state.address) == (200, f"/lessons/{CHAIN}?layer1.weight[0,0]=2.5")
    wide = page(CHAIN, submitted(client, f"/lessons/{CHAIN}?layer1.weight[0,0]=2.5", width="2"))
    assert (wide.status, wide.state.address) == (200, before)


def test_a_form_shows_the_chosen_start_and_not_the_other_one_as_edits(client):
    random = page(XOR, submitted(client, f"/lessons/{XOR}", weights="random"))
    assert random.state.cells == {} and random.state.options == {"weights": "random"}
    assert page(XOR, submitted(client, random.state.address, weights="hand")).state.address == f"/lessons/{XOR}"


def test_an_edit_of_a_neuron_that_the_option_takes_away_is_said(client):
    query = submitted(client, f"/lessons/{CHAIN}?width=2&layer1.weight[1,0]=5", width="1")
    found = page(CHAIN, query)
    assert found.status == 422
    assert "layer1.weight" in found.state.errors[0].message
