"""Gradient descent, one yielded step at a time, on a private copy of the module: the shared one keeps its weights.

Each step is the update that a trace records: parameter - learning_rate * gradient where not frozen, in float32. Nothing
is recorded here; a trace of the trained parameters shows how any of it came about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from engine.errors import InputError
from engine.ops.table import rows
from engine.run import Loss
from engine.skeleton import Edit, private_copy
from engine.update import Frozen, Update, frozen_masks


@dataclass(frozen=True)
class Descent:
    """Where the descent is after `step` updates; step 0 is the start.

    loss: of the parameters as they now are. parameters: their values by name, never written to again.
    """

    step: int
    loss: float
    parameters: Mapping[str, torch.Tensor] = field(repr=False)


def descend(
    module: nn.Module,
    inputs: Mapping[str, torch.Tensor],
    *,
    target: torch.Tensor | None,
    loss: Loss,
    learning_rate: float,
    steps: int,
    frozen: Sequence[Frozen] = (),
    edits: Sequence[Edit] = (),
) -> Iterator[Descent]:
    """Yields the start and then each of `steps` updates.

    inputs: what forward takes, by name. loss: (prediction, target) -> one number. edits: cells of the parameters set
    before the start. Raises InputError for a parameter or place that does not exist, and what the module raises.
    """
    private = private_copy(module, edits)
    row = rows()["sgd"]
    parameters = dict(private.parameters)
    masks = frozen_masks(Update(learning_rate, tuple(frozen)), parameters)
    rate = torch.tensor(learning_rate)
    for step in range(steps + 1):
        value = loss(private.module(**inputs), target)
        yield Descent(step, float(value.detach()), {name: one.detach() for name, one in parameters.items()})
        if step == steps:
            return
        gradients = torch.autograd.grad(value, list(parameters.values()), allow_unused=True)
        with torch.no_grad():
            for (name, parameter), gradient in zip(parameters.items(), gradients, strict=True):
                if gradient is not None:
                    mask = {"frozen": masks[name]} if name in masks else {}
                    # Another storage, not a write: the first one is the shared module's.
                    parameter.data = row.run(parameter=parameter, gradient=gradient, learning_rate=rate, **mask)


def training(model: Any, request: Mapping[str, Any], *, steps: int) -> Iterator[Descent]:
    """`descend` for a model's request: its inputs, target, edits, options and update, with the model's defaults.

    Raises InputError as `Model.trace` does, before the first step, and for another rule than sgd: the trace's AdamW
    starts from moments of zero, and so is a first step only.
    """
    whole = {**request, "update": request.get("update") or {"rule": "sgd", "learning_rate": 0.1, "frozen": []}}
    checked = model.trace({**whole, "backward": True})
    update = checked.request["update"]
    if update["rule"] != "sgd":
        raise InputError("update.rule", "be sgd to train", repr(update["rule"]))
    yield from descend(
        model.module(checked.request["options"]),
        {name: checked[name] for name in checked.request["inputs"]},
        target=checked["target"] if "target" in checked.tensors else None,
        loss=model.loss,
        learning_rate=float(update["learning_rate"]),
        steps=steps,
        frozen=[
            Frozen(one["parameter"], None if one.get("index") is None else tuple(one["index"]))
            for one in update.get("frozen", [])
        ],
        edits=[Edit(one["parameter"], tuple(one["index"]), one["value"]) for one in checked.request["edits"]],
    )
