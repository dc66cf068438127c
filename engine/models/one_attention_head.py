"""One attention head over eight words, its weights set by hand so that its scores are logarithms of ratios."""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from engine.models.attention import SYMBOLS, attend, causal_mask
from engine.models.fields import InputField
from engine.models.hand_built import next_word_loss, same, table
from engine.models.model import Model, Option
from engine.tap import tap

WORDS = ("a", "fluffy", "blue", "creature", "roamed", "the", "verdant", "forest", ".")
SENTENCE = WORDS[:8]
FEATURES = ("noun", "adjective", "verb", "article", "soft", "blue", "green", "place")
ASKED = ("adjective", "soft", "noun", "place")
D_HEAD = len(ASKED)

EMBEDDINGS: dict[str, dict[str, float]] = {
    "a": {"article": 1},
    "fluffy": {"adjective": 1, "soft": 1},
    "blue": {"adjective": 1, "blue": 1},
    "creature": {"noun": 1},
    "roamed": {"verb": 1},
    "the": {"article": 1},
    "verdant": {"adjective": 1, "green": 1},
    "forest": {"noun": 1},
    ".": {},
}

# What the words of a class ask for, as the score of a word that has it. Scores are logarithms, so softmax turns them
# back into ratios: a place later doubles a word's weight; a noun's question multiplies it by 1.5 for an adjective, by 4
# for a soft thing, and divides it by 8 for another noun. For `creature` a, fluffy, blue and creature then weigh
# 2^0, 2^1 * 1.5 * 4, 2^2 * 1.5 and 2^3 / 8, which is 1 : 12 : 6 : 1, and so 0.05, 0.6, 0.3 and 0.05.
LATER = {"place": math.log(2)}
QUESTIONS = {
    "noun": {"adjective": math.log(1.5), "soft": math.log(4), "noun": -math.log(8), **LATER},
    "adjective": LATER,
    "verb": LATER,
    "article": LATER,
}

# What a word hands over when it is attended to: what it says about softness and colour, unchanged.
PASSED_ON = ("soft", "blue", "green")

# The unembedding: how strongly a feature speaks for a next word.
NEXT: dict[str, dict[str, float]] = {
    "fluffy": {"article": 4, "soft": 2},
    "blue": {"soft": 4, "noun": -4},
    "creature": {"blue": 4, "noun": -4},
    "roamed": {"noun": 4, "soft": 2, "green": -4},
    "the": {"verb": 4},
    "verdant": {"article": 4, "green": 2},
    "forest": {"green": 4, "noun": -4},
    ".": {"noun": 2, "green": 4, "adjective": -4},
}


class OneAttentionHead(nn.Module):
    """X' = X + softmax(Q Kᵀ / sqrt(d_head)) V with Q = X W_Q, K = X W_K, V = X W_V; logits = X' W_U.

    tokens: places in WORDS, [position] or [example, position]; the prediction has a token axis behind.
    """

    symbols: ClassVar = {
        "embedded": "E", "x": "X", "mix": "Δ", "updated": "X′", "prediction": "logits", "loss": "L", **SYMBOLS,
    }  # fmt: skip
    axes: ClassVar = {
        "tokens": "position",
        "target": "position",
        "W_E": "token feature",
        "W_P": "position feature",
        "W_Q": "feature d_head",
        "W_K": "feature d_head",
        "W_V": "feature feature",
        "W_U": "feature token",
        "mask": "query key",
    }

    mask: Tensor | None

    def __init__(self, mask: str = "causal", scale: str = "on") -> None:
        super().__init__()
        self.scale = scale == "on"
        self.register_buffer("mask", causal_mask(len(SENTENCE)) if mask == "causal" else None)
        places = torch.zeros(len(SENTENCE), len(FEATURES))
        places[:, FEATURES.index("place")] = torch.arange(len(SENTENCE))
        self.W_E = nn.Parameter(table(WORDS, FEATURES, EMBEDDINGS))
        self.W_P = nn.Parameter(places)
        self.W_Q = nn.Parameter(table(FEATURES, ASKED, QUESTIONS) * math.sqrt(D_HEAD))
        self.W_K = nn.Parameter(table(FEATURES, ASKED, same(ASKED)))
        self.W_V = nn.Parameter(table(FEATURES, FEATURES, same(PASSED_ON)))
        self.W_U = nn.Parameter(table(WORDS, FEATURES, NEXT).T.contiguous())

    def forward(self, tokens: Tensor) -> Tensor:
        embedded = tap("embedded", F.embedding(tokens, self.W_E), "position feature")
        x = tap("x", embedded + self.W_P, "position feature")
        queries = tap("queries", x @ self.W_Q, "query d_head")
        keys = tap("keys", x @ self.W_K, "key d_head")
        values = tap("values", x @ self.W_V, "key feature")
        mix = attend(queries, keys, values, mask=self.mask, scale=self.scale, value_axis="feature")
        updated = tap("updated", x + mix, "position feature")
        return tap("prediction", updated @ self.W_U, "position token")


MODEL = Model(
    name="one_attention_head",
    title="One attention head",
    summary="Eight words, eight readable features, one head: what each word asks, offers and hands over.",
    build=OneAttentionHead,
    loss=next_word_loss,
    inputs=(InputField("tokens", size=8, default=SENTENCE, words=WORDS),),
    target=InputField("target", size=8, default=WORDS[1:], words=WORDS),
    options=(
        Option("mask", "Mask", {"causal": "no looking ahead", "none": "none"}, default="causal"),
        Option("scale", "Divide by √d_k", {"on": "yes", "off": "no"}, default="on"),
    ),
    labels={
        "position": "tokens", "query": "tokens", "key": "tokens", "token": WORDS, "feature": FEATURES, "d_head": ASKED,
    },
)  # fmt: skip
