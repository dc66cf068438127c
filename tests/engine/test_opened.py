"""Fused operations opened into their parts equal the fused ones, gradients too; in exact mode they stay whole."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import engine


class Attention(nn.Module):
    def __init__(self, **options) -> None:
        super().__init__()
        self.options = options

    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value, **self.options)


def attend(trace_mode: str, inputs, **options):
    outputs = []
    trace = engine.trace(
        Attention(**options), inputs, mode=trace_mode, loss=lambda out, _: outputs.append(out) or (out * out).sum()
    )
    return outputs[0].detach(), trace


BOOL_MASK = torch.tensor([[True, False, True], [True, True, True], [False, True, True]])


@pytest.mark.parametrize(
    ("heads", "options"),
    [
        ((2, 2), {}),
        ((2, 2), {"is_causal": True}),
        ((2, 2), {"scale": 0.3}),
        ((2, 2), {"attn_mask": BOOL_MASK}),
        ((2, 2), {"attn_mask": torch.where(BOOL_MASK, 0.5, -1.5)}),
        ((4, 2), {"enable_gqa": True}),
    ],
    ids=["plain", "causal", "scale", "bool mask", "float mask", "grouped"],
)
def test_opened_attention_equals_the_fused_one(heads, options):
    query, key, value = torch.randn(1, heads[0], 3, 4), torch.randn(1, heads[1], 3, 4), torch.randn(1, heads[1], 3, 4)
    opened, trace = attend("explain", (query, key, value), **options)
    whole, exact = attend("exact", (query, key, value), **options)
    assert torch.equal(whole, F.scaled_dot_product_attention(query, key, value, **options))
    torch.testing.assert_close(opened, whole, rtol=1e-5, atol=1e-6)
    for name in ("query.grad", "key.grad", "value.grad"):
        torch.testing.assert_close(trace[name], exact[name], rtol=1e-4, atol=1e-5)
    assert {"softmax", "matmul"} <= {step.op for step in trace.steps}
    assert "scaled_dot_product_attention" in {step.op for step in exact.steps}
    assert trace.result["check"]["max_residual"] < 1e-5


@pytest.mark.parametrize("norm", [nn.LayerNorm(6), nn.RMSNorm(6), nn.LayerNorm(6, elementwise_affine=False)], ids=str)
def test_opened_norm_equals_the_fused_one(norm):
    x = torch.randn(3, 6) * 4 + 1
    outputs = []
    trace = engine.trace(norm, x, loss=lambda out, _: outputs.append(out) or (out * torch.arange(6.0)).sum())
    torch.testing.assert_close(outputs[0], norm(x), rtol=1e-5, atol=1e-5)
    assert "rsqrt" in {step.op for step in trace.steps}
    exact = engine.trace(norm, x, loss=lambda out, _: (out * torch.arange(6.0)).sum(), mode="exact")
    given = next(iter(trace.tensors))  # inputs come first
    torch.testing.assert_close(trace[f"{given}.grad"], exact[f"{given}.grad"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_opened_multi_head_attention_equals_the_fused_one(batch_first, masked):
    attention = nn.MultiheadAttention(8, 2, batch_first=batch_first).eval()
    x = torch.randn(3, 5, 8)
    time = 5 if batch_first else 3
    mask = torch.triu(torch.full((time, time), -torch.inf), 1) if masked else None

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = attention

        def forward(self, x):
            return self.attention(x, x, x, attn_mask=mask)[0]

    outputs = []
    trace = engine.trace(Layer(), x, loss=lambda out, _: outputs.append(out) or out.sum())
    torch.testing.assert_close(outputs[0], attention(x, x, x, attn_mask=mask)[0], rtol=1e-5, atol=1e-6)
    pattern = trace["attention.pattern"]
    torch.testing.assert_close(pattern.sum(-1), torch.ones(pattern.shape[:-1]))
    assert trace.result["check"]["max_residual"] < 1e-5


def test_encoder_layer_is_opened_and_equals_its_own_output():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    x = torch.randn(2, 4, 8)
    outputs = []
    trace = engine.trace(layer, x, loss=lambda out, _: outputs.append(out) or out.sum())
    torch.testing.assert_close(outputs[0], layer(x), rtol=1e-5, atol=1e-5)
    assert "self_attn.pattern" in trace.tensors


def test_lstm_is_one_opaque_step_and_says_so():
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(3, 4)

        def forward(self, x):
            return self.lstm(x)[0].sum()

    trace = engine.trace(Last(), torch.randn(5, 3))
    step = next(step for step in trace.steps if step.op == "lstm")
    assert step.note == "linearised"
    assert trace.result["check"]["max_residual"] < 1e-5
