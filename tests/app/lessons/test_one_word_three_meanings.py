"""Cosines before and after, in three contexts, as the text has them."""

from __future__ import annotations

import pytest

from app.exercise import exercises
from app.lessons.one_word_three_meanings import SLUG, prose
from app.shown import shown


def text(**changes):
    return prose(shown(SLUG, **changes).trace, shown(SLUG).trace)


def test_the_same_vector_goes_in_and_three_come_out():
    contexts = text()["contexts"]
    for place, row in enumerate(contexts):
        assert row["before"] == pytest.approx([0.5 / 1.75**0.5] * 3, rel=1e-6)
        assert row["after"][place] == max(row["after"]) > 0.8
    assert len({tuple(row["after"]) for row in contexts}) == 3


def test_with_the_mask_mole_hears_less_of_co2():
    causal = text()["causal"]
    assert causal["cosine"] < causal["open"]
    assert causal["loss"] > causal["open_loss"]


def test_the_text_follows_mole_and_says_so_where_it_is_missing():
    assert text()["run"]["mole"]["listened"] == "shrew"
    assert text(set={"tokens[0]": "mole"})["run"]["mole"] is None
    assert text(set={"tokens[3]": "the"})["run"]["mole"] is None
    moved = text(set={"tokens[2]": "biopsy"})["run"]["mole"]
    assert (moved["listened"], moved["meaning"]) == ("biopsy", "skin")


@pytest.mark.parametrize("seed", range(5))
def test_answers_are_what_the_questions_say(seed):
    weight, cosine, _, hints = exercises(SLUG, seed)
    assert weight.answer == pytest.approx(8 / 11, rel=1e-6)
    vector = cosine.values[:6]
    assert cosine.answer == pytest.approx(max(vector) / sum(value**2 for value in vector) ** 0.5, rel=1e-5)
    cosines = sorted(hints.values[3:])
    assert cosines[2] > 2 * cosines[1]
