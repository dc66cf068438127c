"""Runs one call of the model while it is recorded, and keeps the random state that it began with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from engine.entry import RANDOM
from engine.seen import Seen

_saving_hooks = torch._C._autograd._top_saved_tensors_default_hooks


class Execution:
    """drawn: the random state before the first call that draws; None while none did."""

    def __init__(self) -> None:
        self.drawn: torch.Tensor | None = None

    def run(self, what: Seen, func: Callable, args: tuple, kwargs: Mapping) -> tuple[Any, torch.Tensor | None]:
        """What the call gives, and the random state it began with, if it draws."""
        if _saving_hooks(False) is None:
            return self._run(what, func, args, kwargs)
        # Checkpointing keeps no tensors and runs forward again in backward. All are kept here, so nothing has to.
        with torch.autograd.graph.saved_tensors_hooks(_as_it_is, _as_it_is):
            return self._run(what, func, args, kwargs)

    def _run(self, what: Seen, func: Callable, args: tuple, kwargs: Mapping) -> tuple[Any, torch.Tensor | None]:
        if not what.random:
            return func(*args, **kwargs), None
        with RANDOM:
            state = torch.get_rng_state()
            self.drawn = state if self.drawn is None else self.drawn
            return func(*args, **kwargs), state


def _as_it_is(tensor: torch.Tensor) -> torch.Tensor:
    return tensor
