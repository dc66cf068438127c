"""One gradient-descent step: what is frozen, what moves, and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from engine.errors import InputError
from engine.skeleton import place_of


@dataclass(frozen=True)
class Frozen:
    """A parameter, or some of its cells, that takes part in forward and is not updated; index None is all of it."""

    parameter: str
    index: tuple[int | None, ...] | None = None


@dataclass(frozen=True)
class Update:
    """Plain gradient descent: parameter - learning_rate * gradient."""

    learning_rate: float
    frozen: tuple[Frozen, ...] = ()
    rule: str = "sgd"


def frozen_masks(update: Update, parameters: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Bool masks, True where frozen, for the parameters that have frozen cells. Raises InputError for unknown places."""
    masks: dict[str, torch.Tensor] = {}
    for number, frozen in enumerate(update.frozen):
        field = f"update.frozen[{number}]"
        if frozen.parameter not in parameters:
            raise InputError(f"{field}.parameter", f"be one of {', '.join(parameters)}", repr(frozen.parameter))
        shape = parameters[frozen.parameter].shape
        mask = masks.setdefault(frozen.parameter, torch.zeros(shape, dtype=torch.bool))
        mask[... if frozen.index is None else place_of(field, shape, frozen.index)] = True
    return masks


def updatable(masks: Mapping[str, torch.Tensor], parameters: Sequence[tuple[str, torch.Tensor]]) -> int:
    """How many parameter cells the step can move."""
    return sum(value.numel() - int(masks[name].sum()) if name in masks else value.numel() for name, value in parameters)
