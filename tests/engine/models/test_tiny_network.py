"""Every worked value of the tiny network, through the engine."""

from __future__ import annotations

import pytest

import engine
from engine.models import catalogue


@pytest.fixture(scope="module")
def tiny(facts):
    return facts["tiny_network"]


def trace(request=None) -> engine.Trace:
    return catalogue()["tiny_network"].trace(request or {})


def test_parameters_are_the_thirteen_of_the_text(tiny):
    run = trace()
    assert run.model["parameter_count"] == tiny["parameter_count"] == 13
    for name, value in tiny["parameters"].items():
        assert run[name].tolist() == value


def test_symbols_are_the_text_s(tiny):
    run = trace()
    assert {name: run.record(name).symbol for name in tiny["symbols"]} == tiny["symbols"]


@pytest.mark.parametrize("case", range(3))
def test_forward_gives_the_worked_values(tiny, case):
    worked = tiny["forward"][case]
    run = trace({"inputs": {"x": worked["x"]}})
    assert run["hidden.preactivation"].tolist() == worked["z"]
    assert run["hidden.activation"].tolist() == worked["h"]
    assert run.result["prediction"] == worked["prediction"]


def test_rows_are_examples(tiny):
    batch = tiny["batch"]
    run = trace({"inputs": {"x": batch["X"]}})
    assert run["hidden.preactivation"].tolist() == batch["Z"]
    assert run.result["prediction"] == batch["prediction"]
    step = run.steps[0]
    assert step.symbol == "Z = XWᵀ + 1bᵀ"
    assert [axis.name for axis in run.record("hidden.preactivation").axes] == ["example", "unit"]


@pytest.mark.parametrize("case", range(3))
def test_interventions_give_the_worked_values(tiny, case):
    worked = tiny["interventions"][case]
    request = {"inputs": {"x": worked["x"]}}
    if "v3" in worked:
        request["edits"] = [{"parameter": "readout.weight", "index": [0, 2], "value": worked["v3"]}]
    else:
        request["interventions"] = [{"at": "hidden.activation", "index": [1], "set": worked["set h2"]}]
    assert trace(request).result["prediction"] == worked["prediction"]


def test_without_relu_the_network_is_one_linear_map(tiny):
    worked = tiny["without_relu"]
    assert trace({"inputs": {"x": worked["at"]}, "options": {"activation": "none"}}).result["prediction"] == 2
    for x1, x2 in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (-3.0, 7.5)):
        run = trace({"inputs": {"x": [x1, x2]}, "options": {"activation": "none"}})
        assert run.result["prediction"] == 0.5 * x1 - x2


def test_loss_is_half_the_squared_error(tiny):
    worked = tiny["loss"]
    assert trace({"inputs": {"x": worked["x"]}, "target": worked["target"]}).result["loss"] == worked["value"]


def test_gradients_are_the_worked_ones(tiny):
    worked = tiny["gradients"]
    run = trace({"inputs": {"x": worked["x"]}, "target": worked["target"]})
    assert run["prediction.grad"].tolist() == [worked["prediction"]]
    for name in tiny["parameters"]:
        assert run[f"{name}.grad"].tolist() == worked[name]


def test_updating_v1_alone_lowers_the_loss(tiny):
    worked = tiny["update_v1_only"]
    frozen = [{"parameter": name, "index": None} for name in ("hidden.weight", "hidden.bias", "readout.bias")]
    frozen += [{"parameter": "readout.weight", "index": [0, cell]} for cell in (1, 2)]
    run = trace({"update": {"learning_rate": worked["learning_rate"], "frozen": frozen}})
    assert run["readout.weight.updated"].tolist() == [[pytest.approx(worked["v1"]), -1.0, 1.0]]
    after = run.result["after_update"]
    assert after["updatable"] == 1
    assert after["prediction"] == pytest.approx(worked["prediction"])
    assert after["loss"] == pytest.approx(worked["loss"], rel=1e-5)


def test_updating_all_thirteen_overshoots(tiny):
    worked = tiny["update_all_13"]
    run = trace({"update": {"learning_rate": worked["learning_rate"]}})
    for name in tiny["parameters"]:
        assert run[f"{name}.updated"].flatten().tolist() == pytest.approx(
            [cell for row in worked[name] for cell in (row if isinstance(row, list) else [row])]
        )
    assert run.result["after_update"]["prediction"] == pytest.approx(worked["prediction"], abs=1e-6)
    assert run.result["after_update"]["loss"] == pytest.approx(worked["loss"], rel=1e-6)


@pytest.mark.parametrize("case", range(4))
def test_learning_rates_give_the_worked_losses(tiny, case):
    worked = tiny["update_all_13_by_learning_rate"][case]
    run = trace({"update": {"learning_rate": worked["learning_rate"]}})
    assert run.result["after_update"]["loss"] == pytest.approx(worked["loss"], rel=1e-5)


def test_frozen_parameters_take_part_and_do_not_move(tiny):
    run = trace(
        {"update": {"learning_rate": 0.1, "frozen": [{"parameter": "hidden.weight"}, {"parameter": "hidden.bias"}]}}
    )
    assert run.model["parameter_count"] == 13 and run.result["after_update"]["updatable"] == 4
    assert run["hidden.weight.updated"].tolist() == tiny["parameters"]["hidden.weight"]
    assert run["hidden.weight.grad"].tolist() == tiny["gradients"]["hidden.weight"]
    assert [step.note for step in run.steps if step.phase == "update"] == ["frozen", "frozen", "", ""]
