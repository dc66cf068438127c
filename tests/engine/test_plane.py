"""The tiny network over the plane: its values, its three boundaries, its pieces, and where an edit matters."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch

from engine.errors import InputError
from engine.models import catalogue
from engine.plane import Boundary, Plane, Surface, effect, plane, predictions, surface

MODEL = catalogue()["tiny_network"]
V3 = {"edits": [{"parameter": "readout.weight", "index": [0, 2], "value": 101}]}
H2_OFF = {"interventions": [{"at": "hidden.activation", "index": [1], "set": 0}]}


def draw(request: dict[str, Any] | None = None, count: int = 9) -> Surface:
    return surface(MODEL, request or {}, -4.0, 4.0, count)


def at(found: Surface, x1: float, x2: float) -> float:
    places = found.coordinates.tolist()
    return found.prediction[places.index(x2), places.index(x1)].item()


def test_predictions_are_those_of_single_runs() -> None:
    found = draw()
    assert found.coordinates.tolist() == [-4, -3, -2, -1, 0, 1, 2, 3, 4]
    assert (at(found, 2, -1), at(found, 0, 1), at(found, 1, 0)) == (5.5, 1, 1)
    for x in ([-3.0, 4.0], [4.0, 4.0], [-4.0, -4.0]):
        alone = MODEL.trace({"inputs": {"x": x}, "backward": False})
        assert at(found, *x) == alone.result["prediction"]


def test_predictions_at_points_are_those_of_single_runs() -> None:
    points = [[2.0, -1.0], [0.0, 1.0]]
    assert predictions(MODEL, {}, points).tolist() == [5.5, 1]
    assert predictions(MODEL, V3, points).tolist() == [5.5, 251]


def test_inputs_and_prediction_have_their_symbols() -> None:
    assert (draw().inputs, draw().output) == (("x₁", "x₂"), "ŷ")


def test_boundaries_are_the_lines_where_a_sum_is_zero() -> None:
    first, second, third = draw().boundaries
    assert first == Boundary("z₁", (1, -1), 0, ((-4, -4), (4, 4)), True)
    assert second == Boundary("z₂", (0.5, 1), 1, ((-4, 1), (4, -3)), True)
    assert third == Boundary("z₃", (-1, 2), 0.5, ((-4, -2.25), (4, 1.75)), True)


def test_unit_that_does_not_depend_on_x_has_no_boundary() -> None:
    edits = [{"parameter": "hidden.weight", "index": [0, column], "value": 0} for column in (0, 1)]
    first = draw({"edits": edits}).boundaries[0]
    assert (first.slope, first.offset, first.ends, first.bends) == ((0, 0), 0, None, None)


def test_line_that_runs_outside_the_square_has_no_ends() -> None:
    far = {"edits": [{"parameter": "hidden.bias", "index": [0], "value": 100}]}
    assert draw(far).boundaries[0].ends is None


def test_regions_give_the_prediction_at_every_point_of_theirs() -> None:
    found = draw(count=33)
    formulas = {region.on: (region.slope, region.offset) for region in found.regions}
    assert formulas["z₁", "z₂"] == ((1.5, -3), -0.5)
    assert sum(region.points for region in found.regions) == 33 * 33
    assert len(found.regions) == 7
    lines = {boundary.label: boundary for boundary in found.boundaries}
    for row, x2 in enumerate(found.coordinates.tolist()):
        for column, x1 in enumerate(found.coordinates.tolist()):
            on = tuple(
                label for label, line in lines.items() if line.slope[0] * x1 + line.slope[1] * x2 + line.offset > 0
            )
            slope, offset = formulas[on]
            assert slope[0] * x1 + slope[1] * x2 + offset == found.prediction[row, column].item()


def test_without_relu_the_plane_is_one_piece() -> None:
    found = draw({"options": {"activation": "none"}})
    assert found.boundaries == ()
    assert [(region.on, region.slope, region.offset) for region in found.regions] == [((), (0.5, -1), 0)]


def test_prediction_does_not_bend_where_a_unit_is_switched_off() -> None:
    found = draw(H2_OFF, count=17)
    assert [boundary.bends for boundary in found.boundaries] == [True, False, True]
    assert all("z₂" not in region.on for region in found.regions)
    assert at(found, 2, -1) == 6.5


def test_intervention_on_one_row_of_several_is_one_on_every_point() -> None:
    rows = {"interventions": [{"at": "hidden.activation", "index": [None, 1], "set": 0}]}
    assert torch.equal(draw(rows).prediction, draw(H2_OFF).prediction)


def test_intervention_on_a_sum_moves_its_boundary() -> None:
    shifted = {"interventions": [{"at": "hidden.preactivation", "index": [0], "add": 2}]}
    first = draw(shifted).boundaries[0]
    assert (first.slope, first.offset) == ((1, -1), 2)


def both(request: dict[str, Any]) -> Plane:
    return plane(MODEL, request, {}, -4.0, 4.0, 9)


def test_v3_matters_only_where_the_third_unit_is_on() -> None:
    found = both(V3)
    places = found.edited.coordinates.tolist()
    for row, x2 in enumerate(places):
        for column, x1 in enumerate(places):
            assert bool(found.effect.changed[row, column]) is (-x1 + 2 * x2 + 0.5 > 0)
    assert found.effect.difference[places.index(1), places.index(0)].item() == 250
    assert found.effect.difference[places.index(-1), places.index(2)].item() == 0
    assert (found.effect.points, found.effect.total) == (int(found.effect.changed.sum()), 81)


def test_no_edit_changes_nothing() -> None:
    found = both({})
    assert (found.effect.points, found.effect.total) == (0, 81)


def test_inputs_and_targets_of_the_request_play_no_part() -> None:
    other = draw({"inputs": {"x": [[1, 1], [2, 2]]}, "target": [0, 0]})
    assert effect(other, draw()).points == 0


def test_rounding_is_not_an_effect() -> None:
    base = draw()
    noisy = dataclasses.replace(base, prediction=base.prediction * (1 + 1e-7))
    assert effect(noisy, base).points == 0


@pytest.mark.parametrize(
    ("lower", "upper", "count", "message"),
    [
        (1.0, 1.0, 9, "plane must have a lower end below its upper end; got 1 to 1"),
        (-1.0, 1.0, 1, "plane.count must be at least 2; got 1"),
    ],
)
def test_bad_square_says_expected_and_got(lower: float, upper: float, count: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        surface(MODEL, {}, lower, upper, count)
