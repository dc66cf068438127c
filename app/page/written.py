"""An expression laid out for reading: its terms as rows of a sum and, where one is more than a product, line by line.

Works on any expression tree; labels and shown values come from the run.
"""

from __future__ import annotations

import math
from dataclasses import replace

from app import inline
from app.inline import cell_name
from app.numbers import sign
from app.page.run import Data, Run
from app.wire import cell_value
from engine.expression import Expr

_LEAVES = ("ref", "const", "rest")


def written(run: Run, tree: Expr) -> Data:
    """{terms: [row], value, lines: [line], numeric}; a row is {factors, value, sign, width, rest}.

    A factor is {label, cell, value} or, where it is a computation of its own, {parts, value} with the parts of its
    symbols. width: the row's share of the largest, in percent. lines: {depth, kind, words, symbols, numbers, value,
    taken}, only where some factor is not a leaf.
    """
    shown = _shown(run, tree)
    terms = shown.args if shown.kind == "sum" else (shown,)
    rows = [_row(run, term) for term in terms]
    largest = max((abs(row["value"]) for row in rows if math.isfinite(row["value"])), default=0.0)
    for row in rows:
        share = abs(row["value"]) / largest if largest and math.isfinite(row["value"]) else 0.0
        row["width"] = round(50 * share)
    plain = all(_is_plain(term) for term in terms)
    return {
        "terms": rows,
        "value": tree.value,
        "numeric": inline.line(shown),
        "lines": [] if plain else _lines(run, shown, 0, ""),
    }


def _row(run: Run, term: Expr) -> Data:
    if term.kind == "rest":
        return {"factors": [], "rest": term.count, "value": term.value, "sign": sign(term.value)}
    inner = term.args[0] if term.kind == "negative" else term
    factors = [_factor(run, one) for one in (inner.args if inner.kind == "product" else (inner,))]
    row = {"factors": factors, "rest": None, "value": term.value, "sign": sign(term.value)}
    return row | ({"negative": True} if term.kind == "negative" else {})


def _factor(run: Run, tree: Expr) -> Data:
    if tree.kind == "ref":
        name = cell_name(tree.tensor or "", tree.index or ())
        return {"label": run.label(name), "cell": name, "value": tree.value}
    if tree.kind == "const":
        return {"label": tree.label or "", "cell": None, "value": tree.value}
    return {"parts": symbols(run, tree), "value": tree.value}


def symbols(run: Run, tree: Expr) -> list[Data]:
    """The parts of an expression with labels where its cells stand: {text}, {label, cell} or {number}.

    A select is written with its condition: h if z > 0, else 0; one that was decided: held at 0, in place of h.
    """
    if tree.kind == "select":
        condition, then, otherwise = tree.args
        if condition.kind == "const":
            return [
                {"text": f"{condition.label} at "}, *symbols(run, then),
                {"text": ", in place of "}, *symbols(run, otherwise),
            ]  # fmt: skip
        return [
            *symbols(run, then), {"text": " if "}, *_compared(run, condition),
            {"text": ", else "}, *symbols(run, otherwise),
        ]  # fmt: skip
    if any(_has_select(arg) for arg in tree.args) and tree.kind == "product":
        parts: list[Data] = []
        for place, arg in enumerate(tree.args):
            inner = symbols(run, arg)
            wrapped = inner if arg.kind in _LEAVES else [{"text": "("}, *inner, {"text": ")"}]
            parts += [*([{"text": " · "}] if place else []), *wrapped]
        return parts
    return [_labelled(run, part) for part in inline.line(_unsigned(tree))]


def _compared(run: Run, tree: Expr) -> list[Data]:
    left, right = tree.args
    return [*symbols(run, left), {"text": f" {_RELATIONS.get(tree.label or '', tree.label)} "}, *symbols(run, right)]


_RELATIONS = {">=": "≥", "<=": "≤", "==": "=", "!=": "≠"}


def _labelled(run: Run, part: Data) -> Data:
    return {"label": run.label(part["cell"]), "cell": part["cell"]} if part.get("cell") else part


def _lines(run: Run, tree: Expr, depth: int, words: str, *, taken: bool = True) -> list[Data]:
    line: Data = {"depth": depth, "kind": tree.kind, "words": words, "taken": taken, "value": tree.value}
    if tree.kind == "compare":
        left, right = tree.args
        relation = {"text": f" {_RELATIONS.get(tree.label or '', tree.label)} "}
        line |= {"symbols": _compared(run, tree), "numbers": [*inline.line(left), relation, *inline.line(right)]}
        line["holds"] = bool(tree.value)
        return [line, *_inner(run, tree, depth)]
    numbers = inline.line(tree)
    line |= {"symbols": symbols(run, tree), "numbers": numbers if len(numbers) > 1 else []}
    if tree.kind == "select":
        condition, then, otherwise = tree.args
        if condition.kind == "const":
            return [line, *_lines(run, otherwise, depth + 1, "computed", taken=False)[:1]]
        holds = bool(condition.value)
        return [
            line,
            *_lines(run, condition, depth + 1, "whether"),
            *_lines(run, then, depth + 1, "if so", taken=holds),
            *_lines(run, otherwise, depth + 1, "if not", taken=not holds),
        ]
    return [line, *_inner(run, tree, depth)]


def _inner(run: Run, tree: Expr, depth: int) -> list[Data]:
    """The lines of the parts that are computations of their own."""
    words = _WORDS.get(tree.kind, ())
    return [
        line
        for place, arg in enumerate(tree.args)
        if arg.kind not in _LEAVES and not (arg.kind == "negative" and arg.args[0].kind in _LEAVES)
        for line in _lines(run, arg, depth + 1, words[place] if place < len(words) else "with")
    ]


_WORDS = {"quotient": ("top", "bottom"), "power": ("base", "exponent"), "compare": ("left", "right")}


def _shown(run: Run, tree: Expr) -> Expr:
    """The tree with its cells' values as the page writes them."""
    if tree.kind == "ref":
        record = run.trace.tensors.get(tree.tensor or "")
        return replace(tree, value=cell_value(record, tree.value)) if record is not None else tree
    return replace(tree, args=tuple(_shown(run, arg) for arg in tree.args)) if tree.args else tree


def _unsigned(tree: Expr) -> Expr:
    """The tree with its cells made positive: their labels need no brackets."""
    if tree.kind == "ref":
        return replace(tree, value=1.0)
    return replace(tree, args=tuple(_unsigned(arg) for arg in tree.args)) if tree.args else tree


def _is_plain(term: Expr) -> bool:
    inner = term.args[0] if term.kind == "negative" else term
    return all(one.kind in _LEAVES for one in (inner.args if inner.kind == "product" else (inner,)))


def _has_select(tree: Expr) -> bool:
    return tree.kind == "select" or any(_has_select(arg) for arg in tree.args)
