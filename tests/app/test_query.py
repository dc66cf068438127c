"""A field that cannot be read, on the page."""

from __future__ import annotations

from urllib.parse import urlencode

from tests.app.markup import document, fields

LESSON = "/lessons/accountable_network"


def test_a_field_that_cannot_be_read_keeps_the_number_that_was_in_use(client):
    form = document(client, f"{LESSON}?hidden.weight[1,0]=0.25&lr=0.05").one("form", id="forms")
    sent = dict(fields(form)) | {"hidden.weight[1,0]": "abc"}
    assert [value for name, value in fields(form) if name == "hidden.weight[1,0]"] == ["0.25", "0.25"]
    query = urlencode([("hidden.weight[1,0]", "0.25"), *sent.items()])
    page = document(client, f"{LESSON}?{query}", 422)
    assert page.one("input", id="f-hidden.weight-1-0")["value"] == "abc"
    message = "W₂₁ must be a number; got “abc”. Using 0.25."
    assert page.one(id="ef-hidden.weight-1-0").text == message
    assert page.one("link", rel="canonical")["href"] == f"{LESSON}?hidden.weight[1,0]=0.25&lr=0.05"
    again = [value for name, value in fields(page.one("form", id="forms")) if name == "hidden.weight[1,0]"]
    assert again == ["0.25", "abc"]
