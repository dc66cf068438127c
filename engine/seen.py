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
    r"(rand|dropout|bernoulli|multinomial|normal(?!ize)|uniform|exponential|poisson|rrelu|scaled_dot_product|multi_head|gumbel"
    r"|lstm|gru|rnn|fractional|geometric|cauchy|orthogonal)"
)
_HOLD_VALUES = {"data", "real", "imag"}
_LOOKS = {"requires_grad", "retain_grad", "register_hook", "backward", "is_leaf", "grad", "grad_fn", "data_ptr"}


@dataclass(frozen=True)
class Seen:
    """name: without dunders, property access or the in-place underscore. in_place: it overwrites its first argument.

    random: it draws. ignored: not a computation of the model.
    """

    name: str
    in_place: bool = False
    random: bool = False
    ignored: bool = False

    @functools.cached_property
    def writes_unseen(self) -> bool:
        """Whether it may write to tensors beside the one it gives: lists in place, or rows it renormalises."""
        return self.in_place or self.name in ("embedding", "embedding_bag")


@functools.cache
def seen(func: Callable) -> Seen:
    name = getattr(func, "__name__", type(func).__name__)
    if name in ("__get__", "__set__", "__delete__"):
        attribute = getattr(getattr(func, "__self__", None), "__name__", "")
        writes = name == "__set__" and attribute in _HOLD_VALUES
        looks = not writes and (name != "__get__" or attribute in _LOOKS)
        return Seen(attribute, in_place=writes, ignored=looks)
    if name.startswith("__") and name.endswith("__"):
        bare = name.strip("_")
        if bare in _IN_PLACE_DUNDERS:
            return Seen(_spoken(_IN_PLACE_DUNDERS[bare]), in_place=True)
        return Seen(_spoken(bare), in_place=bare == "setitem")
    in_place = name.endswith("_") and not name.startswith("__")
    bare = name.rstrip("_")
    ignored = bare in _LOOKS or func is torch.Tensor.requires_grad_
    return Seen(_spoken(bare), in_place, bool(_RANDOM.search(bare)), ignored)


def _spoken(name: str) -> str:
    return _SPOKEN.get(name, name)
