"""Rows: the same numbers in another arrangement: reshape, transpose, broadcast, copy, and what `tap` records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from engine.ops.movement import movement, one_name
from engine.ops.notation import equation, latex
from engine.ops.table import Labels, Parameters

Sizes = Sequence[Any]


def sizes(given: Sizes) -> tuple[int, ...]:
    """The numbers of `f(2, 3)` and of `f((2, 3))` alike."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        return tuple(given[0])
    return tuple(given)


def _view_parameters(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    """view(*shape); view(dtype) reads the bytes as other numbers, which is no move."""
    reinterprets = "dtype" in kwargs or (len(args) > 1 and isinstance(args[1], torch.dtype))
    return () if reinterprets else ("input", "*shape")


def _as_copied(input: torch.Tensor, shape: Sizes | None = None, **layout: Any) -> torch.Tensor:
    return input.clone() if shape is None else input.reshape(shape)


def _squeeze(input: torch.Tensor, dim: Sizes | int | None = None) -> torch.Tensor:
    if dim is None:
        return input.squeeze()
    return input.squeeze(dim if isinstance(dim, int) else sizes(dim))


def _reverse(input: torch.Tensor) -> torch.Tensor:
    return input.permute(*reversed(range(input.ndim)))


def _expand(input: torch.Tensor, size: Sizes = (), shape: Sizes | None = None) -> torch.Tensor:
    return input.expand(sizes(size) if shape is None else shape)


def _transposed_text(labels: Labels) -> str:
    return f"{labels['input']}ᵀ"


def _transposed_tex(labels: Labels) -> str:
    return f"{{{labels['input']}}}^{{\\top}}"


def _swapped_text(labels: Labels) -> str:
    if labels.rank("input") == 2:
        return _transposed_text(labels)
    return f"transpose({labels['input']}, {labels.attribute('dim0')}, {labels.attribute('dim1')})"


def _swapped_tex(labels: Labels) -> str:
    if labels.rank("input") == 2:
        return _transposed_tex(labels)
    dims = f"{labels.attribute('dim0')}, {labels.attribute('dim1')}"
    return rf"\operatorname{{transpose}}({labels['input']}, {dims})"


_SWAP: Parameters = ("input", "dim0", "dim1")

ROWS = (
    movement(
        "identity",
        {
            "view_as": ("input", "shape"),
            "alias": ("input",),
            "clone": ("input", "memory_format"),
            "contiguous": ("input", "memory_format"),
        },
        _as_copied,
        text=equation(lambda labels: labels["input"]),
        tex=latex(lambda labels: labels["input"]),
    ),
    movement(
        "reshape",
        {"reshape": ("input", "*shape"), "reshape_as": ("input", "shape"), "view": _view_parameters},
        lambda input, shape: input.reshape(sizes(shape)),
    ),
    movement(
        "flatten",
        one_name("flatten", "input", "start_dim", "end_dim"),
        lambda input, start_dim=0, end_dim=-1: torch.flatten(input, start_dim, end_dim),
    ),
    movement(
        "unflatten",
        one_name("unflatten", "input", "dim", "sizes"),
        lambda input, dim, sizes: torch.unflatten(input, dim, sizes),
    ),
    movement(
        "unsqueeze",
        one_name("unsqueeze", "input", "dim"),
        lambda input, dim: torch.unsqueeze(input, dim),
    ),
    movement("squeeze", one_name("squeeze", "input", "*dim"), _squeeze),
    movement(
        "transpose",
        {"transpose": _SWAP, "swapaxes": _SWAP, "swapdims": _SWAP},
        lambda input, dim0, dim1: torch.transpose(input, dim0, dim1),
        text=equation(_swapped_text),
        tex=latex(_swapped_tex),
    ),
    movement(
        "t",
        one_name("t", "input"),
        lambda input: torch.t(input),
        text=equation(_transposed_text),
        tex=latex(_transposed_tex),
    ),
    movement("T", one_name("T", "input"), _reverse, text=equation(_transposed_text), tex=latex(_transposed_tex)),
    movement(
        "mT",
        one_name("mT", "input"),
        lambda input: input.mT,
        text=equation(_transposed_text),
        tex=latex(_transposed_tex),
    ),
    movement(
        "permute",
        one_name("permute", "input", "*dims"),
        lambda input, dims: input.permute(sizes(dims)),
    ),
    movement(
        "movedim",
        {"movedim": ("input", "source", "destination"), "moveaxis": ("input", "source", "destination")},
        lambda input, source, destination: torch.movedim(input, source, destination),
    ),
    movement(
        "expand",
        {"expand": ("input", "*size"), "expand_as": ("input", "shape")},
        _expand,
    ),
    movement(
        "repeat",
        one_name("repeat", "input", "*repeats"),
        lambda input, repeats: input.repeat(sizes(repeats)),
    ),
    movement(
        "flip",
        one_name("flip", "input", "*dims"),
        lambda input, dims: torch.flip(input, sizes(dims)),
    ),
)
