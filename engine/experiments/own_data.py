"""What a network trained on a table says: of rows, right and wrong, and of the whole plane of two inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.data.prepared import Feature, Prepared
from engine.models import catalogue
from engine.models.own_data import LOSSES, TableNetwork, network
from engine.run import trace
from engine.trace import Trace
from engine.training.tables import TableRecipe, activation_of
from engine.update import Update

MODEL = "own_data"
ROOM = 0.1
"""How far the plane reaches beyond the rows, of their width."""


@dataclass(frozen=True)
class Fitted:
    """A network with its parameters and the table that they were trained on."""

    network: TableNetwork
    data: Prepared
    recipe: TableRecipe
    seed: int


@dataclass(frozen=True)
class Row:
    """One row. row: its number in the table, from 0. target, prediction: words, or in the target's unit.

    sure: of a class, the probability of what is predicted.
    """

    row: int
    target: str | float
    prediction: str | float
    loss: float
    sure: float | None


@dataclass(frozen=True)
class Dots:
    """Some rows: their inputs [feature][row] in the columns' units, and each one's number or its class' place."""

    inputs: list[list[float]]
    targets: list[float]


def fitted(request: Mapping[str, Any], recipe: Mapping[str, Any], parameters: Mapping[str, np.ndarray]) -> Fitted:
    """The network of a training run. Raises InputError where its table is no longer kept here."""
    read, seed = TableRecipe.read(recipe), request.get("seed") or 0
    data = read.prepared(seed)
    tensors = {name: torch.tensor(value) for name, value in parameters.items()}
    activation = activation_of(catalogue()[MODEL], request)
    return Fitted(network(read.sizes(data), activation, data.task, tensors), data, read, seed)


@torch.no_grad()
def rows(found: Fitted, places: Tensor) -> list[Row]:
    """What the network says of these rows, those that it gets most wrong first."""
    data = found.data
    prediction, target = found.network(data.inputs[places]), data.target[places]
    if data.task == "class":
        losses = -prediction.gather(-1, target)
        best = prediction.argmax(-1)
        said: list[Any] = [data.classes[at] for at in best.tolist()]
        true: list[Any] = [data.classes[at] for at in target.flatten().tolist()]
        sure: list[Any] = prediction.exp().amax(-1).tolist()
    else:
        losses = (prediction - target).square()
        said, true = _back(prediction, data.aim), _back(target, data.aim)
        sure = [None] * len(said)
    told = [Row(*one) for one in zip(places.tolist(), true, said, losses.flatten().tolist(), sure, strict=True)]
    return sorted(told, key=lambda one: -one.loss)


def confusion(told: Sequence[Row], classes: Sequence[str]) -> list[list[int]]:
    """How many rows of each class (down) are said to be of each (across)."""
    counts = [[0] * len(classes) for _ in classes]
    for one in told:
        counts[classes.index(str(one.target))][classes.index(str(one.prediction))] += 1
    return counts


@torch.no_grad()
def plane(found: Fitted, points: int) -> tuple[list[float], list[float], list[list[list[float]]]]:
    """Two axes in the columns' units, and the network's outputs on their grid, [up][across][output].

    Outputs are probabilities, or one number in the target's unit. Only where data.plane.
    """
    data = found.data
    axes = [_axis(data, at, points) for at in range(2)]
    up, across = np.meshgrid(axes[1], axes[0], indexing="ij")
    grid = np.stack([_ready(across, data.features[0]), _ready(up, data.features[1])], axis=-1)
    outputs = found.network(torch.from_numpy(grid))
    values = outputs.exp() if data.task == "class" else outputs.double() * data.aim.deviation + data.aim.mean
    return axes[0].tolist(), axes[1].tolist(), values.tolist()


@torch.no_grad()
def curve(found: Fitted, points: int) -> tuple[list[float], list[list[float]]]:
    """The same over the one input of a table that has one, a column of numbers: [across], [across][output]."""
    axis = _axis(found.data, 0, points)
    outputs = found.network(torch.from_numpy(_ready(axis, found.data.features[0])).unsqueeze(1))
    aim = found.data.aim
    values = outputs.exp() if found.data.task == "class" else outputs.double() * aim.deviation + aim.mean
    return axis.tolist(), values.tolist()


def dots(found: Fitted, split: str, most: int) -> Dots:
    """The first `most` rows of a split, "training" or "validation"."""
    data = found.data
    places = (data.validation if split == "validation" else data.training)[:most]
    target = data.target[places]
    goals = target.flatten().tolist() if data.task == "class" else _back(target, data.aim)
    return Dots([raw(data, at, places) for at in range(len(data.features))], goals)


def raw(data: Prepared, feature: int, places: Tensor) -> list[float]:
    """An input of some rows in its column's unit."""
    return _back(data.inputs[places, feature], data.features[feature])


def traced(found: Fitted, row: int) -> Trace:
    """One row's run through the network, forward, loss and backward, and one step of plain gradient descent on it."""
    data = found.data
    module = found.network.eval().requires_grad_()
    inputs = {"x": data.inputs[row]}
    return trace(
        module,
        inputs,
        target=data.target[row],
        loss=LOSSES[data.task],
        update=Update(found.recipe.learning_rate, ()),
        request={"inputs": {"x": data.inputs[row].tolist()}, "target": data.target[row].tolist()},
        title=f"Row {row + 1} of the table: {data.target_name}",
        labels={"feature": tuple(one.name for one in data.features), "class": data.classes},
    )


def _axis(data: Prepared, feature: int, points: int) -> np.ndarray:
    values = raw(data, feature, torch.arange(len(data.inputs)))
    room = (max(values) - min(values)) * ROOM or 1.0
    return np.linspace(min(values) - room, max(values) + room, points)


def _ready(values: np.ndarray, feature: Feature) -> np.ndarray:
    return ((values - feature.mean) / feature.deviation).astype(np.float32)


def _back(values: Tensor, feature: Feature) -> list[float]:
    """Standardised numbers in their own unit."""
    found: list[float] = (values.flatten().double() * feature.deviation + feature.mean).tolist()
    return found
