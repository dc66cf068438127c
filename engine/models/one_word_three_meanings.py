"""One word that means three things: attention to the words around it turns its one vector into three."""

from __future__ import annotations

import math
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional as F

from engine.models.attention import SYMBOLS, attend, causal_mask
from engine.models.fields import InputField
from engine.models.hand_built import same, table
from engine.models.model import Model, Option
from engine.tap import tap

WORD = "mole"
WORDS = ("an", "American", "shrew", "mole", "one", "of", "CO2", "biopsy", "the", "gram", "garden", "doctor")
CONTEXTS = (
    ("an", "American", "shrew", "mole"),
    ("one", "mole", "of", "CO2"),
    ("biopsy", "of", "the", "mole"),
)
MEANINGS = ("animal", "amount", "skin")
FEATURES = (*MEANINGS, "mole", "country", "grammar")
ASKED = ("meaning", "mole")

EMBEDDINGS: dict[str, dict[str, float]] = {
    "an": {"grammar": 1},
    "American": {"country": 1},
    "shrew": {"animal": 1},
    "mole": {"mole": 1, "animal": 0.5, "amount": 0.5, "skin": 0.5},
    "one": {"amount": 0.5},
    "of": {"grammar": 1},
    "CO2": {"amount": 1},
    "biopsy": {"skin": 1},
    "the": {"grammar": 1},
    "gram": {"amount": 1},
    "garden": {"animal": 0.5},
    "doctor": {"skin": 0.5},
}

# `mole` asks for words that carry a meaning: one that carries 1 of it weighs 8 times as much as one that carries none.
# Its own key carries 0.5 of each, which its second question takes back, so that it does not listen to itself.
QUESTION = {"mole": {"meaning": math.log(8), "mole": -1.5 * math.log(8)}}
OFFERS: dict[str, dict[str, float]] = {**{meaning: {"meaning": 1} for meaning in MEANINGS}, "mole": {"mole": 1}}
GAIN = 2  # how loudly a word hands over its meaning, against the 0.5 that `mole` has of each
SHARPNESS = 5  # cosines lie in -1 to 1, too close together for a softmax


class OneWordThreeMeanings(nn.Module):
    """X' = X + softmax(Q Kᵀ / sqrt(d_head)) V, without positions; then the cosines of `mole` with three meanings.

    tokens: places in WORDS, [position] or [example, position]; where `mole` stands twice its vectors are added, where
    it is missing the cosines are 0. The prediction is [1, meaning], after the examples.
    """

    symbols: ClassVar = {
        "meanings": "D", "x": "X", "mix": "Δ", "updated": "X′", "matches": "b", "marks": "h", "here": "hᵀ",
        "mole": "u", "squares": "q", "sum_of_squares": "s", "squared_length": "ℓ²", "length": "ℓ", "along": "a",
        "prediction": "c", "logits": "z", "loss": "L", **SYMBOLS,
    }  # fmt: skip
    axes: ClassVar = {
        "tokens": "position",
        "target": "output",
        "W_E": "token feature",
        "W_Q": "feature d_head",
        "W_K": "feature d_head",
        "W_V": "feature feature",
        "meanings": "feature meaning",
        "mask": "query key",
    }
    mask: Tensor | None
    meanings: Tensor

    def __init__(self, mask: str = "none") -> None:
        super().__init__()
        self.register_buffer("mask", causal_mask(len(CONTEXTS[0])) if mask == "causal" else None)
        self.register_buffer("meanings", table(FEATURES, MEANINGS, same(MEANINGS)))  # of length 1 each
        self.W_E = nn.Parameter(table(WORDS, FEATURES, EMBEDDINGS))
        self.W_Q = nn.Parameter(table(FEATURES, ASKED, QUESTION) * math.sqrt(len(ASKED)))
        self.W_K = nn.Parameter(table(FEATURES, ASKED, OFFERS))
        self.W_V = nn.Parameter(table(FEATURES, FEATURES, same(MEANINGS)) * GAIN)

    def forward(self, tokens: Tensor) -> Tensor:
        x = tap("x", F.embedding(tokens, self.W_E), "position feature")
        queries = tap("queries", x @ self.W_Q, "query d_head")
        keys = tap("keys", x @ self.W_K, "key d_head")
        values = tap("values", x @ self.W_V, "key feature")
        mix = attend(queries, keys, values, mask=self.mask, value_axis="feature")
        updated = tap("updated", x + mix, "position feature")
        matches = tap("matches", tokens == WORDS.index(WORD), "position")
        marks = tap("marks", matches.to(x.dtype), "position")
        here = tap("here", marks.unsqueeze(-2), "word position")
        mole = tap("mole", here @ updated, "word feature")
        squares = tap("squares", mole * mole, "word feature")
        total = tap("sum_of_squares", squares.sum(-1, keepdim=True), "word one")
        length = tap("length", tap("squared_length", total.clamp(min=1e-12), "word one").sqrt(), "word one")
        along = tap("along", mole @ self.meanings, "word meaning")
        return tap("prediction", along / length, "word meaning")


def loss(prediction: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy of the meaning under softmax(5 cosine), averaged over the examples."""
    logits = tap("logits", SHARPNESS * prediction, "word meaning")
    return tap("loss", F.cross_entropy(logits.flatten(0, -2), target.flatten()))


MODEL = Model(
    name="one_word_three_meanings",
    title="One word, three meanings",
    summary="The vector of “mole” before and after it has listened to the words around it.",
    build=OneWordThreeMeanings,
    loss=loss,
    inputs=(InputField("tokens", size=4, default=CONTEXTS[0], words=WORDS),),
    target=InputField("target", size=1, default=MEANINGS[:1], words=MEANINGS),
    options=(Option("mask", "Mask", {"none": "none", "causal": "no looking ahead"}, default="none"),),
    labels={
        "position": "tokens", "query": "tokens", "key": "tokens", "token": WORDS, "feature": FEATURES,
        "meaning": MEANINGS, "d_head": ASKED,
    },
)  # fmt: skip
