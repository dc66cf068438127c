"""Rows: cross-entropy (class numbers or probabilities) and negative log-likelihood.

Labels, weights and smoothing act through coefficients q: the loss of one example is Σ_c q_c (-ln p_c), and its gradient
at score k is p_k Σ_c q_c - q_k. For a plain class number q is 1 there and 0 elsewhere, which gives p - onehot.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F

from engine import expression as ex
from engine.expression import Expr
from engine.ops.examples import Examples, weighted
from engine.ops.loss import over, reduction_name, reduction_of
from engine.ops.notation import call_tex, call_text, each_input_cell
from engine.ops.table import Op, Reader
from engine.trace import Index


def _reduced(examples: Examples, index: Index, losses: torch.Tensor, one: Callable[[Index], Expr]) -> Expr:
    """The output's cell: one example's loss, or the sum or mean of those that count."""
    if reduction_of(examples.reader) == "none":
        return ex.const(0, "ignored") if examples.ignored(index) else one(index)
    places = examples.counted
    values = losses.reshape(examples.places_shape)
    chosen = torch.stack([values[place] for place in places]) if places else values.new_zeros(0)
    return over(examples.reader.total(chosen, lambda i: one(places[i])), examples.divisor())


def _double(reader: Reader, role: str) -> torch.Tensor | None:
    return reader.tensor(role).double() if reader.has(role) else None


# cross_entropy


def _cross_entropy_cell(reader: Reader, index: Index) -> Expr:
    examples = Examples(reader)

    def one(place: Index) -> Expr:
        if examples.plain:
            target = examples.target(place)
            return weighted(examples.weight(target), examples.scores(place).surprise(target))
        q, scores = examples.coefficient_values(place), examples.scores(place)
        scored = reader.total(
            q * scores.shifted_values, lambda c: ex.multiply(examples.coefficient(place, c), scores.score(c))
        )
        mass = reader.total(q, lambda c: examples.coefficient(place, c))
        return ex.subtract(ex.multiply(mass, scores.log_total()), scored)

    target = reader.tensor("target")
    losses = F.cross_entropy(
        reader.tensor("input").double(),
        target.double() if examples.probabilities else target,
        weight=_double(reader, "weight"),
        ignore_index=reader.attribute("ignore_index", -100),
        label_smoothing=examples.smoothing,
        reduction="none",
    )
    return _reduced(examples, index, losses, one)


def _cross_entropy_grad_cell(reader: Reader, role: str, index: Index) -> Expr:
    examples = Examples(reader)
    if role != "input" and not (role == "target" and examples.probabilities):
        raise ValueError(f"cross_entropy sends a gradient to input, or to target probabilities; got {role!r}")
    place, number = examples.split(index)
    if role == "target":
        surprise = examples.scores(place).surprise(number)
        kept = [ex.const(1 - examples.smoothing, "1 − ε")] if examples.smoothing else []
        factors = [*kept, weighted(examples.weight(number), surprise)]
        return over(ex.multiply(examples.arriving(place), *factors), examples.divisor())
    if examples.ignored(place):
        return ex.const(0, "ignored")
    share = examples.scores(place).share(number)
    if examples.plain:
        target = examples.target(place)
        slope = weighted(examples.weight(target), ex.subtract(share, ex.const(float(number == target))))
    else:
        mass = reader.total(examples.coefficient_values(place), lambda c: examples.coefficient(place, c))
        slope = ex.subtract(ex.multiply(mass, share), examples.coefficient(place, number))
    return over(ex.multiply(examples.arriving(place), slope), examples.divisor())


# nll_loss: the scores are log-probabilities already


def _nll_cell(reader: Reader, index: Index) -> Expr:
    examples = Examples(reader)

    def one(place: Index) -> Expr:
        target = examples.target(place)
        return ex.negative(weighted(examples.weight(target), examples.score(place, target)))

    losses = F.nll_loss(
        reader.tensor("input").double(),
        reader.tensor("target"),
        weight=_double(reader, "weight"),
        ignore_index=reader.attribute("ignore_index", -100),
        reduction="none",
    )
    return _reduced(examples, index, losses, one)


def _nll_grad_cell(reader: Reader, role: str, index: Index) -> Expr:
    if role != "input":
        raise ValueError(f"nll_loss sends a gradient to input; got {role!r}")
    examples = Examples(reader)
    place, number = examples.split(index)
    if examples.ignored(place):
        return ex.const(0, "ignored")
    if number != examples.target(place):
        return ex.const(0, "not the target")
    sent = weighted(examples.weight(number), examples.arriving(place))
    return ex.negative(over(sent, examples.divisor()))


def _run_cross_entropy(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    return F.cross_entropy(
        input,
        target,
        weight=weight,
        ignore_index=ignore_index,
        reduction=reduction_name(size_average, reduce, reduction),
        label_smoothing=label_smoothing,
    )


def _run_nll(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    return F.nll_loss(
        input,
        target,
        weight=weight,
        ignore_index=ignore_index,
        reduction=reduction_name(size_average, reduce, reduction),
    )


ROWS = (
    Op(
        "cross_entropy",
        {
            "cross_entropy": (
                "input",
                "target",
                "weight",
                "size_average",
                "ignore_index",
                "reduce",
                "reduction",
                "label_smoothing",
            )
        },
        _run_cross_entropy,
        _cross_entropy_cell,
        _cross_entropy_grad_cell,
        call_text("cross-entropy", "input", "target"),
        call_tex("cross-entropy", "input", "target"),
        each_input_cell(5),  # as log_softmax: exp, sum, ln, and for stability max and subtract
    ),
    Op(
        "nll_loss",
        {"nll_loss": ("input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction")},
        _run_nll,
        _nll_cell,
        _nll_grad_cell,
        call_text("nll", "input", "target"),
        call_tex("nll", "input", "target"),
        lambda shapes, output: 2 * math.prod(shapes["target"]),  # negate and add for each example
    ),
)
