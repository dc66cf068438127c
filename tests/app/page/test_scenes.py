"""The pictures of a page, and what explains them."""

from __future__ import annotations

from app.page import source

LESSON = "accountable_network"


def page(query: str = "") -> dict:
    return source.page("lesson", LESSON, query, "http://127.0.0.1").data


def test_the_legend_explains_only_what_the_run_has():
    assert page()["legend"] == []
    assert page("do:hidden.activation[1]=off&frozen=hidden.weight")["legend"] == ["hatch", "frozen"]
