"""How far activations and gradients get: through many layers, back through a stack path by path, and over many words.

Everything is seeded and in float64, so that what vanishes is the network's doing and not the number format's.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from engine.models.norm_and_residual import LAYERS, NormAndResidual
from engine.trace import Trace

SEED = 0
WIDTH, ROWS, MOST_LAYERS = 32, 16, 100
STACKS = ("plain", "He", "residual", "residual and norm")
WORDS, STATE, SEQUENCES = 32, 16, 64
READERS = ("RNN", "attention")


@dataclass(frozen=True)
class Route:
    """One way back through the stack. through: the layers whose branch it takes, the others' stream it stays on.

    gradient: its part of the loss' gradient by each input number.
    """

    through: tuple[int, ...]
    gradient: tuple[float, ...]


def routes(trace: Trace) -> list[Route]:
    """The gradient of the input of the model's run, as the sum of one product for every choice of branch or stream.

    With the residual on each layer's derivative is 1 + J, so that n layers give 2^n products; without it there is one.
    For a run of one example, with no interventions.
    """
    module = _module(trace)
    x = trace["x"].double()
    pulls: list[Callable[[Tensor], Tensor]] = []
    for layer in module.stack:
        pulls.append(torch.func.vjp(layer.branch, x)[1])
        x = layer(x)
    arriving = trace["prediction.grad"].double()
    on = trace.request["options"]["residual"] == "on"
    counts = range(LAYERS + 1) if on else (LAYERS,)
    found = []
    for through in itertools.chain.from_iterable(itertools.combinations(range(LAYERS), count) for count in counts):
        gradient = arriving
        for place in reversed(through):
            (gradient,) = pulls[place](gradient)
        found.append(Route(through, tuple(gradient.tolist())))
    return found


def _module(trace: Trace) -> NormAndResidual:
    """The run's module in float64, with the run's own parameters."""
    module = NormAndResidual(**trace.request["options"]).double().requires_grad_(False)
    module.load_state_dict({name: trace[name].double() for name in module.state_dict()})
    return module


@dataclass(frozen=True)
class Depth:
    """size[l]: the activations' root mean square after layer l, of 1 before the first.

    arriving[l]: the norm of the gradient there, as a share of the one at the top.
    """

    size: tuple[float, ...]
    arriving: tuple[float, ...]


@functools.cache
def by_depth(stack: str, layers: int = MOST_LAYERS) -> Depth:
    """A stack of layers of WIDTH, x <- W relu(x) or x <- x + W relu(x), measured on ROWS random inputs.

    stack: "plain" and "residual" have PyTorch's default weights, uniform within 1 / sqrt(WIDTH); "He" is plain with
    weights of variance 2 / WIDTH (He et al. 2015); "residual and norm" takes relu(LayerNorm(x)) in its branch.
    """
    draw = torch.Generator().manual_seed(SEED)
    x = torch.randn(ROWS, WIDTH, generator=draw, dtype=torch.float64)
    x = (x / x.square().mean().sqrt()).requires_grad_()
    kept = [x]
    for _ in range(layers):
        if stack == "He":
            weight = torch.randn(WIDTH, WIDTH, generator=draw, dtype=torch.float64) * math.sqrt(2 / WIDTH)
        else:
            weight = _default(draw, WIDTH, WIDTH)
        given = F.layer_norm(x, [WIDTH]) if stack == "residual and norm" else x
        branch = F.relu(given) @ weight.T
        x = x + branch if stack.startswith("residual") else branch
        kept.append(x)
    direction = torch.randn(ROWS, WIDTH, generator=draw, dtype=torch.float64)
    gradients = torch.autograd.grad((x * direction).sum(), kept)
    top = gradients[-1].norm()
    return Depth(
        tuple(float(one.detach().square().mean().sqrt()) for one in kept),
        tuple(float(one.norm() / top) for one in gradients),
    )


@functools.cache
def by_distance(reader: str, words: int = WORDS) -> tuple[float, ...]:
    """How much the last word's output changes with each word before: gradient norms by distance, 0 first.

    Root mean squares over SEQUENCES random sequences of vectors and directions of the output, as shares of the first.
    reader: "RNN" is a plain recurrent network, one state handed from word to word; "attention" one head, where every
    word is one step away. Both have the weights that PyTorch's layers start with.
    """
    draw = torch.Generator().manual_seed(SEED)
    x = torch.randn(SEQUENCES, words, STATE, generator=draw, dtype=torch.float64).requires_grad_()
    last = _rnn(x, draw) if reader == "RNN" else _attention(x, draw)
    direction = torch.randn(SEQUENCES, STATE, generator=draw, dtype=torch.float64)
    (gradient,) = torch.autograd.grad((last * direction).sum(), x)
    sizes = gradient.square().sum(-1).mean(0).sqrt().flip(0)
    return tuple((sizes / sizes[0]).tolist())


def _default(draw: torch.Generator, *shape: int) -> Tensor:
    """Weights as PyTorch's linear and recurrent layers start: uniform within 1 / sqrt of what a row reads."""
    return (torch.rand(shape, generator=draw, dtype=torch.float64) * 2 - 1) / math.sqrt(shape[-1])


def _rnn(x: Tensor, draw: torch.Generator) -> Tensor:
    """h <- tanh(U x + V h + b), from word to word."""
    given, kept, bias = _default(draw, STATE, STATE), _default(draw, STATE, STATE), _default(draw, 2, STATE).sum(0)
    state = torch.zeros(len(x), STATE, dtype=x.dtype)
    for word in x.unbind(1):
        state = torch.tanh(word @ given.T + state @ kept.T + bias)
    return state


def _attention(x: Tensor, draw: torch.Generator) -> Tensor:
    queries, keys, values = (x @ _default(draw, STATE, STATE).T for _ in range(3))
    return F.scaled_dot_product_attention(queries[:, -1:], keys, values)[:, 0]
