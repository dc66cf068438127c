"""From text to vectors: ids, a row of E for each, a position put in (added or turned), and E once more to read out.

Nothing mixes the positions here, so what is predicted at one of them comes from its own token and place alone.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from engine.models.fields import InputField
from engine.models.hand_built import next_word_loss, table
from engine.models.model import Model, Option
from engine.tap import tap

VOCABULARY = ("the", "a", "cat", "dog", "tree", "saw", "chased", ".")
FEATURES = ("thing", "article", "size", "action")
SENTENCE = ("the", "cat", "chased", "the", "dog")
NEXT_WORDS = ("cat", "chased", "the", "dog", ".")
BASE = 10_000.0  # the base of the wavelengths, as in Vaswani et al. 2017, section 3.5

# Set by hand, so that a feature can be read: a cat is a small thing, a tree a large one, to chase is more than to see.
EMBEDDINGS: dict[str, dict[str, float]] = {
    "the": {"article": 1},
    "a": {"article": 0.75},
    "cat": {"thing": 1, "size": -0.5},
    "dog": {"thing": 1, "size": 0.5},
    "tree": {"thing": 1, "size": 1},
    "saw": {"action": 1},
    "chased": {"size": 0.5, "action": 1},
    ".": {"thing": -0.5, "article": -0.5},
}
# A position table as training might leave it: no pattern, a row for each place, and none for a sixth.
POSITIONS = (
    (0.25, 0, -0.25, 0.5),
    (-0.5, 0.25, 0, 0.25),
    (0, 0.5, 0.25, -0.25),
    (0.5, -0.25, 0.5, 0),
    (-0.25, -0.5, 0, 0.25),
)


class TextToVectors(nn.Module):
    """X = rows of E; H = X + P, X + S, or X with its pairs of features turned; logits = H Eᵀ.

    tokens: [position] or [example, position] places in the vocabulary; the prediction has a token axis behind them.
    lookup:   "row" takes row i of E, "onehot" multiplies E by a vector that is 1 at i and 0 elsewhere.
    encoding: "learned" adds a parameter, "sinusoidal" adds S (Vaswani et al. 2017, section 3.5), "rotary" turns each
              pair of features by an angle that grows with the place (Su et al. 2021), "none" leaves places out.
    The readout is tied: it is the embedding again (Press and Wolf 2017). Models with rotary encoding turn queries and
    keys in every layer; here X itself is turned, which is the same for W_Q = W_K = 1.
    """

    symbols: ClassVar = {
        "tokens": "i",
        "target": "t",
        "embedding": "E",
        "position": "P",
        "place": "m",
        "frequency": "θ",
        "column": "i",
        "same": "same",
        "onehot": "O",
        "embedded": "X",
        "angle": "φ",
        "sine": "sin φ",
        "cosine": "cos φ",
        "both": "C",
        "sinusoid": "S",
        "first": "x",
        "second": "y",
        "first_cosine": "x cos φ",
        "second_sine": "y sin φ",
        "first_sine": "x sin φ",
        "second_cosine": "y cos φ",
        "turned_first": "x′",
        "turned_second": "y′",
        "turned": "R",
        "encoded": "H",
        "prediction": "Z",
        "loss": "L",
    }
    axes: ClassVar = {
        "tokens": "position",
        "target": "position",
        "embedding": "token feature",
        "position": "position feature",
        "place": "position one",
        "frequency": "pair",
        "id": "token",
    }

    id: Tensor
    place: Tensor
    frequency: Tensor

    def __init__(self, encoding: str = "learned", lookup: str = "row") -> None:
        super().__init__()
        self.encoding, self.lookup = encoding, lookup
        self.embedding = nn.Parameter(table(VOCABULARY, FEATURES, EMBEDDINGS))
        self.position = nn.Parameter(torch.tensor(POSITIONS))
        self.register_buffer("id", torch.arange(len(VOCABULARY)))
        self.register_buffer("place", torch.arange(float(len(SENTENCE))).unsqueeze(-1))
        self.register_buffer("frequency", frequencies(len(FEATURES)))

    def forward(self, tokens: Int[Tensor, "*example position"]) -> Float[Tensor, "*example position token"]:
        embedded = tap("embedded", self.embed(tokens), "position feature")
        encoded = tap("encoded", self.encode(embedded), "position feature")
        return tap("prediction", F.linear(encoded, self.embedding), "position token")

    def embed(self, tokens: Int[Tensor, "*example position"]) -> Float[Tensor, "*example position feature"]:
        if self.lookup == "row":
            return F.embedding(tokens, self.embedding)
        column = tap("column", tokens.unsqueeze(-1), "position one")
        same = tap("same", column == self.id, "position token")
        return tap("onehot", same.to(self.embedding.dtype), "position token") @ self.embedding

    def encode(self, x: Float[Tensor, "*example position feature"]) -> Float[Tensor, "*example position feature"]:
        if self.encoding == "none":
            return x
        if self.encoding == "learned":
            return x + self.position
        angle = tap("angle", self.place * self.frequency, "position pair")
        sine = tap("sine", torch.sin(angle), "position pair")
        cosine = tap("cosine", torch.cos(angle), "position pair")
        if self.encoding == "sinusoidal":
            both = tap("both", torch.stack((sine, cosine), -1), "position pair part")
            return x + tap("sinusoid", both.flatten(-2), "position feature")
        return turn(x, sine, cosine)


def frequencies(features: int) -> Float[Tensor, "pair"]:
    """How far each pair of features turns from one place to the next, in radians: BASE^(-2 i / features)."""
    return BASE ** (-torch.arange(0, features, 2) / features)


def turn(
    x: Float[Tensor, "*example position feature"],
    sine: Float[Tensor, "position pair"],
    cosine: Float[Tensor, "position pair"],
) -> Float[Tensor, "*example position feature"]:
    """Each pair of neighbouring features turned in its plane. Source: Su et al. 2021, eq. 13."""
    first = tap("first", x[..., 0::2], "position pair")
    second = tap("second", x[..., 1::2], "position pair")
    first_cosine = tap("first_cosine", first * cosine, "position pair")
    second_sine = tap("second_sine", second * sine, "position pair")
    first_sine = tap("first_sine", first * sine, "position pair")
    second_cosine = tap("second_cosine", second * cosine, "position pair")
    turned_first = tap("turned_first", first_cosine - second_sine, "position pair")
    turned_second = tap("turned_second", first_sine + second_cosine, "position pair")
    return tap("turned", torch.stack((turned_first, turned_second), -1), "position pair part").flatten(-2)


MODEL = Model(
    name="text_to_vectors",
    title="From text to vectors",
    summary="Eight words, four features: a table of embeddings, three ways to put the place in, the table again to "
    "read out.",
    build=TextToVectors,
    loss=next_word_loss,
    inputs=(InputField("tokens", size=len(SENTENCE), default=SENTENCE, words=VOCABULARY),),
    target=InputField("target", size=len(SENTENCE), default=NEXT_WORDS, words=VOCABULARY),
    options=(
        Option(
            "encoding",
            "Position",
            {"learned": "learned", "sinusoidal": "sinusoidal", "rotary": "rotary", "none": "none"},
            default="learned",
        ),
        Option("lookup", "Lookup", {"row": "take a row", "onehot": "one-hot times E"}, default="row"),
    ),
    labels={"position": "tokens", "token": VOCABULARY, "feature": FEATURES},
)
