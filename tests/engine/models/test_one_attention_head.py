"""One head's hand-built weights give the source's mix, its mask hides what is to come, and PyTorch agrees."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

import engine
from engine.models import catalogue
from engine.models.one_attention_head import FEATURES, SENTENCE, WORDS

MODEL = catalogue()["one_attention_head"]
CREATURE = SENTENCE.index("creature")


def feature(vector: torch.Tensor, name: str) -> float:
    return vector[FEATURES.index(name)].item()


def by_position(trace: engine.Trace) -> list[float]:
    return F.cross_entropy(trace["prediction"], trace["target"], reduction="none").tolist()


def test_creature_attends_as_the_source_says(facts):
    worked = facts["attention"]
    assert " ".join(SENTENCE) == worked["sentence"]
    row = dict(zip(SENTENCE, MODEL.trace({})["pattern"][CREATURE].tolist(), strict=True))
    for word, weight in worked["update_for_creature"].items():
        assert row[word] == pytest.approx(weight, abs=1e-6)
    assert [row[word] for word in SENTENCE[4:]] == [0, 0, 0, 0]


def test_its_scores_are_logarithms_of_the_ratios():
    row = MODEL.trace({})["masked_scores"][CREATURE, :4]
    assert (row - row[0]).exp().tolist() == pytest.approx([1, 12, 6, 1], rel=1e-5)


def test_creature_moves_by_the_mix():
    trace = MODEL.trace({})
    before, after = trace["x"][CREATURE], trace["updated"][CREATURE]
    moved = {name for name in FEATURES if feature(before, name) != feature(after, name)}
    assert moved == {"soft", "blue"}
    assert (feature(after, "soft"), feature(after, "blue")) == (pytest.approx(0.6), pytest.approx(0.3))


def test_each_query_sums_to_one_over_the_keys():
    for options in ({}, {"mask": "none"}, {"scale": "off"}):
        assert torch.allclose(MODEL.trace({"options": options})["pattern"].sum(-1), torch.ones(8))


def test_without_the_mask_creature_takes_most_from_a_word_to_come():
    row = MODEL.trace({"options": {"mask": "none"}})["pattern"][CREATURE]
    assert SENTENCE[row.argmax()] == "verdant"
    assert row.max().item() == pytest.approx(192 / 360, rel=1e-5)


def test_with_the_mask_no_loss_hears_of_later_words():
    two = {"inputs": {"tokens": [*SENTENCE[:6], "blue", "creature"]}}
    assert torch.equal(MODEL.trace({})["prediction"][:6], MODEL.trace(two)["prediction"][:6])
    open_ = {"options": {"mask": "none"}}
    assert not torch.equal(MODEL.trace(open_)["prediction"][:6], MODEL.trace({**two, **open_})["prediction"][:6])


def test_the_open_mask_helps_the_guess_after_the_and_misleads_creature():
    masked, open_ = by_position(MODEL.trace({})), by_position(MODEL.trace({"options": {"mask": "none"}}))
    assert open_[SENTENCE.index("the")] < masked[SENTENCE.index("the")] - 0.2
    assert open_[CREATURE] > masked[CREATURE] + 2
    assert MODEL.trace({}).result["loss"] == pytest.approx(sum(masked) / 8, rel=1e-6)


def test_every_next_word_is_the_likeliest_but_after_an_article():
    found = [WORDS[place] for place in MODEL.trace({})["prediction"].argmax(-1)]
    articles = [SENTENCE[place] in ("a", "the") for place in range(8)]
    assert [one for one, after in zip(found, articles, strict=True) if not after] == [
        "blue", "creature", "roamed", "the", "forest", ".",
    ]  # fmt: skip


def test_without_the_division_the_weights_are_squared():
    plain = MODEL.trace({})["pattern"][CREATURE, :4]
    sharp = MODEL.trace({"options": {"scale": "off"}})["pattern"][CREATURE, :4]
    assert torch.allclose(sharp, plain**2 / (plain**2).sum(), atol=1e-6)


def test_it_equals_pytorch_s_attention():
    trace = MODEL.trace({})
    expected = F.scaled_dot_product_attention(trace["queries"], trace["keys"], trace["values"], is_causal=True)
    assert torch.allclose(trace["mix"], expected, atol=1e-6)
    assert torch.allclose(trace["prediction"], (trace["x"] + expected) @ trace["W_U"], atol=1e-5)


def test_rows_of_examples_give_what_each_gives_alone():
    other = ["the", "verdant", "forest", "roamed", "a", "fluffy", "blue", "creature"]
    both = MODEL.trace({"inputs": {"tokens": [list(SENTENCE), other]}})
    assert torch.allclose(both["pattern"][1], MODEL.trace({"inputs": {"tokens": other}})["pattern"], atol=1e-6)
    assert both["pattern"].shape == (2, 8, 8)


@pytest.mark.parametrize(
    ("tensor", "index"),
    [
        ("W_Q", (0, 0)),
        ("W_Q", (1, 3)),
        ("W_K", (7, 3)),
        ("W_V", (6, 6)),
        ("W_E", (1, 4)),
        ("W_P", (3, 7)),
        ("W_U", (4, 2)),
    ],
)
def test_gradients_agree_with_finite_differences(tensor, index):
    assert engine.verify(MODEL.trace({}), tensor, index, what="gradient").ok


def test_a_score_that_is_masked_gets_no_gradient():
    gradient = MODEL.trace({})["scaled_scores.grad"]
    assert torch.equal(gradient.triu(1), torch.zeros(8, 8))
    assert gradient[CREATURE, 1].item() != 0
    assert math.isinf(MODEL.trace({})["masked_scores"][0, 1].item())
