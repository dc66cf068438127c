"""Measurements of activation functions: their slopes, how gradients fade through them, what a sum of them can draw."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from engine.data import mnist
from engine.models.activation_functions import ACTIVATIONS, BY_HAND, XOR, start
from engine.training.optimisers import SGD, Adam, Optimiser

LAYERS, WIDTH, EXAMPLES = 30, 64, 64
GRID = 257
UNITS = 32
OWN_POINTS = 9
RULES: Mapping[str, tuple[float, int]] = {"sgd": (0.1, 2000), "adam": (0.05, 500)}
"""Rule -> learning rate and steps of `solved`."""
STARTS = 200
SOLVED_BELOW = 0.01
SHIPPED = mnist.FILE.with_name("xor_starts.json")


def slopes(activation: str, z: Sequence[float]) -> tuple[list[float], list[float]]:
    """The activation at each z, and its derivative there by autograd, in float64."""
    at = torch.tensor(z, dtype=torch.float64, requires_grad=True)
    value = ACTIVATIONS[activation](at)
    (slope,) = torch.autograd.grad(value.sum(), at)
    return value.tolist(), slope.tolist()


def steepest(activation: str) -> tuple[float, float]:
    """The largest slope from -8 to 8, in steps of 1/1000, and the z nearest to 0 where it is met."""
    z = sorted((step / 1000 for step in range(-8000, 8001)), key=abs)
    _, slope = slopes(activation, z)
    top = max(slope)
    return top, next(at for at, one in zip(z, slope, strict=True) if one > top - 1e-12)


@functools.lru_cache(maxsize=64)
def fading(activation: str, gain: float) -> tuple[float, ...]:
    """What is left of the gradient at each layer's z, from the last layer down: its norm over that at the last z.

    30 layers of 64 units without biases, weights normal with standard deviation gain / √64, 64 examples, seed 0; the
    loss is a random weighted sum of the last layer's activations. In float64.
    """
    chance = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=chance, dtype=torch.float64)

    h, weighting, sums = normal(EXAMPLES, WIDTH), normal(EXAMPLES, WIDTH), []
    for _ in range(LAYERS):
        z = h @ (normal(WIDTH, WIDTH) * gain / math.sqrt(WIDTH)).requires_grad_()
        sums.append(z)
        h = ACTIVATIONS[activation](z)
    found = torch.autograd.grad((h * weighting).sum(), sums)
    last = found[-1].norm()
    return tuple(float(one.norm() / last) for one in reversed(found)) if last > 0 else (1.0,) + (0.0,) * (LAYERS - 1)


@torch.no_grad()
def collapsed(layers: int = 5, width: int = 16, examples: int = 100) -> float:
    """Random linear layers with biases, one after the other, against the one layer of their product.

    The largest difference of an output, as a share of the largest output; seed 0, float64.
    """
    chance = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=chance, dtype=torch.float64)

    x = normal(examples, width)
    out, weight, bias = x, torch.eye(width, dtype=torch.float64), torch.zeros(width, dtype=torch.float64)
    for _ in range(layers):
        w, b = normal(width, width), normal(width)
        out, weight, bias = out @ w.T + b, w @ weight, w @ bias + b
    return float((x @ weight.T + bias - out).abs().max() / out.abs().max())


def best_plane() -> tuple[list[float], float]:
    """The affine map nearest to XOR: its two weights and its bias by least squares, and its mean squared error."""
    rows = torch.tensor([[*x, 1.0] for x, _ in XOR], dtype=torch.float64)
    target = torch.tensor([[t] for _, t in XOR], dtype=torch.float64)
    solution = torch.linalg.lstsq(rows, target).solution
    return solution.flatten().tolist(), float((rows @ solution - target).square().mean())


def curve(name: str, own: Sequence[float] = ()) -> Float[Tensor, " point"]:
    """A curve over 0 to 1 at GRID points: sine, step, bump, zigzag, or `own`: straight lines between these heights."""
    x = torch.linspace(0, 1, GRID, dtype=torch.float64)
    if name == "own":
        heights = torch.tensor(own, dtype=torch.float64)
        at = x * (len(own) - 1)
        left = at.floor().clamp(max=len(own) - 2)
        return torch.lerp(heights[left.long()], heights[left.long() + 1], at - left)
    return {
        "sine": torch.sin(2 * math.pi * x),
        "step": (x >= 0.5).double() * 2 - 1,
        "bump": torch.exp(-(((x - 0.5) / 0.15) ** 2)),
        "zigzag": 1 - 2 * (4 * x % 2 - 1).abs(),
    }[name]


@dataclass(frozen=True)
class Fit:
    """The sum of units that comes nearest to a curve: constant + Σ weight · activation(2n x - 2i), i from 0.

    parts: each unit's weighted output at the grid points. values: their sum. error: the root mean square distance from
    the curve; worst: the largest.
    """

    constant: float
    weights: tuple[float, ...]
    parts: Float[Tensor, "unit point"]
    values: Float[Tensor, " point"]
    error: float
    worst: float


def fit(target: Float[Tensor, " point"], units: int, activation: str) -> Fit:
    """Unit i's z is 0 at i/n: so the n units divide 0 to 1 evenly. Constant and weights are by least squares."""
    x = torch.linspace(0, 1, GRID, dtype=torch.float64)
    z = 2 * units * x - 2 * torch.arange(units, dtype=torch.float64)[:, None]
    hidden = ACTIVATIONS[activation](z)
    rows = torch.cat([torch.ones(1, GRID, dtype=torch.float64), hidden]).T
    constant, *weights = torch.linalg.lstsq(rows, target[:, None], driver="gelsd").solution.flatten().tolist()
    parts = torch.tensor(weights, dtype=torch.float64)[:, None] * hidden
    values = parts.sum(0) + constant
    off = values - target
    return Fit(constant, tuple(weights), parts, values, float(off.square().mean().sqrt()), float(off.abs().max()))


def solved(activation: str, rule: str, starts: int = STARTS, steps: int | None = None) -> tuple[float, ...]:
    """The losses on XOR that the 2-2-1 network reaches from the starts of seeds 1, 2 and so on, all trained at once.

    rule: a key of RULES, which says the steps where none are given.
    """
    parameters = {
        name: torch.stack([torch.tensor(start(seed)[name]) for seed in range(1, starts + 1)]).requires_grad_()
        for name in BY_HAND
    }
    x, target = torch.tensor([x for x, _ in XOR]), torch.tensor([t for _, t in XOR])
    rate, most = RULES[rule]
    optimiser: Optimiser = SGD() if rule == "sgd" else Adam()

    def losses() -> Float[Tensor, " start"]:
        z = torch.einsum("nui,ei->neu", parameters["hidden.weight"], x) + parameters["hidden.bias"][:, None]
        h = ACTIVATIONS[activation](z)
        prediction = (h * parameters["readout.weight"]).sum(-1) + parameters["readout.bias"]
        return (prediction - target).square().mean(-1)

    for _ in range(most if steps is None else steps):
        gradients = torch.autograd.grad(losses().sum(), list(parameters.values()))
        optimiser.step(parameters, dict(zip(parameters, gradients, strict=True)), rate)
    return tuple(losses().tolist())


@functools.cache
def shipped() -> dict[str, dict[str, dict[str, float]]]:
    """How `solved` came out, activation -> rule -> {solved: how many starts, least: the least loss}."""
    return json.loads(SHIPPED.read_text(encoding="utf-8"))["activations"]


def starts_solved() -> dict[str, dict[str, dict[str, float]]]:
    """What `shipped` reads, computed: it takes some ten seconds."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for activation in ACTIVATIONS:
        losses = {rule: solved(activation, rule) for rule in RULES}
        found[activation] = {
            rule: {"solved": sum(loss < SOLVED_BELOW for loss in ended), "least": min(ended)}
            for rule, ended in losses.items()
        }
    return found
