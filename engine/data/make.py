"""Makes what is computed in this folder: `python -m engine.data.make digit_network.safetensors`, or another name."""

from __future__ import annotations

import dataclasses
import itertools
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save

from engine.experiments import activation_functions
from engine.experiments.digit_network import CURVES, EPOCHS, FITTING, fit
from engine.models.digit_network import ACTIVATIONS, LOSSES, WEIGHTS, DigitNetwork, start
from engine.training.digits import DigitTraining
from engine.training.recipe import Recipe

SEED = 0
RECIPE = {"optimiser": "adam", "learning_rate": 0.005, "schedule": "cosine", "weight_decay": 1e-5}
WEIGHTS_EPOCHS = 40


def weights() -> bytes:
    """Trained weights for every pair of activation and loss; in the metadata how they were made, and the accuracies."""
    recipe = Recipe.read(RECIPE)
    tensors: dict[str, torch.Tensor] = {}
    accuracies: dict[str, float] = {}
    for activation, loss in itertools.product(ACTIVATIONS, LOSSES):
        network = DigitNetwork(activation, loss)
        network.load_state_dict(start(seed=SEED))
        *_, last = DigitTraining(network, recipe, steps=WEIGHTS_EPOCHS * recipe.batches, seed=SEED)
        accuracies[f"{activation}.{loss}"] = last.test_accuracy
        tensors |= {f"{activation}.{loss}.{name}": value.detach() for name, value in network.named_parameters()}
    made = {"recipe": dataclasses.asdict(recipe), "epochs": WEIGHTS_EPOCHS, "test_accuracy": accuracies}
    return save(tensors, {"made": json.dumps(made | _how(WEIGHTS))})


def curves() -> bytes:
    """How fast 1,000 images are fitted with their own labels and with random ones."""
    labels = {kind: dataclasses.asdict(fit(kind == "random", EPOCHS, SEED)) for kind in ("real", "random")}
    return json.dumps({**_how(CURVES), "recipe": FITTING, "epochs": EPOCHS, "labels": labels}, indent=1).encode()


def xor_starts() -> bytes:
    """From how many random starts a 2-2-1 network learns XOR, for each activation and rule."""
    asked = {"rules": activation_functions.RULES, "starts": activation_functions.STARTS}
    how = _how(activation_functions.SHIPPED) | {"seed": f"1 to {activation_functions.STARTS}, one a start"}
    made = {**how, **asked, "activations": activation_functions.starts_solved()}
    return json.dumps(made, indent=1).encode()


def _how(path: Path) -> dict[str, object]:
    return {"command": f"python -m engine.data.make {path.name}", "seed": SEED, "torch": torch.__version__}


MAKERS = {WEIGHTS.name: weights, CURVES.name: curves, activation_functions.SHIPPED.name: xor_starts}

if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[1:]:
        WEIGHTS.with_name(name).write_bytes(MAKERS[name]())
