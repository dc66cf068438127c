"""One step of the optimiser: what is frozen, what moves, and by how much."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from engine.assemble import written
from engine.calls import arguments
from engine.cells import number_for, place_of
from engine.errors import InputError
from engine.ops.table import rows
from engine.trace import Axis, Kind, Operand, Step, TensorRecord

RULES = ("sgd", "adamw")
_Made = tuple[Step, list[TensorRecord]]


@dataclass(frozen=True)
class Frozen:
    """A parameter, or some of its cells, that takes part in forward and is not updated; index None is all of it."""

    parameter: str
    index: tuple[int | None, ...] | None = None


@dataclass(frozen=True)
class Update:
    """One step against the gradients of this run.

    rule: "sgd", plain gradient descent: parameter - learning_rate * gradient; or "adamw", the first step that
    torch.optim.AdamW takes, from moments of zero. betas, epsilon and weight_decay are AdamW's.
    """

    learning_rate: float
    frozen: tuple[Frozen, ...] = ()
    rule: str = "sgd"
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    weight_decay: float = 0.01


def check_update(update: Update) -> None:
    """Raises InputError for an unknown rule, or for a number that its rule has no meaning for."""
    if update.rule not in RULES:
        raise InputError("update.rule", f"be {' or '.join(RULES)}", repr(update.rule)[:80])
    number_for("update.learning_rate", update.learning_rate, torch.float32)
    if update.rule == "adamw":
        if not isinstance(update.betas, list | tuple) or len(update.betas) != 2:
            raise InputError("update.betas", "be two numbers", repr(update.betas)[:80])
        for place, beta in enumerate(update.betas):
            _check_range(f"update.betas[{place}]", beta, below=1)
        for name in ("learning_rate", "epsilon", "weight_decay"):
            _check_range(f"update.{name}", getattr(update, name))


def _check_range(field: str, value: float, below: float | None = None) -> None:
    number_for(field, value, torch.float32)
    if value < 0 or (below is not None and value >= below):
        raise InputError(field, "be 0 or more" if below is None else f"be from 0 to below {below}", value)


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
) -> Iterator[_Made]:
    """The steps for each parameter that the loss has a path to, each with the records it is the first to need.

    parameters: their names in `records`, which the new tensors are added to. index: of the first step.
    """
    masks = frozen_masks(update, {name: records[name].value for name in parameters})
    writer = _Writer(records, index)
    moving = [records[name] for name in parameters if records[name].gradient is not None]
    frozen = {
        name: TensorRecord(f"{name}.frozen", f"frozen {records[name].symbol}", "constant", records[name].axes, mask)
        for name, mask in masks.items()
    }
    steps = _adamw if update.rule == "adamw" else _sgd
    yield from steps(update, writer, moving, frozen)


def _sgd(
    update: Update, writer: _Writer, moving: Sequence[TensorRecord], frozen: Mapping[str, TensorRecord]
) -> Iterator[_Made]:
    rate = writer.rate(update, next((one.value.dtype for one in moving), torch.float32))
    for parameter in moving:
        yield writer.moved("sgd", parameter, {"gradient": writer.gradient(parameter), "learning_rate": rate}, frozen)


def _adamw(
    update: Update, writer: _Writer, moving: Sequence[TensorRecord], frozen: Mapping[str, TensorRecord]
) -> Iterator[_Made]:
    """The bias-corrected rate once, then for each parameter both moments, the denominator and the new value."""
    beta1, beta2 = map(float, update.betas)
    rate = writer.rate(update, torch.float64)
    corrected = writer.free("learning_rate.corrected")
    if moving:
        yield writer.step("adamw_rate", corrected, "η̂", {"learning_rate": rate}, {"beta1": beta1})
    for parameter in moving:
        gradient = {"gradient": writer.gradient(parameter)}
        symbol, axes = parameter.symbol, parameter.axes
        first, second, under = (
            writer.free(f"{parameter.name}.{part}") for part in ("first_moment", "second_moment", "denominator")
        )
        yield writer.step("adamw_first_moment", first, f"m({symbol})", gradient, {"beta1": beta1}, axes)
        yield writer.step("adamw_second_moment", second, f"v({symbol})", gradient, {"beta2": beta2}, axes)
        yield writer.step(
            "adamw_denominator", under, f"d({symbol})", {"second_moment": writer.records[second]},
            {"beta2": beta2, "epsilon": float(update.epsilon)}, axes,
        )  # fmt: skip
        roles = {
            "learning_rate": rate,
            "corrected_rate": writer.records[corrected],
            "first_moment": writer.records[first],
            "denominator": writer.records[under],
        }
        yield writer.moved("adamw", parameter, roles, frozen, {"weight_decay": float(update.weight_decay)})


class _Writer:
    """Runs rows of the table of operations one after the other and adds what they make to the records."""

    def __init__(self, records: dict[str, TensorRecord], index: int) -> None:
        self.records = records
        self._index = index

    def gradient(self, parameter: TensorRecord) -> TensorRecord:
        assert parameter.gradient is not None
        return self.records[parameter.gradient]

    def free(self, name: str) -> str:
        """A name that no tensor has yet."""
        while name in self.records:
            name = f"update.{name}"
        return name

    def rate(self, update: Update, dtype: torch.dtype) -> TensorRecord:
        value = torch.tensor(update.learning_rate, dtype=dtype)
        return TensorRecord(self.free("learning_rate"), "η", "constant", (), value)

    def moved(
        self,
        op: str,
        parameter: TensorRecord,
        roles: Mapping[str, TensorRecord],
        frozen: Mapping[str, TensorRecord],
        attributes: Mapping[str, Any] | None = None,
    ) -> _Made:
        """The step that gives a parameter its new value; cells that `frozen` names for it keep the old one."""
        mask = frozen.get(parameter.name)
        every = {"parameter": parameter, **roles, **({} if mask is None else {"frozen": mask})}
        return self.step(
            op, f"{parameter.name}.updated", f"{parameter.symbol}′", every, attributes or {}, parameter.axes,
            kind="parameter", note="frozen" if mask is not None and bool(mask.value.all()) else "",
        )  # fmt: skip

    def step(
        self,
        op: str,
        name: str,
        symbol: str,
        roles: Mapping[str, TensorRecord],
        attributes: Mapping[str, Any],
        axes: tuple[Axis, ...] = (),
        *,
        kind: Kind = "constant",
        note: str = "",
    ) -> _Made:
        row = rows()[op]
        with torch.no_grad():
            value = row.run(**arguments({role: one.value for role, one in roles.items()}, attributes))
        out = TensorRecord(name, symbol, kind, axes, value)
        fresh = [one for one in (*roles.values(), out) if one.name not in self.records]
        self.records.update({one.name: one for one in fresh})
        text, tex = written(row, roles, out, attributes)
        step = Step(
            index=self._index,
            phase="update",
            op=op,
            name=name,
            symbol=text,
            scope="",
            tex=tex,
            inputs=tuple(Operand(role, one.name) for role, one in roles.items()),
            outputs=(name,),
            flops=row.flops({role: one.shape for role, one in roles.items()}, out.shape),
            attributes=attributes,
            note=note,
        )
        self._index += 1
        return step, fresh


def updatable(records: Mapping[str, TensorRecord]) -> int:
    """How many parameter cells the update of these records could move."""
    moved = 0
    for record in records.values():
        if record.name.endswith(".updated"):
            frozen = records.get(f"{record.name.removesuffix('.updated')}.frozen")
            moved += record.value.numel() - (0 if frozen is None else int(frozen.value.sum()))
    return moved
