"""Cross-attention in a toy translation: the English words so far ask, the French words answer."""

from __future__ import annotations

import math
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional as F

from engine.models.attention import SYMBOLS, attend
from engine.models.fields import InputField
from engine.models.hand_built import next_word_loss, same, table
from engine.models.model import Model
from engine.tap import tap

FRENCH = ("la", "créature", "forêt", "bleue", "verte", ".")
ENGLISH = ("start", "the", "blue", "green", "creature", "forest", ".")
SOURCE = ("la", "créature", "bleue", ".")
SO_FAR = ("start", "the", "blue")
NEXT_WORDS = ("the", "blue", "creature")
KINDS = ("article", "noun", "adjective", "edge")
MEANINGS = ("the", "thing", "colour", "end")
FEATURES = (*KINDS, *MEANINGS)

# French words: their kind, which is what they are found by, and their meaning, which is what they hand over. `edge` is
# the kind of what stands at either end of a sentence. A creature is a thing of +1 and a forest one of -1; blue is a
# colour of +1 and green one of -1.
SOURCE_EMBEDDINGS: dict[str, dict[str, float]] = {
    "la": {"article": 1, "the": 1},
    "créature": {"noun": 1, "thing": 1},
    "forêt": {"noun": 1, "thing": -1},
    "bleue": {"adjective": 1, "colour": 1},
    "verte": {"adjective": 1, "colour": -1},
    ".": {"edge": 1, "end": 1},
}
# English words: only their kind, since the next word follows from what is still to be said.
TARGET_EMBEDDINGS: dict[str, dict[str, float]] = {
    "start": {"edge": 1},
    "the": {"article": 1},
    "blue": {"adjective": 1},
    "green": {"adjective": 1},
    "creature": {"noun": 1},
    "forest": {"noun": 1},
    ".": {"edge": 1},
}

# English puts the adjective before its noun: start asks for the article, the article for the adjective, the adjective
# for the noun, the noun for the end. What is asked for weighs 27 times as much as anything else.
ASKED_FOR = math.log(27)
QUESTIONS: dict[str, dict[str, float]] = {
    "edge": {"article": ASKED_FOR},
    "article": {"adjective": ASKED_FOR},
    "adjective": {"noun": ASKED_FOR},
    "noun": {"edge": ASKED_FOR},
}

# The unembedding reads the meanings alone, not the word that stands there already.
SAY: dict[str, dict[str, float]] = {
    "the": {"the": 5},
    "blue": {"colour": 5},
    "green": {"colour": -5},
    "creature": {"thing": 5},
    "forest": {"thing": -5},
    ".": {"end": 5},
}


class CrossAttention(nn.Module):
    """Y' = Y + softmax(Q Kᵀ / sqrt(d_head)) V with Q = Y W_Q, but K = X W_K and V = X W_V; logits = Y' W_U.

    X are the source's vectors, Y the target's so far. source: places in FRENCH, tokens: places in ENGLISH, each
    [position] or [example, position] and of lengths of their own; the prediction has a token axis behind the target's
    positions. No causal mask: the source is there as a whole. The decoder's self-attention is left out.
    Source: Vaswani et al. 2017, section 3.2.3.
    """

    symbols: ClassVar = {
        "x": "X", "y": "Y", "mix": "Δ", "updated": "Y′", "prediction": "logits", "loss": "L", **SYMBOLS,
    }  # fmt: skip
    axes: ClassVar = {
        "source": "key",
        "tokens": "query",
        "target": "query",
        "W_S": "word feature",
        "W_T": "token feature",
        "W_Q": "feature d_head",
        "W_K": "feature d_head",
        "W_V": "feature feature",
        "W_U": "feature token",
    }

    def __init__(self) -> None:
        super().__init__()
        self.W_S = nn.Parameter(table(FRENCH, FEATURES, SOURCE_EMBEDDINGS))
        self.W_T = nn.Parameter(table(ENGLISH, FEATURES, TARGET_EMBEDDINGS))
        self.W_Q = nn.Parameter(table(FEATURES, KINDS, QUESTIONS) * math.sqrt(len(KINDS)))
        self.W_K = nn.Parameter(table(FEATURES, KINDS, same(KINDS)))
        self.W_V = nn.Parameter(table(FEATURES, FEATURES, same(MEANINGS)))
        self.W_U = nn.Parameter(table(ENGLISH, FEATURES, SAY).T.contiguous())

    def forward(self, source: Tensor, tokens: Tensor) -> Tensor:
        x = tap("x", F.embedding(source, self.W_S), "key feature")
        y = tap("y", F.embedding(tokens, self.W_T), "query feature")
        queries = tap("queries", y @ self.W_Q, "query d_head")
        keys = tap("keys", x @ self.W_K, "key d_head")
        values = tap("values", x @ self.W_V, "key feature")
        mix = attend(queries, keys, values, value_axis="feature")
        updated = tap("updated", y + mix, "query feature")
        return tap("prediction", updated @ self.W_U, "query token")


MODEL = Model(
    name="cross_attention",
    title="Cross-attention",
    summary="A toy translation: queries from the English so far, keys and values from the French.",
    build=CrossAttention,
    loss=next_word_loss,
    inputs=(
        InputField("source", size=4, default=SOURCE, words=FRENCH),
        InputField("tokens", size=3, default=SO_FAR, words=ENGLISH),
    ),
    target=InputField("target", size=3, default=NEXT_WORDS, words=ENGLISH),
    labels={
        "query": "tokens", "key": "source", "token": ENGLISH, "word": FRENCH, "feature": FEATURES, "d_head": KINDS,
    },
)  # fmt: skip
