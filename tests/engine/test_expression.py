from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine import expression as ex
from engine.expression import Expr, const

ANY = st.floats(width=64)


def same(got: float, wanted: float) -> bool:
    return (math.isnan(got) and math.isnan(wanted)) or got == wanted


def test_nodes_carry_the_value_of_a_worked_sum() -> None:
    tree = ex.add(ex.multiply(const(1), const(2)), ex.multiply(const(-1), const(-1)), const(0))
    assert tree.value == 3
    assert [term.value for term in tree.args] == [2, 1, 0]


def test_single_term_stays_itself_and_no_term_is_zero() -> None:
    assert ex.add(const(3)) == const(3)
    assert ex.multiply(const(3)) == const(3)
    assert ex.add().value == 0


def test_arithmetic_of_two_numbers() -> None:
    six, four = const(6), const(4)
    assert ex.subtract(six, four).value == 2
    assert ex.negative(six).value == -6
    assert ex.divide(six, four).value == 1.5
    assert ex.power(six, const(2)).value == 36
    assert ex.maximum(six, four).value == 6
    assert ex.minimum(six, four).value == 4
    assert ex.exp(const(0)).value == 1
    assert ex.log(const(math.e)).value == 1
    assert ex.apply("sqrt", math.sqrt, four).value == 2
    assert ex.function("erf", 0.25, four) == Expr("function", 0.25, (four,), label="erf")


def test_reference_says_which_cell_it_is() -> None:
    leaf = ex.ref("hidden.weight", (0, 1), -1)
    assert (leaf.kind, leaf.tensor, leaf.index, leaf.value) == ("ref", "hidden.weight", (0, 1), -1)


@pytest.mark.parametrize(
    ("relation", "values"),
    [(">", (0, 0, 1)), (">=", (0, 1, 1)), ("<", (1, 0, 0)), ("<=", (1, 1, 0)), ("==", (0, 1, 0))],
)
def test_comparison_is_one_or_zero(relation: str, values: tuple[int, int, int]) -> None:
    assert tuple(ex.compare(const(left), relation, const(2)).value for left in (1, 2, 3)) == values
    assert ex.compare(const(math.nan), relation, const(2)).value == 0


def test_choice_takes_the_value_of_the_branch_that_holds() -> None:
    holds = ex.compare(const(1), ">", const(0))
    assert ex.select(holds, const(5), const(math.nan)).value == 5
    assert ex.select(ex.compare(const(0), ">", const(0)), const(5), const(7)).value == 7


@given(ANY, ANY)
def test_quotient_follows_ieee(top: float, bottom: float) -> None:
    wanted = (torch.tensor(top, dtype=torch.float64) / torch.tensor(bottom, dtype=torch.float64)).item()
    assert same(ex.divide(const(top), const(bottom)).value, wanted)


@pytest.mark.parametrize("base", [0.0, -0.0, 1.0, -2.0, math.inf, -math.inf, math.nan, -1e300])
@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 3.0, -1.0, -2.0, 0.25, math.inf, -math.inf, math.nan])
def test_power_follows_ieee(base: float, exponent: float) -> None:
    wanted = torch.tensor(base, dtype=torch.float64).pow(torch.tensor(exponent, dtype=torch.float64)).item()
    assert same(ex.power(const(base), const(exponent)).value, wanted)


def test_logarithm_and_exponential_go_to_infinity_and_nan_without_raising() -> None:
    assert ex.log(const(0)).value == -math.inf
    assert math.isnan(ex.log(const(-1)).value)
    assert ex.exp(const(1000)).value == math.inf
    assert ex.exp(const(-math.inf)).value == 0
    assert math.isnan(ex.apply("sin", math.sin, const(math.inf)).value)


@given(st.lists(ANY, max_size=8))
def test_sum_follows_ieee_and_is_exact_where_finite(values: list[float]) -> None:
    got = ex.add(*map(const, values)).value
    if any(map(math.isnan, values)) or {math.inf, -math.inf} <= set(values):
        assert math.isnan(got)
    elif any(map(math.isinf, values)):
        assert got == (math.inf if math.inf in values else -math.inf)
    elif len(values) > 1 and math.isfinite(sum(map(abs, values))):
        assert got == math.fsum(values)


def test_sum_that_overflows_keeps_its_sign() -> None:
    assert ex.add(const(-1e308), const(-1e308)).value == -math.inf


def test_nan_is_the_extreme_of_whatever_holds_it() -> None:
    assert math.isnan(ex.maximum(const(1), const(math.nan)).value)
    assert math.isnan(ex.minimum(const(math.nan), const(1)).value)


def test_long_sum_keeps_the_largest_by_magnitude_in_order_and_an_exact_rest() -> None:
    tree = ex.shorten([const(value) for value in (1, -50, 2, 30, 4)], 2)
    assert [(term.kind, term.value) for term in tree.args] == [("const", -50), ("const", 30), ("rest", 7)]
    assert tree.args[-1].count == 3
    assert tree.value == -13


def test_sum_one_longer_than_the_limit_is_shown_whole() -> None:
    tree = ex.shorten([const(1), const(2), const(3)], 2)
    assert [term.value for term in tree.args] == [1, 2, 3]


def test_nan_is_never_hidden_in_the_rest() -> None:
    tree = ex.shorten([const(value) for value in (100, 200, 300, math.nan)], 1)
    assert math.isnan(tree.args[0].value)
    assert tree.args[-1].value == 600


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.integers(1, 10))
def test_cut_changes_no_value(values: list[float], limit: int) -> None:
    whole = ex.add(*map(const, values)).value
    assert ex.cut(values, lambda i: const(values[i]), limit).value == whole
    assert ex.cut(values, lambda i: const(values[i]), limit, "max").value == max(values)
    assert ex.cut(values, lambda i: const(values[i]), limit, "min").value == min(values)


def test_cut_builds_only_the_terms_it_shows() -> None:
    built: list[int] = []

    def term(position: int) -> Expr:
        built.append(position)
        return const(position)

    ex.cut([float(i) for i in range(100)], term, 3)
    assert built == [97, 98, 99]


def test_limit_below_one_and_extreme_of_nothing_raise() -> None:
    with pytest.raises(ValueError, match="limit must be at least 1; got 0"):
        ex.shorten([const(1)], 0)
    with pytest.raises(ValueError, match="expected at least one term for a max; got none"):
        ex.cut([], const, 1, "max")


def test_leaves_come_left_to_right() -> None:
    tree = ex.add(ex.multiply(ex.ref("w", (0,), 2), ex.ref("x", (1,), 3)), const(1), ex.ref("b", (), 4))
    assert [leaf.tensor for leaf in ex.leaves(tree)] == ["w", "x", "b"]
