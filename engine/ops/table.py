"""What a row of the table of operations holds, and how rows are found.

Every module in this package that has a `ROWS` tuple adds its rows; nothing else is edited to add an operation.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch

from engine.expression import Combine, Expr
from engine.trace import Index

Parameters = tuple[str, ...] | Callable[[tuple[Any, ...], Mapping[str, Any]], tuple[str, ...]]


@runtime_checkable
class Reader(Protocol):
    """What a rule may read of the step it explains. Roles and attributes are named by the row's parameters."""

    position: int
    """Which of the step's outputs is explained; 0 but for rows with `all_outputs`."""

    def leaf(self, role: str, index: Index) -> Expr:
        """One cell of an operand, as a reference."""

    def output(self, index: Index) -> Expr:
        """One cell of the output at `position`, as a reference."""

    def arriving(self, index: Index, position: int = 0) -> Expr:
        """One cell of the gradient that arrives at an output, as a reference."""

    def tensor(self, role: str) -> torch.Tensor: ...

    def output_tensor(self) -> torch.Tensor: ...

    def arriving_tensor(self, position: int = 0) -> torch.Tensor | None:
        """The gradient that arrives at an output; None where the loss has no path through it."""

    def has(self, role: str) -> bool: ...

    def attribute(self, name: str, default: Any = None) -> Any: ...

    def arguments(self, replaced: Mapping[str, torch.Tensor]) -> dict[str, Any]:
        """The call's arguments for `Op.run`, with other tensors in some roles (or in place of some attributes)."""

    def sum(self, terms: list[Expr]) -> Expr:
        """A sum cut to the reader's limit (expression.shorten)."""

    def total(self, values: torch.Tensor, term: Callable[[int], Expr], combine: Combine = "sum") -> Expr:
        """The sum, max or min of many terms with these values, building only those shown (expression.cut)."""


@runtime_checkable
class Labels(Protocol):
    """Symbols for writing a step: `labels.out`, `labels["weight"]`, `labels.rank("input")`, `labels.attribute(...)`."""

    out: str

    def __getitem__(self, role: str) -> str: ...

    def __contains__(self, role: str) -> bool: ...

    def rank(self, role: str) -> int: ...

    def shape(self, role: str) -> tuple[int, ...]: ...

    def attribute(self, name: str, default: Any = None) -> Any: ...


@dataclass(frozen=True)
class Op:
    """One operation: how it is recognised, run, written and explained.

    calls:     function names as recorded (in-place `_` and dunder underscores stripped: `add_`, `__iadd__` -> `add`;
               `__rsub__` -> `rsub`) -> parameter names in positional order. A name that starts with `*` takes the rest;
               names after it are given by keyword. Where PyTorch has several signatures under one name, a function
               of (args, kwargs) gives the names, or () for a form the row does not describe (then engine.calls.bind
               raises TypeError).
               Tensors become operands under the parameter's name; a parameter that holds a sequence of tensors gives
               `tensors.0`, `tensors.1`; everything else becomes an attribute.
    run:       the plain PyTorch call, by keyword: run(**arguments) with the parameter names of `calls`; star names
               without the star, as a tuple. Must equal the recorded call to the bit and work in float64.
    cell:      the expression of one output cell (of the first output, or with `all_outputs` of the reader's one).
    grad_cell: the expression of what this step sends to one cell of the operand in a role; ValueError for a role
               through which no gradient flows (an index, a mask).
    text, tex: the step written out, as plain text ("z = Wx + b") and as LaTeX.
    flops:     from operand shapes and the output's shape; multiply and add count 1 each.
    elementwise: the output has the shape of the (broadcast) operands and each cell reads only its own place, so that
               a local derivative of that shape can be drawn.
    all_outputs: the row describes every output of the step (split, chunk, unbind), not only the first.
    """

    name: str
    calls: Mapping[str, Parameters]
    run: Callable[..., Any]
    cell: Callable[[Reader, Index], Expr]
    grad_cell: Callable[[Reader, str, Index], Expr]
    text: Callable[[Labels], str]
    tex: Callable[[Labels], str]
    flops: Callable[[Mapping[str, tuple[int, ...]], tuple[int, ...]], int]
    elementwise: bool = False
    all_outputs: bool = False


@functools.cache
def rows() -> Mapping[str, Op]:
    """Every operation by its name. Raises ValueError if two rows share a name."""
    return _index(lambda op: [op.name])


@functools.cache
def calls() -> Mapping[str, Op]:
    """Every operation by the function names it answers to. Raises ValueError if two rows claim one name."""
    return _index(lambda op: op.calls)


def _index(keys: Callable[[Op], Any]) -> Mapping[str, Op]:
    package = importlib.import_module("engine.ops")
    found: dict[str, Op] = {}
    for module in pkgutil.iter_modules(package.__path__, "engine.ops."):
        for op in getattr(importlib.import_module(module.name), "ROWS", ()):
            for key in keys(op):
                if key in found:
                    raise ValueError(f"two operations answer to {key!r}: {found[key].name} and {op.name}")
                found[key] = op
    return found
