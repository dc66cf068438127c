"""The network for a table: its equations, its losses, and the weights that are shipped."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors import safe_open
from torch.nn import functional as F

from engine.models import catalogue
from engine.models.own_data import SIZES, WEIGHTS, cross_entropy, network, shipped, squared_error, start
from engine.training.tables import TableRecipe

MODEL = catalogue()["own_data"]


def test_a_class_s_prediction_is_the_log_of_the_softmax():
    module = network((3, 4, 5, 2), "relu", "class", start((3, 4, 5, 2), seed=1))
    x = torch.tensor([[0.5, -1.0, 2.0], [0.0, 1.0, 0.0]])
    a = F.relu(x @ module.hidden1.weight.T + module.hidden1.bias)
    a = F.relu(a @ module.hidden2.weight.T + module.hidden2.bias)
    z = a @ module.output.weight.T + module.output.bias
    torch.testing.assert_close(module(x), z - z.exp().sum(-1, keepdim=True).log())


def test_a_number_s_prediction_is_the_last_sum():
    module = network(
        (2, 1), "tanh", "number", {"output.weight": torch.tensor([[2.0, -1.0]]), "output.bias": torch.ones(1)}
    )
    assert module(torch.tensor([3.0, 4.0])).tolist() == [3.0]


def test_the_losses_are_worked_by_hand():
    prediction = torch.tensor([[0.25, 0.75], [0.5, 0.5]]).log()
    assert cross_entropy(prediction, torch.tensor([[1], [0]])).item() == pytest.approx(
        (-torch.tensor(0.75).log() - torch.tensor(0.5).log()).item() / 2
    )
    assert squared_error(torch.tensor([[3.0], [1.0]]), torch.tensor([[1.0], [0.0]])).item() == 2.5


def test_the_shipped_weights_read_what_their_provenance_says():
    with safe_open(str(WEIGHTS), framework="pt") as file:
        made = json.loads(file.metadata()["made"])
    data = TableRecipe.read(made["recipe"]).prepared(made["seed"])
    found = shipped()(data.inputs).argmax(-1) == data.target.flatten()
    assert found[data.training].double().mean().item() == made["training_accuracy"]
    assert found[data.validation].double().mean().item() == made["validation_accuracy"] == 0.98


def test_it_has_42_parameters_and_names_its_columns_and_classes():
    assert sum(value.numel() for value in shipped().parameters()) == 42
    trace = MODEL.trace({})
    assert trace.record("x").axes[0].labels == ("across", "up")
    assert trace.record("probability").axes[-1].labels == ("lower", "upper")
    assert float(trace["probability"].sum()) == pytest.approx(1)


def test_before_training_it_is_the_start_of_seed_0():
    untrained = MODEL.module({"weights": "untrained"})
    for name, value in start(SIZES).items():
        assert torch.equal(untrained.state_dict()[name], value)
