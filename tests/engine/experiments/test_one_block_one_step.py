"""The step taken again and again begins as the trace's step does, and goes where PyTorch's optimisers go."""

from __future__ import annotations

import copy

import pytest
import torch

from engine.experiments.one_block_one_step import RATE, STEPS, losses
from engine.models.one_block_one_step import MODEL, loss


@pytest.mark.parametrize(("name", "rule"), [("AdamW", "adamw"), ("SGD", "sgd")])
def test_the_first_step_is_the_trace_s(name, rule):
    trace = MODEL.trace({"update": {"rule": rule, "learning_rate": RATE}})
    assert losses(name)[0] == pytest.approx(trace.result["loss"], rel=1e-6)
    assert losses(name)[1] == pytest.approx(trace.result["after_update"]["loss"], rel=1e-5)


@pytest.mark.parametrize(("name", "kind"), [("AdamW", torch.optim.AdamW), ("SGD", torch.optim.SGD)])
def test_the_losses_are_those_of_pytorch_s_optimiser(name, kind):
    module = copy.deepcopy(MODEL.module())
    optimiser = kind(module.parameters(), lr=RATE)
    tokens, target = torch.tensor([0, 1, 3, 5]), torch.tensor([1, 3, 5, 0])
    for expected in losses(name):
        optimiser.zero_grad()
        value = loss(module(tokens), target)
        assert value.item() == pytest.approx(expected, rel=1e-3)
        value.backward()
        optimiser.step()


def test_adamw_learns_the_sentence_and_plain_descent_at_its_rate_is_slower():
    assert len(losses("AdamW")) == STEPS + 1
    assert losses("AdamW")[-1] < 0.1 < 0.5 < losses("SGD")[-1] < losses("SGD")[0]
