"""Cells that the request decided are explained without the masks by which the engine did it."""

from __future__ import annotations

import pytest
import torch

import engine
from engine.expression import const, multiply, ref, select
from engine.models import catalogue
from tests.engine.recorded import run


def tiny(*interventions: dict, **request) -> engine.Trace:
    return catalogue()["tiny_network"].trace({**request, "interventions": list(interventions)})


def at(trace: engine.Trace, tensor: str, *index: int, what="value"):
    found = engine.explain(trace, tensor, index, what=what)
    assert found.residual == pytest.approx(0, abs=1e-6)
    return found.expression


def test_held_cell_is_its_number_in_place_of_what_was_computed():
    trace = tiny({"at": "hidden.activation", "index": [1], "set": -2})
    computed = ref("hidden.activation:computed", (1,), 1.0)
    assert at(trace, "hidden.activation", 1) == select(const(1, "held"), const(-2), computed)
    assert at(trace, "hidden.activation", 0) == ref("hidden.activation:computed", (0,), 3.0)


def test_slope_of_a_held_cell_says_that_it_is_held():
    trace = tiny({"at": "hidden.activation", "index": [1], "set": 0})
    arriving = [ref("hidden.activation.grad", (unit,), value) for unit, value in enumerate((5.0, -2.5, 2.5))]
    found = [at(trace, "hidden.activation:computed", unit, what="gradient") for unit in range(3)]
    assert found == [arriving[0], multiply(arriving[1], const(0, "held")), arriving[2]]


def test_scaled_and_shifted_cells_show_the_number_and_the_others_nothing():
    computed = [ref("hidden.activation:computed", (unit,), value) for unit, value in enumerate((3.0, 1.0, 0.0))]
    scaled = tiny({"at": "hidden.activation", "index": [0], "scale": 0.5})
    assert [at(scaled, "hidden.activation", unit) for unit in (0, 1)] == [
        multiply(computed[0], const(0.5)),
        computed[1],
    ]
    shifted = tiny({"at": "hidden.activation", "index": [2], "add": 4})
    total = at(shifted, "hidden.activation", 2)
    assert (total.kind, total.args, total.value) == ("sum", (computed[2], const(4)), 4.0)
    assert at(shifted, "hidden.activation", 1) == computed[1]


def test_frozen_cell_is_the_parameter_in_place_of_the_step():
    frozen = [{"parameter": "hidden.weight", "index": [0, 0]}]
    trace = tiny(update={"learning_rate": 0.5, "frozen": frozen})
    kept = at(trace, "hidden.weight.updated", 0, 0)
    assert (kept.kind, kept.value, kept.args[0]) == ("select", 1.0, const(1, "frozen"))
    assert kept.args[1] == ref("hidden.weight", (0, 0), 1.0)
    assert kept.args[2].value == 1 - 0.5 * trace["hidden.weight.grad"][0, 0].item()
    moved = at(trace, "hidden.weight.updated", 0, 1)
    assert [moved.kind, moved.args[0]] == ["sum", ref("hidden.weight", (0, 1), -1.0)]


def test_two_interventions_on_one_cell_are_explained_one_after_the_other():
    trace = tiny(
        {"at": "hidden.activation", "index": [0], "set": 2}, {"at": "hidden.activation", "index": [0], "scale": 3}
    )
    scaled = at(trace, "hidden.activation", 0)
    assert [(one.kind, one.value) for one in scaled.args] == [("ref", 2.0), ("const", 3.0)]
    assert at(trace, scaled.args[0].tensor, 0).args[:2] == (const(1, "held"), const(2))


def test_condition_of_the_model_s_own_stays_as_it_is():
    mask = torch.tensor([True, False])
    trace = run(lambda _, x: torch.where(mask, x, 0.0).sum(), torch.tensor([1.0, 2.0]))
    cell = at(trace, ":where.0", 0)
    assert (cell.kind, cell.args[0].kind, cell.args[0].label) == ("select", "compare", "!=")
