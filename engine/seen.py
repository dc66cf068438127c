"""What a recorded function is called, and whether it overwrites, draws at random, or only looks."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

import torch

_IN_PLACE_DUNDERS = {
    "iadd": "add",
    "isub": "sub",
    "imul": "mul",
    "itruediv": "div",
    "idiv": "div",
    "ifloordiv": "floordiv",
    "ipow": "pow",
    "imod": "mod",
    "iand": "and",
    "ior": "or",
    "ixor": "xor",
}
_SPOKEN = {"truediv": "div", "rtruediv": "rdiv", "itruediv": "idiv"}
_RANDOM = re.compile(
    r"(rand|dropout|bernoulli|multinomial|normal|uniform|exponential|poisson|rrelu|scaled_dot_product)"
)
_LOOKS = {"requires_grad", "retain_grad", "register_hook", "backward", "is_leaf", "grad", "grad_fn", "data_ptr"}


@dataclass(frozen=True, slots=True)
class Seen:
    """name: without dunders, property access or the in-place underscore. ignored: not a computation of the model."""

    name: str
    in_place: bool
    random: bool
    ignored: bool


@functools.cache
def seen(func: Callable) -> Seen:
    name = getattr(func, "__name__", type(func).__name__)
    if name in ("__get__", "__set__", "__delete__"):
        attribute = getattr(getattr(func, "__self__", None), "__name__", "")
        looks = name != "__get__" or attribute in _LOOKS
        return Seen(attribute, in_place=False, random=False, ignored=looks)
    if name.startswith("__") and name.endswith("__"):
        bare = name.strip("_")
        if bare in _IN_PLACE_DUNDERS:
            return Seen(_spoken(_IN_PLACE_DUNDERS[bare]), in_place=True, random=False, ignored=False)
        return Seen(_spoken(bare), in_place=bare == "setitem", random=False, ignored=False)
    in_place = name.endswith("_") and not name.startswith("_")
    bare = name.rstrip("_")
    ignored = bare in _LOOKS or func is torch.Tensor.requires_grad_
    return Seen(_spoken(bare), in_place=in_place, random=bool(_RANDOM.search(bare)), ignored=ignored)


def _spoken(name: str) -> str:
    return _SPOKEN.get(name, name)
