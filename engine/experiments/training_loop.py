"""The training step of three networks over a batch, taken again and again, or example by example."""

from __future__ import annotations

import copy
import functools
from typing import Any

import torch
from torch import Tensor, nn

from engine.data import mnist
from engine.models import catalogue
from engine.models.one_block_one_step import WORDS
from engine.run import Loss
from engine.trace import Trace

NETWORKS = ("tiny_network", "digit_network", "one_block_one_step")
MOST_EXAMPLES, MOST_STEPS = 16, 100
SEED = 0


@functools.lru_cache(maxsize=64)
def step(network: str, examples: int) -> Trace:
    """One training step of a network of the catalogue: forward and backward over a batch, and the SGD update."""
    update = {"rule": "sgd", "learning_rate": 0.1, "frozen": []}
    return catalogue()[network].trace({**batch(network, examples), "update": update})


def batch(network: str, examples: int) -> dict[str, Any]:
    """Inputs and targets of a batch: numbers or words drawn by SEED, or the first training images of MNIST."""
    if network == "digit_network":
        images = mnist.images("train")
        numbers = images.numbers(slice(0, examples)).tolist()
        return {"inputs": {"x": numbers}, "target": [mnist.DIGITS[int(one)] for one in images.labels[:examples]],
                "options": {"weights": "untrained"}}  # fmt: skip
    draw = torch.Generator().manual_seed(SEED)
    if network == "one_block_one_step":
        places = torch.randint(len(WORDS), (examples, 2, 4), generator=draw).tolist()
        said = [[[WORDS[place] for place in row] for row in pair] for pair in places]
        return {"inputs": {"tokens": [pair[0] for pair in said]}, "target": [pair[1] for pair in said]}
    x = torch.randint(-2, 3, (examples, 2), generator=draw).float()
    return {"inputs": {"x": x.tolist()}, "target": (x[:, 0] - x[:, 1]).tolist()}


@functools.lru_cache(maxsize=64)
def losses(network: str, examples: int, steps: int, rate: float) -> tuple[float, ...]:
    """The loss before each of `steps` steps of SGD on the same batch, and after the last; it may become infinite."""
    module, loss, inputs, target = _ready(network, examples)
    module = copy.deepcopy(module)
    parameters = list(module.parameters())
    found = []
    for _ in range(steps):
        value = loss(module(**inputs), target)
        found.append(value.item())
        with torch.no_grad():
            for parameter, gradient in zip(parameters, torch.autograd.grad(value, parameters), strict=True):
                parameter.sub_(gradient, alpha=rate)
    with torch.no_grad():
        return (*found, loss(module(**inputs), target).item())


@functools.lru_cache(maxsize=64)
def accumulated(network: str, examples: int) -> float:
    """The batch's gradients added up example by example: how far they are from the batch's own.

    The largest difference as a share of the largest cell. Each example's loss counts 1 / examples.
    """
    module, loss, inputs, target = _ready(network, examples)
    parameters = list(module.parameters())
    whole = torch.autograd.grad(loss(module(**inputs), target), parameters)
    sums = [torch.zeros_like(one) for one in parameters]
    for place in range(examples):
        alone = loss(
            module(**{name: rows[place : place + 1] for name, rows in inputs.items()}), target[place : place + 1]
        )
        for total, part in zip(sums, torch.autograd.grad(alone / examples, parameters), strict=True):
            total += part
    apart = max(float((total - one).abs().max()) for total, one in zip(sums, whole, strict=True))
    return apart / (max(float(one.abs().max()) for one in whole) or 1.0)


def _ready(network: str, examples: int) -> tuple[nn.Module, Loss, dict[str, Tensor], Tensor]:
    """The shared module, its loss, and the batch as tensors."""
    model, run = catalogue()[network], step(network, examples)
    options = run.request["options"]
    return (
        model.module(options),
        model.loss_for(options),
        {name: run[name] for name in run.request["inputs"]},
        run["target"],
    )
