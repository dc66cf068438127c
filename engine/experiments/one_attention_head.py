"""Measurements of one head: the loss word by word, what an open mask lets it learn, and scores without sqrt(d_k)."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from engine.models.attention import attend, causal_mask
from engine.trace import Trace

WORDS = POSITIONS = 8
D_HEAD = 8
STEPS, BATCH, RATE, EVERY = 120, 32, 6.0, 5
CHANCE = math.log(WORDS)

WIDTHS = (1, 4, 16, 64, 256, 1024)
DRAWS, KEYS = 400, 8


def by_position(trace: Trace) -> list[float]:
    """The parts whose mean a run's loss is: minus the logarithm of each target's probability, of the first example."""
    logits, target = trace["prediction"], trace["target"]
    parts = F.cross_entropy(logits.flatten(0, -2), target.flatten(), reduction="none")
    return parts[: target.shape[-1]].tolist()


@functools.cache
def leak(seed: int = 0) -> Mapping[str, Any]:
    """The next word of random words, learned by one head with the mask and by one without it; losses in nats.

    Every word is drawn uniformly from 8, so that no honest head can be better than ln 8. `masked` and `open` hold the
    loss by training step; `used` is the loss of the head trained without the mask, on new words whose future is hidden.
    """
    masked, head = _trained(seed, causal_mask(POSITIONS))
    held_out = _words(torch.Generator().manual_seed(seed + 1), 512)
    open_, cheat = _trained(seed, None)
    return {
        "words": WORDS,
        "steps": list(range(0, STEPS + 1, EVERY)),
        "masked": masked,
        "open": open_,
        "chance": CHANCE,
        "honest": float(_loss(head, held_out, causal_mask(POSITIONS))),
        "used_open": float(_loss(cheat, held_out, None)),
        "used": float(_loss(cheat, held_out, causal_mask(POSITIONS))),
    }


def _trained(seed: int, mask: Tensor | None) -> tuple[list[float], list[Tensor]]:
    """The loss on every fifth batch, and the head's four matrices after the last."""
    chance = torch.Generator().manual_seed(seed)
    sizes = [(WORDS + POSITIONS, D_HEAD)] * 2 + [(WORDS + POSITIONS, WORDS)] * 2
    head = [torch.randn(size, generator=chance).mul(0.1).requires_grad_() for size in sizes]
    losses = []
    for step in range(STEPS + 1):
        loss = _loss(head, _words(chance, BATCH), mask)
        if step % EVERY == 0:
            losses.append(loss.item())
        gradients = torch.autograd.grad(loss, head)
        with torch.no_grad():
            for part, gradient in zip(head, gradients, strict=True):
                part -= RATE * gradient
    return losses, [one.detach() for one in head]


def _words(chance: torch.Generator, rows: int) -> Tensor:
    """Random words, [row, position + 1]: each word is also the one before's target."""
    return torch.randint(WORDS, (rows, POSITIONS + 1), generator=chance)


def _loss(head: list[Tensor], words: Tensor, mask: Tensor | None) -> Tensor:
    """Cross-entropy of the next word, at the positions whose next word the head is also given."""
    queries, keys, values, own = head
    places = torch.eye(POSITIONS).expand(len(words), -1, -1)
    x = torch.cat([F.one_hot(words[:, :-1], WORDS).float(), places], dim=-1)
    logits = x @ own + attend(x @ queries, x @ keys, x @ values, mask=mask)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), words[:, 1:-1].flatten())


@functools.cache
def widths(seed: int = 0) -> tuple[Mapping[str, float], ...]:
    """Random queries against 8 random keys (all parts standard normal), by d_k: with and without the division.

    spread: the scores' standard deviation; largest: the mean weight of a row's largest; slope: the mean over rows of
    the largest derivative of a weight by a score, which is at most 1/4.
    """
    chance = torch.Generator().manual_seed(seed)
    found = []
    for width in WIDTHS:
        queries, keys = (torch.randn(DRAWS, size, width, generator=chance) for size in (1, KEYS))
        scores = (queries @ keys.mT).squeeze(-2)
        row: dict[str, float] = {"d_k": width}
        for name, one in (("plain", scores), ("scaled", scores / math.sqrt(width))):
            pattern = one.softmax(-1)
            row |= {
                f"{name}_spread": float(one.std()),
                f"{name}_largest": float(pattern.max(-1).values.mean()),
                f"{name}_slope": float((pattern * (1 - pattern)).max(-1).values.mean()),
            }
        found.append(row)
    return tuple(found)
