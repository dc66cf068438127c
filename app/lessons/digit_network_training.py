"""The digit network trained from scratch: what its reader may choose, and what the network has become so far."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from app.lessons import Setting, Training
from app.lessons.digit_network_figures import Data, confusion, weight_pictures, wrong_images
from app.numbers import single
from app.schemas import MAX_TRAINING_STEPS
from engine.data import mnist
from engine.experiments.digit_network import evaluate, network_of
from engine.training.recipe import RATES, TRAINING_IMAGES

MODEL = "digit_network"
USUAL = 0
"""The learning rate's setting that means the optimiser's own."""
HIDDEN = {
    "16-16": "16, 16", "none": "none", "16": "16", "64": "64", "128-64": "128, 64", "32-32-32": "32, 32, 32",
}  # fmt: skip


def body(values: Mapping[str, Any]) -> dict[str, Any]:
    """From the random start of the seed, over the images so many times."""
    rate = values["rate"] or RATES[values["rule"]]
    steps = values["epochs"] * math.ceil(values["images"] / values["batch"])
    return {
        "options": {"activation": values["bend"], "loss": values["cost"], "weights": "untrained"},
        "recipe": {
            "optimiser": values["rule"],
            "learning_rate": rate,
            "batch_size": values["batch"],
            "hidden": values["hidden"],
            "images": values["images"],
            "random_labels": values["labels"] == "random",
        },
        "seed": values["start"],
        "steps": min(steps, MAX_TRAINING_STEPS),
    }


def shown(
    run: Mapping[str, Any],
    points: Sequence[Mapping[str, Any]],  # noqa: ARG001
    parameters: Mapping[str, Any],
) -> Data:
    """First-layer weights as pictures, the confusion matrix and images read wrong; nothing before there are
    parameters, or where they have diverged."""
    if not parameters or not all(np.isfinite(value).all() for value in parameters.values()):
        return {}
    options = run["request"]["options"]
    packed = tuple((name, value.shape, value.tobytes()) for name, value in parameters.items())
    return {"step": run["checkpoint"], **_looked_at(packed, options["activation"], options["loss"])}


@functools.lru_cache(maxsize=16)
def _looked_at(packed: tuple[tuple[str, tuple[int, ...], bytes], ...], activation: str, loss: str) -> Data:
    """A watched run is asked for several times a second, and has new parameters once."""
    parameters = {name: np.frombuffer(raw, np.float32).reshape(shape).copy() for name, shape, raw in packed}
    found = evaluate(network_of(parameters, activation, loss), mnist.images("test"))
    first = next(value for name, value in parameters.items() if name.endswith(".weight"))
    return {
        "weights": weight_pictures(first),
        "units": len(first),
        "parameters": sum(value.size for value in parameters.values()),
        "accuracy": single(100 * found.accuracy),
        "images": len(found.answers),
        "wrong": len(found.wrong),
        "confusion": confusion(found),
        "examples": wrong_images(found),
    }


TRAINING = Training(
    model=MODEL,
    settings=(
        Setting("rule", "Optimiser", "sgd", choices={"sgd": "SGD", "momentum": "momentum 0.9", "adam": "Adam"}),
        Setting("rate", "Learning rate, 0 for its usual", USUAL, least=0, limit=100),
        Setting("batch", "Batch size", 100, least=1, limit=10_000, whole=True),
        Setting("epochs", "Epochs", 3, least=1, limit=1000, whole=True),
        Setting("hidden", "Hidden layers", "16-16", choices=HIDDEN),
        Setting("bend", "Activation", "relu", choices={"relu": "ReLU", "sigmoid": "sigmoid"}),
        Setting(
            "cost",
            "Loss",
            "cross_entropy",
            choices={"cross_entropy": "cross-entropy", "squared_error": "squared error"},
        ),
        Setting("labels", "Labels", "real", choices={"real": "real", "random": "random"}),
        Setting("images", "Training images", TRAINING_IMAGES, least=1, limit=TRAINING_IMAGES, whole=True),
        Setting("start", "Random start", 0, least=0, limit=1_000_000, whole=True),
    ),
    body=body,
    show=shown,
)
