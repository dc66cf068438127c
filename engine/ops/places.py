"""Which cells belong together: broadcasting, reduction, and the lines along a dimension. Index arithmetic only."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from engine.trace import Index


def broadcast_place(shape: Sequence[int], index: Index) -> Index:
    """The cell of an operand of this shape that broadcasting brings to an output's cell."""
    kept = index[len(index) - len(shape) :]
    return tuple(0 if size == 1 else place for size, place in zip(shape, kept, strict=True))


def fed_places(shape: Sequence[int], output_shape: Sequence[int], index: Index) -> list[Index]:
    """The output's cells to which broadcasting brings the operand's cell `index`, in order."""
    extra = len(output_shape) - len(shape)
    choices: list[Sequence[int]] = [range(size) for size in output_shape[:extra]]
    for size, place, output_size in zip(shape, index, output_shape[extra:], strict=True):
        choices.append(range(output_size) if size == 1 else (place,))
    return list(itertools.product(*choices))


def normal_dims(dim: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Dimensions counted from 0, in order; None and () mean all of them. Raises ValueError for one out of range."""
    if dim is None or dim == ():
        return tuple(range(rank))
    given = (dim,) if isinstance(dim, int) else tuple(dim)
    room = max(rank, 1)  # PyTorch lets a scalar be reduced over dimension 0 or -1
    for each in given:
        if not -room <= each < room:
            raise ValueError(f"dim must be from {-room} to {room - 1}; got {each}")
    return tuple(sorted(each % room for each in given)) if rank else ()


def unravel(flat: int, shape: Sequence[int]) -> Index:
    """The index of the cell that comes at place `flat` in row-major order."""
    index: list[int] = []
    for size in reversed(shape):
        flat, place = divmod(flat, size)
        index.append(place)
    return tuple(reversed(index))


@dataclass(frozen=True)
class Line:
    """The cells of a tensor that share all coordinates with `through` but those in `dims`, in row-major order."""

    shape: tuple[int, ...]
    dims: tuple[int, ...]
    through: Index

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(self.shape[dim] for dim in self.dims)

    @property
    def count(self) -> int:
        count = 1
        for size in self.sizes:
            count *= size
        return count

    def cell(self, position: int) -> Index:
        index = list(self.through)
        for dim, place in zip(self.dims, unravel(position, self.sizes), strict=True):
            index[dim] = place
        return tuple(index)

    def values(self, tensor: torch.Tensor) -> torch.Tensor:
        """The cells' values, one dimension, float64."""
        selector = tuple(slice(None) if dim in self.dims else place for dim, place in enumerate(self.through))
        return tensor[selector].reshape(-1).double()


def reduced_line(shape: Sequence[int], dims: tuple[int, ...], keepdim: bool, index: Index) -> Line:
    """The cells that a reduction over `dims` puts together in its output's cell `index`."""
    rest = iter(index)
    through = []
    for dim in range(len(shape)):
        if dim in dims:
            through.append(0)
            if keepdim:
                next(rest)
        else:
            through.append(next(rest))
    return Line(tuple(shape), dims, tuple(through))


def reduced_place(dims: tuple[int, ...], keepdim: bool, index: Index) -> Index:
    """The output's cell of a reduction over `dims` that the input's cell `index` goes into."""
    if keepdim:
        return tuple(0 if dim in dims else place for dim, place in enumerate(index))
    return tuple(place for dim, place in enumerate(index) if dim not in dims)
