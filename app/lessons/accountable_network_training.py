"""The update over and over, on the lesson's three examples: what its reader may train, and what comes of it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from typing import Any

from app.lessons import Setting, Training
from app.numbers import single
from engine.training.training import prepare

MODEL = "tiny_network"
EXAMPLES = ({"x": [2, -1], "target": 4}, {"x": [0, 1], "target": 2}, {"x": [1, 0], "target": 0})
TOO_LARGE = 0.2


def body(values: Mapping[str, Any]) -> dict[str, Any]:
    """Plain gradient descent on the mean loss of the three examples, from the lesson's parameters."""
    return {
        "inputs": {"x": [example["x"] for example in EXAMPLES]},
        "target": [example["target"] for example in EXAMPLES],
        "update": {"rule": "sgd", "learning_rate": values["rate"], "frozen": []},
        "steps": values["steps"],
    }


@functools.cache
def repeated() -> dict[str, Any]:
    """The losses that the panel's defaults lead to, and those of a rate that is too large."""
    chosen = {setting.name: setting.default for setting in TRAINING.settings}
    return {"steps": chosen["steps"], "fit": _led(chosen), "wild": _led({**chosen, "rate": TOO_LARGE})}


def _led(values: Mapping[str, Any]) -> dict[str, Any]:
    asked = body(values)
    steps = asked.pop("steps")
    losses = [progress.loss for progress in prepare(MODEL, asked, steps=steps, recipe={})]
    return {
        "rate": values["rate"],
        "start": single(losses[0]),
        "after_one": single(losses[1]),
        "end": single(losses[-1]),
        "rises": sum(after > before for before, after in itertools.pairwise(losses)),
    }


TRAINING = Training(
    model=MODEL,
    settings=(
        Setting("rate", "Learning rate", 0.02, least=0, limit=10),
        Setting("steps", "Steps", 100, least=1, limit=100_000, whole=True),
    ),
    body=body,
)
