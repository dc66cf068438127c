"""The lesson's numbers are those of its runs and of the worked values, its exercises mark their own answers right."""

from __future__ import annotations

import pytest

from app.lessons.where_facts_live import SLUG, prose
from app.shown import shown
from tests.app.lessons.contract import strays

PAGES = ["", "rows=4", "activation=gelu&weights=learned", "weights=untrained&lr=1", "predict=1", "a1=1&a2=2&a4=a&a5=so"]


def text(**changes):
    return prose(shown(SLUG, **changes).trace, shown(SLUG).trace)


def test_four_cases_are_the_worked_ones(facts):
    for row, worked in zip(text()["cases"], facts["fact_store"]["table"], strict=True):
        assert (row["M"], row["J"]) == (worked["M"], worked["J"])
        assert (row["match"], row["relu"], row["writes"]) == (worked["pre"], worked["post"], worked["post"])


def test_cases_follow_the_run_s_weights():
    rows = text(set={"key.bias[0]": -0.5})["cases"]
    assert [row["relu"] for row in rows] == [0, 0.5, 0.5, 1.5]


def test_own_fact_leaves_the_others_alone():
    own = text()["own"]
    assert (own["phelps"], own["jordan"], own["half"]) == (0.5, 0.5, 0)
    two = text()["two"]
    assert (two["basketball"], two["tennis"], two["mixed"]) == (0.5, 0.5, 0)


def test_fact_is_learned_with_the_run_s_gate_and_rate():
    learned = text()["learned"]
    assert learned["worked"] and learned["last"] < learned["below"] < learned["first"]
    last = learned["rows"][-1]
    assert last["M"] == last["J"] and last["M"] + last["bias"] < 0.01
    assert [row["writes"] for row in learned["cases"]] == pytest.approx([0, 0, 0, 1], abs=0.02)
    assert not text(lr=1)["learned"]["worked"]
    assert text(options={"activation": "gelu"})["learned"]["rows"][-1] != last


def test_gate_reads_far_more_facts_than_dimensions():
    full = text()["crowd"]["full"]
    assert full["facts"] == 16 * text()["crowd"]["dimensions"]
    assert full["right_gated"] > 95 and full["right_ungated"] < 10


def test_share_of_the_mlps_is_the_counted_one(facts):
    assert text()["gpt3"]["percent"] == pytest.approx(100 * facts["gpt3"]["mlp_share"], rel=1e-6)


@pytest.mark.parametrize("query", PAGES)
def test_every_number_of_the_page_is_in_its_json(client, query):
    assert strays(client, SLUG, query) == set()
