"""What is trained, behind one small interface: iterate for progress, ask for the state, go on from one.

Loops are found by discovery: a module here that holds TRAINS (a model's name) and `prepare` trains that model; every
other model goes down by gradient descent.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from engine.models import catalogue
from engine.training import descent

State = dict[str, Any]


@runtime_checkable
class Progress(Protocol):
    """Where a training is after `step` updates. Other fields that are plain data are metrics and are shown as well."""

    @property
    def step(self) -> int:
        """Updates so far; 0 is the start."""

    @property
    def loss(self) -> float:
        """May be NaN or infinite."""


@runtime_checkable
class Training(Protocol):
    """A run that can be left after any step and gone on with, to the bit: the same request and state, the same rest."""

    def __iter__(self) -> Iterator[Progress]:
        """Yields where it starts and then each update. Raises InputError, for what does not fit, before the first."""

    def state(self) -> State:
        """Tensors and plain data, nested in dicts: all that the rest depends on, as of the last progress that was
        yielded (moments, random state, order of examples too). `parameters` holds the trained tensors by name."""

    def resume(self, state: State) -> None:
        """Goes on from a state of an equal request, or of one that differs in what the state leaves open (a learning
        rate). Before iterating. Raises ValueError for a state that does not fit."""


Prepare = Callable[..., Training]


@functools.cache
def loops() -> Mapping[str, Prepare]:
    """Every loop of its own by the model that it trains."""
    found: dict[str, Prepare] = {}
    for entry in pkgutil.iter_modules([str(Path(__file__).parent)], "engine.training."):
        module = importlib.import_module(entry.name)
        if name := getattr(module, "TRAINS", None):
            found[name] = module.prepare
    return found


def prepare(model: str, request: Mapping[str, Any], *, steps: int, recipe: Mapping[str, Any]) -> Training:
    """A training of `steps` updates for a model's request, not yet begun.

    recipe: what the model's own loop takes besides (batch size, optimiser). Raises InputError for what does not fit,
    here or before the first progress, and KeyError for an unknown model.
    """
    chosen = catalogue()[model]
    return loops().get(model, descent.prepare)(chosen, request, steps=steps, recipe=recipe)
