"""A table made ready for a network: numbers standardised, words one-hot, rows split into training and validation.

Means and standard deviations are of the training rows alone: a validation row must not help to prepare itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from engine.data.table import MOST_WORDS, Column, Table
from engine.errors import InputError

Task = Literal["class", "number"]
TASKS = ("auto", "class", "number")


@dataclass(frozen=True)
class Feature:
    """One input of the network: (value - mean) / deviation of a column of numbers, or 1 where a column has `word`."""

    column: str
    word: str | None = None
    mean: float = 0.0
    deviation: float = 1.0

    @property
    def name(self) -> str:
        return self.column if self.word is None else f"{self.column} = {self.word}"


@dataclass(frozen=True)
class Prepared:
    """inputs: float32 [row, feature]. target: int64 [row, 1], places in `classes`; or float32 [row, 1], standardised by
    `aim`, where the task is a number. training, validation: rows, from 0, in the order of the split.
    """

    task: Task
    target_name: str
    features: tuple[Feature, ...]
    classes: tuple[str, ...]
    aim: Feature
    inputs: Tensor
    target: Tensor
    training: Tensor
    validation: Tensor

    @property
    def outputs(self) -> int:
        return len(self.classes) if self.task == "class" else 1

    @property
    def plane(self) -> bool:
        """Whether there are two inputs and both are numbers."""
        return len(self.features) == 2 and all(one.word is None for one in self.features)


def chosen_task(column: Column, task: str = "auto") -> Task:
    """What is foretold of a column. auto: a class of words, and of at most 10 whole numbers; else a number.

    Raises InputError where the column cannot be so.
    """
    if column.kind == "left out":
        raise InputError("target", f"be numbers or at most {MOST_WORDS} different words", f"column {column.name}")
    different = np.unique(column.values)
    if column.kind == "words":
        if task == "number":
            raise InputError("task", "be class where the target is words", f"number for column {column.name}")
    elif task == "auto":
        task = "class" if len(different) <= 10 and np.all(different == np.round(different)) else "number"
    elif task == "class" and len(different) > MOST_WORDS:
        raise InputError("task", f"be number where the target has more than {MOST_WORDS} values", len(different))
    if column.kind == "words" or task == "class":
        if len(different) < 2:
            raise InputError("target", "have at least 2 different values", f"{len(different)} in {column.name}")
        return "class"
    return "number"


def prepared(table: Table, target: int, task: str = "auto", share: float = 0.25, seed: int = 0) -> Prepared:
    """target: the place of a column. share: of the rows, kept back for validation. seed: draws which.

    Raises InputError where the target does not go with the task, and where no inputs are left.
    """
    if not 0 <= target < len(table.columns):
        raise InputError("target", f"be a column from 1 to {len(table.columns)}", target + 1)
    aimed = table.columns[target]
    kind = chosen_task(aimed, task)
    order = np.random.default_rng([seed, 0]).permutation(table.rows)
    kept = min(max(round(share * table.rows), 1), table.rows - 1)
    validation, training = order[:kept], order[kept:]
    inputs = [column for column in table.columns if column is not aimed and column.kind != "left out"]
    if not inputs:
        raise InputError("table", "have a column besides the target that can be an input", "none")
    features = [feature for column in inputs for feature in features_of(column, training)]
    columns = {column.name: column for column in table.columns}
    values = np.stack([_numbers(columns[one.column], one) for one in features], axis=1)
    if kind == "class":
        classes, places = np.unique(aimed.values, return_inverse=True)
        aim, goal = Feature(aimed.name), torch.from_numpy(places.astype(np.int64))
        names: Sequence[str] = [written(one) for one in classes.tolist()]
    else:
        (aim,) = features_of(aimed, training)
        goal, names = torch.from_numpy(_numbers(aimed, aim)), ()
    return Prepared(
        kind, aimed.name, tuple(features), tuple(names), aim, torch.from_numpy(values), goal.unsqueeze(1),
        torch.from_numpy(training), torch.from_numpy(validation),
    )  # fmt: skip


def written(value: float | str) -> str:
    """A class by its name: a word, or all digits of a number."""
    return value if isinstance(value, str) else str(int(value)) if value == int(value) else repr(value)


def features_of(column: Column, training: np.ndarray) -> list[Feature]:
    """The inputs that a column becomes; a column that is the same in every training row is divided by 1."""
    if column.kind == "words":
        return [Feature(column.name, word) for word in column.words]
    values = column.values[training]
    return [Feature(column.name, None, float(values.mean()), float(values.std()) or 1.0)]


def _numbers(column: Column, feature: Feature) -> np.ndarray:
    """float32 of a feature, a number a row."""
    if feature.word is not None:
        return (column.values == feature.word).astype(np.float32)
    return ((column.values - feature.mean) / feature.deviation).astype(np.float32)
