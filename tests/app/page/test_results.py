"""Predict first: the question, what is hidden meanwhile, and the verdict."""

import pytest

from app.page import source
from tests.app.markup import document


def page(query=""):
    found = source.page("lesson", "accountable_network", query, "http://127.0.0.1")
    assert found is not None
    return found.data


def result(data, key):
    return next(card for card in data["results"]["cards"] if card["key"] == key)["cells"][0]


def test_predict_first_hides_what_comes_later_until_there_is_an_answer():
    asking = page("predict=1")
    assert asking["prediction"]["asking"]
    assert result(asking, "prediction") == {"cell": "prediction[0]", "label": "ŷ", "value": None, "hidden": True}
    assert asking["longhand"]["value"]["value"] == 3
    assert asking["longhand"]["gradient"] is None and asking["longhand"]["gradient_hidden"]
    assert asking["announce"] == "Results are hidden until you have answered."
    assert "hidden" in asking["summary"]
    right, wrong = (page(f"predict=1&guess={guess}")["prediction"] for guess in ("11/2", "4"))
    assert (right["status"], right["value"]) == ("right", 5.5)
    assert (wrong["status"], wrong["guess"], wrong["value"]) == ("wrong", 4, 5.5)


def test_a_guess_that_cannot_be_read_reveals_nothing_and_says_expected_and_got():
    data = page("predict=1&guess=abc")
    said = "This can't be read: expected a number such as 2, −1.5 or 9/2; got 'abc'."
    asked = data["prediction"]
    assert (asked["status"], asked["message"], asked["value"]) == ("unread", said, None)
    assert asked["asking"] and data["state"]["asking"]
    assert [card["cells"][0]["value"] for card in data["results"]["cards"]] == [None, None, None]
    assert (data["results"]["warning"], data["results"]["next"]) == (None, None)
    assert data["announce"] == f"{said} Results are hidden until you have answered."


def test_predict_first_asks_for_the_first_result_that_lies_ahead():
    asked = [page(f"predict=1&step={step}")["prediction"] for step in (0, 2, 4, 8, 13)]
    assert [one and one["label"] for one in asked] == ["ŷ", "L", "∂L/∂s", "∂L/∂x₁", None]
    assert page("predict=1&step=2&guess=1.125")["prediction"]["status"] == "right"


def test_nothing_is_hidden_where_nothing_lies_ahead():
    assert not page("predict=1&step=13")["state"]["asking"]


def test_another_step_asks_anew():
    links = [mark["link"] for mark in page("predict=1&guess=5.5")["timeline"]]
    assert all("predict=1" in link and "guess" not in link for link in links)


def follow(link):
    return page(link.partition("?")[2])


def test_the_step_is_taken_by_a_link_and_the_run_goes_on_from_the_loss_after_it():
    data = page("lr=0.02&do:hidden.activation[1]=scale&by:hidden.activation[1]=0.5&step=3&frozen=readout.bias")
    for _ in range(3):
        after = result(data, "after_update")["value"]
        updated = data["trace"]["tensors"]["hidden.weight.updated"]["data"]
        data = follow(data["results"]["next"])
        assert result(data, "loss")["value"] == after
        assert data["trace"]["tensors"]["hidden.weight"]["data"] == updated
        assert (data["state"]["step"], data["state"]["lr"]) == (3, 0.02)
    assert {"hidden.activation[1]", "frozen readout.bias"} <= {edit["field"] for edit in data["edits"]}


@pytest.mark.parametrize("query", ["lr=0", "lr=1e6&x[0]=1e6", "target[0]=5.5"])
def test_a_step_that_moves_nothing_or_leads_too_far_is_not_offered(query):
    assert page(query)["results"]["next"] is None


def test_a_step_that_raises_the_loss_is_said_in_full_at_the_update_only():
    elsewhere, there = page()["results"]["warning"], page("step=12")["results"]["warning"]
    assert follow(elsewhere["update"])["step"]["name"] == "hidden.weight.updated"
    assert there == elsewhere | {"update": None}
    assert (there["before"], there["rate"]) == (1.125, 0.1)
    assert page("lr=0.01")["results"]["warning"] is None


def test_a_guess_that_cannot_be_read_is_asked_again_beside_what_was_typed(client):
    results = document(client, "/lessons/accountable_network?predict=1&guess=abc").one(id="results")
    field = results.one("form", cls="predict").one("input", id="guess")
    assert (field["value"], field["aria-invalid"]) == ("abc", "true")
    assert "expected a number such as 2, −1.5 or 9/2; got 'abc'" in results.one(id=field["aria-describedby"]).text
    assert results.one("div", data_result="prediction").one("dd").text == "?"


def test_the_warning_is_a_note_and_short_until_the_update(client):
    elsewhere, there = (
        document(client, f"/lessons/accountable_network?step={step}").one(id="results") for step in (0, 11)
    )
    note = elsewhere.one("p", cls="note")
    assert note.text == "The update raises the loss. See it"
    assert note.one("a")["href"] == "/lessons/accountable_network?step=10"
    assert "raises the loss, from 1.125 to 7.9" in there.one("p", cls="note").text
    assert elsewhere.one("a", data_action="next").text == "Take this step"
