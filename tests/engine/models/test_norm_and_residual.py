"""The stack of three layers: its norms, its stream, and its gradients, in numbers."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.nn import functional as F

import engine
from engine.models.norm_and_residual import LAYERS, MODEL, WEIGHTS

CHOICES = list(itertools.product(("layer", "rms", "none"), ("on", "off")))


def run(norm: str = "layer", residual: str = "on", **request: object) -> engine.Trace:
    return MODEL.trace({"options": {"norm": norm, "residual": residual}, **request})


def expected(x: torch.Tensor, norm: str, residual: str) -> torch.Tensor:
    for weight in WEIGHTS:
        given = x
        if norm == "layer":
            given = F.layer_norm(x, [4], eps=1e-5)
        if norm == "rms":
            given = F.rms_norm(x, [4], eps=1e-5)
        branch = torch.tanh(given @ torch.tensor(weight).T)
        x = x + branch if residual == "on" else branch
    return x


@pytest.mark.parametrize(("norm", "residual"), CHOICES)
@pytest.mark.parametrize("x", [[4.0, 10.0, 2.0, -4.0], [[1.0, 2.0, 3.0, 5.0], [0.0, 0.0, 0.0, 1.0]]])
def test_the_stack_equals_pytorch_s_functions(norm, residual, x):
    trace = run(norm, residual, inputs={"x": x})
    torch.testing.assert_close(trace["prediction"], expected(torch.tensor(x), norm, residual), rtol=1e-6, atol=1e-6)


def test_layer_norm_in_numbers():
    trace = run()
    at = "layers.0.norm"
    assert trace[f"{at}.mean"].tolist() == [3]
    assert trace[f"{at}.centred"].tolist() == [1, 7, -1, -7]
    assert trace[f"{at}.mean_square"].tolist() == [25]
    assert trace[f"{at}.deviation"].item() == pytest.approx(5, abs=1e-5)
    assert trace[f"{at}.normalised"].tolist() == pytest.approx([0.2, 1.4, -0.2, -1.4], abs=1e-5)


def test_rms_norm_in_numbers():
    trace = run("rms")
    assert trace["layers.0.norm.mean_square"].tolist() == [34]
    assert trace["layers.0.norm.normalised"].tolist() == pytest.approx([each / 34**0.5 for each in (4, 10, 2, -4)])


def test_layer_norm_forgets_shift_and_size_and_rms_norm_only_size():
    def normalised(norm: str, x: list[float]) -> torch.Tensor:
        return run(norm, inputs={"x": x})["layers.0.norm.normalised"]

    larger, shifted = [8, 20, 4, -8], [7, 13, 5, -1]
    torch.testing.assert_close(normalised("layer", larger), normalised("layer", [4, 10, 2, -4]), atol=1e-5, rtol=0)
    torch.testing.assert_close(normalised("layer", shifted), normalised("layer", [4, 10, 2, -4]), atol=1e-5, rtol=0)
    torch.testing.assert_close(normalised("rms", larger), normalised("rms", [4, 10, 2, -4]), atol=1e-5, rtol=0)
    assert (normalised("rms", shifted) - normalised("rms", [4, 10, 2, -4])).abs().max() > 0.1


@pytest.mark.parametrize(("norm", "residual"), CHOICES)
def test_gradients_agree_with_finite_differences(norm, residual):
    trace = run(norm, residual)
    cells = [("x", (0,)), ("layers.0.weight", (1, 2)), ("layers.2.weight", (3, 3)), ("layers.1.branch", (2,))]
    if norm != "none":
        cells += [("layers.1.norm.gain", (1,)), ("layers.0.norm.deviation", (0,))]
    for name, index in cells:
        assert engine.verify(trace, name, index, what="gradient").ok, name


def test_the_stream_is_the_input_and_the_sum_of_the_branches():
    trace = run()
    branches = sum(trace[f"layers.{place}.branch"] for place in range(LAYERS))
    torch.testing.assert_close(trace["prediction"], trace["x"] + branches)


def test_a_switch_changes_no_parameter():
    names = [name for name, record in run().tensors.items() if record.kind == "parameter"]
    for norm, residual in CHOICES:
        trace = run(norm, residual)
        assert [name for name, record in trace.tensors.items() if record.kind == "parameter"] == names
    assert run("rms").record("layers.0.norm.bias").gradient is None
