"""What the lesson on one head claims of training without a mask, and of scores without sqrt(d_k), as measured."""

from __future__ import annotations

import math
import time

import pytest

from engine.experiments.one_attention_head import leak, widths


@pytest.mark.parametrize("seed", [0, 1])
def test_without_a_mask_a_head_learns_what_cannot_be_known(seed):
    found = leak.__wrapped__(seed)
    assert found["chance"] == math.log(8)
    assert found["open"][-1] < 0.05 and found["used_open"] < 0.05
    assert min(found["masked"]) > found["chance"] - 0.06
    assert found["honest"] == pytest.approx(found["chance"], abs=0.05)


def test_and_guesses_worse_than_chance_where_the_future_is_hidden():
    assert leak()["used"] > leak()["chance"] + 1


def test_curves_start_at_chance_and_belong_to_their_steps():
    found = leak()
    assert len(found["steps"]) == len(found["masked"]) == len(found["open"])
    assert found["open"][0] == pytest.approx(found["chance"], abs=0.1)


def test_the_spread_of_scores_grows_with_the_root_of_d_k_and_the_division_holds_it_at_one():
    for row in widths():
        assert row["plain_spread"] == pytest.approx(math.sqrt(row["d_k"]), rel=0.1)
        assert row["scaled_spread"] == pytest.approx(1, abs=0.1)


def test_without_the_division_one_word_takes_all_and_the_slope_goes():
    narrow, wide = widths()[0], widths()[-1]
    assert wide["plain_largest"] > 0.95 and wide["plain_slope"] < 0.03
    assert wide["scaled_largest"] == pytest.approx(narrow["scaled_largest"], abs=0.08)
    assert wide["scaled_slope"] > 0.2


def test_the_same_seed_measures_the_same_and_quickly():
    begun = time.process_time()
    again = leak.__wrapped__(0)
    assert again == leak(0)
    assert time.process_time() - begun < 3
