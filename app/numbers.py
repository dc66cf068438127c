"""The one way a number is written for people: as short as it is exact, else four significant digits.

`text` gives plain text (labels, summaries), `html` the element that pages use, with the exact value beside the text and
all digits as its title where the text is rounded; `tspan` the same for SVG (digits.js shows them).
Nothing here rounds what a page holds: the page object keeps the full value.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable

import numpy as np
from markupsafe import Markup

MINUS = "\u2212"
EXACT_CHARACTERS = 6
SIGNIFICANT_DIGITS = 4


def exact(value: float) -> str:
    """The shortest text that reads back as the same number, with an ASCII minus: 5.5, -3, 1e-07; NaN, Infinity.

    Zero has no sign here.
    """
    if isinstance(value, int):
        return str(int(value))
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value).removesuffix(".0") if value else "0"


@functools.lru_cache(maxsize=65_536)
def single(value: float) -> float:
    """The shortest decimal that float32 reads as the same number as this value: 0.1 for 0.10000000149011612."""
    with np.errstate(over="ignore"):
        return float(str(np.float32(value))) + 0.0


@functools.lru_cache(maxsize=8192)
def text(value: float | None) -> str:
    """A number as people read it: 5.5, −3.5, 0.9888, 1.235e7, +∞, NaN; "no value" for None."""
    if value is None:
        return "no value"
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+∞" if value > 0 else f"{MINUS}∞"
    shown = exact(abs(value))
    if len(shown) > EXACT_CHARACTERS:
        shown = _significant(abs(value))
    elif "e" in shown:
        shown = _short_exponent(shown)
    return (MINUS if value < 0 else "") + shown


def is_exact(value: float | None) -> bool:
    """Whether the text of a number says all of it."""
    return value is None or not math.isfinite(value) or float(text(value).replace(MINUS, "-")) == value


def relation(*values: float | None) -> str:
    """The sign between the sides of an equation as it is shown: = where every number stands in full, else ≈."""
    return "=" if all(map(is_exact, values)) else "≈"


def digits(value: float) -> str:
    """All digits of a number, as people read them."""
    return exact(value).replace("-", MINUS)


@functools.lru_cache(maxsize=8192)
def html(value: float | None) -> Markup:
    """`<data class="n" value="EXACT">TEXT</data>`; the class also says nan, inf or none."""
    if value is None:
        return Markup('<span class="n none">no value</span>')
    kind = " nan" if math.isnan(value) else " inf" if math.isinf(value) else ""
    full = "" if is_exact(value) else f' title="{digits(value)}"'
    return Markup(f'<data class="n{kind}" value="{exact(value)}"{full}>{text(value)}</data>')


@functools.lru_cache(maxsize=8192)
def tspan(value: float | None) -> Markup:
    """The same in SVG text: `<tspan class="n" data-value="EXACT">TEXT</tspan>`; None is a gradient that has no path."""
    if value is None:
        return Markup('<tspan class="n none">no path</tspan>')
    kind = " nan" if math.isnan(value) else ""
    full = "" if is_exact(value) else f' data-digits="{digits(value)}"'
    return Markup(f'<tspan class="n{kind}" data-value="{exact(value)}"{full}>{text(value)}</tspan>')


def cells(values: Iterable[float | None]) -> Markup:
    """Numbers as the cells of a table's row: a `<td>` each."""
    return Markup("".join(f"<td>{html(value)}</td>" for value in values))


def sign(value: float | None) -> str:
    """Class of a number's sign: pos, neg, zero; empty where it has none."""
    if value is None or math.isnan(value):
        return ""
    return "pos" if value > 0 else "neg" if value < 0 else "zero"


def _significant(value: float) -> str:
    return _short_exponent(f"{value:.{SIGNIFICANT_DIGITS}g}")


def _short_exponent(shown: str) -> str:
    """1.235e+07 -> 1.235e7, 1e-07 -> 1e−7."""
    mantissa, e, exponent = shown.partition("e")
    return f"{mantissa}e{int(exponent)}".replace("-", MINUS) if e else shown
