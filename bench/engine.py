"""What recording costs: the engine's run against the same model run by plain PyTorch."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

import engine
from bench.gpt2 import gpt2_small, next_token_loss, toy
from bench.row import Row
from bench.timing import median_ms, ratio
from engine.models import tiny_network

SEQ = 32


def measure() -> Iterator[Row]:
    """The 2-3-1 network in ms; a toy decoder and one of GPT-2's size as ratios, whole (exact) and opened (explain)."""
    torch.set_num_threads(1)
    yield from _tiny_network()
    yield from _decoder("d=64, 2 layers", toy(), 256, rounds=40, forward_at_most=2.0, gradients_at_most=2.0)
    yield from _decoder("124M", gpt2_small(), 50257, rounds=7, forward_at_most=1.10, gradients_at_most=1.15)


def _tiny_network() -> Iterator[Row]:
    module = tiny_network.TinyNetwork()
    x, target = torch.tensor([2.0, -1.0]), torch.tensor([4.0])

    def record(parts: bool) -> object:
        return engine.trace(module, {"x": x}, target=target, loss=tiny_network.loss, parts=parts)

    def plain() -> None:
        tiny_network.loss(module(x), target).backward()
        module.zero_grad()

    gradients_ms, steps_ms, plain_ms = median_ms(lambda: record(False), lambda: record(True), plain, rounds=300)
    detail = f"plain forward + backward {plain_ms:.3g} ms"
    yield Row("2-3-1: forward and every gradient", gradients_ms, "ms", at_most=0.5, detail=detail)
    yield Row("2-3-1: the same, and what each backward step sends", steps_ms, "ms", detail=detail)


def _decoder(
    size: str, module: nn.Module, vocabulary: int, *, rounds: int, forward_at_most: float, gradients_at_most: float
) -> Iterator[Row]:
    ids = torch.randint(vocabulary, (1, SEQ), generator=torch.Generator().manual_seed(0))

    def forward() -> None:
        with torch.no_grad():
            module(ids)

    def forward_backward() -> None:
        next_token_loss(module(ids), ids).backward()
        module.zero_grad()

    for mode in ("exact", "explain"):
        yield ratio(
            f"{size}, {mode}: record the forward / forward",
            lambda mode=mode: engine.trace(module, {"ids": ids}, backward=False, mode=mode),
            forward,
            at_most=forward_at_most,
            rounds=rounds,
        )
        yield ratio(
            f"{size}, {mode}: and every gradient / forward + backward",
            lambda mode=mode: engine.trace(
                module, {"ids": ids}, target=ids, loss=next_token_loss, mode=mode, parts=False
            ),
            forward_backward,
            at_most=gradients_at_most,
            rounds=rounds,
        )
