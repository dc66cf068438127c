"""Deltas, counts and losses of the lesson on several heads."""

from __future__ import annotations

import pytest

from app.exercise import exercises
from app.lessons.several_heads import SLUG, prose
from app.shown import shown


def text(**changes):
    return prose(shown(SLUG, **changes).trace, shown(SLUG).trace)


def test_counts_are_gpt_3_s(facts):
    found, gpt3 = text()["counts"]["gpt3"], facts["gpt3"]
    assert (found["d_model"], found["d_head"], found["heads"]) == (gpt3["d_model"], gpt3["d_head"], gpt3["n_heads"])
    assert found["head"] == gpt3["one_head"]
    assert found["all"] * gpt3["n_layers"] == gpt3["attention_total"]
    assert found["ratio"] == 48


def test_counts_here_are_those_of_the_model():
    trace, found = shown(SLUG).trace, text()["counts"]["here"]
    assert found["all"] == sum(trace[name].numel() for name in ("W_Q", "W_K", "W_down", "W_up"))
    assert found["pair"] == trace["W_down"][0].numel() + trace["W_up"][0].numel()


def test_deltas_add_up_feature_by_feature():
    for row in text()["run"]["features"]:
        total = sum(one["value"] for one in row["deltas"])
        assert row["update"]["value"] == pytest.approx(total, abs=1e-6)
        assert row["updated"]["value"] == pytest.approx(row["x"]["value"] + total, abs=1e-6)


def test_each_head_is_needed_where_the_text_says():
    rows = {row["word"]: row for row in text()["alone"]["rows"]}
    assert rows["blue"]["adjectives"] > rows["blue"]["both"] + 1 > rows["blue"]["before"]
    assert rows["creature"]["before"] > rows["creature"]["both"] + 0.2
    assert rows["a"]["before"] == rows["a"]["adjectives"] == rows["a"]["both"]


def test_ratios_are_those_of_the_patterns():
    found = text()
    by_hand = found["by_hand"]
    before, adjectives = (
        [cell["value"] for cell in grid["rows"][3]["cells"]] for grid in found["run"]["patterns"]
    )  # fmt: skip
    assert before[2] / before[3] == pytest.approx(by_hand["before"], rel=1e-4)
    assert adjectives[1] / adjectives[0] == pytest.approx(by_hand["adjective"], rel=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_counted_answers(seed):
    one = exercises(SLUG, seed)[2]
    d_model, d_head, answer, square = one.values
    assert one.answer == answer == 2 * d_model * d_head < square == d_model**2
