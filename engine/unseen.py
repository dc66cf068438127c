"""Tensors that no recorded call gave: a custom autograd.Function's, autograd.grad's, what torch.func transforms give.

PyTorch does not announce how they were made, but autograd knows what they depend on. So each becomes one opaque step,
from the nearest recorded tensors behind it in the graph; what it sends backward comes from the graph itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.autograd.graph import GradientEdge

from engine.entry import Entry


class Frontier:
    """Finds recorded tensors in autograd's graph."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._read = 0
        self._places: dict[tuple[int, int], int] = {}
        self._leaves: dict[int, int] = {}

    def behind(self, tensor: torch.Tensor) -> list[Entry | torch.Tensor]:
        """The nearest recorded entries that the tensor depends on, oldest first; then leaves never recorded."""
        self._catch_up()
        found: set[int] = set()
        unknown: dict[int, torch.Tensor] = {}
        todo: list[Any] = [tensor.grad_fn]
        visited = {id(tensor.grad_fn): tensor.grad_fn}  # held, so that no id is used again
        while todo:
            for node, number in todo.pop().next_functions:
                if node is None:
                    continue
                if (place := self._places.get((id(node), number))) is not None:
                    found.add(place)
                elif (leaf := getattr(node, "variable", None)) is not None:
                    if id(leaf) in self._leaves:
                        found.add(self._leaves[id(leaf)])
                    else:
                        unknown[id(leaf)] = leaf
                elif id(node) not in visited:
                    visited[id(node)] = node
                    todo.append(node)
        return [*(self._entries[place] for place in sorted(found)), *unknown.values()]

    def _catch_up(self) -> None:
        for place in range(self._read, len(self._entries)):
            edge = self._entries[place].edge
            if isinstance(edge, GradientEdge):
                self._places[id(edge.node), edge.output_nr] = place  # of several at one place the newest
            elif edge is not None:
                self._leaves[id(edge)] = place
        self._read = len(self._entries)


def name_of(tensor: torch.Tensor) -> str:
    """A custom function's own name; "unseen" for what PyTorch's own functions gave out of our sight."""
    node = tensor.grad_fn
    if node is not None and issubclass(type(node), torch.autograd.function.BackwardCFunction):
        return node.name().removesuffix("Backward")
    return "unseen"


def sent_through_graph(
    outputs: Sequence[Entry], wanted: Sequence[tuple[str, Entry]], arriving: Mapping[int, torch.Tensor]
) -> Iterator[tuple[str, Entry, torch.Tensor]]:
    """What outputs send to each wanted entry directly, not by way of another of them: (role, entry, value).

    wanted: oldest first. The graph gives the whole derivative, so what went through later ones is taken off.
    """
    edges: list[Any] = [one.edge for one in outputs if id(one) in arriving and one.edge is not None]
    values = [arriving[id(one)] for one in outputs if id(one) in arriving and one.edge is not None]
    if not edges:
        return
    for role, entry in reversed(wanted):
        (direct,) = torch.autograd.grad(edges, [entry.edge], values, retain_graph=True, allow_unused=True)  # type: ignore[arg-type]
        if direct is not None:
            yield role, entry, direct
            edges, values = [*edges, entry.edge], [*values, -direct]
