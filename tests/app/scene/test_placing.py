"""Labels on curves."""

from __future__ import annotations

import math

import pytest

from app.scene.curves import across, down, join, path, points
from app.scene.placing import Box, Label, place

LEVEL = across((0, 50), (200, 50))


def test_a_curve_passes_through_its_ends_and_its_middle():
    found = points(across((0, 0), (100, 60)), 3)
    assert found[0].tolist() == [0, 0]
    assert found[1].tolist() == [50, 30]
    assert found[2].tolist() == [100, 60]


def test_joined_pieces_are_walked_one_after_the_other():
    curve = join([down((0, 0), (0, 40)), down((0, 40), (0, 100))])
    assert points(curve, 3)[1].tolist() == [0, 40]
    assert path(curve).count("C") == 2


def test_a_path_is_svg_path_data():
    assert path(across((0, 10), (100, 20))) == "M0 10 C42 10 58 20 100 20"


def test_a_label_alone_stands_where_it_wishes():
    assert place((Label(LEVEL, 40, 20),), (), (), 200, 100) == (pytest.approx((100, 50)),)


def test_a_label_keeps_off_a_node():
    ((x, y),) = place((Label(LEVEL, 40, 20),), (Box(100, 50, 60, 60),), (), 200, 100)
    assert y == pytest.approx(50)
    assert not Box(x, y, 40, 20).overlaps(Box(100, 50, 60, 60), 3)


def test_a_label_keeps_off_a_crossing_curve():
    ((x, _),) = place((Label(LEVEL, 40, 20),), (), (down((100, 0), (100, 100)),), 200, 100)
    assert abs(x - 100) > 20


def test_labels_of_crossing_curves_stand_apart():
    labels = (Label(across((0, 0), (200, 100)), 50, 20), Label(across((0, 100), (200, 0)), 50, 20))
    (one, other) = place(labels, (), (), 200, 100)
    assert not Box(*one, 50, 20).overlaps(Box(*other, 50, 20), 3)


def test_a_label_without_a_free_place_has_none():
    assert place((Label(LEVEL, 40, 20),), (Box(100, 50, 200, 60),), (), 200, 100) == (None,)


def test_of_labels_that_cannot_all_stand_some_do():
    crowd = tuple(Label(LEVEL, 90, 20) for _ in range(3))
    found = [at for at in place(crowd, (), (), 200, 100) if at]
    assert 1 <= len(found) < 3
    assert all(math.isfinite(value) for at in found for value in at)


def test_nothing_to_place_gives_nothing():
    assert place((), (), (), 10, 10) == ()
