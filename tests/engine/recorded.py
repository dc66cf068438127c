"""A function run as a module's forward, recorded, and held against plain PyTorch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

import engine


class Calls(nn.Module):
    """Runs a function as its forward, with a few layers at hand."""

    def __init__(self, function: Callable, **parts: nn.Module) -> None:
        super().__init__()
        self.function = function
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(self, *args, **kwargs)


def run(function: Callable, *inputs: Any, parts: Mapping[str, nn.Module] | None = None, **options: Any) -> engine.Trace:
    """The trace of function(module, *inputs); inputs are named input.0, input.1, ..."""
    return engine.trace(Calls(function, **(parts or {})), inputs, **options)


def names(trace: engine.Trace) -> list[str]:
    """The names of the forward steps and those of the loss, in order."""
    return [step.name for step in trace.steps if step.phase in ("forward", "loss")]


def run_like_autograd(
    function: Callable, *inputs: torch.Tensor, parts: Mapping[str, nn.Module] | None = None
) -> engine.Trace:
    """The trace of a function that gives one number, after checks that it is what plain PyTorch computes.

    The value to the bit; the gradients of inputs and parameters to the bit; what steps send sums to each gradient.
    """
    parts = parts or {}
    plain = Calls(function, **copy.deepcopy(dict(parts)))
    leaves = [one.clone().requires_grad_(one.is_floating_point()) for one in inputs]
    expected = plain(*(leaf * 1 if leaf.requires_grad else leaf for leaf in leaves))  # a leaf may not be written to
    expected.backward()
    trace = run(function, *inputs, parts=parts)
    assert trace.result["prediction"] == expected.item()
    gradients = {f"input.{place}": leaf.grad for place, leaf in enumerate(leaves)}
    gradients |= {name: one.grad for name, one in plain.named_parameters()}
    for name, gradient in gradients.items():
        if gradient is None:
            assert trace.record(name).gradient is None, name
        else:
            assert torch.equal(trace[f"{name}.grad"], gradient), name
    sums: dict[str, torch.Tensor] = {}
    for step in trace.steps:
        for one in step.sends:
            sums[one.to] = sums[one.to] + trace[one.tensor] if one.to in sums else trace[one.tensor]
    for name, total in sums.items():
        assert torch.equal(total, trace[name]), name
    assert trace.result["check"]["max_residual"] == 0.0
    return trace
