"""What the chain rule costs and how far it carries: slopes by trying out beside one backward, and long chains.

Everything but `seconds` is the same in every run; that is a measurement of the machine it runs on.
"""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from engine.models.chain_rule import MODEL
from engine.trace import Index

INPUTS = 4
WIDTHS = (2, 5, 12, 28)  # 19 to 981 parameters
STEP = 1e-6  # how far a parameter is moved to try out its slope
SEED = 0
REPEATS = 5


class Network:
    """INPUTS-width-width-1 with sigmoids and the squared error, in float64, on one random example.

    parameters: all of them in one vector; weights are normal with variance 1 / inputs, biases 0. passes: how many
    forward passes were made.
    """

    def __init__(self, width: int) -> None:
        draw = torch.Generator().manual_seed(SEED)
        self._sizes = list(itertools.pairwise((INPUTS, width, width, 1)))
        blocks = []
        for fan_in, fan_out in self._sizes:
            weight = torch.randn(fan_out, fan_in, generator=draw, dtype=torch.float64) / math.sqrt(fan_in)
            blocks += [weight.flatten(), torch.zeros(fan_out, dtype=torch.float64)]
        self.parameters = torch.cat(blocks)
        self._x = torch.randn(INPUTS, generator=draw, dtype=torch.float64)
        self.passes = 0

    def loss(self, parameters: Float[Tensor, "parameter"]) -> Tensor:
        """One forward pass."""
        self.passes += 1
        a, start = self._x, 0
        for fan_in, fan_out in self._sizes:
            middle, end = start + fan_in * fan_out, start + (fan_in + 1) * fan_out
            a = torch.sigmoid(parameters[start:middle].view(fan_out, fan_in) @ a + parameters[middle:end])
            start = end
        return (a[0] - 1).square()


def backward(network: Network) -> Float[Tensor, "parameter"]:
    """Every slope from one forward pass and one backward pass."""
    leaf = network.parameters.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(network.loss(leaf), leaf)
    return gradient


@torch.no_grad()
def tried_out(network: Network, *, both_sides: bool = False) -> Float[Tensor, "parameter"]:
    """Every slope by moving its parameter: n + 1 forward passes, or 2 n where each is moved to both sides.

    The loss is the only thing that is asked; nothing else of the network is known.
    """
    parameters = network.parameters.clone()
    base = 0.0 if both_sides else float(network.loss(parameters))
    found = torch.empty_like(parameters)
    for place, value in enumerate(parameters.tolist()):
        parameters[place] = value + STEP
        after = float(network.loss(parameters))
        if both_sides:
            parameters[place] = value - STEP
            found[place] = (after - float(network.loss(parameters))) / (2 * STEP)
        else:
            found[place] = (after - base) / STEP
        parameters[place] = value
    return found


@dataclass(frozen=True)
class Cost:
    """Of one network with n parameters: the passes that were counted, and how far the slopes tried out are off.

    one_side, both_sides: forward passes. errors: the largest difference from backward's slopes, as a share of the
    largest slope, moved to one side and to both.
    """

    parameters: int
    one_side: int
    both_sides: int
    errors: tuple[float, float]


@functools.cache
def cost(width: int) -> Cost:
    network = Network(width)
    exact = backward(network)
    counted, errors = [], []
    for both_sides in (False, True):
        network.passes = 0
        found = tried_out(network, both_sides=both_sides)
        counted.append(network.passes)
        errors.append(float((found - exact).abs().max() / exact.abs().max()))
    return Cost(network.parameters.numel(), counted[0], counted[1], (errors[0], errors[1]))


@dataclass(frozen=True)
class Seconds:
    """One forward pass alone, one forward and one backward pass, and n + 1 forward passes."""

    forward: float
    backward: float
    tried_out: float


def seconds(width: int) -> Seconds:
    """Measured on the machine that runs this, now.

    Of several repetitions the quickest counts: what else the machine does only ever adds. The many passes are made
    once.
    """
    network = Network(width)
    with torch.no_grad():
        forward = _quickest(lambda: network.loss(network.parameters))
    return Seconds(forward, _quickest(lambda: backward(network)), _timed(lambda: tried_out(network)))


def _quickest(work: Callable[[], object]) -> float:
    return min(_timed(work) for _ in range(REPEATS))


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@functools.lru_cache(maxsize=256)
def along_chain(weight: float, bias: float, layers: int, x: float = 0.5) -> tuple[float, ...]:
    """A chain of neurons a = σ(w a + b), one a layer: what of the last z's gradient arrives at the z of each layer.

    By distance: 1 at the last layer, then one layer further down each time; signs are dropped.
    """
    a = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    kept = []
    for _ in range(layers):
        kept.append(weight * a + bias)
        a = torch.sigmoid(kept[-1])
    gradients = torch.autograd.grad(kept[-1], kept)
    return tuple(abs(float(one)) for one in reversed(gradients))


def routes(widths: tuple[int, ...]) -> tuple[int, int]:
    """From one unit under layers of these widths: how many paths lead to the last layer's units, and how many edges.

    Each path is a choice of one unit a layer; each edge is used once by a backward pass, whatever passes through it.
    """
    return math.prod(widths), widths[0] + sum(below * above for below, above in itertools.pairwise(widths))


def nudged(
    request: Mapping[str, Any], parameter: str, index: Index, moves: Sequence[float], tensors: Sequence[str]
) -> list[list[float]]:
    """How far single numbers of a run of the model move when one cell of a parameter is moved; in float64.

    A row a move, a number a tensor. request: as Model.trace takes it. Raises InputError as that does.
    """

    def values(edits: Sequence[Mapping[str, Any]]) -> tuple[list[float], float]:
        run = MODEL.trace({**request, "edits": edits, "backward": False, "update": None}, dtype=torch.float64)
        return [float(run[name]) for name in tensors], float(run[parameter][index])

    start, value = values(request["edits"])
    found = []
    for by in moves:
        edit = {"parameter": parameter, "index": list(index), "value": value + by}
        moved, _ = values([*request["edits"], edit])
        found.append([after - before for before, after in zip(start, moved, strict=True)])
    return found
