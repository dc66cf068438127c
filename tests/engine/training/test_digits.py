"""The digit network's training: PyTorch's own loop, one pass to 91 of 100, what is counted, forked and refused."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from engine.data import mnist
from engine.errors import InputError
from engine.models import catalogue
from engine.models.digit_network import start, trained
from engine.training.digits import DigitTraining, Learning, accuracy
from engine.training.recipe import RATES
from engine.training.training import prepare

FEW = {"images": 250, "batch_size": 100}


def training(steps: int = 3, options: Mapping[str, str] | None = None, seed: int = 0, **recipe: Any) -> DigitTraining:
    made = prepare("digit_network", {"options": options or {}, "seed": seed}, steps=steps, recipe=recipe)
    assert isinstance(made, DigitTraining)
    return made


def last(run: DigitTraining) -> Learning:
    *_, found = run
    return found


@pytest.mark.parametrize("optimiser", RATES)
def test_one_pass_reads_at_least_91_of_100(optimiser):
    found = last(training(600, optimiser=optimiser))
    assert found.epoch == 1 and found.measured == 600
    assert found.test_accuracy >= 0.91


def test_the_source_s_own_recipe_learns():
    options = {"activation": "sigmoid", "loss": "squared_error"}
    assert last(training(2000, options, learning_rate=3, batch_size=30)).test_accuracy >= 0.89


@pytest.mark.parametrize("optimiser", RATES)
def test_it_goes_where_a_plain_pytorch_loop_goes(optimiser):
    run = training(5, seed=4, optimiser=optimiser, **FEW)
    losses = [found.loss for found in run]
    module = nn.Sequential(nn.Linear(784, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 10))
    module.load_state_dict(dict(zip(module.state_dict(), start(seed=4).values(), strict=True)))
    made = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD, "momentum": torch.optim.SGD}[optimiser]
    settings = {"momentum": 0.9} if optimiser == "momentum" else {}
    theirs = made(module.parameters(), lr=RATES[optimiser], **settings)
    images, orders = mnist.images("train"), (np.random.default_rng([4, 1, epoch]).permutation(250) for epoch in (0, 1))
    expected = []
    for batch in itertools.chain.from_iterable(torch.from_numpy(order).split(100) for order in orders):
        loss = F.cross_entropy(module(images.numbers(batch)), images.labels[batch])
        expected.append(loss.item())
        theirs.zero_grad()
        loss.backward()
        theirs.step()
    assert losses == pytest.approx(expected, rel=1e-4)


def test_an_update_is_the_one_that_a_trace_records():
    run = training(1, images=3, batch_size=3, learning_rate=0.1)
    images, order = mnist.images("train"), np.random.default_rng([0, 1, 0]).permutation(3)
    batch = torch.from_numpy(order)
    trace = catalogue()["digit_network"].trace(
        {
            "inputs": {"x": images.numbers(batch).tolist()},
            "target": images.labels[batch].tolist(),
            "options": {"weights": "untrained"},
            "update": {"learning_rate": 0.1},
        }
    )
    losses = [found.loss for found in run]
    assert losses[0] == trace.result["loss"]
    for name, value in run.state()["parameters"].items():
        torch.testing.assert_close(value, trace[f"{name}.updated"], rtol=1e-6, atol=1e-8)


def test_progress_counts_steps_and_passes():
    found = list(training(4, **FEW))
    assert [one.step for one in found] == [0, 1, 2, 3, 4]
    assert [one.epoch for one in found] == [0, 0.4, 0.8, 1, 1.4]


def test_accuracy_of_a_batch_is_counted():
    found = next(iter(training(images=10, batch_size=10, options={"weights": "trained"})))
    network, images = catalogue()["digit_network"].module(), mnist.images("train").first(10)
    assert found.accuracy == (network(images.numbers()).argmax(-1) == images.labels).double().mean().item()


def test_accuracies_are_measured_at_the_start_and_after_passes_at_least_100_steps_apart():
    assert {one.measured for one in training(250, images=100, batch_size=10)} == {0, 100, 200}
    assert {one.measured for one in training(11, images=2000, batch_size=2000)} == {0}
    longer = training(300, images=1500, batch_size=10)
    assert {one.measured for one in longer} == {0, 150, 300}


def test_measured_accuracies_are_those_of_the_parameters():
    run = training(100, images=1000, batch_size=10)
    found = last(run)
    assert found.test_accuracy == accuracy(run.network, mnist.images("test"))
    assert found.train_accuracy == accuracy(run.network, mnist.images("train").first(1000)) == run.train_accuracy()


def test_random_labels_are_drawn_once_by_the_seed_and_cannot_be_generalised():
    runs = [training(300, seed=seed, images=100, random_labels=True, optimiser="adam") for seed in (0, 0, 1)]
    ends = [last(run) for run in runs]
    assert ends[0] == ends[1] != ends[2]
    assert ends[0].train_accuracy > 0.9 and ends[0].test_accuracy < 0.3


def test_the_seed_decides_the_start_and_the_order():
    one, two = list(training(seed=0, **FEW)), list(training(seed=1, **FEW))
    assert one == list(training(seed=0, **FEW)) and one[0].loss != two[0].loss


def test_training_starts_anew_unless_the_trained_weights_are_asked_for():
    for weights, expected in (("untrained", start()), ("trained", trained("relu", "cross_entropy"))):
        found = training(options={"weights": weights}, **FEW).state()["parameters"]
        assert all(torch.equal(found[name], value) for name, value in expected.items())


def test_the_shared_module_keeps_its_weights():
    before = {name: value.clone() for name, value in catalogue()["digit_network"].module().state_dict().items()}
    last(training(3, options={"weights": "trained"}, **FEW))
    for name, value in catalogue()["digit_network"].module().state_dict().items():
        assert torch.equal(value, before[name]) and torch.equal(value, trained("relu", "cross_entropy")[name])


def test_other_architectures_train():
    run = training(200, hidden="8", images=2000, optimiser="adam")
    assert last(run).accuracy > 0.7 and list(run.state()["parameters"])[-1] == "output.bias"
    assert last(training(200, hidden="none", images=2000, optimiser="adam")).accuracy > 0.7


def test_a_state_goes_on_with_another_batch_size_and_optimiser():
    first = training(2, **FEW)
    last(first)
    other = training(4, images=250, batch_size=25, optimiser="adam", learning_rate=0.001)
    other.resume(first.state())
    found = list(other)
    assert [one.step for one in found] == [2, 3, 4] and [one.epoch for one in found] == [0.8, 0.9, 1]


def test_a_state_of_fewer_images_goes_on_with_a_new_pass():
    first = training(2, **FEW)
    last(first)
    other = training(3, images=150)
    other.resume(first.state())
    assert next(iter(other)).epoch == 1


def test_a_state_of_another_architecture_is_refused():
    with pytest.raises(ValueError, match=r"the state's parameters must have the shapes .*16, 784.* got .*8, 784"):
        training().resume(training(hidden="8").state())


@pytest.mark.parametrize(
    ("request_", "recipe", "message"),
    [
        ({"inputs": {"x": [0] * 784}}, {}, "inputs must be left out: this model trains on MNIST by its recipe"),
        ({"edits": [{"parameter": "output.bias", "index": [0], "value": 1}]}, {}, "edits must be left out"),
        ({"update": {"learning_rate": 1}}, {}, "update must be left out"),
        ({"options": {"activation": "gelu"}}, {}, "options.activation must be one of relu, sigmoid; got 'gelu'"),
        ({}, {"epochs": 1}, "recipe.epochs must be one of optimiser"),
        ({"options": {"weights": "trained"}}, {"hidden": "8"}, "recipe.hidden must be 16-16, .*; got '8'"),
    ],
)
def test_what_does_not_fit_says_expected_and_got(request_, recipe, message):
    with pytest.raises(InputError, match=message):
        prepare("digit_network", request_, steps=1, recipe=recipe)
