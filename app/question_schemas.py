"""What answers to questions about a trace look like, for the OpenAPI (as in answer_schemas.py)."""

from __future__ import annotations

from typing import Literal

from app.answer_schemas import Answer, Index


class Expression(Answer):
    """A node of an expression, with its float64 value. A leaf is a cell (tensor, index) or a constant."""

    kind: str
    value: float | None
    args: list[Expression] | None = None
    tensor: str | None = None
    index: Index | None = None
    label: str | None = None
    count: int | None = None


class Contribution(Answer):
    """What one step sends to a gradient's cell."""

    step: int
    role: str
    expression: Expression


class Explanation(Answer):
    """`residual` is the expression's value minus what was captured; no expression: `note` says why."""

    tensor: str
    index: Index
    label: str
    what: Literal["value", "gradient"]
    expression: Expression | None
    captured: float | None
    residual: float | None
    contributions: list[Contribution]
    note: str


class Hop(Answer):
    """The next cell of a path, and its derivative by the cell before."""

    tensor: str
    index: Index
    label: str
    derivative: float | None


class PathAnswer(Answer):
    value: float | None
    hops: list[Hop]


class Paths(Answer):
    """`rest` is the gradient minus the paths that are shown."""

    label: str
    total: float | None
    paths: list[PathAnswer]
    complete: bool
    rest: float | None


class Verification(Answer):
    """`method` says in a sentence what was done; numbers that it did not need are null."""

    tensor: str
    index: Index
    label: str
    what: Literal["value", "gradient"]
    ok: bool
    method: str
    kink: bool
    captured: float | None
    recomputed: float | None
    difference: float | None
    autograd64: float | None
    finite_difference: float | None
    left: float | None
    right: float | None
    epsilon: float | None
    relative_error: float | None


class Change(Answer):
    tensor: str
    index: Index
    label: str
    before: float | None
    after: float | None
    delta: float | None


class Comparison(Answer):
    """At most 1,000 cells are listed; `count` and `tensors` count all."""

    same: bool
    first: str | None
    cells: list[Change]
    count: int
    tensors: dict[str, int]
    only_here: list[str]
    only_there: list[str]
