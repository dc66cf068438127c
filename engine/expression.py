"""The one tree that every explanation is: how a scalar was computed, each node with its float64 value.

A leaf is a reference to a tensor's cell or a constant; inner nodes are arithmetic. Constructors compute the value
with IEEE rules (division by zero and overflow give inf or nan, never an exception). No tensors, no JSON text here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.trace import Index


@dataclass(frozen=True)
class Expr:
    """kind: ref const sum product quotient power exp log max min negative compare select function rest.

    tensor, index: for `ref`, the cell. label: for `const` its meaning ("n", "frozen"), for `function` and `compare` the
    function or relation. count: for `rest`, how many terms it stands for. `select` has three args: condition (a compare),
    the value when it holds, the value when it does not; only the one taken gives the node's value.
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
    return Expr("power", _ieee(math.pow, base.value, exponent.value), (base, exponent))


def exp(term: Expr) -> Expr:
    return Expr("exp", _ieee(math.exp, term.value), (term,))


def log(term: Expr) -> Expr:
    return Expr("log", -math.inf if term.value == 0 else _ieee(math.log, term.value), (term,))


def maximum(*terms: Expr) -> Expr:
    return Expr("max", _extreme(max, terms), terms)


def minimum(*terms: Expr) -> Expr:
    return Expr("min", _extreme(min, terms), terms)


def compare(left: Expr, relation: str, right: Expr) -> Expr:
    """relation: one of > >= < <= == !=; the value is 1 or 0."""
    return Expr("compare", float(_RELATIONS[relation](left.value, right.value)), (left, right), label=relation)


def select(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    return Expr("select", (then if condition.value else otherwise).value, (condition, then, otherwise))


def function(name: str, value: float, *args: Expr) -> Expr:
    """A named function of its arguments whose value the caller computed in float64 (erf, tanh, sqrt ...)."""
    return Expr("function", float(value), args, label=name)


def shorten(terms: Sequence[Expr], limit: int) -> Expr:
    """A sum that keeps the `limit` largest terms by magnitude, in their order, and one exact remainder.

    Raises ValueError unless limit is at least 1.
    """
    if limit < 1:
        raise ValueError(f"limit must be at least 1; got {limit}")
    if len(terms) <= limit + 1:
        return add(*terms)
    largest = sorted(range(len(terms)), key=lambda i: -_magnitude(terms[i].value))[:limit]
    kept = set(largest)
    rest = [term.value for i, term in enumerate(terms) if i not in kept]
    remainder = Expr("rest", _sum(rest), count=len(rest))
    shown = (*(terms[i] for i in sorted(largest)), remainder)
    return Expr("sum", _sum([term.value for term in terms]), shown)


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


def _magnitude(value: float) -> float:
    return math.inf if math.isnan(value) else abs(value)


def _sum(values: Sequence[float]) -> float:
    if all(map(math.isfinite, values)):
        return _ieee(math.fsum, values)
    return sum(values)


def _divide(top: float, bottom: float) -> float:
    if bottom:
        return top / bottom
    if top == 0 or math.isnan(top):
        return math.nan
    return math.copysign(math.inf, top) * math.copysign(1, bottom)


def _ieee(compute: Callable[..., float], *values) -> float:
    try:
        return compute(*values)
    except OverflowError:
        return math.inf
    except (ValueError, ZeroDivisionError):
        return math.nan


def _extreme(pick: Callable[..., float], terms: Sequence[Expr]) -> float:
    values = [term.value for term in terms]
    return math.nan if any(map(math.isnan, values)) else pick(values)
