"""Attention by plain functions is PyTorch's own, and each query's weights sum to 1 over the keys it may see."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

import engine
from engine.models.attention import attend, causal_mask


def drawn(*shape: int) -> list[torch.Tensor]:
    return [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for _ in range(3)]


def test_a_hand_worked_mix():
    queries = torch.tensor([[2.0, 0.0]])
    keys = torch.tensor([[0.0, 1.0], [torch.tensor(3.0).log() / 2**0.5, 5.0]])
    values = torch.tensor([[1.0, 0.0], [0.0, 4.0]])
    # scores 0 and 2 ln 3 / sqrt(2), over sqrt(2): 0 and ln 3, so the weights are 1/4 and 3/4
    assert torch.allclose(attend(queries, keys, values), torch.tensor([[0.25, 3.0]]))
    unscaled = attend(queries, keys, values, scale=False)
    assert unscaled[0, 1].item() == pytest.approx(4 * 3**2**0.5 / (1 + 3**2**0.5), rel=1e-6)


@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 3), (5, 2, 4, 3)])
@pytest.mark.parametrize("causal", [True, False])
def test_it_equals_pytorch_s_own_with_its_gradients(shape, causal):
    parts = drawn(*shape)
    ours = attend(*parts, mask=causal_mask(4) if causal else None)
    theirs = F.scaled_dot_product_attention(*parts, is_causal=causal)
    assert torch.allclose(ours, theirs, atol=1e-12)
    weights = torch.randn_like(ours)
    for one, other in zip(
        torch.autograd.grad((ours * weights).sum(), parts), torch.autograd.grad((theirs * weights).sum(), parts),
        strict=True,
    ):  # fmt: skip
        assert torch.allclose(one, other, atol=1e-12)


def test_queries_and_keys_may_differ_in_number():
    queries, keys, values = torch.randn(2, 3), torch.randn(5, 3), torch.randn(5, 4)
    expected = F.scaled_dot_product_attention(queries, keys, values)
    assert torch.allclose(attend(queries, keys, values), expected, atol=1e-6)


def test_keys_in_another_order_give_the_same_mix():
    queries, keys, values = torch.randn(2, 3), torch.randn(5, 3), torch.randn(5, 4)
    order = torch.randperm(5)
    assert torch.allclose(attend(queries, keys, values), attend(queries, keys[order], values[order]), atol=1e-6)


def test_the_mask_lets_a_query_see_itself_and_what_is_before():
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


class Heads(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return attend(x, x, x, mask=causal_mask(4), lead="head").sum()


def test_every_part_is_tapped_with_its_axes():
    trace = engine.trace(Heads(), torch.randn(2, 4, 3))
    axes = {
        name: [axis.name for axis in trace.record(name).axes]
        for name in ("keys_transposed", "scores", "scaled_scores", "masked_scores", "pattern", "mix")
    }
    grid = ["head", "query", "key"]
    assert axes["keys_transposed"] == ["head", "d_head", "key"]
    assert axes["scores"] == axes["scaled_scores"] == axes["masked_scores"] == axes["pattern"] == grid
    assert axes["mix"] == ["head", "query", "d_head"]
    assert torch.allclose(trace["pattern"].sum(-1), torch.ones(2, 4))


def test_queries_and_keys_of_other_widths_are_refused():
    with pytest.raises(Exception, match=r"(?s)keys.*d_head"):
        attend(torch.randn(2, 3), torch.randn(5, 4), torch.randn(5, 4))
