"""The block against PyTorch's transformer layer, its gradients against finite differences, its step against AdamW."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import engine
from engine.models.one_block_one_step import D_HEAD, FEATURES, HEADS, MODEL, NEURONS, WORDS, OneBlock, loss

ADAMW = {"rule": "adamw", "learning_rate": 0.01}
TOKENS, TARGET = torch.tensor([0, 1, 3, 5]), torch.tensor([1, 3, 5, 0])


def theirs(ours: OneBlock) -> nn.TransformerEncoderLayer:
    """PyTorch's pre-norm layer with our weights: heads side by side, biases of the attention 0."""
    layer = nn.TransformerEncoderLayer(
        FEATURES, HEADS, NEURONS, dropout=0, activation="gelu", batch_first=True, norm_first=True
    )
    with torch.no_grad():
        projections = [weight.transpose(1, 2).reshape(FEATURES, FEATURES) for weight in (ours.W_Q, ours.W_K, ours.W_V)]
        layer.self_attn.in_proj_weight.copy_(torch.cat(projections))
        layer.self_attn.out_proj.weight.copy_(ours.W_O.reshape(HEADS * D_HEAD, FEATURES).T)
        layer.self_attn.in_proj_bias.zero_()
        layer.self_attn.out_proj.bias.zero_()
        for mine, other in ((ours.up, layer.linear1), (ours.down, layer.linear2)):
            other.weight.copy_(mine.weight)
            other.bias.copy_(mine.bias)
    return layer


def test_the_block_equals_pytorch_s_transformer_layer():
    trace = MODEL.trace({})
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    expected = theirs(MODEL.module())(trace["x"][None], src_mask=mask)[0]
    torch.testing.assert_close(trace["after_mlp"], expected.detach(), rtol=1e-6, atol=1e-6)


def test_the_heads_equal_pytorch_s_attention():
    trace = MODEL.trace({})
    expected = F.scaled_dot_product_attention(trace["queries"], trace["keys"], trace["values"], is_causal=True)
    torch.testing.assert_close(trace["mix"], expected, rtol=1e-6, atol=1e-6)


def test_the_loss_is_the_mean_surprise_at_the_next_words():
    trace = MODEL.trace({})
    chances = trace["prediction"].softmax(-1)[range(4), TARGET]
    assert trace.result["loss"] == pytest.approx(-chances.log().mean().item(), rel=1e-6)
    assert trace.result["loss"] > math.log(len(WORDS))


def test_rows_are_examples_and_each_equals_its_own_run():
    rows = [["the", "cat", "sat", "on"], ["the", "dog", "ran", "."]]
    both = MODEL.trace({"inputs": {"tokens": rows}, "target": [["cat", "sat", "on", "the"]] * 2})
    for place, row in enumerate(rows):
        alone = MODEL.trace({"inputs": {"tokens": row}})
        torch.testing.assert_close(both["prediction"][place], alone["prediction"], rtol=1e-6, atol=1e-6)
    assert [axis.name for axis in both.record("pattern").axes] == ["example", "head", "query", "key"]


def test_there_are_744_parameters_and_each_has_a_gradient():
    trace = MODEL.trace({"update": ADAMW})
    assert trace.model["parameter_count"] == 744
    assert trace.result["after_update"]["updatable"] == 744


@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_gradients_agree_with_finite_differences(activation):
    trace = MODEL.trace({"options": {"activation": activation}})
    cells = [
        ("W_E", (1, 2)), ("W_P", (3, 0)), ("W_Q", (0, 1, 2)), ("W_K", (1, 7, 3)), ("W_V", (0, 4, 1)),
        ("W_O", (1, 2, 5)), ("norm_1.gain", (3,)), ("norm_2.bias", (6,)), ("up.weight", (9, 4)),
        ("down.weight", (2, 11)), ("W_U", (5, 3)), ("scores", (1, 3, 0)), ("after_attention", (2, 2)),
    ]  # fmt: skip
    for name, index in cells:
        assert engine.verify(trace, name, index, what="gradient").ok, name


def test_the_step_is_adamw_s_to_the_bit():
    module = copy.deepcopy(MODEL.module())
    optimiser = torch.optim.AdamW(module.parameters(), lr=0.01)
    loss(module(TOKENS), TARGET).backward()
    optimiser.step()
    trace = MODEL.trace({"update": ADAMW})
    for name, parameter in module.named_parameters():
        assert torch.equal(trace[f"{name}.grad"], parameter.grad), name
        assert torch.equal(trace[f"{name}.updated"], parameter), name
    assert trace.result["after_update"]["loss"] == pytest.approx(loss(module(TOKENS), TARGET).item(), rel=1e-6)
    assert trace.result["after_update"]["loss"] < trace.result["loss"]


def test_a_word_that_was_not_read_only_decays():
    trace = MODEL.trace({"update": ADAMW})
    dog = WORDS.index("dog")
    assert trace["W_E.grad"][dog].tolist() == [0] * FEATURES
    torch.testing.assert_close(trace["W_E.updated"][dog], trace["W_E"][dog] * (1 - 0.01 * 0.01), rtol=1e-6, atol=0)


def test_no_word_sees_a_later_one():
    changed = MODEL.trace({"inputs": {"tokens": ["the", "cat", "sat", "mat"]}})
    assert torch.equal(changed["prediction"][:3], MODEL.trace({})["prediction"][:3])
