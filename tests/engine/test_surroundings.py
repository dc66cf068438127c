"""What stands around a run: random state, the running part, runs inside runs."""

from __future__ import annotations

import contextlib

import torch
from torch import nn
from torch.nn import functional as F

import engine
from tests.engine.recorded import names, run


def test_seeded_run_leaves_the_thread_s_own_random_state():
    torch.manual_seed(7)
    expected = torch.rand(1).item()
    torch.manual_seed(7)
    run(lambda self, x: F.dropout(x, 0.5, training=True).sum(), torch.ones(4), seed=1)
    assert torch.rand(1).item() == expected


def test_random_operation_runs_again_with_the_state_it_had():
    def forward(self, x):
        return (F.dropout(x, 0.5, training=True) * torch.arange(1.0, 9.0)).sum()

    one, two = (run(forward, torch.ones(8), seed=3) for _ in range(2))
    assert one.result == two.result
    assert one.result["check"]["max_residual"] == 0.0
    assert run(forward, torch.ones(8), seed=4).result["prediction"] != one.result["prediction"]


def test_error_in_a_part_that_the_model_catches_does_not_shift_later_names():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError

    def forward(self, x):
        with contextlib.suppress(ValueError):
            self.bad(x)
        return self.good(x).sum()

    trace = run(forward, torch.ones(2), parts={"bad": Fails(), "good": nn.ReLU()})
    assert names(trace)[0] in ("good:relu.0",)


def test_run_inside_a_model_s_forward_is_a_run_of_its_own():
    layer = nn.Linear(2, 1)
    inside = []

    def forward(self, x):
        y = engine.tap("y", x * 2)
        inside.append(engine.trace(self.layer, y.detach()))
        return engine.tap("z", y * 3).sum()

    trace = run(forward, torch.tensor([1.0, 2.0]), parts={"layer": layer})
    assert names(trace) == ["y", ":detach.0", "z", ":sum.0"]
    assert trace.result["prediction"] == 18.0
    assert trace["input.0.grad"].tolist() == [6.0, 6.0]
    assert names(inside[0]) == [":linear.0"]
    assert inside[0].result["prediction"] == layer(torch.tensor([2.0, 4.0])).item()
    assert inside[0]["weight.grad"].tolist() == [[2.0, 4.0]]


def test_run_inside_a_model_s_forward_that_fails_leaves_the_outer_one_recording():
    def forward(self, x):
        with contextlib.suppress(engine.RunError, engine.InputError):
            engine.trace(self.layer, torch.ones(3))
        return engine.tap("z", x * 3).sum()

    assert names(run(forward, torch.ones(2), parts={"layer": nn.Linear(2, 1)})) == ["z", ":sum.0"]


def test_module_called_by_two_names_runs_under_its_first():
    shared = nn.ReLU()
    trace = run(lambda self, x: self.b(self.a(x) - 1).sum(), torch.tensor([3.0]), parts={"a": shared, "b": shared})
    assert names(trace) == ["a:relu.0", ":sub.0", "a:relu.1", ":sum.0"]


def test_trace_is_the_same_whatever_grad_mode_the_caller_is_in():
    module, x = nn.Linear(2, 1), torch.tensor([1.0, 2.0])
    expected = engine.trace(module, x)
    for mode in (torch.no_grad(), torch.inference_mode()):
        with mode:
            found = engine.trace(module, x)
        assert found.result == expected.result
        assert found["weight.grad"].tolist() == [[1.0, 2.0]]
