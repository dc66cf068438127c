"""A network for a table, trained batch after batch, each update yielded with what it led to.

All order is by the seed: the split, the start, and the rows of each pass; so a plain PyTorch script can repeat it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from engine.data import tables
from engine.data.prepared import TASKS, Prepared, prepared
from engine.data.table import MOST_COLUMNS
from engine.errors import InputError
from engine.models.own_data import LOSSES, TableNetwork, network, start
from engine.training.optimisers import SGD, Adam, Optimiser
from engine.training.readers import one_of, real, split, whole, widths

TRAINS = "own_data"
MEASURED_EVERY = 10
"""Both splits are measured after each pass; where passes are shorter, after several of so many steps."""
RATES = {"sgd": 0.1, "momentum": 0.02, "adam": 0.01}
"""The learning rate of each optimiser where none is given."""
MOMENTUM = 0.9
NOT_TAKEN = ("inputs", "target", "edits", "interventions", "update")


@dataclass(frozen=True)
class TableRecipe:
    """table: its number. target: a column, counted from 1; 0 is the last. task: see engine.data.prepared. share: of the
    rows, kept back for validation. hidden: the widths of the hidden layers, "8-8"; "none" leaves them out.
    """

    table: int = tables.SHIPPED
    target: int = 0
    task: str = "auto"
    share: float = 0.25
    hidden: str = "8"
    optimiser: str = "adam"
    learning_rate: float = RATES["adam"]
    batch_size: int = 16

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> TableRecipe:
        """The recipe with what is not given by default. Raises InputError that says expected and got."""
        for name in given:
            if name not in _READERS:
                raise InputError(f"recipe.{name}", f"be one of {', '.join(_READERS)}", repr(name))
        read = {name: _READERS[name](f"recipe.{name}", value) for name, value in given.items()}
        return cls(**{"learning_rate": RATES[read.get("optimiser", cls.optimiser)], **read})

    def prepared(self, seed: int) -> Prepared:
        """The table as the network takes it. Raises InputError as engine.data does."""
        return _prepared(self.table, self.target, self.task, self.share, seed)

    def sizes(self, data: Prepared) -> tuple[int, ...]:
        """How wide each layer is, the input and the output too."""
        return (len(data.features), *split(self.hidden), data.outputs)

    def new_optimiser(self) -> Optimiser:
        return Adam() if self.optimiser == "adam" else SGD(MOMENTUM if self.optimiser == "momentum" else 0.0)

    @property
    def fixed(self) -> dict[str, Any]:
        """What a branch of a run has to leave as it was."""
        return {name: asdict(self)[name] for name in ("table", "target", "task", "share", "hidden")}


@functools.lru_cache(maxsize=8)
def _prepared(number: int, target: int, task: str, share: float, seed: int) -> Prepared:
    table = tables.find(number)
    return prepared(table, (target or len(table.columns)) - 1, task, share, seed)


@dataclass(frozen=True)
class TableLearning:
    """Where the training is after `step` updates.

    loss: of the parameters as they now are, on the batch that comes next. epoch: passes over the training rows.
    The others are as last measured, after `measured` updates, on all rows of a split: the loss, and of a class the
    share that is right, of a number the root of the mean squared error in the target's own unit.
    """

    step: int
    loss: float
    epoch: float
    measured: int
    training_loss: float
    validation_loss: float
    training_accuracy: float | None = None
    validation_accuracy: float | None = None
    training_error: float | None = None
    validation_error: float | None = None


class TableTraining:
    """One run of training, as engine.training.training.Training."""

    def __init__(self, recipe: TableRecipe, activation: str, *, steps: int, seed: int = 0) -> None:
        self.recipe, self.steps, self.seed = recipe, steps, seed
        self.data = recipe.prepared(seed)
        sizes = recipe.sizes(self.data)
        self.network: TableNetwork = network(sizes, activation, self.data.task, start(sizes, seed))
        self._parameters = dict(self.network.named_parameters())
        self._optimiser = recipe.new_optimiser()
        self._fixed = {**recipe.fixed, "activation": activation, "seed": seed}
        self._step = self._epoch = self._place = 0
        self._measured: dict[str, Any] = {}

    def __iter__(self) -> Iterator[TableLearning]:
        loss = LOSSES[self.data.task]
        values = list(self._parameters.values())
        order = self._order()
        while True:
            rows = order[self._place : self._place + self.recipe.batch_size]
            value = loss(self.network(self.data.inputs[rows]), self.data.target[rows])
            self._measure()
            epoch = self._epoch + self._place / len(order)
            yield TableLearning(step=self._step, loss=float(value.detach()), epoch=epoch, **self._measured)
            if self._step >= self.steps:
                return
            gradients = torch.autograd.grad(value, values)
            named = dict(zip(self._parameters, gradients, strict=True))
            self._optimiser.step(self._parameters, named, self.recipe.learning_rate)
            self._step += 1
            self._place += len(rows)
            if self._place >= len(order):
                self._epoch, self._place = self._epoch + 1, 0
                order = self._order()

    def state(self) -> dict[str, Any]:
        """The parameters, what the optimiser remembers, and how far the rows are used; all order is by the seed."""
        return {
            "step": self._step,
            "epoch": self._epoch,
            "place": self._place,
            "fixed": dict(self._fixed),
            "parameters": {name: value.detach().clone() for name, value in self._parameters.items()},
            "optimiser": {"name": self.recipe.optimiser, **self._optimiser.state()},
            "measured": dict(self._measured),
        }

    def resume(self, state: Mapping[str, Any]) -> None:
        """Also with another learning rate, batch size or optimiser; a new optimiser remembers nothing."""
        for name, value in self._fixed.items():
            if state["fixed"][name] != value:
                raise ValueError(f"the state's {name} must stay {state['fixed'][name]}; got {value}")
        with torch.no_grad():
            for name, value in state["parameters"].items():
                self._parameters[name].copy_(value)
        self._step, self._epoch, self._place = state["step"], state["epoch"], state["place"]
        self._measured = dict(state["measured"])
        if state["optimiser"]["name"] == self.recipe.optimiser:
            self._optimiser.resume(state["optimiser"])

    def _order(self) -> Int[Tensor, "row"]:
        """The training rows in the order of this pass."""
        chance = np.random.default_rng([self.seed, 1, self._epoch])
        return self.data.training[torch.from_numpy(chance.permutation(len(self.data.training)))]

    def _measure(self) -> None:
        """Measures both splits where a pass has ended, and it is time."""
        batches = math.ceil(len(self.data.training) / self.recipe.batch_size)
        due = self._place == 0 and self._epoch % math.ceil(MEASURED_EVERY / batches) == 0
        if not self._measured or ((due or self._step >= self.steps) and self._measured["measured"] != self._step):
            self._measured = {
                "measured": self._step,
                **_measured("training", self.network, self.data, self.data.training),
                **_measured("validation", self.network, self.data, self.data.validation),
            }


@torch.no_grad()
def _measured(split: str, module: TableNetwork, data: Prepared, rows: Tensor) -> dict[str, float]:
    prediction, target = module(data.inputs[rows]), data.target[rows]
    loss = float(LOSSES[data.task](prediction, target))
    if data.task == "class":
        right = float((prediction.argmax(-1, keepdim=True) == target).double().mean())
        return {f"{split}_loss": loss, f"{split}_accuracy": right}
    return {f"{split}_loss": loss, f"{split}_error": math.sqrt(loss) * data.aim.deviation}


def prepare(model: Any, request: Mapping[str, Any], *, steps: int, recipe: Mapping[str, Any]) -> TableTraining:
    """A training from a seeded start (the request's seed, 0). recipe: see TableRecipe.

    Raises InputError for what does not fit, and for inputs or edits: the rows are the table's.
    """
    for name in NOT_TAKEN:
        if request.get(name):
            raise InputError(name, "be left out: this model trains on a table by its recipe", repr(request[name])[:80])
    return TableTraining(
        TableRecipe.read(recipe), activation_of(model, request), steps=steps, seed=request.get("seed") or 0
    )


def activation_of(model: Any, request: Mapping[str, Any]) -> str:
    """The activation that a request asks for. Raises InputError for trained weights: training begins at the start."""
    options = model.canonical({"options": {"weights": "untrained", **(request.get("options") or {})}})["options"]
    if options["weights"] != "untrained":
        raise InputError("options.weights", "be untrained: a table's training begins at the start", options["weights"])
    found: str = options["activation"]
    return found


_READERS = {
    "table": whole(0, tables.LARGEST),
    "target": whole(0, MOST_COLUMNS),
    "task": one_of(*TASKS),
    "share": real(0.05, 0.9),
    "hidden": widths,
    "optimiser": one_of(*RATES),
    "learning_rate": real(0, 1000),
    "batch_size": whole(1, 5_000),
}
