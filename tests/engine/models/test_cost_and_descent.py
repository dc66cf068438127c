"""The line's loss, gradients and one step by hand; on all points the gradient is the mean of the single ones."""

from __future__ import annotations

import pytest

import engine
from engine.models import catalogue
from engine.models.cost_and_descent import POINTS

MODEL = catalogue()["cost_and_descent"]
ALL = {"inputs": {"x": [[x] for x, _ in POINTS]}, "target": [y for _, y in POINTS]}


def test_one_step_is_the_one_worked_by_hand():
    run = MODEL.trace({"update": {"learning_rate": 0.1}})
    assert (run.result["prediction"], run.result["loss"]) == (9, 28.125)  # 2 · 2 + 5, (9 - 1.5)² / 2
    assert (run["line.weight.grad"].item(), run["line.bias.grad"].item()) == (15, 7.5)
    assert run["line.weight.updated"].item() == pytest.approx(0.5)
    assert run["line.bias.updated"].item() == pytest.approx(4.25)
    assert run.result["after_update"]["loss"] == pytest.approx(7.03125)
    assert engine.verify(run, "line.weight", (0, 0), what="gradient").ok
    assert run.model["parameter_count"] == 2


def test_on_all_points_the_gradient_is_the_mean_of_the_single_ones():
    run = MODEL.trace(ALL)
    singles = [MODEL.trace({"inputs": {"x": x}, "target": y}) for x, y in POINTS]
    for name in ("line.weight", "line.bias"):
        mean = sum(one[f"{name}.grad"].item() for one in singles) / len(POINTS)
        assert run[f"{name}.grad"].item() == pytest.approx(mean, rel=1e-6)
    assert run.result["loss"] == pytest.approx(sum(one.result["loss"] for one in singles) / len(POINTS), rel=1e-6)
