"""What a trained network says of its rows and of the plane, and a row of its table as a trace."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import engine
from engine.data import tables
from engine.experiments.own_data import Fitted, confusion, curve, fitted, plane, raw, rows, traced
from engine.models.own_data import shipped, start
from tests.engine.training.test_tables import MIXED, training


def of(steps: int, **recipe: Any) -> Fitted:
    run = training(steps, **recipe)
    list(run)
    return fitted({"seed": 0}, recipe, {name: value.numpy() for name, value in run.state()["parameters"].items()})


@pytest.fixture(scope="module")
def moons() -> Fitted:
    return fitted({"seed": 0}, {}, {name: value.detach().numpy() for name, value in shipped().named_parameters()})


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> Fitted:
    return of(60, table=tables.keep(MIXED, tmp_path_factory.mktemp("data")), target=4)


def test_rows_are_told_worst_first_and_counted_by_class(moons):
    told = rows(moons, moons.data.validation)
    assert len(told) == 50 and [one.loss for one in told] == sorted((one.loss for one in told), reverse=True)
    counts = confusion(told, moons.data.classes)
    assert sum(map(sum, counts)) == 50 and counts[0][0] + counts[1][1] == 49
    worst = told[0]
    assert worst.target != worst.prediction and worst.sure is not None and worst.sure > 0.5
    assert tables.find(0).columns[2].values[worst.row] == worst.target


def test_numbers_are_told_in_the_target_s_unit(prices):
    told = rows(prices, prices.data.validation)
    column = tables.find(prices.recipe.table).columns[3].values
    for one in told:
        assert one.target == pytest.approx(column[one.row], abs=1e-5)
        assert one.loss == pytest.approx(((one.prediction - one.target) / prices.data.aim.deviation) ** 2, rel=1e-4)


def test_the_plane_has_the_network_s_probabilities_in_the_columns_units(moons):
    across, up, values = plane(moons, 5)
    assert len(across) == len(up) == len(values) == len(values[0]) == 5
    x = [(across[3] - moons.data.features[0].mean) / moons.data.features[0].deviation,
         (up[1] - moons.data.features[1].mean) / moons.data.features[1].deviation]  # fmt: skip
    assert values[1][3] == pytest.approx(moons.network(torch.tensor(x)).exp().tolist(), abs=1e-6)
    everything = torch.arange(200)
    assert across[0] < min(raw(moons.data, 0, everything)) and up[-1] > max(raw(moons.data, 1, everything))


def test_a_curve_is_drawn_over_the_only_input(tmp_path):
    line = b"x,y\n" + b"".join(b"%d,%d.5\n" % (at, 2 * at) for at in range(12))
    found = of(200, table=tables.keep(line, tmp_path), hidden="none", learning_rate=0.05)
    across, values = curve(found, 3)
    assert [value[0] for value in values] == pytest.approx([2 * x + 0.5 for x in across], abs=0.3)


def test_a_row_is_traced_with_the_names_of_its_columns(prices):
    trace = traced(prices, 4)
    assert trace.record("x").axes[0].labels == (
        "size", "colour = blue", "colour = green", "colour = red", "kind",
    )  # fmt: skip
    assert trace["x"].tolist() == prices.data.inputs[4].tolist()
    assert torch.equal(trace["prediction"], prices.network(prices.data.inputs[4]))
    assert trace.result["check"]["max_residual"] < 1e-5
    proof = engine.verify(trace, "hidden1.preactivation", (0,))
    assert proof.ok


def test_a_row_of_a_class_is_traced_with_the_names_of_its_classes(moons):
    trace = traced(moons, 0)
    assert trace.record("probability").axes[-1].labels == ("lower", "upper")
    assert float(trace["loss"]) == pytest.approx(next(one.loss for one in rows(moons, torch.tensor([0]))), rel=1e-6)


def test_the_start_of_a_run_can_be_looked_at_too():
    parameters = {name: value.numpy() for name, value in start((2, 8, 2)).items()}
    assert len(rows(fitted({"seed": 0}, {}, parameters), torch.arange(200))) == 200
