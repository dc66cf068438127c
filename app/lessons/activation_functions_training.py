"""XOR learned from a random start: what the reader may train, and what the trained network says of the four points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from app.lessons import Setting, Training
from app.lessons.activation_functions_figures import plane
from app.numbers import single
from engine.models import catalogue
from engine.models.activation_functions import BY_HAND, NAMES, XOR, start

MODEL = "activation_functions"
LARGEST = 1e6
FOUR: Mapping[str, Any] = {"inputs": {"x": [list(x) for x, _ in XOR]}, "target": [target for _, target in XOR]}


def body(values: Mapping[str, Any]) -> dict[str, Any]:
    """The four points as one batch, from the random start of the seed."""
    return {
        **FOUR,
        "options": {"activation": values["trained"], "weights": "random"},
        "edits": edits(start(int(values["start"]))),
        "update": {"rule": "sgd", "learning_rate": values["rate"], "frozen": []},
        "recipe": {"optimiser": values["rule"]},
        "steps": values["steps"],
    }


def edits(parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All nine parameters as edits; parameters: by name, nested lists."""
    found = []
    for name in BY_HAND:
        for row, cells in enumerate(parameters[name]):
            for column, value in enumerate(cells if isinstance(cells, list) else [cells]):
                index = [row, column] if isinstance(cells, list) else [row]
                found.append({"parameter": name, "index": index, "value": value})
    return found


def answers(options: Mapping[str, str], set_to: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a network says of the four points: rows {x, target, prediction, right}, how many are right, and the loss.

    Right is nearer to the target than to the other: on the same side of 1/2.
    """
    request = {**FOUR, "options": dict(options), "edits": list(set_to), "backward": False}
    run = catalogue()[MODEL].trace(request)
    rows = [
        {"x": list(x), "target": target, "prediction": single(value), "right": abs(value - target) < 0.5}
        for (x, target), value in zip(XOR, run["prediction"].flatten().tolist(), strict=True)
    ]
    return {"rows": rows, "right": sum(row["right"] for row in rows), "loss": single(run.result["loss"])}


def shown(
    run: Mapping[str, Any],
    points: Sequence[Mapping[str, Any]],  # noqa: ARG001
    parameters: Mapping[str, Any],
) -> dict[str, Any]:
    """The four answers and the function so far; nothing before there are parameters, or where they have diverged."""
    if not parameters:
        return {}
    set_to = edits({name: values.tolist() for name, values in parameters.items()})
    if not all(math.isfinite(one["value"]) and abs(one["value"]) <= LARGEST for one in set_to):
        return {}
    options = run["request"]["options"]
    return {"step": run["checkpoint"], "answers": answers(options, set_to), "plane": plane(options, set_to)}


TRAINING = Training(
    model=MODEL,
    settings=(
        Setting("trained", "Activation", "relu", choices=NAMES),
        Setting("start", "Random start", 7, least=1, limit=1_000_000, whole=True),
        Setting("rule", "Rule", "sgd", choices={"sgd": "gradient descent", "momentum": "momentum 0.9", "adam": "Adam"}),
        Setting("rate", "Learning rate", 0.1, least=0, limit=10),
        Setting("steps", "Steps", 2000, least=1, limit=100_000, whole=True),
    ),
    body=body,
    show=shown,
)
