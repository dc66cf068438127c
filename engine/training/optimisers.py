"""SGD, momentum and Adam as plain equations, in the order of operations of torch.optim, so that every bit is the same.

Weights decay as in torch.optim.SGD and Adam: λ times the parameter is added to its gradient.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

Tensors = Mapping[str, Tensor]


@runtime_checkable
class Optimiser(Protocol):
    """What turns gradients into steps; it may remember something from step to step."""

    def step(self, parameters: Tensors, gradients: Tensors, learning_rate: float) -> None:
        """Moves the parameters, in place. Both have the same names."""

    def state(self) -> dict[str, Any]:
        """A copy of what it remembers: tensors and plain data."""

    def resume(self, state: Mapping[str, Any]) -> None:
        """Remembers this instead."""


@dataclass
class SGD:
    """θ - η v with v = g at first, then μ v + g (Polyak 1964); without momentum v is g."""

    momentum: float = 0.0
    weight_decay: float = 0.0
    _velocity: dict[str, Tensor] = field(default_factory=dict)

    @torch.no_grad()
    def step(self, parameters: Tensors, gradients: Tensors, learning_rate: float) -> None:
        for name, parameter in parameters.items():
            direction = _decayed(gradients[name], parameter, self.weight_decay)
            if self.momentum:
                if name in self._velocity:
                    direction = self._velocity[name].mul_(self.momentum).add_(direction)
                else:
                    direction = self._velocity[name] = direction.clone()
            parameter.sub_(direction, alpha=learning_rate)

    def state(self) -> dict[str, Any]:
        return {"velocity": _copied(self._velocity)}

    def resume(self, state: Mapping[str, Any]) -> None:
        self._velocity = _copied(state["velocity"])


@dataclass
class Adam:
    """θ - η m̂ / (√v̂ + ε), with m and v running means of g and g², and the hats their correction for starts at zero.

    Source: Kingma and Ba 2015, algorithm 1.
    """

    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    _steps: int = 0
    _first: dict[str, Tensor] = field(default_factory=dict)
    _second: dict[str, Tensor] = field(default_factory=dict)

    @torch.no_grad()
    def step(self, parameters: Tensors, gradients: Tensors, learning_rate: float) -> None:
        self._steps += 1
        beta1, beta2 = self.betas
        correction1, correction2 = 1 - beta1**self._steps, 1 - beta2**self._steps
        for name, parameter in parameters.items():
            gradient = _decayed(gradients[name], parameter, self.weight_decay)
            if name not in self._first:
                self._first[name], self._second[name] = torch.zeros_like(parameter), torch.zeros_like(parameter)
            m, v = self._first[name], self._second[name]
            m.lerp_(gradient, 1 - beta1)
            v.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
            denominator = (v.sqrt() / correction2**0.5).add_(self.epsilon)
            parameter.addcdiv_(m, denominator, value=-(learning_rate / correction1))

    def state(self) -> dict[str, Any]:
        return {"steps": self._steps, "first": _copied(self._first), "second": _copied(self._second)}

    def resume(self, state: Mapping[str, Any]) -> None:
        self._steps = state["steps"]
        self._first, self._second = _copied(state["first"]), _copied(state["second"])


def _decayed(gradient: Tensor, parameter: Tensor, weight_decay: float) -> Tensor:
    return gradient.add(parameter, alpha=weight_decay) if weight_decay else gradient


def _copied(tensors: Tensors) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in tensors.items()}
