"""Runs that the pictures are drawn from."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import nn

import engine
from engine.models import catalogue
from engine.trace import Trace


@pytest.fixture(scope="session")
def tiny():
    """A run of the 2-3-1 network for a request."""
    model = catalogue()["tiny_network"]

    def run(**request: Any) -> Trace:
        return model.trace(request)

    return run


@pytest.fixture(scope="session")
def dense():
    """A run of a network of any sizes, with random parameters."""

    def run(*sizes: int, rows: int | None = None, seed: int = 0, activation: type[nn.Module] = nn.Tanh) -> Trace:
        torch.manual_seed(seed)
        layers: list[nn.Module] = []
        for number, (before, after) in enumerate(itertools.pairwise(sizes)):
            layers += [*([activation()] if number else []), nn.Linear(before, after)]
        shape = (sizes[0],) if rows is None else (rows, sizes[0])
        module = nn.Sequential(*layers)
        target = torch.zeros(sizes[-1:] if rows is None else (rows, sizes[-1]))
        return engine.trace(module, {"input": torch.randn(shape)}, target=target, loss=nn.functional.mse_loss)

    return run
