"""Makes what the lesson on your own data ships: `python -m engine.data.moons`.

A table of two half circles that reach into each other, 100 points each, with noise: no straight line parts them. A
network trained on it. And how one network fits many of its rows, and few.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import torch
from safetensors.torch import save

from engine.data.tables import SHIPPED_FILE
from engine.models import catalogue
from engine.models.own_data import FITS, WEIGHTS
from engine.training.tables import TableTraining, prepare

TABLE_SEED = 3
POINTS = 100
NOISE = 0.2
SEED = 0
RECIPE: dict[str, Any] = {"hidden": "8", "optimiser": "adam", "learning_rate": 0.02, "batch_size": 16}
EPOCHS = 150
FITTING: dict[str, Any] = {"hidden": "32-32", "optimiser": "adam", "learning_rate": 0.01, "batch_size": 16}
SHARES = {"many": 0.25, "few": 0.9}
FITTING_STEPS, EVERY = 1000, 20


def table() -> bytes:
    """The CSV file: two coordinates with two decimals, and the moon's name."""
    chance = np.random.default_rng(TABLE_SEED)
    angle = chance.uniform(0, math.pi, size=(2, POINTS))
    upper = np.stack([np.cos(angle[0]), np.sin(angle[0])], axis=1)
    lower = np.stack([1 - np.cos(angle[1]), 0.5 - np.sin(angle[1])], axis=1)
    points = np.concatenate([upper, lower]) + chance.normal(0, NOISE, size=(2 * POINTS, 2))
    names = ["upper"] * POINTS + ["lower"] * POINTS
    lines = [f"{points[at, 0]:.2f},{points[at, 1]:.2f},{names[at]}" for at in chance.permutation(2 * POINTS)]
    return ("\n".join(["across,up,moon", *lines]) + "\n").encode()


def training(recipe: dict[str, Any], steps: int) -> TableTraining:
    """A training on the table, with tanh, from the start of SEED."""
    request = {"options": {"weights": "untrained"}, "seed": SEED}
    return prepare(catalogue()["own_data"], request, steps=steps, recipe=recipe)


def weights() -> bytes:
    """The network after EPOCHS passes; in the metadata how it was made, and what it reads right."""
    run = training(RECIPE, EPOCHS * math.ceil(1.5 * POINTS / RECIPE["batch_size"]))
    *_, last = run
    made = {
        **_how(), "recipe": RECIPE, "epochs": EPOCHS,
        "training_accuracy": last.training_accuracy, "validation_accuracy": last.validation_accuracy,
    }  # fmt: skip
    tensors = {name: value.detach() for name, value in run.network.named_parameters()}
    return save(tensors, {"made": json.dumps(made)})


def fits() -> bytes:
    """The losses of one network on its way, where it is given three quarters of the rows and where a tenth of them."""
    found = {}
    for name, share in SHARES.items():
        run = training({**FITTING, "share": share}, FITTING_STEPS)
        points = [one for one in run if one.step % EVERY == 0 and one.measured == one.step]
        found[name] = {
            "rows": len(run.data.training),
            "share": share,
            "steps": [one.step for one in points],
            "training_loss": [one.training_loss for one in points],
            "validation_loss": [one.validation_loss for one in points],
            "training_accuracy": points[-1].training_accuracy,
            "validation_accuracy": points[-1].validation_accuracy,
        }
    return json.dumps({**_how(), "recipe": FITTING, "steps": FITTING_STEPS, "fits": found}, indent=1).encode()


def _how() -> dict[str, Any]:
    return {"command": "python -m engine.data.moons", "seed": SEED, "torch": torch.__version__}


if __name__ == "__main__":
    torch.set_num_threads(1)
    SHIPPED_FILE.write_bytes(table())
    WEIGHTS.write_bytes(weights())
    FITS.write_bytes(fits())
