"""A whole run: what is told while it is under way, what is left when it fails, what is refused."""

from __future__ import annotations

import contextlib
import gc
import math
import weakref

import pytest
import torch
from torch import nn

import engine
from engine import Edit, Frozen, Intervention, Update
from tests.engine.recorded import run


def test_model_that_raises_half_way_gives_the_trace_so_far():
    def forward(self, x):
        engine.tap("y", x * 2)
        raise ZeroDivisionError("half way")

    with pytest.raises(engine.RunError, match="ZeroDivisionError: half way") as caught:
        run(forward, torch.tensor([1.0]))
    assert caught.value.trace["y"].tolist() == [2.0]
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_nothing_of_a_run_is_kept_when_its_trace_is_dropped():
    module = nn.Linear(2, 1)
    trace = engine.trace(module, torch.ones(2))
    kept = weakref.ref(trace["bias"])
    del trace
    gc.collect()
    assert kept() is None


def test_module_that_replaces_its_forward_is_refused():
    module = nn.Linear(2, 1)
    module.forward = lambda x: x
    with pytest.raises(engine.InputError, match="must use its class's forward"):
        engine.trace(module, torch.ones(2))


def test_steps_are_told_as_they_are_computed_and_equal_the_batch():
    told = []
    module = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    trace = engine.trace(module, torch.ones(2), on_step=lambda step, records: told.append((step, records)))
    assert tuple(step for step, _ in told) == trace.steps
    seen = {record.name for _, records in told for record in records}
    assert {output for step in trace.steps for output in step.outputs} <= seen


class NoWayBack(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        raise ValueError("no way back")


def test_model_that_raises_in_backward_gives_the_forward_so_far():
    with pytest.raises(engine.RunError, match="the model raised ValueError: no way back") as caught:
        run(lambda _, x: NoWayBack.apply(engine.tap("y", x + 1)).sum(), torch.tensor([1.0]))
    assert caught.value.trace["y"].tolist() == [2.0]
    assert {step.phase for step in caught.value.trace.steps} == {"forward"}


def test_steps_are_told_once_though_forward_runs_again():
    """Writing to a parameter makes forward run again on a copy of it."""
    told = []

    def forward(self, x):
        y = engine.tap("y", x * 2)
        with torch.no_grad():
            self.layer.weight.mul_(2)
        return (self.layer(y)).sum()

    module = {"layer": nn.Linear(2, 1)}
    trace = run(forward, torch.ones(2), parts=module, on_step=lambda step, _: told.append(step.index))
    assert told == [step.index for step in trace.steps]


def test_what_on_step_raises_comes_out_as_it_is_past_a_model_that_catches_errors():
    def stop(step, records):
        raise KeyError(step.name)

    def forward(_, x):
        for _ in range(3):
            with contextlib.suppress(Exception):
                x = x * 2
        return x.sum()

    with pytest.raises(KeyError, match=r":mul\.0"):
        run(forward, torch.ones(1), on_step=stop)


def test_every_update_is_followed_by_a_forward_with_the_new_parameters():
    layer = nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2.0]]))
        layer.bias.zero_()
    trace = engine.trace(layer, torch.tensor([1.0, 1.0]), update=Update(0.5))
    assert trace["weight.updated"].tolist() == [[0.5, 1.5]]
    assert trace["bias.updated"].tolist() == [-0.5]
    assert trace.result["after_update"] == {"prediction": 1.5, "loss": 1.5, "updatable": 3}


LAYER = nn.Linear(2, 1)
ONES = torch.ones(2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"edits": [Edit("weight", (0, 0), math.nan)]}, r"edits\[0\].value must be a number; got NaN"),
        ({"edits": [Edit("weight", (0, 0), 1e39)]}, r"edits\[0\].value must be from -3.4\d+e\+38 to 3.4\d+e\+38"),
        ({"edits": [Edit("weight", (0, 2), 1.0)]}, r"edits\[0\].index\[1\] must be from 0 to 1; got 2"),
        ({"edits": [Edit("weight", (0, -1), 1.0)]}, r"edits\[0\].index\[1\] must be from 0 to 1; got -1"),
        ({"edits": [Edit("weight", (0,), 1.0)]}, r"index must have 2 numbers \(shape \(1, 2\)\); got \[0\]"),
        ({"edits": [Edit("weigth", (0, 0), 1.0)]}, r"edits\[0\].parameter must be one of weight, bias; got 'weigth'"),
        ({"interventions": [Intervention("weight", (0, 0), "set", 1.0)]}, "got 'weight', a parameter: edit it"),
        ({"interventions": [Intervention("input", (0,), "set", 1.0)]}, "got 'input', an input: give another one"),
        ({"interventions": [Intervention(":linear.0", (0,), "set", math.nan)]}, r"set must be a number; got NaN"),
        ({"update": Update(0.1, (Frozen("wieght"),))}, r"frozen\[0\].parameter must be one of weight, bias; got"),
        ({"update": Update(0.1, (Frozen("weight", (0, 2)),))}, r"frozen\[0\].index\[1\] must be from 0 to 1; got 2"),
        ({"update": Update(0.1), "backward": False}, "update must be null where backward is false"),
        ({"update": Update(math.nan)}, "update.learning_rate must be a number; got NaN"),
    ],
)  # fmt: skip
def test_what_does_not_fit_says_expected_and_got(options, message):
    with pytest.raises(engine.InputError, match=message):
        engine.trace(LAYER, ONES, **options)


def test_update_of_a_run_without_a_loss_is_refused():
    with pytest.raises(engine.InputError, match="update must be of a run with a loss of one number; got a run without"):
        engine.trace(nn.Linear(2, 2), ONES, update=Update(0.1))
