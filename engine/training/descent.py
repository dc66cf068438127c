"""Gradient descent, one yielded step at a time, on a private copy of the module: the shared one keeps its weights.

Each step is the update that a trace records: parameter - learning_rate * gradient where not frozen, in float32; or, by
a recipe, momentum's or Adam's. Nothing is recorded here; a trace of the trained parameters shows how any of it came
about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from engine.errors import InputError
from engine.ops.table import rows
from engine.run import Loss
from engine.skeleton import Edit, private_copy
from engine.training.optimisers import SGD, Adam, Optimiser
from engine.update import Frozen, Update, frozen_masks

MOMENTUM = 0.9


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
    after: int = 0,
    parameters_then: Mapping[str, torch.Tensor] | None = None,
    optimiser: Optimiser | None = None,
) -> Iterator[Descent]:
    """Yields the start and then each update until there were `steps`.

    inputs: what forward takes, by name. loss: (prediction, target) -> one number. edits: cells of the parameters set
    before the start. after, parameters_then: a place to go on from, updates already made and what they led to.
    optimiser: what makes steps of the gradients, in place of plain gradient descent; frozen cells have no gradient.
    Raises InputError for a parameter or place that does not exist, and what the module raises.
    """
    private = private_copy(module, edits)
    row = rows()["sgd"]
    parameters = dict(private.parameters)
    for name, value in (parameters_then or {}).items():
        parameters[name].data = value
    masks = frozen_masks(Update(learning_rate, tuple(frozen)), parameters)
    rate = torch.tensor(learning_rate)
    for step in range(after, steps + 1):
        value = loss(private.module(**inputs), target)
        yield Descent(step, float(value.detach()), {name: one.detach() for name, one in parameters.items()})
        if step == steps:
            return
        found = torch.autograd.grad(value, list(parameters.values()), allow_unused=True)
        gradients = {name: one for name, one in zip(parameters, found, strict=True) if one is not None}
        # Another storage, not a write: the first one is the shared module's.
        if optimiser is None:
            for name, gradient in gradients.items():
                mask = {"frozen": masks[name]} if name in masks else {}
                with torch.no_grad():
                    moved = row.run(parameter=parameters[name], gradient=gradient, learning_rate=rate, **mask)
                parameters[name].data = moved
            continue
        moving = {name: parameters[name].detach().clone() for name in gradients}
        for name in masks.keys() & gradients.keys():
            gradients[name] = gradients[name].masked_fill(masks[name], 0.0)
        optimiser.step(moving, gradients, learning_rate)
        for name, moved in moving.items():
            parameters[name].data = moved


class Descending:
    """`descend` for a model's request, as a Training: its inputs, target, edits, options and update.

    optimiser: sgd is the trace's own update; momentum (0.9) and adam are engine.training.optimisers'. Raises InputError
    as `Model.trace` does, before the first step, and for another rule than sgd: the trace's AdamW starts from moments
    of zero, and so is a first step only.
    """

    def __init__(self, model: Any, request: Mapping[str, Any], *, steps: int, optimiser: str = "sgd") -> None:
        self.steps = steps
        self._optimiser = OPTIMISERS[optimiser]()
        self._name = optimiser
        self._model = model
        self._request = request
        self._last: Descent | None = None
        self._start: Mapping[str, Any] = {}

    def __iter__(self) -> Iterator[Descent]:
        update = self._request.get("update") or {"rule": "sgd", "learning_rate": 0.1, "frozen": []}
        checked = self._model.trace({**self._request, "update": update, "backward": True})
        update = checked.request["update"]
        if update["rule"] != "sgd":
            raise InputError("update.rule", "be sgd to train", repr(update["rule"]))
        yield from self._noted(
            descend(
                self._model.module(checked.request["options"]),
                {name: checked[name] for name in checked.request["inputs"]},
                target=checked["target"] if "target" in checked.tensors else None,
                loss=self._model.loss_for(checked.request["options"]),
                learning_rate=float(update["learning_rate"]),
                steps=self.steps,
                frozen=[
                    Frozen(one["parameter"], None if one.get("index") is None else tuple(one["index"]))
                    for one in update.get("frozen", [])
                ],
                edits=[Edit(one["parameter"], tuple(one["index"]), one["value"]) for one in checked.request["edits"]],
                optimiser=self._optimiser,
                **self._start,
            )
        )

    def state(self) -> dict[str, Any]:
        """The step, the parameters, and what the optimiser remembers; plain gradient descent remembers nothing else."""
        if self._last is None:
            raise ValueError("a descent has a state once it has begun")
        found = {"step": self._last.step, "parameters": dict(self._last.parameters)}
        if self._optimiser is not None:
            found["optimiser"] = {"name": self._name, **self._optimiser.state()}
        return found

    def resume(self, state: Mapping[str, Any]) -> None:
        """Also with another optimiser, which then remembers nothing."""
        kept = state.get("optimiser")
        if self._optimiser is not None and kept is not None and kept["name"] == self._name:
            self._optimiser.resume(kept)
        self._start = {"after": state["step"], "parameters_then": state["parameters"]}

    def _noted(self, descents: Iterator[Descent]) -> Iterator[Descent]:
        for self._last in descents:
            yield self._last


OPTIMISERS: Mapping[str, Callable[[], Optimiser | None]] = {
    "sgd": lambda: None,
    "momentum": lambda: SGD(MOMENTUM),
    "adam": Adam,
}


def prepare(model: Any, request: Mapping[str, Any], *, steps: int, recipe: Mapping[str, Any]) -> Descending:
    """A descent for a model's request. recipe: {"optimiser": sgd, momentum or adam}. Raises InputError for another."""
    for name, value in recipe.items():
        if name != "optimiser":
            raise InputError(f"recipe.{name}", "be left out: this model trains by its update", repr(value)[:80])
        if not isinstance(value, str) or value not in OPTIMISERS:
            raise InputError("recipe.optimiser", f"be one of {', '.join(OPTIMISERS)}", repr(value)[:80])
    return Descending(model, request, steps=steps, **recipe)
