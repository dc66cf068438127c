"""`tap` names a tensor inside a model's forward; outside a recording it does nothing."""

from __future__ import annotations

import threading
from typing import Protocol

import torch


class Listener(Protocol):
    def tap(self, name: str, tensor: torch.Tensor, axes: str) -> torch.Tensor: ...


class _Listening(threading.local):
    listener: Listener | None = None


listening = _Listening()


def tap(name: str, tensor: torch.Tensor, axes: str = "") -> torch.Tensor:
    """Names a tensor for the record; returns it (or, under an intervention, what stands in its place).

    name: relative to the module whose forward is running ("scores" in `layers.3.attn` is `layers.3.attn.scores`).
    axes: the names of its last dimensions, separated by spaces ("head query key"); dimensions before them are examples.
    Models must go on with the tensor that is returned.
    """
    listener = listening.listener
    return tensor if listener is None else listener.tap(name, tensor, axes)
