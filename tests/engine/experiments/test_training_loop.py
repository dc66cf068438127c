"""The loop is PyTorch's own, and gradients added up example by example are the batch's."""

from __future__ import annotations

import copy

import pytest
import torch

from engine.experiments.training_loop import MOST_EXAMPLES, NETWORKS, accumulated, batch, losses, step
from engine.models import catalogue


@pytest.mark.parametrize("network", NETWORKS)
def test_the_loop_is_torch_optim_s_sgd(network):
    run, model = step(network, 3), catalogue()[network]
    options = run.request["options"]
    module, loss = copy.deepcopy(model.module(options)), model.loss_for(options)
    optimiser = torch.optim.SGD(module.parameters(), lr=0.05)
    expected = []
    for _ in range(4):
        value = loss(module(**{name: run[name] for name in run.request["inputs"]}), run["target"])
        expected.append(value.item())
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
    assert list(losses(network, 3, 3, 0.05)) == expected
    assert expected[0] == run.result["loss"] > expected[-1]


def test_the_loop_leaves_the_catalogue_s_parameters_alone():
    module = catalogue()["tiny_network"].module()
    before = copy.deepcopy(module.state_dict())
    losses("tiny_network", 2, 5, 0.1)
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())


def test_too_large_a_rate_ends_beyond_all_numbers():
    found = losses("tiny_network", 1, 60, 5.0)
    assert not torch.tensor(found[-1]).isfinite()


@pytest.mark.parametrize("network", NETWORKS)
def test_gradients_example_by_example_add_up_to_the_batch_s(network):
    assert accumulated(network, 5) < 1e-5
    assert accumulated(network, 1) == 0


@pytest.mark.parametrize("network", NETWORKS)
def test_a_batch_has_as_many_examples_as_asked_for(network):
    for examples in (1, MOST_EXAMPLES):
        given = batch(network, examples)
        assert [len(rows) for rows in given["inputs"].values()] == [examples] == [len(given["target"])]
    assert batch(network, 4) == batch(network, 4)
