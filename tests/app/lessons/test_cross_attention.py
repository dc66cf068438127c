"""Who hears whom, what is said, and what changes, in the lesson on cross-attention."""

from __future__ import annotations

import pytest

from app.exercise import exercises
from app.lessons.cross_attention import SLUG, prose
from app.shown import shown


def text(**changes):
    return prose(shown(SLUG, **changes).trace, shown(SLUG).trace)


def test_the_second_word_hears_the_third():
    run = text()["run"]
    assert (run["word"], run["heard"], run["meaning"]) == ("the", "bleue", "colour")
    assert run["weight"]["value"] == pytest.approx(0.9)
    assert [row["said"] for row in run["says"]] == ["the", "blue", "creature"]
    assert text()["louder"] == 27


def test_the_grid_is_not_square():
    sizes = {one["name"]: [axis["size"] for axis in one["axes"]] for one in text()["run"]["sizes"]}
    assert sizes == {"queries": [3, 4], "keys": [4, 4], "values": [4, 8], "pattern": [3, 4]}


def test_order_does_not_matter_and_another_sentence_is_said_as_well():
    found = text()
    assert found["turned"]["loss"] == pytest.approx(found["turned"]["before"], abs=1e-6)
    assert found["turned"]["place"][0] == pytest.approx(found["turned"]["place"][1])
    assert found["other"]["loss"] == pytest.approx(found["turned"]["before"], abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_a_word_that_stands_twice_shares_its_weight(seed):
    size, weight, change, _ = exercises(SLUG, seed)
    assert size.answer == size.values[0] * size.values[1] * size.values[2]
    assert weight.answer == pytest.approx(27 / 56, rel=1e-5)
    assert change.values[1] == pytest.approx(-change.values[2], abs=0.1)
