"""Contour lines go where the height is the level: round a hill as a closed line, across a slope from edge to edge."""

from __future__ import annotations

import math

import pytest

from app.contours import lines

AXIS = [at / 10 - 2 for at in range(41)]


def over(height):
    return [[height(x, y) for x in AXIS] for y in AXIS]


def test_a_bowl_s_line_is_closed_and_lies_on_its_circle():
    (line,) = lines(AXIS, AXIS, over(lambda x, y: x * x + y * y), 1.0)
    assert line[0] == line[-1] and len(line) > 40
    assert all(math.hypot(*place) == pytest.approx(1, abs=0.01) for place in line)


def test_a_slope_s_line_runs_straight_from_edge_to_edge():
    (line,) = lines(AXIS, AXIS, over(lambda x, y: x + 2 * y), 0.55)
    assert {place[0] for place in (line[0], line[-1])} == {-2.0, 2.0}
    assert all(x + 2 * y == pytest.approx(0.55) for x, y in line)


def test_a_saddle_has_two_lines_that_do_not_cross():
    found = lines(AXIS, AXIS, over(lambda x, y: x * y), 0.5)
    assert len(found) == 2
    assert sorted(all(x > 0 and y > 0 for x, y in line) for line in found) == [False, True]


def test_a_cell_with_opposite_corners_on_one_side_is_cut_as_its_mean_says():
    high, low = lines([0, 1], [0, 1], [[1, 0], [0, 1]], 0.4), lines([0, 1], [0, 1], [[1, 0], [0, 1]], 0.6)
    assert len(high) == len(low) == 2
    assert sorted(map(sorted, high)) == [[(0, 0.6), (0.4, 1)], [(0.6, 0), (1, 0.4)]]  # the low corners are cut off
    assert sorted(map(sorted, low)) == [[(0, 0.4), (0.4, 0)], [(0.6, 1), (1, 0.6)]]  # the high ones


def test_where_nothing_passes_the_level_there_is_no_line():
    assert lines(AXIS, AXIS, over(lambda x, y: 1.0), 2.0) == []
