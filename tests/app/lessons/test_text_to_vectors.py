"""The lesson's numbers are those of its runs, its words hold for them, its exercises mark their own answers right."""

from __future__ import annotations

import math

import pytest

from app.lessons.text_to_vectors import SLUG, prose
from app.shown import shown
from engine.models.text_to_vectors import EMBEDDINGS, FEATURES, VOCABULARY
from tests.app.lessons.contract import strays

PAGES = [
    "",
    "rows=2",
    "encoding=rotary&lookup=onehot",
    "encoding=none&tokens[0]=dog",
    "predict=1",
    "a1=1&a2=2&a3=0.2&a4=a&a5=so",
]


def text(**changes):
    return prose(shown(SLUG, **changes).trace, shown(SLUG).trace)


def test_ids_are_places_in_the_vocabulary_and_rows_are_the_table_s():
    run = text()["run"]
    assert [one["id"] for one in run["words"]] == [0, 2, 6, 0, 3]
    for one in run["table"]:
        assert [part["value"] for part in one["row"]] == [EMBEDDINGS[one["word"]].get(name, 0) for name in FEATURES]
    assert [part["value"] for part in run["embedded"]] == [1, 0, -0.5, 0]


def test_the_word_that_stands_twice_is_one_vector_before_its_place():
    twice = text()["run"]["twice"]
    assert (twice["word"], twice["places"], twice["before"]) == ("the", [0, 3], 0)
    assert twice["after"] > 0.5
    assert text(options={"encoding": "none"})["run"]["twice"]["after"] == 0
    assert text(set={"tokens[0]": "a"})["run"]["twice"] is None


def test_every_encoding_but_none_tells_two_places_apart():
    rows = {one["name"]: one for one in text()["encodings"]}
    assert rows["none"]["apart"] == 0
    assert all(rows[name]["apart"] > 0.5 for name in ("learned", "sinusoidal", "rotary"))


def test_turned_pairs_keep_their_length_and_meet_by_distance():
    turned = text()["turned"]
    assert turned["word"] == "cat" and turned["frequencies"] == [1, 0.01]
    for pair in turned["pairs"]:
        lengths = [math.hypot(one["x"], one["y"]) for one in pair["rows"]]
        assert lengths == pytest.approx([lengths[0]] * 5, rel=1e-6)
    assert [one["x"] for one in turned["pairs"][0]["rows"]] == pytest.approx([math.cos(m) for m in range(5)], abs=1e-6)
    for one in range(5):
        for other in range(5):
            expected = turned["products"][0][abs(one - other)]
            assert turned["products"][one][other] == pytest.approx(expected, abs=1e-5)


def test_readout_without_places_is_symmetric():
    tied = text()["tied"]
    assert tied["the_cat"] == tied["cat_the"] == 0
    assert tied["cat_cat"] > tied["cat_dog"] > tied["the_cat"]


def test_both_uses_of_the_table_add_up():
    read, unseen = text()["run"]["uses"]
    assert [part["from"] for part in read["parts"]] == ["as a column of the readout", "as a row that was looked up"]
    assert sum(part["value"] for part in read["parts"]) == pytest.approx(read["total"]["value"], abs=1e-6)
    assert unseen["word"] == "tree" and unseen["total"]["value"] != 0
    assert unseen["parts"][-1]["value"] == 0 or len(unseen["parts"]) == 1


def test_counts_are_the_tables(facts):
    found = text()
    assert found["counts"] == {"E": len(VOCABULARY) * len(FEATURES), "P": 20}
    assert found["gpt3"]["table"] == facts["gpt3"]["parameters"]["embedding"]
    assert found["update"]["after"] < found["update"]["before"]


@pytest.mark.parametrize("query", PAGES)
def test_every_number_of_the_page_is_in_its_json(client, query):
    assert strays(client, SLUG, query) == set()
