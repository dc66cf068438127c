"""How tensors and their cells are written: z₂, W₂₁, ∂L/∂z₂, and the same as LaTeX."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from engine.trace import Axis, Index, TensorRecord

_SUBSCRIPTS = str.maketrans("0123456789,", "₀₁₂₃₄₅₆₇₈₉,")
GRADIENT = "∂L/∂"


def cell_label(record: TensorRecord, index: Index) -> str:
    """Symbol and 1-based subscripts; axes of size 1 are dropped; commas only where a subscript has two digits."""
    return record.symbol + subscripts([at for at, axis in zip(index, record.axes, strict=True) if axis.size > 1])


def subscripts(index: Sequence[int]) -> str:
    """1-based subscripts of an index: ₂₁, with commas where one has two digits."""
    numbers = [str(number + 1) for number in index]
    return ("," if any(len(number) > 1 for number in numbers) else "").join(numbers).translate(_SUBSCRIPTS)


def symbol_for(symbol: str, axes: Sequence[Axis]) -> str:
    """The symbol of a tensor: a one-letter vector's becomes a capital when its rows are examples (x -> X)."""
    rows = len(axes) == 2 and axes[0].name == "example"
    return symbol.upper() if rows and len(symbol) == 1 and symbol.isascii() and axes[1].size > 1 else symbol


@functools.lru_cache(maxsize=4096)
def tex_symbol(symbol: str) -> str:
    r"""LaTeX for a symbol: ŷ -> \hat{y}, ∂L/∂W -> \frac{\partial L}{\partial W}, W′ -> W'.

    Kᵀ -> {K}^{\top}, W_Q -> W_{Q}, W² -> {W^2} (a layer's), m(W) -> m(W), words in roman.
    """
    if symbol.startswith(GRADIENT):
        return rf"\frac{{\partial L}}{{\partial {tex_symbol(symbol.removeprefix(GRADIENT))}}}"
    for mark, command in (("′", "{}'"), ("*", "{}^{{*}}"), ("ᵀ", r"{{{}}}^{{\top}}"), *_RAISED):
        if symbol.endswith(mark) and symbol != mark:
            base = tex_symbol(symbol.removesuffix(mark))
            return command.format(f"{{{base}}}" if base.endswith(r"^{\top}") else base)
    letters = unicodedata.normalize("NFD", symbol)
    if len(letters) == 2 and letters[1] in _ACCENTS:
        return rf"\{_ACCENTS[letters[1]]}{{{letters[0]}}}"
    if symbol in _GREEK:
        return _GREEK[symbol]
    if len(symbol) == 1:
        return symbol
    if symbol[1:2] == "_" and symbol[2:].isalnum():
        return f"{symbol[0]}_{{{tex_symbol(symbol[2:])}}}"
    if symbol[1:2] == "(" and symbol[-1] == ")":
        return f"{symbol[0]}({tex_symbol(symbol[2:-1])})"
    return rf"\mathrm{{{_escape(symbol)}}}"


_RAISED = [(mark, f"{{{{{{}}^{digit}}}}}") for digit, mark in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")]
_ACCENTS = {"\u0302": "hat", "\u0303": "tilde", "\u0304": "bar", "\u0307": "dot"}
_GREEK = {"η": r"\eta", "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "ε": r"\epsilon", "σ": r"\sigma"}
_SPECIAL = {"\\": r"\backslash ", "^": r"\hat{}", "~": r"\sim "} | {one: f"\\{one}" for one in "{}_#%&$"}


def _escape(text: str) -> str:
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


class StepLabels:
    """What the table's `text` and `tex` read: symbols by role, `out`, ranks and attributes."""

    def __init__(
        self, roles: Mapping[str, TensorRecord], out: TensorRecord, attributes: Mapping[str, Any], *, tex: bool = False
    ) -> None:
        self._roles = roles
        self._write = tex_symbol if tex else str
        self._attributes = attributes
        self.out = self._write(out.symbol)

    def __getitem__(self, role: str) -> str:
        return self._write(self._roles[role].symbol)

    def __contains__(self, role: str) -> bool:
        return role in self._roles

    def rank(self, role: str) -> int:
        return len(self._roles[role].shape)

    def shape(self, role: str) -> tuple[int, ...]:
        return self._roles[role].shape

    def attribute(self, name: str, default: Any = None) -> Any:
        return self._attributes.get(name, default)
