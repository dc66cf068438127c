"""Measurements of a fact store: how facts disturb one another as they get more, and which starts learn a fact."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from engine.models.where_facts_live import FACTS, FEATURES, RATE, SPREAD, STEPS, cases

DIMENSIONS = 16
COUNTS = (4, 8, 16, 32, 64, 128, 256, 512)
THRESHOLD = 0.5
LEARNED = 0.01


@dataclass(frozen=True)
class Crowd:
    """A number of facts in DIMENSIONS dimensions, asked one by one.

    closest: the largest |cosine| of two keys; bound: the least that so many directions allow (Welch 1974).
    ungated, gated: the mean size of what the other facts add to an answer of size 1, without and with the gate.
    right_ungated, right_gated: the share of the facts whose own value is the one most written.
    """

    facts: int
    closest: float
    bound: float
    ungated: float
    gated: float
    right_ungated: float
    right_gated: float


@functools.cache
def crowded(seed: int = 0) -> tuple[Crowd, ...]:
    """Ever more facts in the same space, a row of memory for each, keys and values in random directions.

    A row's key is its direction and its bias -THRESHOLD; the gate is a ReLU, and what passes is doubled so that a
    fact's own key writes its value once. Without a gate the sums are written as they are.
    """
    chance = torch.Generator().manual_seed(seed)
    return tuple(_crowd(count, chance) for count in COUNTS)


def _crowd(facts: int, chance: torch.Generator) -> Crowd:
    keys, values = (F.normalize(torch.randn(facts, DIMENSIONS, generator=chance), dim=-1) for _ in range(2))
    apart = (keys @ keys.T).fill_diagonal_(0)
    ungated, gated = apart @ values, F.relu(apart - THRESHOLD) / (1 - THRESHOLD) @ values
    return Crowd(
        facts,
        float(apart.abs().max()),
        welch(facts, DIMENSIONS),
        float(ungated.norm(dim=-1).mean()),
        float(gated.norm(dim=-1).mean()),
        _right(values + ungated, values),
        _right(values + gated, values),
    )


def welch(count: int, dimensions: int) -> float:
    """The least that the largest |cosine| among `count` directions can be; 0 where they can be at right angles."""
    return math.sqrt(max(0, count - dimensions) / (dimensions * (count - 1)))


def _right(written: Tensor, values: Tensor) -> float:
    """The share of rows whose own value has the largest product with what was written."""
    return float(((written @ values.T).argmax(-1) == torch.arange(len(values))).double().mean())


@functools.cache
def starts(activation: str, count: int = 200, seed: int = 0) -> int:
    """How many of `count` random starts bring the loss of the four cases below LEARNED; all learn side by side.

    The network, the spread of its start, the rate and the steps are those of the lesson's model.
    """
    chance = torch.Generator().manual_seed(seed)
    rows, width = len(FACTS), len(FEATURES)
    shapes = ((count, rows, width), (count, 1, rows), (count, width, rows))
    key, bias, value = (torch.randn(shape, generator=chance).mul(SPREAD).requires_grad_() for shape in shapes)
    inputs, targets = (torch.tensor(rows) for rows in cases())
    gate = F.relu if activation == "relu" else F.gelu
    losses = torch.zeros(count)
    for step in range(STEPS + 1):
        written = gate(inputs @ key.mT + bias) @ value.mT
        losses = (inputs + written - targets).square().sum(-1).mean(-1) / 2
        if step < STEPS:
            slopes = torch.autograd.grad(losses.sum(), (key, bias, value))
            with torch.no_grad():
                for parameter, slope in zip((key, bias, value), slopes, strict=True):
                    parameter -= RATE * slope
    return int((losses < LEARNED).sum())
