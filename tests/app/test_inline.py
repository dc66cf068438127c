"""Expressions on one line: what binds less is bracketed, negative numbers are bracketed after the start."""

from __future__ import annotations

import pytest

from app.inline import cell_name, line
from app.numbers import text
from engine.expression import (
    Expr,
    add,
    compare,
    const,
    divide,
    exp,
    maximum,
    multiply,
    negative,
    power,
    ref,
    select,
    shorten,
    subtract,
)


def read(tree: Expr) -> str:
    """The line as a person reads it."""
    return "".join(part["text"] if "text" in part else text(part["number"]) for part in line(tree))


W = ref("hidden.weight", (1, 0), 0.5)
X = ref("x", (1,), -1.0)
B = ref("hidden.bias", (1,), 1.0)


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (add(multiply(W, ref("x", (0,), 2.0)), multiply(B, X), B), "0.5 · 2 + 1 · (−1) + 1"),
        (add(multiply(X, W), X), "−1 · 0.5 + (−1)"),
        (divide(power(subtract(const(5.5), const(4.0)), const(2.0)), const(2.0)), "(5.5 − 4)² / 2"),
        (power(X, const(2.0)), "(−1)²"),
        (multiply(add(W, B), X), "(0.5 + 1) · (−1)"),
        (divide(W, multiply(B, B)), "0.5 / (1 · 1)"),
        (divide(add(W, B), B), "(0.5 + 1) / 1"),
        (subtract(B, X), "1 − (−1)"),
        (subtract(W, add(B, B)), "0.5 − (1 + 1)"),
        (negative(add(W, B)), "−(0.5 + 1)"),
        (multiply(W, negative(B)), "0.5 · (−1)"),
        (select(compare(X, ">", const(0.0)), X, const(0.0)), "0"),
        (maximum(const(0.0), X), "max(0, −1)"),
        (exp(X), "exp(−1)"),
        (compare(X, ">", const(0.0)), "(−1 > 0)"),
        (shorten([const(3.0), const(1.0), const(1.0), const(2.0)], 2), "3 + 2 + (2 more terms: 2)"),
        (power(W, const(0.5)), "0.5^0.5"),
    ],
)
def test_line_reads_as_a_person_would_write_it(tree: Expr, expected: str) -> None:
    assert read(tree) == expected


def test_numbers_carry_the_cell_they_come_from() -> None:
    assert line(multiply(W, const(2.0))) == [
        {"number": 0.5, "cell": "hidden.weight[1,0]"},
        {"text": " · "},
        {"number": 2.0, "cell": None},
    ]


def test_cell_of_a_tensor_without_axes_is_its_name() -> None:
    assert cell_name("loss", ()) == "loss"
    assert cell_name("hidden.weight", (1, 0)) == "hidden.weight[1,0]"


def test_a_sum_of_nothing_is_zero() -> None:
    assert line(add()) == [{"number": 0.0, "cell": None}]
