"""The gears multiply to the run's gradients, the paths add up, the words hold, the exercises are the engine's."""

from __future__ import annotations

import math
from typing import Any

import pytest

from app.lessons.chain_rule import LESSON, SLUG, TAKES, lab, prose
from app.lessons.chain_rule_gears import RADIUS, local, picture, trains
from app.shown import shown
from engine.paths import paths
from tests.app.lessons.contract import strays
from tests.app.markup import parse

BASE = f"/lessons/{SLUG}"
HTML = {"accept": "text/html"}
PAGES = (
    "", "width=2", "rows=2", "width=2&rows=3", "predict=1&step=9", "do:layer2.activation[0]=off",
    "x[0]=-4&layer3.weight[0,0]=0", "weight=8&bias=-4&layers=10", "weight=0", "take=2", "step=10&view=matrices",
)  # fmt: skip


def text(**changes: Any) -> dict[str, Any]:
    return prose(shown(SLUG, **changes).trace, shown(SLUG).trace)


def test_three_gears_multiply_to_the_gradient_of_the_last_weight():
    last = text()["run"]["last"]
    gears = last["trains"][0]["gears"]
    assert [gear["name"] for gear in gears] == ["∂z³/∂w³", "∂a³/∂z³", "∂L/∂a³"]
    trace = shown(SLUG).trace
    a2, a3 = trace["layer2.activation"].item(), trace["prediction"].item()
    assert [gear["value"] for gear in gears] == pytest.approx([a2, a3 * (1 - a3), 2 * (a3 - 1)], rel=1e-6)
    assert math.prod(gear["value"] for gear in gears) == pytest.approx(trace["layer3.weight.grad"].item(), rel=1e-6)
    assert [wheel["turn"] for wheel in last["trains"][0]["wheels"]][-1] == pytest.approx(last["gradient"], rel=1e-6)


@pytest.mark.parametrize("changes", [{}, {"options": {"width": "2"}}, {"rows": 3}, {"set": {"x[0]": -7}}])
def test_every_gear_is_worked_out_and_every_sum_of_trains_is_autograd_s(changes):
    run = text(**changes)["run"]
    assert len(run["cells"]) == 6
    assert run["apart"] < 1e-6
    for found in (run["last"], run["first"]):
        for train in found["trains"]:
            assert train["product"] == pytest.approx(math.prod(gear["value"] for gear in train["gears"]))
            for gear in train["gears"]:
                assert gear["parts"], gear["name"]


def test_what_is_worked_out_has_the_gear_s_value():
    trace = shown(SLUG, options={"width": "2"}).trace
    for path in paths(trace, "layer1.weight", (1, 0)).paths:
        tensor, index = "layer1.weight", (1, 0)
        for hop in path.hops:
            tree = local(trace, tensor, index, hop)
            assert tree is not None and tree.value == pytest.approx(hop.derivative, rel=1e-6)
            tensor, index = hop.tensor, hop.index


def test_a_bias_turns_its_sum_one_to_one():
    gears = trains(shown(SLUG).trace, "layer2.bias", (0,))["trains"][0]["gears"]
    assert gears[0]["value"] == 1 and gears[0]["parts"] == []


def test_moves_come_nearer_to_the_gradient_the_smaller_they_are():
    run = text()["run"]
    off = [abs(row["rate"] - run["last"]["gradient"]) for row in run["nudges"]["rows"]]
    assert off == sorted(off, reverse=True) and off[-1] < 1e-4
    assert text(rows=2)["run"]["nudges"] is None


def test_no_slope_is_steeper_than_a_quarter():
    for x in (-3, 0, 0.9, 1, 5):
        slopes = [one["value"] for one in text(set={"x[0]": x})["run"]["steepness"]]
        assert max(slopes) <= 0.25
    trace = shown(SLUG).trace
    assert [one["value"] for one in text()["run"]["steepness"]] == pytest.approx(
        [(a * (1 - a)).item() for a in (trace["layer1.activation"], trace["layer2.activation"], trace["prediction"])]
    )


def test_a_weight_of_zero_on_the_way_stops_all_gears_below():
    run = text(set={"layer2.weight[0,0]": 0})["run"]
    found = {row["start"]["label"]: row["gradient"] for row in run["cells"]}
    assert found["w¹"] == found["b¹"] == 0 and found["w²"] and found["b²"]


def test_where_an_activation_is_held_a_gear_more_stands_still():
    run = text(do={"layer2.activation[0]": ("set", 0.5)})["run"]
    (train,) = run["first"]["trains"]
    assert {gear["name"]: gear["value"] for gear in train["gears"]}["∂a²/∂a²*"] == 0
    assert train["product"] == run["first"]["gradient"] == 0
    assert run["last"]["gradient"] != 0


def test_a_wheel_turns_a_quarter_of_the_circle_for_one_turn():
    first, second, third = picture(
        [{"label": "a", "cell": "a", "turn": turn} for turn in (1.0, -2.0, 9.0)]
    )["wheels"]  # fmt: skip
    assert first["sector"].endswith(f"0 0 1 {first['x'] + RADIUS:.2f} {first['y']:.2f}Z")
    assert second["sector"].endswith(f"0 0 0 {second['x']:.2f} {second['y'] + RADIUS:.2f}Z")
    assert (first["cut"], second["cut"], third["cut"]) == (False, False, True)


def test_the_named_chains_fade_stand_or_explode():
    rows = {row["weight"]: row["left"] for row in text()["chains"]["rows"]}
    assert rows[1][-1] < 1e-12 and rows[4] == pytest.approx([1] * 4) and rows[8] == pytest.approx([2, 32, 1024, 2**20])


def test_two_neurons_have_two_paths_and_the_digit_network_thousands():
    named = text()
    assert [len(named["two"]["trains"]), named["two"]["x"]["paths"]] == [2, 4]
    assert named["two"]["total"] == pytest.approx(named["two"]["gradient"], rel=1e-6)
    assert named["paths"] == {"widths": [16, 16, 10], "ways": 2560, "edges": 432}


def test_the_lab_draws_the_chain_that_is_asked_for_and_keeps_a_measurement():
    values = {"weight": 2, "bias": -1, "layers": 11, "take": 1}
    found = lab(values)
    assert found["chain"]["left"] == found["chain"]["bound"] == pytest.approx(2**-10)
    assert found["timed"]["rows"] == lab({**values, "layers": 3})["timed"]["rows"]
    assert all(row["ratio"] > 1 for row in found["timed"]["rows"])
    assert found["timed"]["next"] == 2
    assert lab({**values, "weight": 0})["chain"]["left"] == 0


def test_measuring_again_is_another_address(client):
    page = parse(client.get(BASE, headers=HTML).text)
    (again,) = [link["href"] for link in page.all("a", cls="show") if link.text == "Measure again"]
    assert "take=2" in again and client.get(again, headers=HTML).status_code == 200
    assert client.get(f"{BASE}?take={TAKES + 1}", headers=HTML).status_code == 422


@pytest.mark.parametrize("query", PAGES)
def test_every_number_of_the_page_is_in_its_json(client, query):
    assert strays(client, SLUG, query) == set()


@pytest.mark.parametrize("seed", range(6))
def test_the_exercises_by_hand_are_exact(seed):
    three, seven = LESSON.exercises(seed)[:2]
    activation, _, target, prediction, slope, _, miss, answer = three.values
    assert (activation, prediction, slope) == (0.5, 0.5, 0.25)
    assert answer == pytest.approx(activation * slope * miss) and miss == 2 * (0.5 - target)
    factors = seven.values[1:8]
    assert math.prod(factors) == pytest.approx(seven.answer)
