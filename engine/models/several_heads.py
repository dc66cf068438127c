"""Two heads over four words: one looks at the word before, one lets nouns collect what adjectives say of them."""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from engine.models.attention import SYMBOLS, attend, causal_mask
from engine.models.fields import InputField
from engine.models.hand_built import next_word_loss, table
from engine.models.model import Model, Option
from engine.tap import tap

WORDS = ("a", "fluffy", "blue", "creature", "sleepy", "moss", ".")
PHRASE = WORDS[:4]
FEATURES = ("noun", "adjective", "soft", "blue", "after noun", "after adjective", "east", "north")
HEADS = ("before", "adjectives")
CHOICES = {"both": "both", "before": "only the word before", "adjectives": "only adjectives"}
INNER = ("first", "second")
D_HEAD = len(INNER)

EMBEDDINGS: dict[str, dict[str, float]] = {
    "fluffy": {"adjective": 1, "soft": 1},
    "blue": {"adjective": 1, "blue": 1},
    "creature": {"noun": 1},
    "sleepy": {"adjective": 1},
    "moss": {"noun": 1, "soft": 1},
}

# Four places on a circle, a quarter turn apart.
PLACES = ((1, 0), (0, 1), (-1, 0), (0, -1))

# Head 1: W_Q turns a place back by a quarter, so that the query is 1 with the place before, 0 with its own and the one
# opposite it, -1 with the one after. Times ln 100: the word before weighs 100 times as much as the word itself.
# Head 2: a noun's query; an adjective weighs 9 times as much as anything else.
BEFORE, ADJECTIVE = math.log(100), math.log(9)
QUERIES: tuple[dict[str, dict[str, float]], ...] = (
    {"north": {"first": BEFORE}, "east": {"second": -BEFORE}},
    {"noun": {"first": ADJECTIVE}},
)
KEYS: tuple[dict[str, dict[str, float]], ...] = (
    {"east": {"first": 1}, "north": {"second": 1}},
    {"adjective": {"first": 1}},
)

# What a head reads of a word (value down), and where it writes that (value up).
DOWN: tuple[dict[str, dict[str, float]], ...] = (
    {"noun": {"first": 1}, "adjective": {"second": 1}},
    {"soft": {"first": 1}, "blue": {"second": 1}},
)
UP: tuple[dict[str, dict[str, float]], ...] = (
    {"first": {"after noun": 1}, "second": {"after adjective": 1}},
    {"first": {"soft": 1}, "second": {"blue": 1}},
)

# The unembedding: the first place calls for an adjective; after one adjective another may follow, after two the noun
# comes; a noun that has been described ends the phrase.
NEXT: dict[str, dict[str, float]] = {
    "fluffy": {"east": 3},
    "sleepy": {"east": 2},
    "blue": {"soft": 3, "after adjective": -3, "noun": -3},
    "creature": {"adjective": 1, "after adjective": 3, "noun": -5},
    ".": {"noun": 2, "soft": 1, "blue": 1, "adjective": -3},
}


class SeveralHeads(nn.Module):
    """X' = X + the sum over heads of softmax(Q Kᵀ / sqrt(d_head)) (X W_down) W_up, each head with its own matrices.

    tokens: places in WORDS, [position] or [example, position]; the prediction has a token axis behind.
    W_down and W_up are the value's low-rank pair; in the usual notation W_down is W_V, and W_up the head's rows of W_O.
    Source: Vaswani et al. 2017, section 3.2.2, written as a sum over heads (Elhage et al. 2021).
    """

    symbols: ClassVar = {
        "embedded": "E", "x": "X", "read": "X", "mix": "H", "deltas": "D",
        "update": "Δ", "updated": "X′", "prediction": "logits", "loss": "L", **SYMBOLS,
    }  # fmt: skip
    axes: ClassVar = {
        "tokens": "position",
        "target": "position",
        "W_E": "token feature",
        "W_P": "position feature",
        "W_Q": "head feature d_head",
        "W_K": "head feature d_head",
        "W_down": "head feature d_head",
        "W_up": "head d_head feature",
        "W_U": "feature token",
        "mask": "query key",
    }
    mask: Tensor

    def __init__(self, heads: str = "both") -> None:
        super().__init__()
        self.only = None if heads == "both" else HEADS.index(heads)
        self.register_buffer("mask", causal_mask(len(PHRASE)))
        places = torch.zeros(len(PHRASE), len(FEATURES))
        places[:, -2:] = torch.tensor(PLACES)
        self.W_E = nn.Parameter(table(WORDS, FEATURES, EMBEDDINGS))
        self.W_P = nn.Parameter(places)
        self.W_Q = nn.Parameter(torch.stack([table(FEATURES, INNER, one) for one in QUERIES]) * math.sqrt(D_HEAD))
        self.W_K = nn.Parameter(torch.stack([table(FEATURES, INNER, one) for one in KEYS]))
        self.W_down = nn.Parameter(torch.stack([table(FEATURES, INNER, one) for one in DOWN]))
        self.W_up = nn.Parameter(torch.stack([table(INNER, FEATURES, one) for one in UP]))
        self.W_U = nn.Parameter(table(WORDS, FEATURES, NEXT).T.contiguous())

    def forward(self, tokens: Tensor) -> Tensor:
        embedded = tap("embedded", F.embedding(tokens, self.W_E), "position feature")
        x = tap("x", embedded + self.W_P, "position feature")
        read = tap("read", x.unsqueeze(-3), "copy position feature")  # every head reads the same
        queries = tap("queries", read @ self.W_Q, "head query d_head")
        keys = tap("keys", read @ self.W_K, "head key d_head")
        values = tap("values", read @ self.W_down, "head key d_head")
        mix = attend(queries, keys, values, mask=self.mask, lead="head")
        deltas = tap("deltas", mix @ self.W_up, "head position feature")
        update = deltas.sum(-3) if self.only is None else deltas.select(-3, self.only)
        update = tap("update", update, "position feature")
        updated = tap("updated", x + update, "position feature")
        return tap("prediction", updated @ self.W_U, "position token")


MODEL = Model(
    name="several_heads",
    title="Several heads",
    summary="Two heads with different jobs, each with a value of low rank; what each adds, and their sum.",
    build=SeveralHeads,
    loss=next_word_loss,
    inputs=(InputField("tokens", size=4, default=PHRASE, words=WORDS),),
    target=InputField("target", size=4, default=(*PHRASE[1:], "."), words=WORDS),
    options=(Option("heads", "Heads", CHOICES, default="both"),),
    labels={
        "position": "tokens", "query": "tokens", "key": "tokens", "token": WORDS, "feature": FEATURES, "head": HEADS,
    },
)  # fmt: skip
