"""A network for the reader's table: what may be chosen, and what the trained one says of the rows."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from app.lessons import Setting, Training
from app.lessons.own_data_figures import drawn
from app.numbers import single
from app.schemas import MAX_TRAINING_STEPS
from engine.data import tables
from engine.data.prepared import TASKS
from engine.data.table import MOST_COLUMNS
from engine.errors import InputError
from engine.experiments.own_data import MODEL, Fitted, Row, confusion, fitted, rows
from engine.models.own_data import NAMES
from engine.training.tables import TableRecipe

WORST = 5
SHAPES = {
    "none": "none", "4": "4 units", "8": "8 units", "16": "16 units", "32": "32 units",
    "8-8": "8, then 8", "16-16": "16, then 16", "32-32": "32, then 32", "64-64": "64, then 64",
    "16-16-16": "16, three times",
}  # fmt: skip
RULES = {"sgd": "gradient descent", "momentum": "momentum 0.9", "adam": "Adam"}
DATA = Setting("data", "Table", tables.SHIPPED, least=0, limit=tables.LARGEST, whole=True)
TARGET = Setting("column", "Column to foretell", 0, least=0, limit=MOST_COLUMNS, whole=True)
TASK = Setting(
    "task", "As", "auto", choices=dict(zip(TASKS, ("what it looks like", "a class", "a number"), strict=True))
)
HIDDEN = Setting("layers", "Hidden layers", "8", choices=SHAPES)
SHARE = Setting("share", "Share for validation", 0.25, least=0.05, limit=0.9)
START = Setting("start", "Seed", 0, least=0, limit=1_000_000, whole=True)


_NAMED = {
    "table": "data", "target": "column", "task": "task", "share": "share", "hidden": "layers", "optimiser": "rule",
    "learning_rate": "rate", "batch_size": "batch",
}  # fmt: skip
"""What the recipe calls what the page's settings set."""


def asked(values: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe of what is chosen."""
    return {name: values[setting] for name, setting in _NAMED.items() if setting in values}


def body(values: Mapping[str, Any]) -> dict[str, Any]:
    """The run; its steps are so many passes over the training rows. Raises InputError as engine.data does."""
    recipe, seed = asked(values), int(values["start"])
    batches = math.ceil(len(TableRecipe.read(recipe).prepared(seed).training) / recipe["batch_size"])
    steps = values["passes"] * batches
    if steps > MAX_TRAINING_STEPS:
        most = MAX_TRAINING_STEPS // batches
        raise InputError("passes", f"be at most {most:,} where a pass takes {batches:,} steps", values["passes"])
    options = {"activation": values["bend"], "weights": "untrained"}
    return {"options": options, "seed": seed, "recipe": recipe, "steps": steps}


def shown(
    run: Mapping[str, Any], points: Sequence[Mapping[str, Any]], parameters: Mapping[str, np.ndarray]
) -> dict[str, Any]:
    """{} before there are parameters and where they have diverged, {gone} where the table is, else {step, network,
    task, rows, table or error, worst, figures, file, script, row}.
    """
    del points
    if not parameters or not all(np.isfinite(values).all() for values in parameters.values()):
        return {}
    try:
        found = fitted(run["request"], run["recipe"], parameters)
    except InputError:
        return {"gone": True}
    told = rows(found, found.data.validation)
    own = f"/lessons/own_data/training/{run['id']}"
    return {
        "step": run["checkpoint"],
        "sizes": list(found.recipe.sizes(found.data)),
        "parameters": sum(values.size for values in parameters.values()),
        "target": found.data.target_name,
        "rows": len(told),
        **(_classes(found, told) if found.data.task == "class" else _numbers(found, told)),
        "worst": [_row(one, own) for one in told[:WORST]],
        "first": int(found.data.validation[0]) + 1,
        "figures": drawn(found, told),
        "table_file": f"/lessons/own_data/table/{found.recipe.table}.csv",
        "script": f"{own}/script.py",
        "row": f"{own}/row",
    }


def _classes(found: Fitted, told: Sequence[Row]) -> dict[str, Any]:
    classes = found.data.classes
    counts = confusion(told, classes)
    most = max(sum(row) for row in counts)
    return {
        "task": "class",
        "table": [{"name": name, "counts": row} for name, row in zip(classes, counts, strict=True)],
        "classes": list(classes),
        "right": sum(counts[at][at] for at in range(len(classes))),
        "guess": most / len(told),
    }


def _numbers(found: Fitted, told: Sequence[Row]) -> dict[str, Any]:
    """error: the root of the mean squared error; guess: the same of the training rows' mean, told to every row."""
    targets = np.array([one.target for one in told], dtype=np.float64)
    misses = targets - np.array([one.prediction for one in told], dtype=np.float64)
    return {
        "task": "number",
        "error": single(float(np.sqrt(np.square(misses).mean()))),
        "guess": single(float(np.sqrt(np.square(targets - found.data.aim.mean).mean()))),
    }


def _row(one: Row, own: str) -> dict[str, Any]:
    def said(value: float | str) -> float | str:
        return value if isinstance(value, str) else single(value)

    told = {**dataclasses.asdict(one), "target": said(one.target), "prediction": said(one.prediction)}
    return {**told, "row": one.row + 1, "link": f"{own}/row?row={one.row + 1}"}


def on_stage(run: Mapping[str, Any]) -> bool:
    """The stage names the columns and classes of the shipped table."""
    recipe = TableRecipe.read(run["recipe"])
    return (recipe.table, recipe.target or len(tables.find(0).columns)) == (tables.SHIPPED, 3)


TRAINING = Training(
    model=MODEL,
    settings=(
        HIDDEN,
        Setting("bend", "Activation", "tanh", choices=NAMES),
        Setting("rule", "Rule", "adam", choices=RULES),
        Setting("rate", "Learning rate", 0.01, least=0, limit=10),
        Setting("batch", "Rows a step", 16, least=1, limit=5000, whole=True),
        Setting("passes", "Passes", 100, least=1, limit=5000, whole=True),
        SHARE,
        START,
    ),
    body=body,
    show=shown,
    on_stage=on_stage,
)
