"""What models with weights set by hand share: a matrix from the few cells that are not 0, and the next words' loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from engine.tap import tap


def table(
    rows: Sequence[str], columns: Sequence[str], cells: Mapping[str, Mapping[str, float]]
) -> Float[Tensor, "row column"]:
    """A matrix with named rows and columns; cells that are not named are 0. Raises ValueError for unknown names."""
    unknown = sorted(set(cells) - set(rows) | {name for row in cells.values() for name in row} - set(columns))
    if unknown:
        raise ValueError(f"expected names of rows and columns; got {', '.join(unknown)}")
    return torch.tensor([[float(cells.get(row, {}).get(column, 0)) for column in columns] for row in rows])


def same(names: Sequence[str]) -> dict[str, dict[str, float]]:
    """The cells of a matrix that hands these features on under their own names."""
    return {name: {name: 1} for name in names}


def next_word_loss(
    prediction: Float[Tensor, "*example position token"], target: Int[Tensor, "*example position"]
) -> Tensor:
    """Cross-entropy of the next words, averaged over the positions (and examples). Tapped as loss."""
    return tap("loss", F.cross_entropy(prediction.flatten(0, -2), target.flatten()))
