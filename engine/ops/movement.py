"""How a row is made for an operation that only moves numbers: every output cell is a copy of some operand's cell.

Where it came from is found by running the operation itself on tensors that hold cell numbers instead of values; that
serves indexing, reshaping, joining and splitting alike. The rows are in shape.py, indexing.py and joining.py.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from engine import expression as ex
from engine.expression import Expr
from engine.ops.notation import Writer, call_tex, call_text, nothing
from engine.ops.places import unravel
from engine.ops.table import Op, Parameters, Reader
from engine.trace import Index

NOT_MOVED = 0
"""The number of a cell that comes from no operand (a fill value, or zeros above a diagonal)."""

Keep = Callable[[Reader, str, Index], bool]


def movement(
    name: str,
    calls: Mapping[str, Parameters],
    run: Callable[..., Any],
    *,
    moved: Sequence[str] = ("input",),
    text: Writer | None = None,
    tex: Writer | None = None,
    fill: str | None = None,
    no_gradient: Keep | None = None,
    all_outputs: bool = False,
) -> Op:
    """A row for a move.

    moved:       roles whose cells arrive in the output; `tensors` stands for tensors.0, tensors.1, ...
    fill:        the attribute that holds the number of cells that come from no operand; they are 0 without one.
    no_gradient: cells of an operand that PyTorch sends nothing to (the padding row of an embedding).
    """

    def cell(reader: Reader, index: Index) -> Expr:
        operands = _operands(reader, moved)
        number = int(_outputs(reader, run, operands, fill)[reader.position][index].item())
        if number == NOT_MOVED:
            return ex.const(reader.attribute(fill, 0) if fill else 0, fill)
        for role, (first, shape) in operands.items():
            if first <= number < first + math.prod(shape):
                return reader.leaf(role, unravel(number - first, shape))
        raise AssertionError(f"{name} made cell number {number}, which no operand has")

    def grad_cell(reader: Reader, role: str, index: Index) -> Expr:
        operands = _operands(reader, moved)
        if role not in operands:
            raise ValueError(f"{name} sends a gradient to {', '.join(operands)}; got {role!r}")
        if no_gradient is not None and no_gradient(reader, role, index):
            return ex.const(0, "no gradient here")
        first, shape = operands[role]
        number = first + _flat(index, shape)
        arriving: list[Expr] = []
        for position, source in enumerate(_outputs(reader, run, operands, fill)):
            if reader.arriving_tensor(position) is not None:
                places = (source == number).nonzero().tolist()
                arriving.extend(reader.arriving(tuple(place), position) for place in places)
        return reader.sum(arriving)

    return Op(
        name,
        calls,
        run,
        cell,
        grad_cell,
        text or call_text(name, *moved),
        tex or call_tex(name, *moved),
        nothing,
        all_outputs=all_outputs,
    )


def one_name(name: str, *parameters: str) -> dict[str, Parameters]:
    """The calls of an operation known by its own name only."""
    return {name: parameters}


def _operands(reader: Reader, moved: Sequence[str]) -> dict[str, tuple[int, tuple[int, ...]]]:
    """The first cell number and the shape of each operand that is moved; numbers count from 1."""
    found: dict[str, tuple[int, tuple[int, ...]]] = {}
    first = NOT_MOVED + 1
    for role in _present(reader, moved):
        shape = tuple(reader.tensor(role).shape)
        found[role] = (first, shape)
        first += math.prod(shape)
    return found


def _present(reader: Reader, moved: Sequence[str]) -> Iterator[str]:
    for role in moved:
        if reader.has(role):
            yield role
        for place in itertools.count():
            if not reader.has(f"{role}.{place}"):
                break
            yield f"{role}.{place}"


def _outputs(
    reader: Reader,
    run: Callable[..., Any],
    operands: Mapping[str, tuple[int, tuple[int, ...]]],
    fill: str | None,
) -> tuple[torch.Tensor, ...]:
    """The outputs of the operation run on cell numbers."""
    numbers = {
        role: torch.arange(first, first + math.prod(shape)).reshape(shape) for role, (first, shape) in operands.items()
    }
    arguments = reader.arguments(numbers)
    if fill is not None and fill not in operands:
        arguments[fill] = NOT_MOVED
    output = run(**arguments)
    return (output,) if isinstance(output, torch.Tensor) else tuple(output)


def _flat(index: Index, shape: tuple[int, ...]) -> int:
    flat = 0
    for place, size in zip(index, shape, strict=True):
        flat = flat * size + place
    return flat
