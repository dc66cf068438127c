"""Rows: tensors joined into one, or one split into several (each part explains itself)."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from engine.ops.movement import movement, one_name
from engine.ops.notation import equation, latex
from engine.ops.table import Labels, Parameters

_JOIN: Parameters = ("tensors", "dim")


def _part(labels: Labels) -> str:
    return f"a part of {labels['input']}"


def _part_tex(labels: Labels) -> str:
    return rf"\text{{a part of}}\ {labels['input']}"


def _split(input: torch.Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[torch.Tensor, ...]:
    return torch.split(input, split_size if isinstance(split_size, int) else list(split_size), dim)


ROWS = (
    movement(
        "cat",
        {"cat": _JOIN, "concat": _JOIN, "concatenate": _JOIN},
        lambda tensors, dim=0: torch.cat(tensors, dim),
        moved=("tensors",),
    ),
    movement(
        "stack",
        {"stack": _JOIN},
        lambda tensors, dim=0: torch.stack(tensors, dim),
        moved=("tensors",),
    ),
    movement(
        "split",
        {
            "split": ("input", "split_size", "dim"),
            "split_with_sizes": ("input", "split_size", "dim"),
        },
        _split,
        text=equation(_part),
        tex=latex(_part_tex),
        all_outputs=True,
    ),
    movement(
        "chunk",
        one_name("chunk", "input", "chunks", "dim"),
        lambda input, chunks, dim=0: torch.chunk(input, chunks, dim),
        text=equation(_part),
        tex=latex(_part_tex),
        all_outputs=True,
    ),
    movement(
        "unbind",
        one_name("unbind", "input", "dim"),
        lambda input, dim=0: torch.unbind(input, dim),
        text=equation(_part),
        tex=latex(_part_tex),
        all_outputs=True,
    ),
)
