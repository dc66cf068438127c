"""The one tree that every explanation is: how a scalar was computed, each node with its float64 value.

A leaf is a reference to a tensor's cell or a constant; inner nodes are arithmetic. Constructors compute the value
with IEEE rules (division by zero and overflow give inf or nan, never an exception). No tensors, no JSON text here.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.trace import Index

Combine = Literal["sum", "max", "min"]


@dataclass(frozen=True)
class Expr:
    """kind: ref const sum product quotient power exp log max min negative compare select function rest.

    tensor, index: for `ref`, the cell. label: for `const` its meaning ("n", "frozen"), for `function` and `compare` the
    function or relation. count: for `rest`, how many terms it stands for. `select` has three args: condition (a
    compare, or a const whose label says what was decided: "held", "frozen"), the value when it holds, the value when it
    does not; only the one taken gives the node's value.
    """

    kind: str
    value: float
    args: tuple[Expr, ...] = ()
    tensor: str | None = None
    index: Index | None = None
    label: str | None = None
    count: int | None = None


def ref(tensor: str, index: Index, value: float) -> Expr:
    return Expr("ref", float(value), tensor=tensor, index=tuple(index))


def const(value: float, label: str | None = None) -> Expr:
    return Expr("const", float(value), label=label)


def add(*terms: Expr) -> Expr:
    """A sum; one term stays itself, none is 0."""
    if len(terms) == 1:
        return terms[0]
    return Expr("sum", _sum([term.value for term in terms]), terms)


def multiply(*factors: Expr) -> Expr:
    if len(factors) == 1:
        return factors[0]
    return Expr("product", math.prod(factor.value for factor in factors), factors)


def negative(term: Expr) -> Expr:
    return Expr("negative", -term.value, (term,))


def subtract(left: Expr, right: Expr) -> Expr:
    return add(left, negative(right))


def divide(top: Expr, bottom: Expr) -> Expr:
    return Expr("quotient", _divide(top.value, bottom.value), (top, bottom))


def power(base: Expr, exponent: Expr) -> Expr:
    return Expr("power", _power(base.value, exponent.value), (base, exponent))


def exp(term: Expr) -> Expr:
    return Expr("exp", _ieee(math.exp, term.value), (term,))


def log(term: Expr) -> Expr:
    return Expr("log", -math.inf if term.value == 0 else _ieee(math.log, term.value), (term,))


def maximum(*terms: Expr) -> Expr:
    return Expr("max", _extreme(max, [term.value for term in terms]), terms)


def minimum(*terms: Expr) -> Expr:
    return Expr("min", _extreme(min, [term.value for term in terms]), terms)


def compare(left: Expr, relation: str, right: Expr) -> Expr:
    """relation: one of > >= < <= == !=; the value is 1 or 0."""
    return Expr("compare", float(_RELATIONS[relation](left.value, right.value)), (left, right), label=relation)


def select(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    return Expr("select", (then if condition.value else otherwise).value, (condition, then, otherwise))


def function(name: str, value: float, *args: Expr) -> Expr:
    """A named function of its arguments whose value the caller computed in float64 (erf, tanh, sqrt ...)."""
    return Expr("function", float(value), args, label=name)


def apply(name: str, compute: Callable[..., float], *args: Expr) -> Expr:
    """A named function whose value is `compute` of its arguments' values; nan outside the domain, inf on overflow."""
    return Expr("function", _ieee(compute, *(arg.value for arg in args)), args, label=name)


def shorten(terms: Sequence[Expr], limit: int) -> Expr:
    """A sum that keeps the `limit` largest terms by magnitude, in their order, and one exact remainder.

    Raises ValueError unless limit is at least 1.
    """
    return cut([term.value for term in terms], terms.__getitem__, limit)


def cut(values: Sequence[float], term: Callable[[int], Expr], limit: int, combine: Combine = "sum") -> Expr:
    """The sum (max, min) of term(0), term(1), ..., of which only those shown are built.

    values:  the terms' values, in order; more than limit + 1 of them keep the `limit` that matter most (largest by
             magnitude in a sum, nearest the extreme in a max or min; nan always), in their order, and one exact rest.
    Raises ValueError unless limit is at least 1, and for the max or min of nothing.
    """
    if limit < 1:
        raise ValueError(f"limit must be at least 1; got {limit}")
    if combine != "sum" and not values:
        raise ValueError(f"expected at least one term for a {combine}; got none")
    count = len(values)
    if count == 1:
        return term(0)
    if count <= limit + 1:
        return Expr(combine, _COMBINE[combine](values), tuple(term(i) for i in range(count)))
    weight = _WEIGHT[combine]
    kept = set(heapq.nlargest(limit, range(count), key=lambda i: weight(values[i])))
    rest = [value for i, value in enumerate(values) if i not in kept]
    remainder = Expr("rest", _COMBINE[combine](rest), count=len(rest))
    return Expr(combine, _COMBINE[combine](values), (*(term(i) for i in sorted(kept)), remainder))


def leaves(tree: Expr) -> list[Expr]:
    """Every reference in the tree, left to right."""
    if tree.kind == "ref":
        return [tree]
    return [leaf for arg in tree.args for leaf in leaves(arg)]


_RELATIONS: dict[str, Callable[[float, float], bool]] = {
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def _first_if_nan(weight: Callable[[float], float]) -> Callable[[float], float]:
    return lambda value: math.inf if math.isnan(value) else weight(value)


def _sum(values: Sequence[float]) -> float:
    if all(map(math.isfinite, values)):
        try:
            return math.fsum(values)
        except OverflowError:
            pass
    return sum(values, start=0.0)


def _power(base: float, exponent: float) -> float:
    odd = exponent % 2 == 1 if math.isfinite(exponent) else False
    if base == 0 and exponent < 0:
        return math.copysign(math.inf, base) if odd else math.inf
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and odd else math.inf
    except ValueError:
        return math.nan


def _divide(top: float, bottom: float) -> float:
    if bottom:
        return top / bottom
    if top == 0 or math.isnan(top):
        return math.nan
    return math.copysign(math.inf, top) * math.copysign(1, bottom)


def _ieee(compute: Callable[..., float], *values: float) -> float:
    try:
        return compute(*values)
    except OverflowError:
        return math.inf
    except (ValueError, ZeroDivisionError):
        return math.nan


def _extreme(pick: Callable[..., float], values: Sequence[float]) -> float:
    return math.nan if any(map(math.isnan, values)) else pick(values)


_COMBINE: dict[Combine, Callable[[Sequence[float]], float]] = {
    "sum": _sum,
    "max": lambda values: _extreme(max, values),
    "min": lambda values: _extreme(min, values),
}

_WEIGHT: dict[Combine, Callable[[float], float]] = {
    "sum": _first_if_nan(abs),
    "max": _first_if_nan(lambda value: value),
    "min": _first_if_nan(lambda value: -value),
}
