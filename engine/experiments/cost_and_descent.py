"""Descents: on a loss of two parameters, step by step; on the tiny network's 13; and on the digit network's 13,002."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn import functional as F

from engine.data import mnist
from engine.models import catalogue
from engine.models.cost_and_descent import POINTS, loss
from engine.models.digit_network import DigitNetwork
from engine.skeleton import private_copy
from engine.training.descent import MOMENTUM
from engine.training.optimisers import SGD, Adam, Optimiser

LONGEST = 200
LARGEST = 1e6
NEAR = 1.05
RULES = ("sgd", "momentum", "adam")
ALL = len(POINTS)
IMAGES = 200
SLICE_STEPS, SLICE_RATE = 60, 0.2


@dataclass(frozen=True)
class Walk:
    """Where a descent was after 0, 1, 2 ... steps, and the loss of all points there.

    batch: how many points each step's gradient looks at, and so what a step costs. diverged: whether it ended early, as
    the next place lies further out than LARGEST.
    """

    places: tuple[tuple[float, float], ...]
    losses: tuple[float, ...]
    batch: int
    diverged: bool

    @functools.cached_property
    def arrival(self) -> int | None:
        """The first step after which the loss is at most 5 % above the least; None where it does not come to that."""
        return next((step for step, one in enumerate(self.losses) if one <= NEAR * least()[2]), None)


@functools.lru_cache(maxsize=256)
def walk(
    rule: str,
    rate: float,
    start: tuple[float, float],
    batch: int = ALL,
    order: int = 0,
    steps: int = LONGEST,
    *,
    weight_only: bool = False,
) -> Walk:
    """A descent from (w, b) on the line's loss, by its slopes: the mean of (ŷ - y) x for w, of ŷ - y for b.

    rule: sgd, momentum (0.9) or adam. batch: points a step, drawn without putting back until all have been seen; order:
    the seed of that. weight_only: b stays where it is.
    """
    optimiser: Optimiser = Adam() if rule == "adam" else SGD(MOMENTUM if rule == "momentum" else 0.0)
    x, y = _points()
    parameters = {"weight": torch.tensor([[start[0]]]), "bias": torch.tensor([start[1]])}
    places: list[tuple[float, float]] = []
    losses: list[float] = []
    for _, picked in zip(range(steps + 1), _batches(batch, order), strict=False):
        place = parameters["weight"].item(), parameters["bias"].item()
        if not all(abs(one) <= LARGEST for one in place):
            return Walk(tuple(places), tuple(losses), batch, True)
        places.append(place)
        prediction = F.linear(x, **parameters)
        losses.append(loss(prediction, y).item())
        share = (prediction - y)[picked] / batch
        gradients = {"weight": share.T @ x[picked], "bias": share.sum(0)}
        if weight_only:
            del gradients["bias"]
        optimiser.step({name: parameters[name] for name in gradients}, gradients, rate)
    return Walk(tuple(places), tuple(losses), batch, False)


def _points() -> tuple[Float[Tensor, "point 1"], Float[Tensor, "point 1"]]:
    x, y = torch.tensor(POINTS).T[..., None]
    return x, y


def _batches(size: int, order: int) -> Iterator[Tensor | slice]:
    """Which points each step looks at."""
    chance = torch.Generator().manual_seed(order)
    while True:
        if size == ALL:
            yield slice(None)
        else:
            yield from torch.randperm(ALL, generator=chance).split(size)


@functools.cache
def least() -> tuple[float, float, float]:
    """The best w and b by least squares, and the loss there."""
    x, y = (one.double() for one in _points())
    solution = torch.linalg.lstsq(torch.cat([x, torch.ones_like(x)], 1), y).solution
    w, b = solution.flatten().tolist()
    return w, b, float((x * w + b - y).square().mean() / 2)


@functools.cache
def curvatures() -> tuple[float, float, float]:
    """Of the loss: along w alone, and in the directions where it bends least and most (the Hessian's eigenvalues)."""
    x, _ = (one.double() for one in _points())
    rows = torch.cat([x, torch.ones_like(x)], 1)
    hessian = rows.T @ rows / len(rows)
    low, high = torch.linalg.eigvalsh(hessian).tolist()
    return float(hessian[0, 0]), low, high


def surface(w: Sequence[float], b: Sequence[float]) -> list[list[float]]:
    """The loss at each w, in a row for each b; in float64."""
    x, y = (one.double().flatten() for one in _points())
    across, up = torch.tensor(w, dtype=torch.float64), torch.tensor(b, dtype=torch.float64)
    off = across[None, :, None] * x + up[:, None, None] - y
    return (off.square().mean(-1) / 2).tolist()


@functools.cache
def tiny_losses(rates: tuple[float, ...]) -> tuple[float, ...]:
    """The tiny network's loss on its default example after one step on all 13 parameters, for each rate."""
    model = catalogue()["tiny_network"]
    module, run = private_copy(model.module()).module, model.trace({})

    def value(network: Callable[[Tensor], Tensor]) -> Tensor:
        return model.loss_for()(network(run["x"]), run["target"])

    return _after_one_step(module, value, rates)


def _after_one_step(
    module: nn.Module, value: Callable[[Callable[[Tensor], Tensor]], Tensor], rates: Sequence[float]
) -> tuple[float, ...]:
    """value: a network -> its loss. The loss of the module after a step against its gradient, for each rate."""
    parameters = dict(module.named_parameters())
    gradients = torch.autograd.grad(value(module), list(parameters.values()))
    found = []
    with torch.no_grad():
        for rate in rates:
            moved = {name: one - rate * g for (name, one), g in zip(parameters.items(), gradients, strict=True)}
            found.append(float(value(functools.partial(_plainly, module, moved))))
    return tuple(found)


def _digits() -> tuple[DigitNetwork, Tensor, Tensor]:
    """The shipped digit network (ReLU, cross-entropy), and the first 200 training images with their labels."""
    images = mnist.images("train").first(IMAGES)
    return DigitNetwork(weights="trained"), images.numbers(), images.labels


@functools.cache
def digit_losses(rates: tuple[float, ...]) -> tuple[float, ...]:
    """The untrained digit network's loss on 200 images after one step on all 13,002 parameters, for each rate."""
    _, x, labels = _digits()
    return _after_one_step(DigitNetwork(), lambda network: F.nll_loss(network(x), labels), rates)


@dataclass(frozen=True)
class Slice:
    """The digit network's loss over a plane through its shipped weights.

    along: the coordinates, from -1 to 1; 0 is the shipped weights, 1 a move as long as they are. losses: in a row for
    each second coordinate. places: a descent from (0.9, 0.9), by its shadow on the plane; path: its losses. outside:
    how much of its way at the end, as a share, does not lie in the plane.
    """

    along: tuple[float, ...]
    losses: tuple[tuple[float, ...], ...]
    places: tuple[tuple[float, float], ...]
    path: tuple[float, ...]
    outside: float


@functools.lru_cache(maxsize=16)
def loss_slice(seed: int, points: int = 21) -> Slice:
    """Two random directions, normal, each tensor's part as long as the tensor, at right angles; on 200 images.

    points: a side, odd. Source of the pictures and of the scaling, which they do by filter: Li et al. 2018.
    """
    network, x, labels = _digits()
    here = {name: value.detach() for name, value in network.named_parameters()}
    first, second = _directions(here, seed)
    half = points // 2
    along = torch.arange(-half, half + 1) / half

    def at(a: Tensor, b: Tensor) -> Tensor:
        moved = {name: here[name] + a * first[name] + b * second[name] for name in here}
        return F.nll_loss(_plainly(network, moved, x), labels)

    with torch.no_grad():
        b, a = torch.meshgrid(along, along, indexing="ij")
        losses = vmap(at, chunk_size=points)(a.flatten(), b.flatten()).view(points, points)
    places, path, outside = _descent(network, here, first, second, x, labels)
    return Slice(tuple(along.tolist()), tuple(map(tuple, losses.tolist())), places, path, outside)


def _plainly(network: nn.Module, parameters: Mapping[str, Tensor], x: Tensor) -> Tensor:
    return functional_call(network, dict(parameters), (x,))


def _directions(here: Mapping[str, Tensor], seed: int) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    chance = torch.Generator().manual_seed(seed)

    def drawn() -> dict[str, Tensor]:
        found = {name: torch.randn(value.shape, generator=chance) for name, value in here.items()}
        return {name: one * here[name].norm() / one.norm() for name, one in found.items()}

    first, second = drawn(), drawn()
    share = _dot(first, second) / _dot(first, first)
    return first, {name: second[name] - share * first[name] for name in second}


def _dot(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> Tensor:
    return torch.stack([(one[name] * other[name]).sum() for name in one]).sum()


def _descent(
    network: nn.Module,
    here: Mapping[str, Tensor],
    first: Mapping[str, Tensor],
    second: Mapping[str, Tensor],
    x: Tensor,
    labels: Tensor,
) -> tuple[tuple[tuple[float, float], ...], tuple[float, ...], float]:
    """Plain gradient descent from (0.9, 0.9): its shadow on the plane, its losses, what of its way lies outside."""
    start = {name: here[name] + 0.9 * first[name] + 0.9 * second[name] for name in here}
    now = start
    places: list[tuple[float, float]] = []
    path: list[float] = []
    for _ in range(SLICE_STEPS + 1):
        now = {name: value.detach().requires_grad_() for name, value in now.items()}
        value = F.nll_loss(_plainly(network, now, x), labels)
        way = {name: now[name].detach() - here[name] for name in here}
        a, b = (float(_dot(way, one) / _dot(one, one)) for one in (first, second))
        places.append((a, b))
        path.append(value.item())
        gradients = torch.autograd.grad(value, list(now.values()))
        before = now
        now = {name: one.detach() - SLICE_RATE * g for (name, one), g in zip(now.items(), gradients, strict=True)}
    way = {name: before[name].detach() - start[name] for name in here}
    inside = sum(float(_dot(way, one)) ** 2 / float(_dot(one, one)) for one in (first, second))
    return tuple(places), tuple(path), math.sqrt(max(0.0, 1 - inside / float(_dot(way, way))))
