"""What the visitor changed, as the page lists it."""

from __future__ import annotations

from tests.app.markup import document

LESSON = "/lessons/accountable_network"


def test_what_was_changed_is_numbered_where_there_are_several_and_each_can_be_undone(client):
    one = document(client, f"{LESSON}?hidden.weight[1,0]=0.25").one(id="compare")
    assert [item.text for item in one.one("ul").all("li")] == ["W₂₁ 0.5 → 0.25"]
    query = "hidden.weight[1,0]=0.25&frozen=hidden.bias&frozen=readout.weight[0,1]&activation=none"
    several = document(client, f"{LESSON}?{query}").one(id="compare")
    items = several.one("ol").all("li")
    assert [item.one("span", cls="place").text for item in items] == ["1.", "2.", "3.", "4."]
    assert [item.one("code").text for item in items][2:] == ["b: frozen", "v₂: frozen"]
    undo = [item.one("a", data_action="undo")["href"] for item in items]
    assert len(set(undo)) == 4
    assert undo[2].endswith("activation=none&frozen=readout.weight[0,1]")
    assert "At most 16 examples. Numbers from −1e6 to 1e6." in several.text
