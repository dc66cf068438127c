"""A model of two inputs as a function over the plane: its values, where its ReLU units switch, where an edit matters.

One batched run gives a whole grid: predictions, slopes (the gradient of their sum is each one's own slope) and which
units are on. Everything obeys the request's edits, interventions and options. Drawing is the app's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from engine.errors import InputError
from engine.intervene import Intervention, Kind
from engine.labels import cell_label
from engine.models.model import Model
from engine.run import trace
from engine.skeleton import Edit
from engine.trace import TensorRecord, Trace

TOLERANCE = 1e-6
_KINDS: tuple[Kind, ...] = ("set", "scale", "add", "patch")
Point = tuple[float, float]


@dataclass(frozen=True)
class Boundary:
    """Where a unit's weighted sum is zero: slope · x + offset = 0.

    ends:  the two points where the line leaves the square; None where it does not cross it.
    bends: whether the prediction bends there; False where the unit's output reaches nothing, None where no two
           neighbouring regions of the grid tell.
    """

    label: str
    slope: Point
    offset: float
    ends: tuple[Point, Point] | None
    bends: bool | None


@dataclass(frozen=True)
class Region:
    """A part of the plane in which the prediction is slope · x + offset.

    on: labels of the units above zero, among those where the prediction bends. points: how many grid points lie in it.
    offset: 0 where it is within the rounding of the prediction it was read from.
    """

    on: tuple[str, ...]
    slope: Point
    offset: float
    points: int


@dataclass(frozen=True)
class Surface:
    """One network over a square grid. prediction[i, j] is at x1 = coordinates[j], x2 = coordinates[i].

    inputs, output: how the two inputs and the prediction are written.
    """

    inputs: tuple[str, str]
    output: str
    coordinates: Float[Tensor, " count"]
    prediction: Float[Tensor, "count count"]
    boundaries: tuple[Boundary, ...]
    regions: tuple[Region, ...]


@dataclass(frozen=True)
class Effect:
    """Edited minus baseline; `changed` where that is over TOLERANCE times the larger of 1 and the baseline's size."""

    difference: Float[Tensor, "count count"]
    changed: Bool[Tensor, "count count"]
    points: int
    total: int


@dataclass(frozen=True)
class Plane:
    """The edited network, the baseline, and how they differ."""

    edited: Surface
    baseline: Surface
    effect: Effect


def plane(
    model: Model,
    request: Mapping[str, Any],
    baseline_request: Mapping[str, Any],
    lower: float,
    upper: float,
    count: int,
) -> Plane:
    """Both networks over the square from `lower` to `upper`, `count` points a side, and where the edit matters.

    The requests' inputs, targets and updates play no part. Raises InputError as `surface` does.
    """
    edited = surface(model, request, lower, upper, count)
    baseline = surface(model, baseline_request, lower, upper, count)
    return Plane(edited, baseline, effect(edited, baseline))


def surface(model: Model, request: Mapping[str, Any], lower: float, upper: float, count: int) -> Surface:
    """One network over the square grid.

    Raises InputError for a model without exactly one input of two numbers, for an empty square, for fewer than 2 points
    a side, and for a request that the model refuses.
    """
    if len(model.inputs) != 1 or model.inputs[0].size != 2:
        raise InputError("model", "have one input of 2 numbers", f"{[field.size for field in model.inputs]}")
    if not lower < upper:
        raise InputError("plane", "have a lower end below its upper end", f"{lower:g} to {upper:g}")
    if count < 2:
        raise InputError("plane.count", "be at least 2", count)
    coordinates = torch.linspace(lower, upper, count)
    x2, x1 = torch.meshgrid(coordinates, coordinates, indexing="ij")
    grid = torch.stack([x1.flatten(), x2.flatten()], dim=1)
    run = _run(model, request, torch.cat([grid, _CORNERS]))
    prediction = run[_output(run)][: len(grid), 0]
    slope = run[f"{model.inputs[0].name}.grad"][: len(grid)]
    record = _switching(run)
    on = torch.zeros(len(grid), 0, dtype=torch.bool) if record is None else record.value[: len(grid)] > 0
    boundaries = () if record is None else _boundaries(model, record, on, slope, float(lower), float(upper))
    inputs = _alone(model, run.record(model.inputs[0].name))
    output = _alone(model, run.record(_output(run)))
    return Surface(
        inputs=(cell_label(inputs, (0,)), cell_label(inputs, (1,))),
        output=cell_label(output, (0,)),
        coordinates=coordinates,
        prediction=prediction.view(count, count),
        boundaries=boundaries,
        regions=_regions(grid, prediction, slope, on, boundaries),
    )


def predictions(model: Model, request: Mapping[str, Any], points: Sequence[Sequence[float]]) -> Float[Tensor, " point"]:
    """One network's prediction at each point (x1, x2), whatever the request's own inputs are."""
    run = _run(model, request, torch.tensor(points, dtype=torch.float32), backward=False)
    return run[_output(run)][:, 0]


def effect(edited: Surface, baseline: Surface) -> Effect:
    """Where and by how much two networks on one grid differ."""
    difference = edited.prediction - baseline.prediction
    changed = difference.abs() > TOLERANCE * baseline.prediction.abs().clamp(min=1)
    return Effect(difference, changed, int(changed.sum()), changed.numel())


_CORNERS = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


def _run(model: Model, request: Mapping[str, Any], points: Float[Tensor, "point 2"], *, backward: bool = True) -> Trace:
    """Every point a row of one run; its loss is the sum of the predictions, so x's gradient holds each row's slope."""
    whole = model.canonical(request)
    return trace(
        model.module(whole["options"]),
        {model.inputs[0].name: points},
        loss=lambda prediction, _: prediction.sum(),
        edits=[Edit(one["parameter"], tuple(one["index"]), float(one["value"])) for one in whole["edits"]],
        interventions=[_for_rows(one) for one in whole["interventions"]],
        backward=backward,
        parts=False,
    )


def _for_rows(one: Mapping[str, Any]) -> Intervention:
    """An intervention on one example, or on one row of several, as an intervention on every row."""
    kind = next(kind for kind in _KINDS if one.get(kind) is not None)
    return Intervention(one["at"], (None, one["index"][-1]), kind, one[kind])


def _output(run: Trace) -> str:
    """The name of what the loss sums."""
    return next(step for step in run.steps if step.phase == "loss").inputs[0].tensor


def _alone(model: Model, record: TensorRecord) -> TensorRecord:
    """One row of a record of many, with the symbol that one example has."""
    symbol = getattr(model.module(), "symbols", {}).get(record.name, record.symbol)
    return TensorRecord(record.name, symbol, record.kind, record.axes[-1:], record.value[0])


def _switching(run: Trace) -> TensorRecord | None:
    """The weighted sums that the first ReLU reads; None without a ReLU."""
    step = next((step for step in run.steps if step.phase == "forward" and step.op == "relu"), None)
    return None if step is None else run.record(step.operand("input"))


def _boundaries(
    model: Model,
    record: TensorRecord,
    on: Bool[Tensor, "point unit"],
    slope: Float[Tensor, "point 2"],
    lower: float,
    upper: float,
) -> tuple[Boundary, ...]:
    """The sums are affine in x, so their values at three corners give slope and offset, interventions included."""
    corners = record.value[len(on) :].double()
    offsets, slopes = corners[0], (corners[1:] - corners[0]).T
    single = _alone(model, record)
    found = []
    for unit in range(on.shape[1]):
        weights, offset = (float(slopes[unit, 0]), float(slopes[unit, 1])), float(offsets[unit])
        ends = _clipped(weights, offset, lower, upper)
        found.append(Boundary(cell_label(single, (unit,)), weights, offset, ends, _bends(on, slope, unit)))
    return tuple(found)


def _clipped(weights: Point, offset: float, lower: float, upper: float) -> tuple[Point, Point] | None:
    """The ends of the line weights · x + offset = 0 within the square; None where it does not cross it."""
    (a, b), met = weights, set()
    for side in (lower, upper):
        if b and lower <= (height := -(a * side + offset) / b) <= upper:
            met.add((side, height + 0.0))
        if a and lower <= (across := -(b * side + offset) / a) <= upper:
            met.add((across + 0.0, side))
    return (min(met), max(met)) if len(met) > 1 else None


def _bends(on: Bool[Tensor, "point unit"], slope: Float[Tensor, "point 2"], unit: int) -> bool | None:
    """Whether two regions that differ only in this unit have different slopes; None where there are no two such."""
    first = {pattern: points[0] for pattern, points in _members(on).items()}
    pairs = [(first[pattern], first.get(pattern ^ (1 << unit))) for pattern in first]
    steps = [float((slope[here] - slope[there]).abs().max()) for here, there in pairs if there is not None]
    return max(steps) > TOLERANCE if steps else None


def _regions(
    grid: Float[Tensor, "point 2"],
    prediction: Float[Tensor, " point"],
    slope: Float[Tensor, "point 2"],
    on: Bool[Tensor, "point unit"],
    boundaries: tuple[Boundary, ...],
) -> tuple[Region, ...]:
    """One region for each set of units that are on, largest first; its formula is read at its point nearest 0."""
    kept = [boundary.bends is not False for boundary in boundaries]
    distance = grid.abs().sum(dim=1)
    found = []
    for pattern, points in _members(on & torch.tensor(kept, dtype=torch.bool)).items():
        at = points[int(distance[points].argmin())]
        rise, place = slope[at].double(), grid[at].double()
        offset = float(prediction[at].double() - rise @ place)
        if abs(offset) <= TOLERANCE * max(1.0, abs(float(prediction[at]))):
            offset = 0.0
        labels = tuple(boundary.label for unit, boundary in enumerate(boundaries) if pattern >> unit & 1)
        found.append(Region(labels, (float(rise[0]), float(rise[1])), offset, len(points)))
    return tuple(sorted(found, key=lambda region: -region.points))


def _members(on: Bool[Tensor, "point unit"]) -> dict[int, list[int]]:
    """The points of each set of units that are on; bit i of a set's number is unit i."""
    weights = torch.tensor([1 << unit for unit in range(on.shape[1])], dtype=torch.long)
    members: dict[int, list[int]] = {}
    for at, pattern in enumerate((on * weights).sum(dim=1).tolist()):
        members.setdefault(pattern, []).append(at)
    return members
