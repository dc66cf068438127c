"""A whole transformer small enough to read: one pre-norm block with two heads, from four tokens to the next ones."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from engine.models import norm
from engine.models.attention import SYMBOLS, attend, causal_mask
from engine.models.fields import InputField
from engine.models.model import Model, Option
from engine.tap import tap

WORDS = ("the", "cat", "dog", "sat", "ran", "on", "mat", ".")
SENTENCE = ("the", "cat", "sat", "on")
NEXT = ("cat", "sat", "on", "the")
FEATURES, HEADS, D_HEAD, NEURONS = 8, 2, 4, 16
SEED = 7


class OneBlock(nn.Module):
    """X = E + P; X′ = X + heads(norm(X)); X″ = X′ + W_down gelu(W_up norm(X′) + b) + c; logits = norm(X″) W_U.

    tokens: places in WORDS, [position] or [example, position]; the prediction has a token axis behind. The weights are
    those of a training that has not begun: drawn from a normal distribution by SEED, rounded to one decimal.
    """

    symbols: ClassVar = {
        "W_E": "W_E", "W_P": "W_P", "W_Q": "W_Q", "W_K": "W_K", "W_V": "W_V", "W_O": "W_O", "W_U": "W_U",
        "up.weight": "W_up", "up.bias": "b", "down.weight": "W_down", "down.bias": "c",
        "embedded": "E", "x": "X", "each": "N", "mix": "Z", "head_outputs": "O", "attention": "Δ",
        "after_attention": "X′", "preactivation": "H", "activation": "G", "mlp": "F", "after_mlp": "X″",
        "prediction": "logits", "loss": "L",
        **SYMBOLS, **norm.named("norm_1", "¹"), **norm.named("norm_2", "²"), **norm.named("norm_3", "³"),
    }  # fmt: skip
    axes: ClassVar = {
        "tokens": "position",
        "target": "position",
        "W_E": "token feature",
        "W_P": "position feature",
        "W_Q": "head feature d_head",
        "W_K": "head feature d_head",
        "W_V": "head feature d_head",
        "W_O": "head d_head feature",
        "W_U": "feature token",
        "up.weight": "neuron feature",
        "up.bias": "neuron",
        "down.weight": "feature neuron",
        "down.bias": "feature",
        "mask": "query key",
        **{f"norm_{place}.{part}": "feature" for place in (1, 2, 3) for part in ("gain", "bias")},
    }

    def __init__(self, activation: str = "gelu") -> None:
        super().__init__()
        self.activation = activation
        self.mask: Tensor
        self.register_buffer("mask", causal_mask(len(SENTENCE)))
        draw = torch.Generator().manual_seed(SEED)

        def drawn(*shape: int, scale: float) -> nn.Parameter:
            return nn.Parameter((torch.randn(shape, generator=draw) * scale).mul(10).round() / 10)

        self.W_E = drawn(len(WORDS), FEATURES, scale=1)
        self.W_P = drawn(len(SENTENCE), FEATURES, scale=0.5)
        self.norm_1 = norm.LayerNorm(FEATURES)
        self.W_Q, self.W_K, self.W_V = (drawn(HEADS, FEATURES, D_HEAD, scale=FEATURES**-0.5) for _ in range(3))
        self.W_O = drawn(HEADS, D_HEAD, FEATURES, scale=FEATURES**-0.5)
        self.norm_2 = norm.LayerNorm(FEATURES)
        self.up = nn.Linear(FEATURES, NEURONS)
        self.down = nn.Linear(NEURONS, FEATURES)
        self.up.weight = drawn(NEURONS, FEATURES, scale=FEATURES**-0.5)
        self.down.weight = drawn(FEATURES, NEURONS, scale=NEURONS**-0.5)
        nn.init.zeros_(self.up.bias)
        nn.init.zeros_(self.down.bias)
        self.norm_3 = norm.LayerNorm(FEATURES)
        self.W_U = drawn(FEATURES, len(WORDS), scale=FEATURES**-0.5)

    def forward(self, tokens: Tensor) -> Tensor:
        embedded = tap("embedded", F.embedding(tokens, self.W_E), "position feature")
        x = tap("x", embedded + self.W_P, "position feature")
        x = tap("after_attention", x + self.heads(self.norm_1(x)), "position feature")
        x = tap("after_mlp", x + self.mlp(self.norm_2(x)), "position feature")
        return tap("prediction", self.norm_3(x) @ self.W_U, "position token")

    def heads(self, x: Tensor) -> Tensor:
        """What the heads add, each by its own W_O: the same as one W_O over the heads side by side."""
        each = tap("each", torch.stack([x] * HEADS, -3), "head position feature")  # every head reads the same rows
        queries = tap("queries", each @ self.W_Q, "head query d_head")
        keys = tap("keys", each @ self.W_K, "head key d_head")
        values = tap("values", each @ self.W_V, "head key d_head")
        mix = attend(queries, keys, values, mask=self.mask, lead="head")
        outputs = tap("head_outputs", mix @ self.W_O, "head position feature")
        return tap("attention", outputs.sum(-3), "position feature")

    def mlp(self, x: Tensor) -> Tensor:
        z = tap("preactivation", self.up(x), "position neuron")
        a = tap("activation", F.gelu(z) if self.activation == "gelu" else F.relu(z), "position neuron")
        return tap("mlp", self.down(a), "position feature")


def loss(prediction: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy of the next words, averaged over the positions (and examples)."""
    return tap("loss", F.cross_entropy(prediction.flatten(0, -2), target.flatten()))


MODEL = Model(
    name="one_block_one_step",
    title="One block, one step",
    summary="A whole transformer: four tokens, one pre-norm block, two heads, 744 parameters.",
    build=OneBlock,
    loss=loss,
    inputs=(InputField("tokens", size=4, default=SENTENCE, words=WORDS),),
    target=InputField("target", size=4, default=NEXT, words=WORDS),
    options=(Option("activation", "MLP activation", {"gelu": "GELU", "relu": "ReLU"}, default="gelu"),),
    labels={"position": "tokens", "query": "tokens", "key": "tokens", "token": WORDS},
)
