"""Softmax step by step over six words, at a temperature; what top-k and top-p leave; one word drawn; the loss.

The logits are parameters, so that the gradient p - onehot reaches them with nothing in between.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from engine.models.fields import InputField
from engine.models.model import Model, Option
from engine.tap import tap

PROMPT = "the cat sat on the"
VOCABULARY = ("mat", "sofa", "floor", "table", "roof", "moon")
LOGITS = (3.0, 2.0, 1.5, 1.0, 0.0, -1.0)  # set by hand: whole and half numbers, no two alike
SEEDS = 16
DRAWS = tuple(f"seed {seed}" for seed in range(SEEDS))


class SoftmaxTemperature(nn.Module):
    """p = softmax(z / T); the prediction is ln p. Besides: the entropy, what is kept, and the word that is drawn.

    temperature, top_k, top_p: [1] or [example, 1]. draw: the place of a seed in DRAWS; its number u is the first that
    PyTorch's generator gives after that seed. The prediction has the token axis in place of the one.
    shift: "largest" subtracts the largest logit before exp, "none" does not; the shares are the same
           while exp is finite.

    Kept are the words that fewer than top_k words are likelier than, and before which the likelier ones hold less than
    top_p together; both are asked of the whole distribution, and words of equal probability stay or go together.
    Sources: Fan et al. 2018 (top-k), Holtzman et al. 2020 (top-p, "nucleus").
    """

    symbols: ClassVar = {
        "temperature": "T",
        "top_k": "k",
        "top_p": "P",
        "draw": "s",
        "target": "t",
        "logits": "z",
        "uniform": "U",
        "scaled": "z/T",
        "constant": "z/T",
        "largest": "m",
        "shifted": "d",
        "exponential": "e",
        "total": "Σe",
        "log_total": "ln Σe",
        "probability": "p",
        "log_probability": "ℓ",
        "prediction": "ln p",
        "surprisal": "−ℓ",
        "terms": "h",
        "entropy": "H",
        "column": "p",
        "rivals": "p",
        "greater": "greater",
        "likelier": "A",
        "rank": "r",
        "held": "held",
        "ahead": "a",
        "in_top_k": "r<k",
        "in_top_p": "a<P",
        "kept": "kept",
        "remaining": "w",
        "remaining_total": "Σw",
        "renormalised": "q",
        "cumulative": "C",
        "u": "u",
        "passed": "C≤u",
        "sampled": "drawn",
        "hit": "ln pₜ",
        "surprise": "−ln pₜ",
        "loss": "L",
        "perplexity": "PPL",
    }
    axes: ClassVar = {
        "temperature": "one",
        "top_k": "one",
        "top_p": "one",
        "draw": "one",
        "target": "one",
        "logits": "token",
        "uniform": "seed",
        "lower": "token rival",
    }
    uniform: Tensor
    lower: Tensor

    def __init__(self, shift: str = "largest") -> None:
        super().__init__()
        self.shift = shift
        self.logits = nn.Parameter(torch.tensor(LOGITS))
        self.register_buffer("uniform", torch.cat([_first_number(seed) for seed in range(SEEDS)]))
        self.register_buffer("lower", torch.ones(len(LOGITS), len(LOGITS)).tril())

    def forward(
        self,
        temperature: Float[Tensor, "*#example one"],
        top_k: Float[Tensor, "*#example one"],
        top_p: Float[Tensor, "*#example one"],
        draw: Int[Tensor, "*#example one"],
    ) -> Float[Tensor, "*#example token"]:
        scaled = tap("scaled", self.logits / temperature, "token")
        shifted = scaled
        if self.shift == "largest":  # no gradient through the maximum: whatever is subtracted, the shares are the same
            shifted = tap("shifted", scaled - largest(scaled), "token")
        exponential = tap("exponential", torch.exp(shifted), "token")
        total = tap("total", exponential.sum(-1, keepdim=True), "one")
        p = tap("probability", exponential / total, "token")
        log_p = tap("log_probability", shifted - tap("log_total", torch.log(total), "one"), "token")
        surprisal = tap("surprisal", -log_p, "token")
        tap("entropy", tap("terms", p * surprisal, "token").sum(-1, keepdim=True), "one")
        self.sample(cut(p, top_k, top_p), draw)
        return tap("prediction", log_p, "token")

    def sample(
        self, q: Float[Tensor, "*#example token"], draw: Int[Tensor, "*#example one"]
    ) -> Int[Tensor, "*#example one"]:
        """The place of the first word at which the shares, added up, go past the number drawn."""
        cumulative = tap("cumulative", F.linear(q, self.lower), "token")
        u = tap("u", self.uniform[draw], "one")
        passed = tap("passed", cumulative <= u, "token")
        return tap("sampled", passed.sum(-1, keepdim=True), "one")


def largest(scaled: Float[Tensor, "*#example token"]) -> Float[Tensor, "*#example one"]:
    return tap("largest", tap("constant", scaled.detach(), "token").amax(-1, keepdim=True), "one")


def cut(
    p: Float[Tensor, "*#example token"], top_k: Float[Tensor, "*#example one"], top_p: Float[Tensor, "*#example one"]
) -> Float[Tensor, "*#example token"]:
    """The shares that top-k and top-p leave, made to sum to 1 again."""
    column, rivals = tap("column", p.unsqueeze(-1), "token one"), tap("rivals", p.unsqueeze(-2), "one rival")
    likelier = tap("likelier", tap("greater", rivals > column, "token rival").to(p.dtype), "token rival")
    rank = tap("rank", likelier.sum(-1), "token")
    ahead = tap("ahead", tap("held", likelier * rivals, "token rival").sum(-1), "token")
    in_top_k, in_top_p = tap("in_top_k", rank < top_k, "token"), tap("in_top_p", ahead < top_p, "token")
    remaining = tap("remaining", p * tap("kept", in_top_k * in_top_p, "token"), "token")
    total = tap("remaining_total", remaining.sum(-1, keepdim=True), "one")
    return tap("renormalised", remaining / total, "token")


def loss(prediction: Float[Tensor, "*#example token"], target: Int[Tensor, "*#example one"]) -> Tensor:
    """Cross-entropy, -ln p of the target, averaged over the examples; its exponential is the perplexity."""
    surprise = tap("surprise", -tap("hit", prediction.gather(-1, target), "one"), "one")
    tap("perplexity", torch.exp(surprise), "one")
    return tap("loss", surprise.mean())


def _first_number(seed: int) -> Float[Tensor, "1"]:
    return torch.rand(1, generator=torch.Generator().manual_seed(seed))


MODEL = Model(
    name="softmax_temperature",
    title="Softmax and temperature",
    summary="Six logits become probabilities, are cut by top-k and top-p, and one word is drawn with a seed.",
    build=SoftmaxTemperature,
    loss=loss,
    inputs=(
        InputField("temperature", size=1, default=(1.0,), limit=100, least=0.01),
        InputField("top_k", size=1, default=(4.0,), limit=len(VOCABULARY), least=1),
        InputField("top_p", size=1, default=(0.9,), limit=1, least=0.01),
        InputField("draw", size=1, default=("seed 0",), words=DRAWS),
    ),
    target=InputField("target", size=1, default=("sofa",), words=VOCABULARY),
    options=(Option("shift", "Subtract", {"largest": "the largest logit", "none": "nothing"}, default="largest"),),
    labels={"token": VOCABULARY, "rival": VOCABULARY, "seed": DRAWS},
)
