"""Curves as figures: their points, ranges and ticks."""

from __future__ import annotations

import math

import pytest
from plotly.graph_objects import Figure

from app.curves import Curve, figure, ticks


def drawn(*values: float | None) -> dict:
    return figure([Curve("loss", range(len(values)), values)], "step", "loss")


def test_a_figure_is_one_that_plotly_takes():
    made = figure([Curve("loss", [0, 1], [1, 0.5]), Curve("test loss", [0, 1], [2, 1.5])], "step", "loss")
    for line in made["data"]:
        line["line"] = {**line["line"], "color": "black"}  # the site's own colours are names of its properties
    assert len(Figure(made).data) == 2
    assert made["layout"]["showlegend"]


def test_the_range_holds_every_point():
    layout = drawn(1, 3, 2)["layout"]
    assert layout["xaxis"]["range"] == [0, 2]
    lower, upper = layout["yaxis"]["range"]
    assert lower < 1 < 3 < upper
    assert layout["yaxis"]["tickvals"] == [1, 1.5, 2, 2.5, 3]


def test_curves_over_more_than_two_powers_of_ten_are_drawn_in_them():
    axis = drawn(1, 0.1, 0.002)["layout"]["yaxis"]
    assert axis["type"] == "log"
    assert axis["tickvals"] == pytest.approx([0.01, 0.1, 1])
    assert axis["ticktext"] == ["0.01", "0.1", "1"]
    assert axis["range"][0] < math.log10(0.002) < 0 < axis["range"][1]
    assert "type" not in drawn(1, 0.1, 0.02)["layout"]["yaxis"]
    assert "type" not in drawn(1, 0)["layout"]["yaxis"]


def test_many_powers_of_ten_are_not_all_labelled():
    assert len(drawn(1e-30, 1e30)["layout"]["yaxis"]["tickvals"]) <= 8


@pytest.mark.parametrize("values", [(), (5,), (0, 0), (2, 2, 2), (None, None), (math.nan, 1, math.inf)])
def test_curves_without_width_or_height_are_drawn_too(values):
    made = drawn(*values)
    for axis in ("xaxis", "yaxis"):
        lower, upper = made["layout"][axis]["range"]
        assert math.isfinite(lower) and lower < upper
        assert made["layout"][axis]["tickvals"]
    assert all(y is None or math.isfinite(y) for y in made["data"][0]["y"])


def test_a_name_is_text_and_not_markup():
    made = figure([Curve("<b>", [0], [1])], "<i>", "<u>")
    assert made["data"][0]["name"] == "&lt;b&gt;"
    assert made["layout"]["xaxis"]["title"]["text"] == "&lt;i&gt;"


@pytest.mark.parametrize(
    ("lower", "upper", "most", "expected"),
    [(0, 10, 6, [0, 2, 4, 6, 8, 10]), (-1, 1, 5, [-1, -0.5, 0, 0.5, 1]), (0, 0.003, 4, [0, 0.001, 0.002, 0.003])],
)
def test_ticks_are_round_numbers_within_the_range(lower, upper, most, expected):
    assert ticks(lower, upper, most)["tickvals"] == expected


def test_the_axis_ends_where_the_points_end_also_below_one() -> None:
    assert figure([Curve("l", [0, 0.05, 0.12], [1, 0, 2])], "rate", "loss")["layout"]["xaxis"]["range"] == [0, 0.12]


def test_heights_of_many_sizes_stay_even_where_that_is_asked_for() -> None:
    curve = Curve("l", [0, 1], [0.001, 10])
    assert figure([curve], "w", "loss")["layout"]["yaxis"]["type"] == "log"
    assert "type" not in figure([curve], "w", "loss", even=True)["layout"]["yaxis"]
