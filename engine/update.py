"""One gradient-descent step: what is frozen, what moves, and by how much."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from engine.assemble import written
from engine.cells import number_for, place_of
from engine.errors import InputError
from engine.ops.table import rows
from engine.trace import Operand, Step, TensorRecord


@dataclass(frozen=True)
class Frozen:
    """A parameter, or some of its cells, that takes part in forward and is not updated; index None is all of it."""

    parameter: str
    index: tuple[int | None, ...] | None = None


@dataclass(frozen=True)
class Update:
    """Plain gradient descent: parameter - learning_rate * gradient."""

    learning_rate: float
    frozen: tuple[Frozen, ...] = ()
    rule: str = "sgd"


def check_update(update: Update) -> None:
    """Raises InputError for another rule than sgd, or a learning rate that is no number."""
    if update.rule != "sgd":
        raise InputError("update.rule", "be sgd", repr(update.rule)[:80])
    number_for("update.learning_rate", update.learning_rate, torch.float32)


def frozen_masks(update: Update, parameters: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Bool masks, True where frozen, for parameters with frozen cells. Raises InputError for unknown places."""
    masks: dict[str, torch.Tensor] = {}
    for number, frozen in enumerate(update.frozen):
        field = f"update.frozen[{number}]"
        if frozen.parameter not in parameters:
            raise InputError(f"{field}.parameter", f"be one of {', '.join(parameters)}", repr(frozen.parameter))
        shape = parameters[frozen.parameter].shape
        mask = masks.setdefault(frozen.parameter, torch.zeros(shape, dtype=torch.bool))
        mask[... if frozen.index is None else place_of(field, shape, frozen.index)] = True
    return masks


def update_steps(
    update: Update, parameters: Sequence[str], records: dict[str, TensorRecord], index: int
) -> Iterator[tuple[Step, list[TensorRecord]]]:
    """One step a parameter that the loss has a path to, each with the records it is the first to need.

    parameters: their names in `records`, which the new tensors are added to. index: of the first step.
    """
    row = rows()["sgd"]
    masks = frozen_masks(update, {name: records[name].value for name in parameters})
    value = torch.tensor(update.learning_rate, dtype=_dtype(records))
    rate = TensorRecord(_free("learning_rate", records), "η", "constant", (), value)
    records[rate.name] = rate
    for name in parameters:
        record = records[name]
        if record.gradient is None:
            continue
        roles = {"parameter": record, "gradient": records[record.gradient], "learning_rate": rate}
        if name in masks:
            roles["frozen"] = TensorRecord(
                f"{name}.frozen", f"frozen {record.symbol}", "constant", record.axes, masks[name]
            )
        with torch.no_grad():
            value = row.run(**{role: one.value for role, one in roles.items()})
        new = TensorRecord(f"{name}.updated", f"{record.symbol}′", "parameter", record.axes, value)
        fresh = [one for one in (*roles.values(), new) if one.name not in records or one is rate]
        records.update({one.name: one for one in fresh})
        text, tex = written(row, roles, new, {})
        yield (
            Step(
                index=index,
                phase="update",
                op=row.name,
                name=new.name,
                symbol=text,
                scope="",
                tex=tex,
                inputs=tuple(Operand(role, one.name) for role, one in roles.items()),
                outputs=(new.name,),
                flops=row.flops({role: one.shape for role, one in roles.items()}, new.shape),
                note="frozen" if name in masks and bool(masks[name].all()) else "",
            ),
            fresh,
        )
        index += 1


def _free(name: str, records: Mapping[str, TensorRecord]) -> str:
    while name in records:
        name = f"update.{name}"
    return name


def _dtype(records: Mapping[str, TensorRecord]) -> torch.dtype:
    """Of the parameters, so that a float64 run steps in float64."""
    return next((one.value.dtype for one in records.values() if one.kind == "parameter"), torch.float32)


def updatable(records: Mapping[str, TensorRecord]) -> int:
    """How many parameter cells the update of these records could move."""
    moved = 0
    for record in records.values():
        if record.name.endswith(".updated"):
            frozen = records.get(f"{record.name.removesuffix('.updated')}.frozen")
            moved += record.value.numel() - (0 if frozen is None else int(frozen.value.sum()))
    return moved
