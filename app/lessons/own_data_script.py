"""A training run on a table as one file of plain PyTorch, which trains the same weights to the bit."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from dataclasses import dataclass
from pprint import pformat
from typing import Any

import numpy as np

from engine.data.prepared import Prepared
from engine.data.table import Table
from engine.training.tables import MOMENTUM, TableRecipe


@dataclass(frozen=True)
class Phase:
    """Steps that are taken alike: up to the step `until`. A branched run has one for each of its ancestors."""

    until: int
    recipe: TableRecipe


def script(phases: Sequence[Phase], data: Prepared, table: Table, activation: str, seed: int) -> str:
    """The file. phases: in order, with the same table, split and network."""
    recipe = phases[-1].recipe
    torch, numpy = (importlib.metadata.version(name) for name in ("torch", "numpy"))
    facts = {
        "TABLE": f"table-{recipe.table}.csv",
        "DELIMITER": table.delimiter,
        "NAMED": table.named,
        "TARGET": data.target_name,
        "CLASSES": _classes(data, table),
        "FEATURES": [(one.column, one.word) for one in data.features],
        "SHARE": recipe.share,
        "SEED": seed,
        "SIZES": list(recipe.sizes(data)),
        "ACTIVATION": activation,
        "PHASES": [
            (one.until, one.recipe.optimiser, one.recipe.learning_rate, one.recipe.batch_size) for one in phases
        ],
    }
    named = "\n".join(f"{name} = {pformat(value, width=110)}{_MEANINGS.get(name, '')}" for name, value in facts.items())
    return f"{_HEAD.format(torch=torch, numpy=numpy)}\n{named}\n{_BODY.replace('MOMENTUM', str(MOMENTUM))}"


def _classes(data: Prepared, table: Table) -> list[Any] | None:
    """The target's different values as the table has them, words or numbers; None where it is no class."""
    column = next(one for one in table.columns if one.name == data.target_name)
    return np.unique(column.values).tolist() if data.task == "class" else None


_MEANINGS = {
    "NAMED": "  # whether the first row names the columns",
    "CLASSES": "  # None: the target is a number",
    "FEATURES": "  # a column of numbers, or a column and the word that is 1",
    "SHARE": "  # of the rows, kept back for validation",
    "PHASES": "  # until step, optimiser, learning rate, batch size",
}
_HEAD = '''"""Trains a network on a table, step by step as the run that this file was made for.

    python reproduce.py [table.csv] [weights.safetensors]

With the weights it says whether they are equal to the bit. Made with torch {torch} and numpy {numpy}; another version
or another machine may round otherwise.
"""

import csv
import math
import sys
from collections import OrderedDict

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F
'''
_BODY = """
torch.set_num_threads(1)

# The table: columns by name.
with open(sys.argv[1] if len(sys.argv) > 1 else TABLE, encoding="utf-8-sig", newline="") as file:
    lines = [[cell.strip() for cell in line] for line in csv.reader(file, delimiter=DELIMITER, skipinitialspace=True)]
lines = [line for line in lines if any(line)]
names = lines.pop(0) if NAMED else [f"column {at + 1}" for at in range(len(lines[0]))]
columns = {name: [line[at] for line in lines] for at, name in enumerate(names)}

# Rows for training and for validation; means and deviations are of the training rows alone.
shuffled = np.random.default_rng([SEED, 0]).permutation(len(lines))
kept = min(max(round(SHARE * len(lines)), 1), len(lines) - 1)
validation, training = torch.from_numpy(shuffled[:kept]), torch.from_numpy(shuffled[kept:])


def standardised(name):
    values = np.array([float(cell) for cell in columns[name]])
    seen = values[training.numpy()]
    return ((values - seen.mean()) / (seen.std() or 1.0)).astype(np.float32)


def prepared(name, word):
    return standardised(name) if word is None else (np.array(columns[name]) == word).astype(np.float32)


inputs = torch.from_numpy(np.stack([prepared(name, word) for name, word in FEATURES], axis=1))
if CLASSES is None:
    target = torch.from_numpy(standardised(TARGET)).unsqueeze(1)
else:
    read = str if isinstance(CLASSES[0], str) else float
    target = torch.tensor([CLASSES.index(read(cell)) for cell in columns[TARGET]])

# The network: every weight and bias of a layer begins uniform within 1 / sqrt(its inputs).
activations = {"tanh": nn.Tanh, "relu": nn.ReLU, "sigmoid": nn.Sigmoid}
layers = OrderedDict()
for number, (fan_in, fan_out) in enumerate(zip(SIZES, SIZES[1:]), 1):
    last = number == len(SIZES) - 1
    layers["output" if last else f"hidden{number}"] = nn.Linear(fan_in, fan_out)
    if not last:
        layers[f"activation{number}"] = activations[ACTIVATION]()
model = nn.Sequential(layers)
chance = torch.Generator().manual_seed(SEED)
with torch.no_grad():
    for layer in model:
        if isinstance(layer, nn.Linear):
            bound = 1 / math.sqrt(layer.in_features)
            layer.weight.uniform_(-bound, bound, generator=chance)
            layer.bias.uniform_(-bound, bound, generator=chance)


def loss_of(rows):
    prediction = model(inputs[rows])
    return F.mse_loss(prediction, target[rows]) if CLASSES is None else F.cross_entropy(prediction, target[rows])


optimisers = {
    "sgd": lambda: torch.optim.SGD(model.parameters(), lr=1.0),
    "momentum": lambda: torch.optim.SGD(model.parameters(), lr=1.0, momentum=MOMENTUM),
    "adam": lambda: torch.optim.Adam(model.parameters(), lr=1.0),
}


def order_of(epoch):
    return training[torch.from_numpy(np.random.default_rng([SEED, 1, epoch]).permutation(len(training)))]


step = epoch = place = 0
order, used = order_of(0), None
for until, name, rate, batch_size in PHASES:
    if name != used:
        optimiser, used = optimisers[name](), name
    for group in optimiser.param_groups:
        group["lr"] = rate
    while step < until:
        rows = order[place : place + batch_size]
        optimiser.zero_grad()
        loss_of(rows).backward()
        optimiser.step()
        step, place = step + 1, place + len(rows)
        if place >= len(order):
            epoch, place = epoch + 1, 0
            order = order_of(epoch)

with torch.no_grad():
    print(f"step {step}: training loss {loss_of(training):.6g}, validation loss {loss_of(validation):.6g}")
found = model.state_dict()
if len(sys.argv) > 2:
    expected = load_file(sys.argv[2])
    same = found.keys() == expected.keys() and all(torch.equal(found[name], expected[name]) for name in found)
    print("equal to the bit" if same else "not equal")
    sys.exit(not same)
"""
