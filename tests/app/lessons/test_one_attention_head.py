"""The lesson's numbers are the source's and the run's, and its words hold."""

from __future__ import annotations

import pytest

from app.exercise import exercises
from app.lessons.one_attention_head import NOUN, SLUG, SOURCE, prose
from app.shown import shown
from engine.models.one_attention_head import EMBEDDINGS


def text(**changes):
    return prose(shown(SLUG, **changes).trace, shown(SLUG).trace)


def test_the_source_s_weights_stand_beside_ours(facts):
    assert facts["attention"]["update_for_creature"] == SOURCE
    for key in text()["run"]["keys"][: NOUN + 1]:
        assert key["pattern"]["value"] == pytest.approx(key["source"], abs=1e-6)
    assert text()["by_hand"] == {
        "ratios": [1, 12, 6, 1], "adjective": 1.5, "soft": 4, "noun": 0.125, "place": 2,
    }  # fmt: skip


def test_the_vector_moves_by_the_mix():
    features = {row["name"]: row for row in text()["run"]["features"]}
    assert features["soft"]["updated"]["value"] == pytest.approx(0.6)
    assert features["blue"]["updated"]["value"] == pytest.approx(0.3)
    assert features["noun"]["mix"]["value"] == 0


def test_words_to_come_are_masked_and_not_when_the_mask_is_open():
    assert [key["hidden"] for key in text()["run"]["keys"]] == [False] * 4 + [True] * 4
    assert not any(key["hidden"] for key in text(options={"mask": "none"})["run"]["keys"])


def test_the_open_mask_leaks_into_the_loss_word_by_word():
    rows = {row["word"]: row for row in text()["open"]["words"]}
    assert rows["the"]["open"] < rows["the"]["masked"]
    assert rows["creature"]["open"] > rows["creature"]["masked"] + 2
    masked = [row["masked"] for row in text()["open"]["words"]]
    assert text()["open"]["masked_loss"] == pytest.approx(sum(masked) / 8, rel=1e-5)


def test_a_run_without_the_division_has_no_divided_scores():
    run = text(options={"scale": "off"})["run"]
    assert run["scaled_score"] is None and not run["scaled"]
    assert run["keys"][0]["scaled_scores"] is None


def test_the_text_follows_the_words_of_the_run():
    run = text(set={"tokens[3]": "forest", "tokens[1]": "verdant"})["run"]
    assert (run["word"], run["other"]) == ("forest", "verdant")
    assert run["keys"][1]["pattern"]["before"] == pytest.approx(0.6)


@pytest.mark.parametrize("seed", range(6))
def test_weights_follow_the_rule_that_the_question_gives(seed):
    one = exercises(SLUG, seed)[0]
    words = one.prompt.split("“")[1].split("”")[0].split()
    given = one.prompt.split(" give to ")[1].split("?")[0]
    ratios = [
        2**place * (1.5 if "adjective" in EMBEDDINGS[word] else 1) * (4 if "soft" in EMBEDDINGS[word] else 1)
        / (8 if "noun" in EMBEDDINGS[word] else 1)
        for place, word in enumerate(words)
    ]  # fmt: skip
    assert one.answer == pytest.approx(ratios[words.index(given)] / sum(ratios), rel=1e-5)
