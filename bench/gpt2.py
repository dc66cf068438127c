"""A decoder of GPT-2's shape with random weights, to time: what it computes has no meaning."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Block(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x)). x: [batch, seq, d_model]."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.attention_norm = nn.LayerNorm(d_model)
        self.query_key_value = nn.Linear(d_model, 3 * d_model)
        self.projection = nn.Linear(d_model, d_model)
        self.mlp_norm = nn.LayerNorm(d_model)
        self.up = nn.Linear(d_model, 4 * d_model)
        self.down = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        batch, seq, d_model = x.shape
        projected = self.query_key_value(self.attention_norm(x))
        query, key, value = (
            part.view(batch, seq, self.n_heads, -1).transpose(1, 2) for part in projected.chunk(3, dim=-1)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.projection(mixed.transpose(1, 2).reshape(batch, seq, d_model))
        return x + self.down(F.gelu(self.up(self.mlp_norm(x)), approximate="tanh"))


class Decoder(nn.Module):
    """Token ids [batch, seq] to logits [batch, seq, vocabulary]; input and output embeddings are tied."""

    def __init__(self, *, d_model: int, n_layers: int, n_heads: int, vocabulary: int, context: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.tokens = nn.Embedding(vocabulary, d_model)
        self.positions = nn.Embedding(context, d_model)
        self.blocks = nn.Sequential(*(Block(d_model, n_heads) for _ in range(n_layers)))
        self.norm = nn.LayerNorm(d_model)
        nn.init.normal_(self.tokens.weight, std=0.02)
        nn.init.normal_(self.positions.weight, std=0.02)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        return F.linear(self.norm(self.blocks(x)), self.tokens.weight)


def gpt2_small() -> Decoder:
    """124M parameters: 12 layers, 12 heads, d_model 768, 50,257 tokens."""
    return Decoder(d_model=768, n_layers=12, n_heads=12, vocabulary=50257, context=1024)


def toy() -> Decoder:
    """d_model 64, 2 layers, 4 heads, 256 tokens."""
    return Decoder(d_model=64, n_layers=2, n_heads=4, vocabulary=256, context=64)


def next_token_loss(logits: Tensor, ids: Tensor) -> Tensor:
    """Mean cross-entropy of each position's logits against the token that follows it."""
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
