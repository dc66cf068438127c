"""A recorded step run again on other operands: to see what it sends backward, and to recompute it in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from engine.calls import arguments
from engine.entry import RANDOM, Call
from engine.ops.table import Op

Live = Callable[[Mapping[str, torch.Tensor]], Any]


def run_again(call: Call, tensors: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
    """The call's tensor outputs for other operands, with the random state it had."""
    return run_step(call.row, call.attributes, tensors, call.live, call.random_state)


def run_step(
    row: Op | None,
    attributes: Mapping[str, Any],
    tensors: Mapping[str, torch.Tensor],
    live: Live | None = None,
    random_state: torch.Tensor | None = None,
) -> list[torch.Tensor]:
    """Runs one operation on operands by role. Operations without a row need `live`, the recorded call itself."""
    if random_state is not None:
        with RANDOM, torch.random.fork_rng(devices=[]):
            torch.set_rng_state(random_state)
            return run_step(row, attributes, tensors, live)
    if row is not None:
        result = row.run(**arguments(tensors, attributes))
    else:
        private = {role: value.clone() for role, value in tensors.items()}  # an unknown call may write to its operands
        assert live is not None
        result = live(private)
        if result is None:
            result = next(iter(private.values()))
    if isinstance(result, torch.Tensor):
        return [result]
    return [part for part in result if isinstance(part, torch.Tensor)]
