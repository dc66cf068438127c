"""Your own data: a table of the reader's, made ready for a network, and what training on part of it shows.

The text is templates/lessons/own_data.html; here are its numbers: of the run shown (`run`), of measured trainings
(`fits`), and, for the chosen table, of what becomes of it (page.lab).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from app.curves import Curve, figure
from app.lessons import Lesson, own_data_check
from app.lessons.own_data_training import DATA, HIDDEN, SHARE, START, TARGET, TASK, TRAINING, asked
from app.numbers import single
from app.shown import cells
from engine.data import table, tables
from engine.data.prepared import Prepared
from engine.data.table import Column
from engine.errors import InputError
from engine.experiments.own_data import fitted, rows
from engine.models import catalogue
from engine.models.own_data import CLASSES, FITS, SIZES, layers
from engine.trace import Index, Trace
from engine.training.tables import TableRecipe

SLUG = "own_data"
SHOWN_ROWS = 5
EXAMPLES = 4
LIMITS = {
    "columns": [table.FEWEST_COLUMNS, table.MOST_COLUMNS],
    "rows": [table.FEWEST_ROWS, table.MOST_ROWS],
    "bytes": table.MOST_BYTES,
    "words": table.MOST_WORDS,
    "kept": tables.MOST_TABLES,
}
SAMPLE = """weight,colour,sort,price
1.2,red,plum,3.5
0.4,green,fig,1.25"""


def prose(trace: Trace, baseline: Trace) -> dict[str, Any]:  # noqa: ARG001
    """`run` of the run shown, its first example; `rows`, those of the shipped table that the stage begins with."""
    example: Index = (0,) if trace["x"].dim() == 2 else ()
    said = cells(trace, "probability", example)
    return {
        "run": {
            "x": cells(trace, "x", example),
            "said": [{**cell, "of": name} for cell, name in zip(said, CLASSES, strict=True)],
            "loss": single(trace.result["loss"]),
        },
        "parameters": _count(SIZES),
        "row": _rows()[0]["row"],
        "fits": _fits(),
        "limits": LIMITS,
        "sample": SAMPLE,
    }


def lab(values: Mapping[str, Any]) -> dict[str, Any]:
    """The chosen table: {number, missing} where it is not kept here, else with columns, rows, split, features, sizes,
    and `error` where the target does not go with what is chosen.
    """
    number = int(values["data"])
    try:
        found = tables.find(number)
    except InputError:
        return {"number": number, "missing": True}
    chosen = (int(values["column"]) or len(found.columns)) - 1
    data: dict[str, Any] = {
        "number": number,
        "missing": False,
        "file": f"/lessons/{SLUG}/table/{number}.csv",
        "rows": found.rows,
        "named": found.named,
        "columns": [_column(one, at, at == chosen) for at, one in enumerate(found.columns)],
        "first": [[_cell(one, at) for one in found.columns] for at in range(SHOWN_ROWS)],
        "error": None,
    }
    try:
        recipe = TableRecipe.read(asked(values))
        return data | _ready(recipe, recipe.prepared(int(values["start"])))
    except InputError as error:
        return data | {"error": f"{error}"}


def _column(one: Column, at: int, chosen: bool) -> dict[str, Any]:
    numbers = one.kind == "numbers"
    return {
        "n": at + 1,
        "name": one.name,
        "kind": one.kind,
        "words": list(one.words),
        "different": len(np.unique(one.values)),
        "least": float(one.values.min()) if numbers else None,
        "largest": float(one.values.max()) if numbers else None,
        "target": chosen,
    }


def _cell(one: Column, row: int) -> float | str:
    value: float | str = one.values[row].item()
    return value


def _ready(recipe: TableRecipe, data: Prepared) -> dict[str, Any]:
    """The split, each input of the network, the first row made ready, and the network's size."""
    raw = {one.name: one.values[0] for one in tables.find(recipe.table).columns}
    sizes = recipe.sizes(data)
    return {
        "task": data.task,
        "target": data.target_name,
        "classes": list(data.classes),
        "aim": None if data.task == "class" else {"mean": data.aim.mean, "deviation": data.aim.deviation},
        "training": len(data.training),
        "validation": len(data.validation),
        "features": [
            {
                "name": one.name, "word": one.word, "mean": one.mean, "deviation": one.deviation,
                "raw": raw[one.column].item(), "ready": single(float(data.inputs[0, at])),
            }
            for at, one in enumerate(data.features)
        ],
        "sizes": list(sizes),
        "parameters": _count(sizes),
        "plane": data.plane,
    }  # fmt: skip


def _count(sizes: tuple[int, ...]) -> int:
    return sum(fan_out * (fan_in + 1) for _, fan_in, fan_out in layers(sizes))


@functools.cache
def _fits() -> dict[str, Any]:
    """The shipped trainings, with many rows and with few: where the losses end, and where validation was best."""
    made = json.loads(FITS.read_text(encoding="utf-8"))
    found: dict[str, Any] = {"steps": made["steps"], "sizes": [2, *map(int, made["recipe"]["hidden"].split("-")), 2]}
    found["parameters"] = _count(tuple(found["sizes"]))
    curves = []
    for name, fit in made["fits"].items():
        losses = fit["validation_loss"]
        best = losses.index(min(losses))
        found[name] = {
            "rows": fit["rows"],
            "share": fit["share"],
            "training": fit["training_loss"][-1],
            "validation": losses[-1],
            "best": losses[best],
            "best_step": fit["steps"][best],
            "right": fit["training_accuracy"],
            "right_validation": fit["validation_accuracy"],
        }
        curves += [
            Curve(f"{fit['rows']} rows, {split}", fit["steps"], fit[f"{split}_loss"])
            for split in ("training", "validation")
        ]
    return found | {"figure": figure(curves, "step", "loss", height=320)}


@functools.cache
def _rows() -> tuple[dict[str, Any], ...]:
    """The rows of the shipped table that its network gets most wrong and was not trained on: the stage's examples."""
    module = catalogue()["own_data"].module()
    found = fitted({}, {}, {name: value.detach().numpy() for name, value in module.named_parameters()})
    told = rows(found, found.data.validation)[:EXAMPLES]
    inputs = [[single(value) for value in found.data.inputs[one.row].tolist()] for one in told]
    return tuple({"row": one.row + 1, "x": x, "target": one.target} for one, x in zip(told, inputs, strict=True))


def exercises(seed: int) -> tuple[Any, ...]:
    """The check, in the variant of the seed."""
    return own_data_check.exercises(seed)


LESSON = Lesson(
    slug=SLUG,
    title="Your own data",
    part="Learning",
    order=27,
    summary="Bring a small table, choose a column to foretell, and train a network on it: what it learns, what it only "
    "remembers, and a plain PyTorch script that trains the same weights to the bit.",
    model="own_data",
    request={"inputs": {"x": _rows()[0]["x"]}, "target": _rows()[0]["target"]},
    examples=tuple({"x": row["x"], "target": row["target"]} for row in _rows()[1:]),
    prose=prose,
    exercises=exercises,
    settings=(DATA, TARGET, TASK, SHARE, START, HIDDEN),
    lab=lab,
    training=TRAINING,
)
