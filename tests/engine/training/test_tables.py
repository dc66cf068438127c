"""A table's training: what it learns, measures, keeps and refuses, and that a branch goes on where it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from engine.data import tables
from engine.errors import InputError
from engine.models import catalogue
from engine.models.own_data import start
from engine.training.tables import RATES, TableLearning, TableTraining
from engine.training.training import Training, loops, prepare

MIXED = b"size,colour,kind,price\n" + b"".join(
    b"%d.%d,%s,%d,%d.25\n" % (at % 17, at % 7, (b"red", b"blue", b"green")[at % 3], at % 4, at % 17 * 3)
    for at in range(60)
)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> int:
    return tables.keep(MIXED, tmp_path_factory.mktemp("data"))


def training(steps: int = 3, seed: int = 0, activation: str = "tanh", **recipe: Any) -> TableTraining:
    made = prepare("own_data", {"options": {"activation": activation}, "seed": seed}, steps=steps, recipe=recipe)
    assert isinstance(made, TableTraining)
    return made


def last(run: TableTraining) -> TableLearning:
    *_, found = run
    return found


def test_it_is_found_by_discovery():
    assert "own_data" in loops()
    assert isinstance(training(), Training)


@pytest.mark.parametrize("optimiser", RATES)
def test_it_parts_the_two_moons(optimiser):
    found = last(training(300, optimiser=optimiser, learning_rate={"sgd": 0.5, "momentum": 0.1}.get(optimiser, 0.03)))
    assert found.epoch == 30 and found.measured == 300
    assert found.validation_accuracy is not None and found.validation_accuracy >= 0.86
    assert found.training_error is None


def test_a_number_is_foretold_with_its_error_in_its_own_unit(mixed):
    found = last(training(150, table=mixed, target=4, hidden="16"))
    assert found.training_accuracy is None
    data = training(table=mixed, target=4).data
    assert data.task == "number" and len(data.features) == 5
    assert found.validation_error == pytest.approx(found.validation_loss**0.5 * data.aim.deviation)
    assert found.validation_error < data.aim.deviation / 4


def test_an_update_is_the_one_that_a_trace_records():
    run = training(1, batch_size=150, optimiser="sgd", learning_rate=0.1)
    list(run)
    data, order = run.data, torch.from_numpy(np.random.default_rng([0, 1, 0]).permutation(150))
    rows = data.training[order]
    trace = catalogue()["own_data"].trace(
        {
            "inputs": {"x": data.inputs[rows].tolist()},
            "target": [data.classes[at] for at in data.target[rows].flatten().tolist()],
            "options": {"weights": "untrained"},
            "update": {"learning_rate": 0.1},
        }
    )
    for name, value in run.state()["parameters"].items():
        torch.testing.assert_close(trace[f"{name}.updated"], value, rtol=1e-6, atol=1e-7)


def test_every_pass_takes_each_training_row_once_in_another_order():
    run = training()
    orders = []
    for run._epoch in (0, 1):
        orders.append(run._order())
    assert torch.equal(orders[0].sort().values, run.data.training.sort().values)
    assert torch.equal(orders[1].sort().values, run.data.training.sort().values)
    assert not torch.equal(*orders)


@pytest.mark.parametrize("optimiser", RATES)
def test_going_on_is_as_if_it_had_not_paused(optimiser):
    whole, first, second = (training(25, optimiser=optimiser) for _ in range(3))
    losses = [found.loss for found in whole]
    for progress in first:
        if progress.step == 13:
            break
    second.resume(first.state())
    assert [found.loss for found in second] == losses[13:]
    for name, value in whole.state()["parameters"].items():
        assert torch.equal(second.state()["parameters"][name], value)


def test_a_branch_may_change_the_rate_and_not_the_network():
    first = training(2)
    list(first)
    other = training(4, learning_rate=0.5, batch_size=7, optimiser="sgd")
    other.resume(first.state())
    assert last(other).step == 4
    for changed in ({"hidden": "9"}, {"share": 0.5}, {"activation": "relu"}, {"seed": 1}):
        with pytest.raises(ValueError, match=f"the state's {next(iter(changed))} must stay"):
            training(4, **changed).resume(first.state())


def test_the_start_is_pytorch_s_own_spread():
    found = start((2, 8, 2), seed=5)
    assert {name: tuple(value.shape) for name, value in found.items()} == {
        "hidden1.weight": (8, 2), "hidden1.bias": (8,), "output.weight": (2, 8), "output.bias": (2,),
    }  # fmt: skip
    assert max(value.abs().max().item() for value in (found["hidden1.weight"], found["hidden1.bias"])) <= 2**-0.5
    assert max(value.abs().max().item() for value in (found["output.weight"], found["output.bias"])) <= 8**-0.5


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ({"table": 7}, "data must be the number of a table that is kept here; got 7"),
        ({"target": 4}, "target must be a column from 1 to 3; got 4"),
        ({"share": 1}, "recipe.share must be from 0.05 to 0.9; got 1"),
        ({"hidden": "8-0"}, "recipe.hidden must be none, or up to 4 widths from 1 to 256"),
        ({"momentum": 0.5}, "recipe.momentum must be one of table, target"),
        ({"task": "number"}, "task must be class where the target is words"),
    ],
)
def test_a_recipe_that_does_not_fit_is_refused(recipe, message):
    with pytest.raises(InputError, match=message):
        training(**recipe)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"inputs": {"x": [1, 2]}}, "inputs must be left out"),
        ({"options": {"weights": "trained"}}, "options.weights must be untrained"),
    ],
)
def test_a_request_that_does_not_fit_is_refused(request_, message):
    with pytest.raises(InputError, match=message):
        prepare("own_data", request_, steps=1, recipe={})
