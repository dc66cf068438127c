"""The vector of `mole` goes in once and comes out three ways; attention's mix is all that differs."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

import engine
from engine.models import catalogue
from engine.models.one_word_three_meanings import CONTEXTS, FEATURES, MEANINGS, WORD, WORDS

MODEL = catalogue()["one_word_three_meanings"]
NO_MIX = {"interventions": [{"at": "mix", "index": [None, None], "set": 0}]}
CASES = list(zip(CONTEXTS, MEANINGS, strict=True))


def run(context, meaning="animal", **more) -> engine.Trace:
    return MODEL.trace({"inputs": {"tokens": list(context)}, "target": meaning, **more})


def test_contexts_are_the_source_s(facts):
    for phrase, context in zip(facts["attention"]["mole"], CONTEXTS, strict=True):
        assert phrase in " ".join(context)


def test_the_same_vector_goes_in():
    rows = [run(context)["x"][context.index(WORD)] for context in CONTEXTS]
    assert torch.equal(rows[0], rows[1]) and torch.equal(rows[1], rows[2])


def test_before_attention_it_leans_to_no_meaning():
    for context, meaning in CASES:
        found = run(context, meaning, **NO_MIX).result["prediction"][0]
        assert found == pytest.approx([0.5 / 1.75**0.5] * 3, rel=1e-6)


@pytest.mark.parametrize(("context", "meaning"), CASES)
def test_afterwards_it_leans_to_the_meaning_of_its_context(context, meaning):
    cosines = dict(zip(MEANINGS, run(context, meaning).result["prediction"][0], strict=True))
    assert cosines.pop(meaning) > 0.8
    assert all(other < 0.3 for other in cosines.values())


def test_a_word_with_a_meaning_weighs_eight_times_one_without():
    row = run(CONTEXTS[0])["pattern"][3].tolist()
    assert row == pytest.approx([1 / 11, 1 / 11, 8 / 11, 1 / 11], rel=1e-5)
    row = run(CONTEXTS[1])["pattern"][1]
    assert (row / row[2]).tolist() == pytest.approx([8**0.5, 1, 1, 8], rel=1e-5)


def test_words_that_ask_nothing_look_at_all_alike():
    assert run(CONTEXTS[2])["pattern"][0].tolist() == [0.25] * 4


def test_cosines_are_pytorch_s():
    trace = run(CONTEXTS[1], "amount")
    vector = trace["updated"][1]
    directions = torch.eye(len(FEATURES))[: len(MEANINGS)]
    assert torch.allclose(trace["prediction"][0], F.cosine_similarity(vector, directions), atol=1e-6)
    attended = F.scaled_dot_product_attention(trace["queries"], trace["keys"], trace["values"])
    assert torch.allclose(trace["mix"], attended, atol=1e-6)


def test_with_a_causal_mask_the_word_before_co2_hears_too_little():
    open_, masked = (run(CONTEXTS[1], "amount", options={"mask": one}) for one in ("none", "causal"))
    assert masked["pattern"][1, 2:].tolist() == [0, 0]
    assert masked.result["prediction"][0][1] < open_.result["prediction"][0][1]
    assert masked.result["loss"] > open_.result["loss"]


def test_without_positions_the_order_of_the_words_says_nothing():
    other = ("mole", "shrew", "an", "American")
    assert run(other).result["prediction"][0] == pytest.approx(run(CONTEXTS[0]).result["prediction"][0], rel=1e-6)


def test_without_the_word_there_is_no_meaning():
    trace = run(("an", "American", "shrew", "garden"))
    assert trace.result["prediction"] == [[0, 0, 0]]
    assert trace.result["loss"] == pytest.approx(torch.tensor(3.0).log().item())


def test_three_contexts_are_three_rows():
    trace = MODEL.trace({"inputs": {"tokens": [list(one) for one in CONTEXTS]}, "target": list(MEANINGS)})
    assert trace["prediction"].shape == (3, 1, 3)
    assert trace["prediction"].argmax(-1).flatten().tolist() == [0, 1, 2]
    alone = [run(*case).result["loss"] for case in CASES]
    assert trace.result["loss"] == pytest.approx(sum(alone) / 3, rel=1e-5)


@pytest.mark.parametrize(
    ("tensor", "index"), [("W_Q", (3, 0)), ("W_K", (0, 0)), ("W_V", (0, 0)), ("W_E", (WORDS.index("shrew"), 0))]
)
def test_gradients_agree_with_finite_differences(tensor, index):
    assert engine.verify(run(CONTEXTS[0]), tensor, index, what="gradient").ok
