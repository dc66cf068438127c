"""English queries find their French words, in another order; nothing is masked; PyTorch agrees."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

import engine
from engine.models import catalogue
from engine.models.cross_attention import ENGLISH, SO_FAR, SOURCE

MODEL = catalogue()["cross_attention"]


def run(**inputs) -> engine.Trace:
    return MODEL.trace({"inputs": {name: list(words) for name, words in inputs.items()}})


def said(trace: engine.Trace) -> list[str]:
    return [ENGLISH[place] for place in trace["prediction"].argmax(-1).flatten()]


def test_queries_come_from_the_english_and_keys_from_the_french():
    trace = run()
    pattern = trace.record("pattern")
    assert [(axis.name, axis.labels) for axis in pattern.axes] == [("query", SO_FAR), ("key", SOURCE)]
    assert trace["queries"].shape == (3, 4) and trace["keys"].shape == (len(SOURCE), 4)


def test_what_is_asked_for_weighs_nine_tenths():
    pattern = run()["pattern"]
    assert pattern.argmax(-1).tolist() == [0, 2, 1]
    assert pattern.max(-1).values.tolist() == pytest.approx([0.9] * 3, rel=1e-5)
    assert torch.allclose(pattern.sum(-1), torch.ones(3))


def test_nothing_of_the_source_is_hidden():
    trace = run()
    assert "masked_scores" not in trace.tensors
    assert (trace["pattern"] > 0).all()


@pytest.mark.parametrize(
    ("source", "tokens", "expected"),
    [
        (("la", "créature", "bleue", "."), ("start", "the", "blue"), ["the", "blue", "creature"]),
        (("la", "forêt", "verte", "."), ("start", "the", "green"), ["the", "green", "forest"]),
        (("la", "bleue", "forêt", "."), ("the", "blue", "forest"), ["blue", "forest", "."]),
    ],
)
def test_each_position_says_the_next_english_word(source, tokens, expected):
    assert said(run(source=source, tokens=tokens)) == expected


def test_the_source_s_order_does_not_matter_without_positions():
    assert said(run(source=(".", "bleue", "créature", "la"))) == said(run())


def test_another_source_changes_what_is_said_and_not_what_is_asked():
    one, other = run(), run(source=("la", "forêt", "verte", "."))
    assert torch.equal(one["queries"], other["queries"]) and torch.equal(one["y"], other["y"])
    assert said(other) == ["the", "green", "forest"]


def test_it_equals_pytorch_s_attention():
    trace = run()
    expected = F.scaled_dot_product_attention(trace["queries"], trace["keys"], trace["values"])
    assert torch.allclose(trace["mix"], expected, atol=1e-6)
    assert torch.allclose(trace["prediction"], (trace["y"] + expected) @ trace["W_U"], atol=1e-5)


def test_rows_of_examples_give_what_each_gives_alone():
    other = ("la", "forêt", "verte", ".")
    both = MODEL.trace({"inputs": {"source": [list(SOURCE), list(other)], "tokens": [list(SO_FAR), list(SO_FAR)]}})
    assert both["pattern"].shape == (2, 3, 4)
    assert torch.allclose(both["prediction"][1], run(source=other)["prediction"], atol=1e-6)


@pytest.mark.parametrize(
    ("tensor", "index"),
    [("W_Q", (0, 2)), ("W_K", (1, 1)), ("W_V", (5, 5)), ("W_S", (3, 6)), ("W_T", (1, 0)), ("W_U", (6, 2))],
)
def test_gradients_agree_with_finite_differences(tensor, index):
    assert engine.verify(run(), tensor, index, what="gradient").ok


def test_gradients_reach_both_languages():
    trace = run()
    assert trace["W_S.grad"].abs().sum() > 0 and trace["W_T.grad"].abs().sum() > 0
