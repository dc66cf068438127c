"""What the recorder keeps while a run is under way: one entry a tensor, one call an operation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.graph import GradientEdge

from engine.intervene import Replacement
from engine.ops.table import Op
from engine.trace import Kind, Phase

RANDOM = threading.RLock()
"""Held while anything of ours draws: PyTorch's CPU generator is one per process, so seeded runs take turns with all."""

STALE = -1
_UNCOUNTED = -2


class Entry:
    """One tensor while it is being recorded: the live `tensor`, the `value` it had, the `edge` of its gradient.

    number: its place in the order of recording. version: of the tensor when it was recorded; STALE once its storage was
    written to. own: the value is a copy. written: the tensor is what an in-place call wrote. tapped: the model named
    it.
    """

    __slots__ = (
        "axes",
        "edge",
        "kind",
        "name",
        "number",
        "own",
        "symbol",
        "tapped",
        "tensor",
        "value",
        "version",
        "written",
    )

    def __init__(self, name: str, tensor: torch.Tensor, kind: Kind, *, copy: bool = False) -> None:
        self.name = name
        self.number = 0
        self.tensor = tensor
        self.kind = kind
        self.value = tensor.detach().clone() if copy else tensor.detach()
        self.own = copy
        self.version = version_of(tensor)
        self.edge: GradientEdge | torch.Tensor | None = edge_of(tensor) if tensor.requires_grad else None
        self.axes: tuple[str, ...] = ()
        self.symbol = ""
        self.tapped = False
        self.written = False


@dataclass(eq=False, slots=True)
class Call:
    """One recorded call.

    row:           None for an operation the table does not know.
    live:          then runs it again on tensors by role; None where nothing can.
    through_graph: what it sends backward is asked of the run's own graph, since it can't be run again alone.
    """

    phase: Phase
    scope: str
    op: str
    row: Op | None
    inputs: list[tuple[str, Entry]]
    attributes: Mapping[str, Any]
    outputs: list[Entry]
    live: Callable[[Mapping[str, torch.Tensor]], Any] | None = None
    replacement: Replacement | None = None
    random_state: torch.Tensor | None = None
    through_graph: bool = False


def version_of(tensor: torch.Tensor) -> int:
    """How often the tensor was written to; inference tensors do not count."""
    try:
        return tensor._version
    except RuntimeError:
        return _UNCOUNTED


def edge_of(tensor: torch.Tensor) -> GradientEdge | torch.Tensor:
    """Where its gradient is found. A leaf is its own edge: asking PyTorch for one costs more and gives the same."""
    node = tensor.grad_fn
    return tensor if node is None else GradientEdge(node, tensor.output_nr)


def same_edge(entry: Entry, tensor: torch.Tensor) -> bool:
    """Whether autograd takes the tensor for the one that was recorded."""
    if isinstance(entry.edge, GradientEdge):
        return tensor.grad_fn is entry.edge.node and tensor.output_nr == entry.edge.output_nr
    return entry.edge is None or (entry.edge is tensor and tensor.grad_fn is None)
