"""What a reader may choose beside the run."""

import pytest

from app.fields import Setting

CURVE = Setting("curve", "Curve", "sine", choices={"sine": "a sine", "step": "a step"})
UNITS = Setting("units", "Units", 4, least=1, limit=64, whole=True)


def test_a_choice_is_one_of_its_keys():
    assert CURVE.fits("step")
    assert not CURVE.fits("a step")
    assert not CURVE.fits(1)
    assert CURVE.expected == "be one of sine, step"
    assert CURVE.shown("step") == "a step"


@pytest.mark.parametrize(
    ("value", "fits"), [(1, True), (64, True), (0, False), (65, False), (2.5, False), ("4", False)]
)
def test_a_whole_number_lies_within_its_bounds(value, fits):
    assert UNITS.fits(value) is fits


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_is_finite(value):
    assert not Setting("rate", "Rate", 0.1).fits(value)
    assert not Setting("count", "Count", 1, whole=True).fits(value)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({}, "be a number"),
        ({"least": 0}, "be a number of 0 or more"),
        ({"limit": 1000}, "be a number of at most 1000"),
        ({"least": 0, "limit": 2.5}, "be a number from 0 to 2.5"),
        ({"least": 0, "limit": 9, "whole": True}, "be a whole number from 0 to 9"),
    ],
)
def test_what_is_expected_names_the_bounds(bounds, expected):
    assert Setting("rate", "Rate", 1, **bounds).expected == expected


def test_a_default_that_does_not_fit_raises():
    with pytest.raises(ValueError, match="expected units to be a whole number from 1 to 64; got 0"):
        Setting("units", "Units", 0, least=1, limit=64, whole=True)
