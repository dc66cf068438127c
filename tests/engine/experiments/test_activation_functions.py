"""Slopes are the known ones, gradients fade as they say, layers collapse, and sums of units come near as they can."""

from __future__ import annotations

import math

import pytest
import torch

from engine.experiments.activation_functions import (
    GRID,
    RULES,
    SOLVED_BELOW,
    STARTS,
    best_plane,
    collapsed,
    curve,
    fading,
    fit,
    shipped,
    slopes,
    solved,
    steepest,
)
from engine.models.activation_functions import ACTIVATIONS, start
from engine.training.training import prepare


@pytest.mark.parametrize(
    ("activation", "values", "derivatives"),
    [
        ("relu", [0, 0, 2], [0, 0, 1]),
        ("sigmoid", [1 / (1 + math.e), 0.5, 1 / (1 + math.exp(-2))], [0.19661193, 0.25, 0.10499359]),
        ("tanh", [math.tanh(-1), 0, math.tanh(2)], [0.41997434, 1, 0.07065082]),
        ("gelu", [-0.15865525, 0, 1.95449974], [-0.08331547, 0.5, 1.08523180]),
        ("silu", [-0.26894142, 0, 1.76159416], [0.07232949, 0.5, 1.09078425]),
    ],
)
def test_values_and_slopes_at_three_places(activation, values, derivatives):
    found = slopes(activation, [-1, 0, 2])
    assert found[0] == pytest.approx(values, abs=1e-8)
    assert found[1] == pytest.approx(derivatives, abs=1e-8)


def test_the_steepest_places_are_the_known_ones():
    assert steepest("sigmoid") == (0.25, 0)
    assert steepest("tanh") == (1, 0)
    assert steepest("relu")[0] == 1
    top, at = steepest("gelu")
    assert (top, at) == (pytest.approx(1.12890414, abs=1e-6), pytest.approx(math.sqrt(2), abs=1e-3))
    assert steepest("silu")[0] == pytest.approx(1.09983932, abs=1e-6)


def test_sigmoids_hand_on_less_than_a_quarter_a_layer_and_no_activation_nearly_all():
    left = fading("sigmoid", 1.0)
    assert left[0] == 1 and all(one < 0.25**layers for layers, one in enumerate(left[1:], 1))
    assert fading("none", 1.0)[20] > 0.5
    assert 0.5 < fading("relu", math.sqrt(2))[29] < 1 and fading("relu", 1.0)[29] < 1e-4
    assert fading("tanh", 1.0)[20] > 100 * fading("relu", 1.0)[20]
    assert fading("none", 2.0)[10] == pytest.approx(fading("none", 1.0)[10] * 2**10)


def test_five_linear_layers_are_one():
    assert collapsed() < 1e-14


def test_the_best_plane_for_xor_is_one_half_everywhere():
    weights, error = best_plane()
    assert weights == pytest.approx([0, 0, 0.5]) and error == pytest.approx(0.25)


def test_curves_have_the_heights_that_they_are_named_for():
    assert [len(curve(name)) for name in ("sine", "step", "bump", "zigzag")] == [GRID] * 4
    at = [0, 64, 128, 192, 256]
    assert curve("sine")[at].tolist() == pytest.approx([0, 1, 0, -1, 0], abs=1e-12)
    assert curve("step")[at].tolist() == [-1, -1, 1, 1, 1]
    assert curve("zigzag")[at].tolist() == pytest.approx([-1, 1, -1, 1, -1])
    assert curve("own", (0, 2, -1))[at].tolist() == pytest.approx([0, 1, 2, 0.5, -1])


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_no_other_weights_of_the_same_units_come_nearer(activation):
    target = curve("bump")
    found = fit(target, 6, activation)
    torch.testing.assert_close(found.parts.sum(0) + found.constant, found.values)
    residual = found.values - target
    assert float(residual.sum()) == pytest.approx(0, abs=1e-6)  # the constant's own normal equation
    for part in found.parts:
        assert float(part @ residual) == pytest.approx(0, abs=1e-6)


def test_more_relu_units_come_nearer_and_without_an_activation_they_do_not():
    errors = [fit(curve("sine"), n, "relu").error for n in (1, 2, 4, 8, 16, 32)]
    assert errors == sorted(errors, reverse=True) and 3 < errors[-2] / errors[-1] < 5
    flat = [fit(curve("sine"), n, "none").error for n in (1, 8, 32)]
    assert flat == pytest.approx([flat[0]] * 3)


def test_a_curve_of_four_straight_pieces_is_met_exactly_by_four_units():
    found = fit(curve("zigzag"), 4, "relu")
    assert found.worst < 1e-12 and fit(curve("zigzag"), 3, "relu").worst > 0.3
    assert found.weights == pytest.approx((1, -2, 2, -2))  # 2n x in each z: a slope of 8 a weight


def test_shipped_counts_are_those_of_a_run_today():
    assert set(shipped()) == set(ACTIVATIONS)
    few = 20
    losses = solved("silu", "adam", few)
    assert len(losses) == few and sum(loss < SOLVED_BELOW for loss in losses) >= 0.8 * few
    assert shipped()["silu"]["adam"]["solved"] / STARTS > 0.9
    assert all(row["solved"] == 0 and row["least"] == pytest.approx(0.25) for row in shipped()["none"].values())
    assert shipped()["relu"]["sgd"]["solved"] < STARTS / 2


def test_starts_trained_together_end_as_each_does_alone():
    steps, (rate, _) = 40, RULES["adam"]
    edits = [
        {"parameter": name, "index": [*at] if isinstance(at, tuple) else [at], "value": value}
        for name, cells in start(1).items()
        for at, value in _cells(cells)
    ]
    request = {
        "inputs": {"x": [[0, 0], [0, 1], [1, 0], [1, 1]]}, "target": [0, 1, 1, 0], "edits": edits,
        "options": {"activation": "gelu"}, "update": {"rule": "sgd", "learning_rate": rate, "frozen": []},
    }  # fmt: skip
    *_, last = prepare("activation_functions", request, steps=steps, recipe={"optimiser": "adam"})
    assert solved("gelu", "adam", 1, steps)[0] == pytest.approx(last.loss, rel=1e-4)


def _cells(cells):
    if isinstance(cells[0], list):
        return [((row, column), value) for row, line in enumerate(cells) for column, value in enumerate(line)]
    return list(enumerate(cells))
