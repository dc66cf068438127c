"""The lesson's numbers are those of its runs, its words hold for them, its exercises mark their own answers right."""

from __future__ import annotations

import math

import pytest

from app.lessons.softmax_temperature import SLUG, prose
from app.shown import shown
from tests.app.lessons.contract import strays

PAGES = ["", "temperature[0]=0.01", "rows=3", "predict=1", "shift=none&logits[0]=200", "a1=1&a2=2&a3=0.2&a4=3&a5=a"]


def text(**changes):
    return prose(shown(SLUG, **changes).trace, shown(SLUG).trace)


def test_two_nats_are_a_perplexity_of_seven(facts):
    row = next(row for row in text()["nats"] if row["nats"] == 2)
    assert row["loss"] == pytest.approx(2, abs=1e-6)
    assert row["perplexity"] == pytest.approx(facts["machinery"]["perplexity"]["2.0 nats"], rel=1e-5)
    assert row["share"] == pytest.approx(math.exp(-2), rel=1e-5)
    assert text()["alike"]["perplexity"] == pytest.approx(6, rel=1e-6)


def test_gradient_of_each_row_is_p_minus_onehot():
    for row in text()["run"]["words"]:
        assert row["gradient"]["value"] == pytest.approx(row["probability"]["value"] - row["onehot"], abs=1e-6)


def test_halved_temperature_halves_nothing_but_the_gradient_s_divisor():
    for row in text(set={"temperature[0]": 2})["run"]["words"]:
        assert row["logit_gradient"]["value"] == pytest.approx(row["gradient"]["value"] / 2, abs=1e-6)


def test_lifted_logits_give_the_same_shares_or_break():
    lift = text()["lift"]
    assert lift["share"] == pytest.approx(lift["before"], rel=1e-6)
    assert math.isinf(lift["exponential"]) and math.isnan(lift["broken"])
    assert text()["overflow"] == pytest.approx(88.72, abs=0.01)


def test_sweep_runs_from_one_word_to_all_alike():
    rows = text()["sweep"]["rows"]
    assert rows[0]["shares"][0] == 1 and max(rows[-1]["shares"]) < 0.21
    assert [row["entropy"] for row in rows] == sorted(row["entropy"] for row in rows)


def test_cuts_say_which_rule_cut():
    run = text(set={"top_k[0]": 2, "top_p[0]": 0.9})["run"]
    assert [row["cut_by"] for row in run["words"]] == [[], [], ["k"], ["k"], ["k", "p"], ["k", "p"]]
    assert (run["kept"]["count"], run["cut"]) == (2, ["floor", "table", "roof", "moon"])


def test_seeds_draw_only_what_is_kept():
    draws = text(set={"top_k[0]": 2})["draws"]
    assert {row["word"] for row in draws["rows"]} <= {"mat", "sofa"}
    assert sum(row["times"] for row in draws["tally"]) == draws["count"] == 16


@pytest.mark.parametrize("query", PAGES)
def test_every_number_of_the_page_is_in_its_json(client, query):
    assert strays(client, SLUG, query) == set()
