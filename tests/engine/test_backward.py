"""Contributions sum to autograd's gradient, and finite differences agree, on small networks of all kinds."""

from __future__ import annotations

import itertools

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import engine
from engine.models import catalogue

ACTIVATIONS = {
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "softplus": nn.Softplus,
    "relu": nn.ReLU,
}


class Small(nn.Module):
    """An MLP of given widths and activations, with an optional residual and a softmax mixture at the end."""

    def __init__(self, widths: list[int], activations: list[str], residual: bool, mixture: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(widths))
        self.acts = nn.ModuleList(ACTIVATIONS[name]() for name in activations)
        self.residual, self.mixture = residual, mixture

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer, act in zip(self.layers, self.acts, strict=True):
            y = act(layer(x))
            x = x + y if self.residual and x.shape == y.shape else y
        return (x.softmax(-1) * x).sum(-1) if self.mixture else x


@st.composite
def networks(draw: st.DrawFn) -> tuple[Small, torch.Tensor]:
    widths = draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    activations = [draw(st.sampled_from(sorted(ACTIVATIONS))) for _ in widths[1:]]
    torch.manual_seed(draw(st.integers(0, 2**16)))
    module = Small(widths, activations, draw(st.booleans()), draw(st.booleans())).double()
    rows = draw(st.integers(1, 3))
    return module, torch.randn(rows, widths[0], dtype=torch.float64)


def loss(output: torch.Tensor, _: object) -> torch.Tensor:
    return (output * output).mean() / 2 + output.sum()


def assert_contributions_sum(trace: engine.Trace, tolerance: float) -> None:
    parts: dict[str, list[torch.Tensor]] = {}
    for step in trace.steps:
        for one in step.sends:
            parts.setdefault(one.to, []).append(trace[one.tensor])
    for name, values in parts.items():
        torch.testing.assert_close(sum(values), trace[name], rtol=tolerance, atol=tolerance)
    with_gradient = {record.gradient for record in trace.tensors.values() if record.gradient}
    assert with_gradient - set(parts) == {trace.record(last_loss(trace)).gradient}


def last_loss(trace: engine.Trace) -> str:
    return [step.name for step in trace.steps if step.phase in ("forward", "loss")][-1]


def test_contributions_sum_to_autograd_s_gradient_for_every_tensor_of_the_tiny_network():
    model = catalogue()["tiny_network"]
    for request in ({}, {"inputs": {"x": [[2, -1], [0, 1], [1, 0]]}}, {"options": {"activation": "none"}}):
        trace = model.trace(request)
        assert_contributions_sum(trace, 0.0)
        assert trace.result["check"]["max_residual"] == 0.0


@settings(max_examples=200)
@given(networks())
def test_contributions_sum_to_autograd_s_gradient_for_two_hundred_small_networks(case):
    module, x = case
    trace = engine.trace(module, x, loss=loss)
    assert_contributions_sum(trace, 1e-12)
    own = x.clone().requires_grad_()
    expected = torch.autograd.grad(loss(module(own), None), [own, *module.parameters()])
    names = ["x", *(name for name, _ in module.named_parameters())]
    for name, gradient in zip(names, expected, strict=True):
        torch.testing.assert_close(trace[f"{name}.grad"], gradient, rtol=1e-12, atol=1e-12)


@settings(max_examples=200)
@given(networks(), st.data())
def test_finite_differences_agree_to_a_millionth_for_two_hundred_small_networks(case, data):
    module, x = case
    trace = engine.trace(module, x, loss=loss)
    name = data.draw(st.sampled_from(["x", *(name for name, _ in module.named_parameters())]))
    index = tuple(data.draw(st.integers(0, size - 1)) for size in trace.record(name).shape)
    gradient = trace[f"{name}.grad"][index].item()

    def at(delta: float) -> float:
        given = x.clone()
        with torch.no_grad():
            cells = given if name == "x" else module.get_parameter(name)
            cells[index] += delta
            value = loss(module(given), None).item()
            cells[index] -= delta
        return value

    step = 1e-6
    central = (at(step) - at(-step)) / (2 * step)
    left, right = (at(0) - at(-step)) / step, (at(step) - at(0)) / step
    if abs(left - right) < 1e-3:  # no kink of a ReLU within the step
        assert abs(central - gradient) <= 1e-6 * max(1.0, abs(gradient))


def test_step_sends_nothing_where_the_loss_has_no_path():
    trace = engine.trace(nn.Linear(2, 2), torch.ones(2), loss=lambda out, _: out.detach().sum() * 0 + out[0])
    senders = {trace.steps[step.forward].name for step in trace.steps if step.phase == "backward"}
    assert ":detach.0" not in senders
