"""The fields of a page."""

from __future__ import annotations

from app.page import source

LESSON = "accountable_network"


def page(query: str = "") -> dict:
    return source.page("lesson", LESSON, query, "http://127.0.0.1").data


def test_a_switch_starts_with_a_number_that_fits_every_kind():
    unit = page()["forms"]["switches"][1]["units"][1]
    assert unit["value"] == "0.5"
    for kind, value in {"scale": 0.5, "set": 0.5, "add": 1.5}.items():
        data = page(f"{unit['do']}={kind}&{unit['by']}={unit['value']}")
        assert data["errors"] == []
        assert data["trace"]["tensors"]["hidden.activation"]["data"] == [3, value, 0]
    cleared = page(f"{unit['do']}=scale&{unit['by']}=")["forms"]["switches"][1]["units"][1]
    assert (cleared["value"], bool(cleared["error"])) == ("", True)
