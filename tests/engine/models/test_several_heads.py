"""Each head does its own job; their deltas add up; PyTorch's multi-head attention gives the same."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

import engine
from engine.models import catalogue
from engine.models.several_heads import FEATURES, PHRASE

MODEL = catalogue()["several_heads"]
BEFORE, ADJECTIVES = 0, 1


def run(heads: str = "both", **more) -> engine.Trace:
    return MODEL.trace({"options": {"heads": heads}, **more})


def by_position(trace: engine.Trace) -> list[float]:
    return F.cross_entropy(trace["prediction"], trace["target"], reduction="none").tolist()


def test_the_first_head_looks_at_the_word_before():
    pattern = run()["pattern"][BEFORE]
    assert all(pattern[place, place - 1] > 0.98 for place in (1, 2, 3))
    assert pattern[3].tolist() == pytest.approx([0.01 / 102.01, 1 / 102.01, 100 / 102.01, 1 / 102.01], rel=1e-4)
    assert pattern[2].tolist() == pytest.approx([1 / 102, 100 / 102, 1 / 102, 0], rel=1e-4)


def test_the_second_head_lets_a_noun_collect_its_adjectives():
    noun = run()["pattern"][ADJECTIVES, 3]
    assert noun.tolist() == pytest.approx([1 / 20, 9 / 20, 9 / 20, 1 / 20], rel=1e-5)


def test_each_query_sums_to_one_in_each_head():
    assert torch.allclose(run()["pattern"].sum(-1), torch.ones(2, 4))


def test_a_head_writes_only_where_its_value_up_lets_it():
    deltas = run()["deltas"]
    written = [{FEATURES[place] for place in head.abs().amax(0).nonzero().flatten()} for head in deltas]
    assert written == [{"after noun", "after adjective"}, {"soft", "blue"}]


def test_deltas_add_up_to_the_update():
    trace = run()
    assert torch.allclose(trace["deltas"].sum(0), trace["update"])
    assert torch.allclose(trace["x"] + trace["update"], trace["updated"])
    alone = [run(name)["update"] for name in ("before", "adjectives")]
    assert torch.allclose(alone[0] + alone[1], trace["update"])


def test_the_pair_is_one_square_matrix_of_rank_two():
    trace = run()
    squares = trace["W_down"] @ trace["W_up"]
    assert squares.shape == (2, 8, 8)
    assert torch.linalg.matrix_rank(squares).tolist() == [2, 2]
    whole = trace["pattern"] @ (trace["x"] @ squares)
    assert torch.allclose(whole, trace["deltas"], atol=1e-6)


def test_without_the_first_head_blue_does_not_know_that_a_noun_is_due():
    blue = PHRASE.index("blue")
    assert by_position(run("adjectives"))[blue] > by_position(run())[blue] + 1


def test_without_the_second_head_creature_expects_the_end_less():
    creature = PHRASE.index("creature")
    assert by_position(run("before"))[creature] > by_position(run())[creature] + 0.1


def test_it_equals_heads_side_by_side_times_one_output_matrix():
    trace = run()
    heads = F.scaled_dot_product_attention(trace["queries"], trace["keys"], trace["values"], is_causal=True)
    joined = heads.transpose(0, 1).flatten(1)
    assert torch.allclose(joined @ trace["W_up"].flatten(0, 1), trace["update"], atol=1e-6)


def test_it_equals_pytorch_s_multi_head_attention_where_d_head_is_d_model_over_heads():
    """The same weights beside two more heads that write nothing: PyTorch wants 4 heads of 2 for d_model 8."""
    trace = run()
    theirs = torch.nn.MultiheadAttention(8, 4, bias=False)
    rows = [torch.cat([trace[name].mT.flatten(0, 1), torch.zeros(4, 8)]) for name in ("W_Q", "W_K", "W_down")]
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat(rows))
        theirs.out_proj.weight.copy_(torch.cat([trace["W_up"].flatten(0, 1), torch.zeros(4, 8)]).T)
        x = trace["x"]
        mask = torch.ones(4, 4, dtype=torch.bool).triu(1)
        update, pattern = theirs(x, x, x, attn_mask=mask, average_attn_weights=False)
    assert torch.allclose(update, trace["update"], atol=1e-6)
    assert torch.allclose(pattern[:2], trace["pattern"], atol=1e-6)


def test_rows_of_examples_give_what_each_gives_alone():
    other = ["a", "sleepy", "fluffy", "moss"]
    both = run(inputs={"tokens": [list(PHRASE), other]})
    alone = run(inputs={"tokens": other})
    assert both["deltas"].shape == (2, 2, 4, 8)
    assert torch.allclose(both["deltas"][1], alone["deltas"], atol=1e-6)


@pytest.mark.parametrize(
    ("tensor", "index"),
    [("W_Q", (0, 7, 0)), ("W_K", (1, 1, 0)), ("W_down", (0, 1, 1)), ("W_up", (1, 0, 2)), ("W_E", (1, 2))],
)
def test_gradients_agree_with_finite_differences(tensor, index):
    assert engine.verify(run(), tensor, index, what="gradient").ok
