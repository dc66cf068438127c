"""What stands around a run: the part of the module that is running, the random state, the thread's other recorders."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from engine.entry import RANDOM
from engine.record import Recorder
from engine.skeleton import Skeleton
from engine.tap import listening


def follow_scopes(skeleton: Skeleton, recorder: Recorder) -> None:
    """Tells the recorder, by hooks on the private copy, which part runs."""
    scopes = recorder.scopes

    def enter(path: str) -> Callable[..., None]:
        return lambda *_: scopes.append(path)

    def leave(*_: Any) -> None:
        scopes.pop()

    for path, part in skeleton.parts:
        part.register_forward_pre_hook(enter(path))
        part.register_forward_hook(leave, always_call=True)  # also when it raises, since the model may catch that


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """While a run is inside another's forward, the outer recorder does not see it."""
    outer = listening.listener
    if not isinstance(outer, Recorder):
        yield
        return
    before, outer.paused = outer.paused, True
    try:
        yield
    finally:
        outer.paused = before


@contextlib.contextmanager
def seeded(seed: int | None) -> Iterator[None]:
    """A random state of its own for one run; such runs take turns, since PyTorch's CPU generator is one per process."""
    if seed is None:
        yield
        return
    with RANDOM, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
