"""An expression written on one line, as prose shows it: 0.5 · 2 + 1 · (−1) + 1.

A line is a list of parts, plain JSON data: {"text": " · "} or {"number": 2.0, "cell": "x[0]"}. Numbers keep their exact
value and, where they are a tensor's cell, the cell's name, so that a template can print and link them.
"""

from __future__ import annotations

from typing import Any

from engine.expression import Expr
from engine.trace import Index

Part = dict[str, Any]

_SUM, _PRODUCT, _POWER = 0, 1, 2
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def cell_name(tensor: str, index: Index) -> str:
    """A cell as links name it: hidden.weight[1,0]; a tensor without axes by its name alone."""
    return f"{tensor}[{','.join(map(str, index))}]" if index else tensor


def line(tree: Expr) -> list[Part]:
    """The parts of an expression, left to right. A select is written as the value it takes."""
    return _joined(_write(tree, _SUM, first=True))


def _joined(parts: list[Part]) -> list[Part]:
    """Neighbouring texts become one."""
    joined: list[Part] = []
    for part in parts:
        if "text" in part and joined and "text" in joined[-1]:
            joined[-1] = {"text": joined[-1]["text"] + part["text"]}
        else:
            joined.append(part)
    return joined


def _write(tree: Expr, around: int, *, first: bool = False) -> list[Part]:
    """around: how tightly the surroundings bind; what binds less is put in brackets."""
    match tree.kind:
        case "ref" | "const":
            return _number(tree, brackets=tree.value < 0 and (not first or around == _POWER))
        case "rest":
            return [{"text": f"({tree.count} more terms: "}, {"number": tree.value, "cell": None}, {"text": ")"}]
        case "sum":
            return _bracketed(_sum(tree.args, first or around > _SUM), around > _SUM)
        case "negative":
            inner = [{"text": "−"}, *_write(tree.args[0], _PRODUCT)]
            return _bracketed(inner, around > _SUM or not first)
        case "product":
            return _bracketed(_between(tree.args, " · ", first), around > _PRODUCT)
        case "quotient":
            top = _write(tree.args[0], _PRODUCT, first=first)
            return _bracketed([*top, {"text": " / "}, *_write(tree.args[1], _POWER)], around > _PRODUCT)
        case "power":
            return _power(*tree.args)
        case "select":
            return _write(tree.args[1] if tree.args[0].value else tree.args[2], around, first=first)
        case "compare":
            left, right = tree.args
            inside = [*_write(left, _SUM, first=True), {"text": f" {tree.label} "}, *_write(right, _SUM, first=True)]
            return _bracketed(inside, True)
        case _:
            return [{"text": f"{tree.label or tree.kind}("}, *_between(tree.args, ", ", True, _SUM), {"text": ")"}]


def _number(tree: Expr, *, brackets: bool) -> list[Part]:
    cell = None if tree.tensor is None else cell_name(tree.tensor, tree.index or ())
    return _bracketed([{"number": tree.value, "cell": cell}], brackets)


def _sum(terms: tuple[Expr, ...], first: bool) -> list[Part]:
    if not terms:  # of nothing: what is sent to a row that was never looked up
        return [{"number": 0.0, "cell": None}]
    parts = _write(terms[0], _SUM, first=first)
    for term in terms[1:]:
        taken = term.args[0] if term.kind == "negative" else term
        parts += [{"text": " − " if term.kind == "negative" else " + "}, *_write(taken, _PRODUCT)]
    return parts


def _between(args: tuple[Expr, ...], mark: str, first: bool, around: int = _PRODUCT) -> list[Part]:
    parts: list[Part] = []
    for place, arg in enumerate(args):
        if place:
            parts.append({"text": mark})
        parts += _write(arg, around, first=first and (place == 0 or around == _SUM))
    return parts


def _power(base: Expr, exponent: Expr) -> list[Part]:
    inside = _write(base, _POWER, first=True)
    if exponent.kind == "const" and exponent.value.is_integer():
        return [*inside, {"text": str(int(exponent.value)).translate(_SUPERSCRIPTS)}]
    return [*inside, {"text": "^"}, *_write(exponent, _POWER, first=True)]


def _bracketed(parts: list[Part], brackets: bool) -> list[Part]:
    return [{"text": "("}, *parts, {"text": ")"}] if brackets else parts
