"""Rows: cells taken out of a tensor or put into one: indexing, select, gather, embedding, triangles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F

from engine.ops.movement import movement, one_name
from engine.ops.notation import equation, latex
from engine.ops.table import Labels, Reader
from engine.trace import Index, Slot


def _setitem(input: torch.Tensor, index: Any, value: Any) -> torch.Tensor:
    """A copy of the input with the value in place, as the recorded assignment left it."""
    output = input.clone()
    output[index] = value
    return output


def _embedding(
    input: torch.Tensor, weight: torch.Tensor, padding_idx: int | None = None, **without_effect: Any
) -> torch.Tensor:
    """input: row numbers. norm_type and sparse, the settings left over, change no value."""
    return F.embedding(input, weight, padding_idx=padding_idx)


def _embedding_parameters(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    """F.embedding(input, weight); not torch.embedding(weight, indices), and not the forms that rescale."""
    swapped = len(args) < 2 or args[0].is_floating_point()
    if swapped or kwargs.get("max_norm") is not None or kwargs.get("scale_grad_by_freq") or len(args) > 3:
        return ()
    return ("input", "weight", "padding_idx", "norm_type", "scale_grad_by_freq", "sparse")


def _is_padding(reader: Reader, role: str, index: Index) -> bool:
    padding = reader.attribute("padding_idx")
    return padding is not None and index[0] == padding % reader.tensor("weight").shape[0]


def _index_text(labels: Labels) -> str:
    """What stands in the brackets: 0, 1:3, :, tensors by their symbols."""
    if "index" in labels:
        return labels["index"]
    index = labels.attribute("index")
    return ", ".join(_one_index(labels, each) for each in (index if isinstance(index, tuple) else (index,)))


def _one_index(labels: Labels, index: Any) -> str:
    if isinstance(index, Slot):
        return labels[index.role]
    if isinstance(index, slice):
        ends = ["" if end is None else _one_index(labels, end) for end in (index.start, index.stop)]
        step = "" if index.step is None else f":{_one_index(labels, index.step)}"
        return f"{ends[0]}:{ends[1]}{step}"
    if isinstance(index, list):
        return "[" + ", ".join(_one_index(labels, each) for each in index) + "]"
    return "…" if index is Ellipsis else str(index)


def _taken(labels: Labels) -> str:
    return f"{labels['input']}[{_index_text(labels)}]"


def _put(labels: Labels) -> str:
    value = labels["value"] if "value" in labels else str(labels.attribute("value"))
    return f"{labels['input']} with [{_index_text(labels)}] = {value}"


def _as_tex(written: str) -> str:
    return written.replace("…", r"\ldots ").replace(" with ", r"\ \text{with}\ ")


ROWS = (
    movement(
        "getitem",
        one_name("getitem", "input", "index"),
        lambda input, index: input[index],
        text=equation(_taken),
        tex=latex(lambda labels: _as_tex(_taken(labels))),
    ),
    movement(
        "setitem",
        one_name("setitem", "input", "index", "value"),
        _setitem,
        moved=("input", "value"),
        fill="value",
        text=equation(_put),
        tex=latex(lambda labels: _as_tex(_put(labels))),
    ),
    movement(
        "select",
        one_name("select", "input", "dim", "index"),
        lambda input, dim, index: torch.select(input, dim, index),
    ),
    movement(
        "narrow",
        one_name("narrow", "input", "dim", "start", "length"),
        lambda input, dim, start, length: torch.narrow(input, dim, start, length),
    ),
    movement(
        "index_select",
        one_name("index_select", "input", "dim", "index"),
        lambda input, dim, index: torch.index_select(input, dim, index),
    ),
    movement(
        "gather",
        one_name("gather", "input", "dim", "index"),
        lambda input, dim, index: torch.gather(input, dim, index),
    ),
    movement(
        "embedding",
        {"embedding": _embedding_parameters},
        _embedding,
        moved=("weight",),
        no_gradient=_is_padding,
        text=equation(lambda labels: f"{labels['weight']}[{labels['input']}]"),
        tex=latex(lambda labels: f"{labels['weight']}[{labels['input']}]"),
    ),
    movement(
        "tril",
        one_name("tril", "input", "diagonal"),
        lambda input, diagonal=0: torch.tril(input, diagonal),
    ),
    movement(
        "triu",
        one_name("triu", "input", "diagonal"),
        lambda input, diagonal=0: torch.triu(input, diagonal),
    ),
)
