"""What the request decided, not the model, in plain words: cells that are held at a number, scaled, or frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from engine.expression import Expr, add, const, multiply, select
from engine.trace import Step, Trace

_NEUTRAL = {"product": (multiply, const(1)), "sum": (add, const(0))}


def decided(trace: Trace, step: Step, tree: Expr) -> Expr:
    """The expression of a cell of the step, or of what it sends, without the masks by which the engine did it.

    A cell that was decided is select(const(1, "held" or "frozen"), its value, what it would have been), its slope a
    const with that label; one that was left alone is what was computed.
    """
    if step.note == "intervention":
        own = {one.tensor: "held" for one in step.inputs if trace.record(one.tensor).kind == "constant"}
    else:
        own = {one.tensor: "frozen" for one in step.inputs if one.role == "frozen"}
    return _without(tree, own) if own else tree


def _without(tree: Expr, own: Mapping[str, str]) -> Expr:
    if tree.kind == "ref":
        return const(tree.value) if tree.tensor in own else tree
    if tree.kind == "select" and (word := own.get(tree.args[0].args[0].tensor or "")):
        condition, then, otherwise = tree.args
        if not condition.value:
            return _without(otherwise, own)
        then, otherwise = _without(then, own), _without(otherwise, own)
        if then.kind == otherwise.kind == "const":  # a slope
            return const(then.value, word)
        return select(const(1, word), then, otherwise)
    args = tuple(_without(arg, own) for arg in tree.args)
    if tree.kind not in _NEUTRAL:
        return replace(tree, args=args)
    combine, neutral = _NEUTRAL[tree.kind]
    return combine(*(new for new, old in zip(args, tree.args, strict=True) if new is old or new != neutral))
