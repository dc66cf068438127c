"""Predict first: the question, what is hidden meanwhile, and the verdict."""

from app.page import source


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
    right, wrong, unread = (page(f"predict=1&guess={guess}")["prediction"] for guess in ("11/2", "4", "abc"))
    assert (right["status"], right["value"]) == ("right", 5.5)
    assert (wrong["status"], wrong["guess"], wrong["value"]) == ("wrong", 4, 5.5)
    assert (unread["status"], unread["value"]) == ("unread", None)


def test_predict_first_asks_for_the_first_result_that_lies_ahead():
    asked = [page(f"predict=1&step={step}")["prediction"] for step in (0, 2, 4, 8, 13)]
    assert [one and one["label"] for one in asked] == ["ŷ", "L", "∂L/∂s", "∂L/∂x₁", None]
    assert page("predict=1&step=2&guess=1.125")["prediction"]["status"] == "right"


def test_nothing_is_hidden_where_nothing_lies_ahead():
    assert not page("predict=1&step=13")["state"]["asking"]


def test_another_step_asks_anew():
    links = [mark["link"] for mark in page("predict=1&guess=5.5")["timeline"]]
    assert all("predict=1" in link and "guess" not in link for link in links)
