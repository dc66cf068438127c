"""The lesson's step, taken again and again: the block's loss on its one sentence, by AdamW and by plain descent."""

from __future__ import annotations

import copy
import functools

import torch
from torch import Tensor

from engine.models.one_block_one_step import MODEL, NEXT, SENTENCE, WORDS, loss
from engine.update import Update

STEPS, RATE = 40, 0.01
RULES = ("AdamW", "SGD")


@functools.cache
def losses(rule: str, steps: int = STEPS, rate: float = RATE) -> tuple[float, ...]:
    """The loss before each of `steps` steps and after the last. rule: one of RULES, with PyTorch's default settings."""
    module = copy.deepcopy(MODEL.module())
    parameters = list(module.parameters())
    moments = [(torch.zeros_like(one), torch.zeros_like(one)) for one in parameters]
    tokens, target = (torch.tensor([WORDS.index(word) for word in words]) for words in (SENTENCE, NEXT))
    found = []
    for step in range(steps + 1):
        value = loss(module(tokens), target)
        found.append(value.item())
        gradients = torch.autograd.grad(value, parameters)
        with torch.no_grad():
            for parameter, gradient, (first, second) in zip(parameters, gradients, moments, strict=True):
                if rule == "AdamW":
                    _adamw(parameter, gradient, first, second, step + 1, rate)
                else:
                    parameter.sub_(gradient, alpha=rate)
    return tuple(found)


def _adamw(parameter: Tensor, gradient: Tensor, first: Tensor, second: Tensor, step: int, rate: float) -> None:
    """One step of AdamW, in place, with engine.update's settings; the moments are carried on from step to step."""
    beta1, beta2 = Update.betas
    first.lerp_(gradient, 1 - beta1)
    second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    denominator = (second / (1 - beta2**step)).sqrt() + Update.epsilon
    parameter *= 1 - rate * Update.weight_decay
    parameter.sub_(first / denominator, alpha=rate / (1 - beta1**step))
