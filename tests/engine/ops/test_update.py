from __future__ import annotations

import pytest
import torch

from engine.ops.table import rows
from tests.engine.ops.one_step import assert_explains, stepped

OPERANDS = {
    "parameter": torch.tensor([2.0, -1.0, 1.0], dtype=torch.float64),
    "gradient": torch.tensor([4.5, 1.5, 0.0], dtype=torch.float64),
    "learning_rate": torch.tensor(0.1, dtype=torch.float64),
}


def test_tiny_networks_readout_moves_against_its_gradient() -> None:
    step = stepped("sgd", OPERANDS, {})
    assert [step.cell(i).value for i in range(3)] == pytest.approx([1.55, -1.15, 1.0], abs=1e-15)
    assert_explains(step)


def test_frozen_parameter_stays_and_says_so() -> None:
    step = stepped("sgd", {**OPERANDS, "frozen": torch.tensor([False, True, True])}, {})
    assert [step.cell(i).value for i in range(3)] == pytest.approx([1.55, -1.0, 1.0], abs=1e-15)
    assert step.cell(1).kind == "select"
    assert_explains(step)


def test_update_of_zero_rate_changes_nothing() -> None:
    step = stepped("sgd", {**OPERANDS, "learning_rate": torch.tensor(0.0, dtype=torch.float64)}, {})
    assert [step.cell(i).value for i in range(3)] == [2, -1, 1]


def test_update_sends_no_gradient() -> None:
    with pytest.raises(ValueError, match="sends no gradient"):
        stepped("sgd", OPERANDS, {}).grad_cell("parameter", 0)


def test_update_costs_a_product_and_a_difference_for_each_parameter() -> None:
    assert rows()["sgd"].flops({"parameter": (3, 2)}, (3, 2)) == 12
