"""Numbers as people read them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import numbers


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (5.5, "5.5"),
        (5.0, "5"),
        (5, "5"),
        (-3.5, "−3.5"),
        (-0.0, "0"),
        (0.01125, "0.01125"),
        (0.98876953125, "0.9888"),
        (7.9003125, "7.9"),
        (123456.0, "123456"),
        (12345678.0, "1.235e7"),
        (-1e-7, "−1e−7"),
        (math.inf, "+∞"),
        (-math.inf, "−∞"),
        (math.nan, "NaN"),
        (None, "no value"),
    ],
)
def test_text_is_exact_while_short_else_four_significant_digits(value, shown):
    assert numbers.text(value) == shown


def test_html_keeps_the_exact_value_beside_the_text():
    assert numbers.html(-7.5) == '<data class="n" value="-7.5">−7.5</data>'


def test_a_rounded_number_has_all_its_digits_at_hand():
    assert numbers.html(-7.9003125) == '<data class="n" value="-7.9003125" title="−7.9003125">−7.9</data>'
    assert numbers.tspan(0.98877) == '<tspan class="n" data-value="0.98877" data-digits="0.98877">0.9888</tspan>'


@pytest.mark.parametrize(("value", "exact"), [(5.5, True), (0.1234567, False), (1.25e-5, True), (math.inf, True)])
def test_a_number_is_exact_where_its_text_reads_back_as_it(value, exact):
    assert numbers.is_exact(value) is exact
    assert numbers.relation(1, value) == ("=" if exact else "≈")


def test_html_says_what_is_no_ordinary_number():
    assert numbers.html(math.nan) == '<data class="n nan" value="NaN">NaN</data>'
    assert numbers.html(-math.inf) == '<data class="n inf" value="-Infinity">−∞</data>'
    assert numbers.html(None) == '<span class="n none">no value</span>'


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_exact_text_reads_back_as_the_same_number(value):
    assert float(numbers.exact(value)) == value


@given(st.floats(min_value=-1e300, max_value=1e300, allow_subnormal=False))
def test_shown_text_is_within_half_a_unit_of_the_fourth_digit(value):
    shown = float(numbers.text(value).replace("−", "-"))
    assert math.isclose(shown, value, rel_tol=5.1e-4, abs_tol=0)


@pytest.mark.parametrize(("value", "expected"), [(2, "pos"), (-0.5, "neg"), (0.0, "zero"), (math.nan, ""), (None, "")])
def test_sign_names_the_class(value, expected):
    assert numbers.sign(value) == expected
