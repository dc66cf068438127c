"""Attention as plain functions, for the models that have heads: scores, mask, pattern, mix.

No parameters and no projections here: a model makes its queries, keys and values itself, so that its forward reads like
its equations. Every part is tapped under one name in all models.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from engine.tap import tap

SYMBOLS = {
    "queries": "Q", "keys": "K", "values": "V", "keys_transposed": "Kᵀ", "scores": "S", "scaled_scores": "S′",
    "masked_scores": "M", "pattern": "A",
}  # fmt: skip


def causal_mask(positions: int) -> Bool[Tensor, "query key"]:
    """True where a query may look: at its own position and at those before it."""
    return torch.ones(positions, positions, dtype=torch.bool).tril()


def attend(
    queries: Float[Tensor, "*lead query d_head"],
    keys: Float[Tensor, "*lead key d_head"],
    values: Float[Tensor, "*lead key d_value"],
    *,
    mask: Bool[Tensor, "query key"] | None = None,
    scale: bool = True,
    lead: str = "",
    value_axis: str = "d_head",
) -> Float[Tensor, "*lead query d_value"]:
    """softmax(Q Kᵀ / sqrt(d_head)) V; each query's row of the pattern sums to 1.

    mask: True where the query may look. scale: whether scores are divided by sqrt(d_head).
    lead: the names of leading axes that are no examples ("head"); value_axis: the name of the values' last one.
    Taps keys_transposed, scores, scaled_scores, masked_scores, pattern, mix (a part that is left out has no tap).
    Source: Vaswani et al. 2017, eq. 1.
    """
    grid = f"{lead} query key"
    transposed = tap("keys_transposed", keys.mT, f"{lead} d_head key")
    scores = tap("scores", queries @ transposed, grid)
    if scale:
        scores = tap("scaled_scores", scores / math.sqrt(queries.shape[-1]), grid)
    if mask is not None:
        scores = tap("masked_scores", torch.where(mask, scores, -math.inf), grid)
    pattern = tap("pattern", scores.softmax(-1), grid)
    return tap("mix", pattern @ values, f"{lead} query {value_axis}")
