"""The painted unit, by hand on a few pixels and against PyTorch."""

from __future__ import annotations

import pytest
import torch

from engine.errors import InputError
from engine.models.detector_by_hand import BIAS, MODEL, painted


def ink(*places: int) -> list[float]:
    return [float(place in places) for place in range(784)]


def test_ink_on_the_bar_counts_for_and_beside_it_against():
    bar, beside = 7 * 28 + 8, 6 * 28 + 8
    trace = MODEL.trace({"inputs": {"x": ink(bar, bar + 1, beside, 0)}})
    assert trace["preactivation"].item() == 1 + 1 - 0.5 + BIAS and trace["prediction"].item() == 0
    lit = MODEL.trace({"inputs": {"x": ink(*range(bar, bar + 12), *range(bar + 28, bar + 40))}})
    assert lit["prediction"].item() == 24 + BIAS and lit.result["loss"] == (24 + BIAS - 1) ** 2 / 2


def test_a_painting_at_the_edge_is_cut_there():
    weight = painted(rows=(0, 2), columns=(26, 28)).reshape(28, 28)
    assert int((weight == 1).sum()) == 4 and int((weight == -0.5).sum()) == 4 * 4 - 4


def test_gradient_is_the_error_times_the_image():
    trace = MODEL.trace({})
    error = trace["prediction"] - 1
    assert torch.allclose(trace["detector.weight.grad"][0], error * trace["x"])
    assert trace["detector.bias.grad"].item() == pytest.approx(error.item())


def test_pixels_are_from_0_to_1():
    with pytest.raises(InputError, match=r"inputs.x\[0\] must be 0 or more"):
        MODEL.trace({"inputs": {"x": [-0.5, *ink()[1:]]}})
