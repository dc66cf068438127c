"""Reads one recorded step for the rules of the table of operations, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from engine import expression
from engine.calls import arguments
from engine.expression import Combine, Expr
from engine.trace import Index, Step, Trace


class StepReader:
    """The Reader (ops/table.py) of a forward, loss or update step of a trace.

    limit:    how many terms of a long sum are shown.
    position: which of the step's outputs is explained.
    """

    def __init__(self, trace: Trace, step: Step, limit: int = 64, position: int = 0) -> None:
        self.position = position
        self._trace = trace
        self._step = step
        self._limit = limit
        self._names = {operand.role: operand.tensor for operand in step.inputs}

    def leaf(self, role: str, index: Index) -> Expr:
        return self._cell(self._names[role], index)

    def output(self, index: Index) -> Expr:
        return self._cell(self._step.outputs[self.position], index)

    def arriving(self, index: Index, position: int = 0) -> Expr:
        """Raises ValueError where the loss has no path through this output."""
        output = self._step.outputs[position]
        gradient = self._trace.record(output).gradient
        if gradient is None:
            raise ValueError(f"expected a gradient at {output}; the loss has no path through it")
        return self._cell(gradient, index)

    def tensor(self, role: str) -> torch.Tensor:
        return self._trace[self._names[role]]

    def output_tensor(self) -> torch.Tensor:
        return self._trace[self._step.outputs[self.position]]

    def arriving_tensor(self, position: int = 0) -> torch.Tensor | None:
        if position >= len(self._step.outputs):
            return None
        gradient = self._trace.record(self._step.outputs[position]).gradient
        return None if gradient is None else self._trace[gradient]

    def has(self, role: str) -> bool:
        return role in self._names

    def attribute(self, name: str, default: Any = None) -> Any:
        return self._step.attributes.get(name, default)

    def arguments(self, replaced: Mapping[str, torch.Tensor]) -> dict[str, Any]:
        roles = {role: self._trace[name] for role, name in self._names.items()}
        return arguments({**roles, **replaced}, self._step.attributes)

    def sum(self, terms: list[Expr]) -> Expr:
        return expression.shorten(terms, self._limit)

    def total(self, values: torch.Tensor, term: Callable[[int], Expr], combine: Combine = "sum") -> Expr:
        return expression.cut(values.tolist(), term, self._limit, combine)

    def _cell(self, name: str, index: Index) -> Expr:
        return expression.ref(name, index, self._trace[name][tuple(index)].item())
