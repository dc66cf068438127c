"""Lookup is a product, places tell equal words apart, turning keeps distances only, and E is used twice."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import engine
from engine.models import catalogue
from engine.models.text_to_vectors import EMBEDDINGS, FEATURES, POSITIONS, VOCABULARY, frequencies, turn

MODEL = catalogue()["text_to_vectors"]
ENCODINGS = ("learned", "sinusoidal", "rotary", "none")


def run(encoding: str = "learned", lookup: str = "row", **request) -> engine.Trace:
    return MODEL.trace({"options": {"encoding": encoding, "lookup": lookup}, **request})


def test_words_are_ids_and_ids_are_rows():
    trace = run()
    assert trace["tokens"].tolist() == [0, 2, 6, 0, 3]
    for place, word in enumerate(("the", "cat", "chased", "the", "dog")):
        assert trace["embedded"][place].tolist() == [EMBEDDINGS[word].get(name, 0) for name in FEATURES]
    assert trace.record("embedded").axes[0].labels == ("the", "cat", "chased", "the", "dog")
    assert len({tuple(row) for row in trace["embedding"].tolist()}) == len(VOCABULARY)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_one_hot_times_the_table_is_the_row(encoding):
    row, product = run(encoding), run(encoding, "onehot")
    assert torch.equal(row["embedded"], product["embedded"])
    assert torch.equal(row["prediction"], product["prediction"])
    torch.testing.assert_close(row["embedding.grad"], product["embedding.grad"], rtol=1e-6, atol=1e-7)
    assert product["onehot"].sum(-1).tolist() == [1] * 5
    found = engine.explain(product, "same", (1, 2)).expression
    assert (found.kind, found.value, [leaf.value for leaf in found.args]) == ("compare", 1, [2, 2])


def test_lookup_is_torch_s_embedding():
    layer = nn.Embedding(len(VOCABULARY), len(FEATURES))
    trace = run()
    layer.weight.data = trace["embedding"].clone()
    assert torch.equal(layer(trace["tokens"]), trace["embedded"])


def test_the_same_word_at_two_places_is_one_vector_until_its_place_is_put_in():
    for encoding in ENCODINGS:
        trace = run(encoding)
        assert torch.equal(trace["embedded"][0], trace["embedded"][3])
        assert torch.equal(trace["encoded"][0], trace["encoded"][3]) == (encoding == "none")
    assert run()["encoded"].tolist() == (run()["embedded"] + torch.tensor(POSITIONS)).tolist()


def test_sinusoids_are_the_paper_s():
    trace = run("sinusoidal")
    for place, pair in itertools.product(range(5), range(2)):
        angle = place / 10_000 ** (2 * pair / 4)
        assert trace["angle"][place, pair].item() == pytest.approx(angle, rel=1e-6)
        expected = [math.sin(angle), math.cos(angle)]
        assert trace["sinusoid"][place, 2 * pair : 2 * pair + 2].tolist() == pytest.approx(expected, abs=1e-6)


def test_rotary_turns_each_pair_and_keeps_its_length():
    trace = run("rotary")
    before, after = (trace[name].unflatten(-1, (2, 2)) for name in ("embedded", "encoded"))
    torch.testing.assert_close(before.norm(dim=-1), after.norm(dim=-1))
    turned = torch.view_as_complex(before.contiguous()) * torch.polar(torch.ones(5, 2), trace["angle"])
    torch.testing.assert_close(torch.view_as_real(turned), after, rtol=1e-6, atol=1e-6)
    assert torch.equal(trace["encoded"][0], trace["embedded"][0])  # place 0 is not turned


def test_turned_vectors_meet_by_distance_alone():
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 8, generator=generator, dtype=torch.float64)
    angle = torch.arange(12.0).double().unsqueeze(-1) * frequencies(8).double()
    queries, keys = (turn(one.expand(12, 8), angle.sin(), angle.cos()) for one in (query, key))
    products = queries @ keys.T
    for shift in range(-11, 12):
        along = products.diagonal(shift)
        torch.testing.assert_close(along, along[:1].expand_as(along))
    assert products[0, 0] != products[0, 1]


def test_readout_is_the_embedding_again():
    trace = run("none")
    torch.testing.assert_close(trace["prediction"], F.linear(trace["encoded"], trace["embedding"]))
    between_words = trace["embedding"] @ trace["embedding"].T
    assert torch.equal(trace["prediction"][1], between_words[2])
    assert torch.equal(between_words, between_words.T)
    assert trace.model["parameter_count"] == 8 * 4 + 5 * 4


def test_gradient_of_the_table_is_the_sum_of_its_two_uses():
    trace = run("none")
    table = trace["embedding"].clone().requires_grad_()
    once, again = table.clone(), table.clone()
    loss = F.cross_entropy(once[trace["tokens"]] @ again.T, trace["target"])
    looked_up, read_out = torch.autograd.grad(loss, (once, again))
    torch.testing.assert_close(looked_up + read_out, trace["embedding.grad"], rtol=1e-5, atol=1e-7)
    assert len(engine.explain(trace, "embedding", (2, 0), what="gradient").contributions) == 2
    unseen = VOCABULARY.index("tree")
    assert looked_up[unseen].abs().sum() == 0 and trace["embedding.grad"][unseen].abs().sum() > 0


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("lookup", ["row", "onehot"])
def test_gradients_agree_with_finite_differences(encoding, lookup):
    trace = run(encoding, lookup)
    for row in (0, 2, 4):
        assert engine.verify(trace, "embedding", (row, 1), what="gradient").ok
    if encoding == "learned":
        assert engine.verify(trace, "position", (3, 2), what="gradient").ok
    else:
        assert trace.record("position").gradient is None


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_rows_of_examples_give_what_each_gives_alone(encoding):
    sentences = [["the", "cat", "chased", "the", "dog"], ["a", "dog", "saw", "a", "tree"]]
    both = run(encoding, inputs={"tokens": sentences})
    for number, sentence in enumerate(sentences):
        alone = run(encoding, inputs={"tokens": sentence})
        torch.testing.assert_close(both["prediction"][number], alone["prediction"])


def test_an_update_moves_the_table_and_lowers_the_loss():
    trace = run(update={"learning_rate": 0.5})
    assert trace.result["after_update"]["loss"] < trace.result["loss"]
