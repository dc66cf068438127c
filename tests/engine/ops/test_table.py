from __future__ import annotations

import pytest
import torch

from engine.labels import StepLabels
from engine.ops import table, update
from engine.ops.table import calls, rows
from engine.trace import Axis, Slot, TensorRecord


def labels(
    out: str, roles: dict[str, tuple[str, tuple[int, ...]]], tex: bool = False, **attributes: object
) -> StepLabels:
    def record(symbol: str, shape: tuple[int, ...]) -> TensorRecord:
        axes = tuple(Axis(f"axis{i}", size) for i, size in enumerate(shape))
        return TensorRecord(symbol, symbol, "activation", axes, torch.zeros(shape))

    return StepLabels({role: record(*given) for role, given in roles.items()}, record(out, ()), attributes, tex=tex)


ONE = {"input": ("x", (2,)), "weight": ("W", (3, 2)), "bias": ("b", (3,))}
MANY = {"input": ("X", (4, 2)), "weight": ("W", (3, 2)), "bias": ("b", (3,))}
READOUT = {"input": ("h", (3,)), "weight": ("v", (1, 3)), "bias": ("c", (1,))}
PAIR = {"input": ("a", (2, 2)), "other": ("b", (2, 2))}
TWO = {"tensors.0": ("a", ()), "tensors.1": ("b", ())}
LOSS = {"input": ("ŷ", (1,)), "target": ("t", (1,))}
SGD = {"parameter": ("W", (3, 2)), "gradient": ("∂L/∂W", (3, 2)), "learning_rate": ("η", ())}

WRITTEN = [
    ("linear", "z", ONE, {}, "z = Wx + b", "z = W x + b"),
    ("linear", "Z", MANY, {}, "Z = XWᵀ + 1bᵀ", r"Z = X W^{\top} + \mathbf{1} b^{\top}"),
    ("linear", "ŷ", READOUT, {}, "ŷ = vh + c", r"\hat{y} = v h + c"),
    ("linear", "z", {"input": ONE["input"], "weight": ONE["weight"]}, {}, "z = Wx", "z = W x"),
    ("matmul", "c", PAIR, {}, "c = ab", "c = a b"),
    ("relu", "h", {"input": ("z", (3,))}, {}, "h = ReLU(z)", r"h = \operatorname{ReLU}(z)"),
    ("sigmoid", "h", {"input": ("z", (3,))}, {}, "h = σ(z)", r"h = \sigma(z)"),
    ("mse_loss", "m", LOSS, {}, "m = mean (ŷ − t)²", r"m = \operatorname{mean}(\hat{y} - t)^{2}"),
    ("mse_loss", "m", LOSS, {"reduction": "sum"}, "m = Σ (ŷ − t)²", r"m = \sum (\hat{y} - t)^{2}"),
    ("sgd", "W′", SGD, {}, "W′ = W − η ∂L/∂W", r"W' = W - \eta \frac{\partial L}{\partial W}"),
    ("add", "c", PAIR, {}, "c = a + b", "c = a + b"),
    ("add", "c", PAIR, {"alpha": 2}, "c = a + 2b", "c = a + 2b"),
    ("sub", "c", {"other": ("b", ())}, {"input": 2}, "c = 2 − b", "c = 2 - b"),
    ("mul", "c", {"input": ("a", ())}, {"other": -0.5}, "c = a ⊙ (−0.5)", r"c = a \odot (-0.5)"),
    ("div", "L", {"input": ("m", ())}, {"other": 2}, "L = m / 2", r"L = \frac{m}{2}"),
    ("pow", "c", {"input": ("a", ())}, {"exponent": 2}, "c = a²", "c = {a}^{2}"),
    ("pow", "c", {"input": ("a", ())}, {"exponent": -0.5}, "c = a^(−0.5)", "c = {a}^{-0.5}"),
    ("transpose", "c", {"input": ("a", (2, 3))}, {"dim0": 0, "dim1": 1}, "c = aᵀ", r"c = {a}^{\top}"),
    ("identity", "c", {"input": ("a", ())}, {}, "c = a", "c = a"),
    ("softmax", "p", {"input": ("s", (3,))}, {"dim": 0}, "p = softmax(s)", r"p = \operatorname{softmax}(s)"),
    ("sum", "c", {"input": ("a", (3,))}, {}, "c = Σ a", r"c = \sum a"),
    (
        "cat",
        "c",
        {"tensors.0": ("a", ()), "tensors.1": ("b", ())},
        {},
        "c = cat(a, b)",
        r"c = \operatorname{cat}(a, b)",
    ),
    ("getitem", "c", {"input": ("a", (3, 3))}, {"index": (0, slice(1, None))}, "c = a[0, 1:]", "c = a[0, 1:]"),
    (
        "getitem",
        "c",
        {"input": ("a", (3, 3)), "index.1": ("i", (2,))},
        {"index": (Ellipsis, Slot("index.1"))},
        "c = a[…, i]",
        r"c = a[\ldots , i]",
    ),
    (
        "masked_fill",
        "s",
        {"input": ("a", (2,)), "mask": ("m", (2,))},
        {"value": -float("inf")},
        "s = −∞ where m, else a",
        r"s = -\infty \ \text{where}\ m,\ \text{else}\ a",
    ),
]


@pytest.mark.parametrize(("name", "out", "roles", "attributes", "text", "tex"), WRITTEN)
def test_step_is_written_as_a_textbook_writes_it(name, out, roles, attributes, text, tex) -> None:
    row = rows()[name]
    assert row.text(labels(out, roles, **attributes)) == text
    assert row.tex(labels(out, roles, tex=True, **attributes)) == tex


@pytest.mark.parametrize("name", sorted(rows()))
def test_row_writes_itself_from_symbols_alone(name: str) -> None:
    every = ("input", "other", "weight", "target", "mask", "condition", "mat1", "mat2", "parameter", "gradient")
    more = ("value", "index", "exponent", "tensors.0", "first_moment", "second_moment", "denominator")
    roles = dict.fromkeys((*every, *more, "learning_rate", "corrected_rate"), ("x", (2, 2)))
    assert rows()[name].text(labels("y", roles)).startswith("y = ")
    assert rows()[name].tex(labels("y", roles, tex=True)).startswith("y = ")


def test_every_row_that_pytorch_calls_is_found_by_its_calls() -> None:
    assert {op.name for op in calls().values()} == set(rows()) - {op.name for op in update.ROWS}
    assert calls()["subtract"] is rows()["sub"]


def test_only_rows_of_one_place_are_elementwise() -> None:
    assert rows()["relu"].elementwise and rows()["where"].elementwise
    assert not any(rows()[name].elementwise for name in ("softmax", "linear", "sum", "mse_loss", "getitem", "sgd"))


def test_name_claimed_twice_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.ops.update.ROWS", (rows()["relu"],))
    with pytest.raises(ValueError, match="two operations answer to 'relu': relu and relu"):
        table._index(lambda op: [op.name])
