from __future__ import annotations

import pytest
import torch

from engine.expression import const
from engine.reader import StepReader
from engine.trace import Axis, Operand, Step, TensorRecord, Trace


def record(name: str, value: torch.Tensor, gradient: str | None = None) -> TensorRecord:
    return TensorRecord(name, name, "activation", tuple(Axis("cell", n) for n in value.shape), value, gradient)


STEP = Step(0, "forward", "clamp", "y", "y", "", "", (Operand("input", "x"),), ("y", "z"), attributes={"min": 2})
TRACE = Trace(
    "",
    {},
    {},
    (STEP,),
    {
        one.name: one
        for one in (
            record("x", torch.tensor([[1, 2], [3, 4]])),
            record("y", torch.tensor([1.5, 2.5]), "grad.y"),
            record("z", torch.tensor(True)),
            record("grad.y", torch.tensor([0.1, 0.2], dtype=torch.bfloat16)),
        )
    },
    {},
)


def test_cells_are_references_with_their_values() -> None:
    reader = StepReader(TRACE, STEP)
    leaf = reader.leaf("input", (1, 0))
    assert (leaf.tensor, leaf.index, leaf.value) == ("x", (1, 0), 3.0)
    assert reader.output((1,)).value == 2.5
    assert (reader.arriving((0,)).tensor, reader.arriving((0,)).value) == (
        "grad.y",
        torch.tensor(0.1).bfloat16().item(),
    )


def test_position_chooses_the_output() -> None:
    reader = StepReader(TRACE, STEP, position=1)
    assert (reader.output(()).tensor, reader.output(()).value) == ("z", 1.0)
    assert reader.output_tensor().item() is True


def test_operands_and_attributes_are_told_apart() -> None:
    reader = StepReader(TRACE, STEP)
    assert reader.has("input") and not reader.has("min")
    assert reader.attribute("min") == 2
    assert reader.attribute("max", 7) == 7
    assert reader.tensor("input").tolist() == [[1, 2], [3, 4]]
    replaced = reader.arguments({"input": torch.tensor(5)})
    assert (replaced["input"].item(), replaced["min"]) == (5, 2)


def test_output_without_a_path_to_the_loss_has_no_arriving_gradient() -> None:
    reader = StepReader(TRACE, STEP)
    assert reader.arriving_tensor(1) is None
    assert reader.arriving_tensor(2) is None
    with pytest.raises(ValueError, match="expected a gradient at z"):
        reader.arriving((), 1)


def test_sums_are_cut_to_the_limit() -> None:
    reader = StepReader(TRACE, STEP, limit=1)
    assert [term.value for term in reader.sum([const(1), const(9), const(2)]).args] == [9, 3]
    values = torch.tensor([1.0, 9.0, 2.0])
    assert [term.value for term in reader.total(values, lambda i: const(values[i].item()), "min").args] == [1, 2]
