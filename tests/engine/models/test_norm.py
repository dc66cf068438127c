"""The norms against PyTorch's own, forward and backward."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import engine
from engine.models.norm import EPSILON, LayerNorm, RMSNorm

PAIRS = [(LayerNorm, nn.LayerNorm), (RMSNorm, nn.RMSNorm)]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_norm_equals_pytorch_s(ours, theirs):
    torch.manual_seed(0)
    mine, other = ours(6), theirs(6, eps=EPSILON)
    with torch.no_grad():
        mine.gain.copy_(torch.randn(6))
        other.weight.copy_(mine.gain)
        if hasattr(mine, "bias"):
            mine.bias.copy_(torch.randn(6))
            other.bias.copy_(mine.bias)
    x = torch.randn(3, 5, 6) * 4 + 2
    torch.testing.assert_close(mine(x), other(x), rtol=1e-6, atol=1e-6)
    here, there = x.clone().requires_grad_(), x.clone().requires_grad_()
    direction = torch.randn(3, 5, 6)
    (mine(here) * direction).sum().backward()
    (other(there) * direction).sum().backward()
    torch.testing.assert_close(here.grad, there.grad, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(mine.gain.grad, other.weight.grad, rtol=1e-5, atol=1e-5)


def test_a_constant_row_is_divided_by_the_root_of_epsilon_and_not_by_zero():
    assert LayerNorm(3)(torch.full((1, 3), 7.0)).tolist() == [[0, 0, 0]]
    assert RMSNorm(3)(torch.zeros(1, 3)).tolist() == [[0, 0, 0]]


def test_each_part_is_a_named_step():
    trace = engine.trace(LayerNorm(2), torch.tensor([[3.0, 5.0]]))
    names = ["mean", "centred", "squares", "mean_square", "floored", "deviation", "normalised", "scaled", "output"]
    assert [step.name for step in trace.steps if step.phase == "forward"] == names
    assert trace["normalised"].tolist() == [[pytest.approx(-1, abs=1e-5), pytest.approx(1, abs=1e-5)]]
