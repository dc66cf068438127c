"""The text's claims hold, its numbers are in the page's JSON, XOR can be trained, the exercises are the engine's."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from app.lessons.activation_functions import LESSON, OWN, SLUG, lab, prose
from app.lessons.activation_functions_training import TRAINING, answers, body, edits
from app.lessons.activation_functions_training import shown as trained
from app.shown import shown
from engine.models import catalogue
from engine.models.activation_functions import BY_HAND, XOR, start
from tests.app.lessons.contract import strays
from tests.app.markup import data_numbers, exact_values, parse

BASE = f"/lessons/{SLUG}"
HTML = {"accept": "text/html"}
PAGES = (
    "", "activation=none&rows=4", "activation=gelu&weights=random", "predict=1&step=3", "curve=own&units=4&y3=2",
    "curve=zigzag&units=4&bend=relu", "curve=step&bend=none", "gain=4", "gain=0.05", "hidden.weight[0,0]=1000",
    "rows=4&step=6&view=matrices", "activation=sigmoid&cell=hidden.activation[0]",
)  # fmt: skip


def text(**changes: Any) -> dict[str, Any]:
    return prose(shown(SLUG, **changes).trace, shown(SLUG).trace)


def chosen(**changes: Any) -> dict[str, Any]:
    return {setting.name: setting.default for setting in LESSON.beside} | changes


def test_by_hand_all_four_are_right_and_without_an_activation_they_are_not():
    assert [row["prediction"] for row in text()["four"]["rows"]] == [0, 1, 1, 0]
    assert text()["four"] | {"plane": None} == {**answers({}, []), "plane": None} and text()["four"]["right"] == 4
    assert text(options={"activation": "none"})["four"]["right"] < 4


@pytest.mark.parametrize("changes", [{}, {"options": {"weights": "random"}}, {"set": {"hidden.weight[0,1]": -7}}])
def test_two_layers_without_an_activation_are_one(changes):
    found = text(**changes)["one"]
    trace = shown(SLUG, **changes).trace
    product = (trace["readout.weight"] @ trace["hidden.weight"]).flatten().tolist()
    assert [one["value"] for one in found["weights"]] == pytest.approx(product, rel=1e-6)
    assert found["apart"] < 1e-5
    assert all(row["two"] == pytest.approx(row["one"], abs=1e-5) for row in found["rows"])


def test_the_least_loss_of_a_plane_is_a_quarter_and_nothing_moves_there():
    linear = text()["linear"]
    assert (linear["weights"], linear["bias"], linear["error"], linear["gradient"]) == ([0, 0], 0.5, 0.25, 0)


def test_relu_is_kept_by_the_root_of_two_and_tanh_explodes_when_it_is_pushed():
    deep = text()["deep_network"]
    assert 0.5 < deep["kept"]["left"] < 1 and deep["kept"]["gain"] == pytest.approx(2**0.5, abs=1e-4)
    assert deep["pushed"]["left"] > 1e4
    rows = {row["name"]: row["left"] for row in lab(chosen())["fading"]["rows"]}
    assert rows["sigmoid"][-1] < 1e-12 and rows["none"][-1] > 0.5


def test_the_lab_fits_the_curve_that_is_asked_for():
    found = lab(chosen(curve="zigzag", units=4))["fit"]
    assert found["error"] < 1e-12 and found["halved"] is None and len(found["weights"]) == 4
    own = lab(chosen(curve="own", units=8))["fit"]
    assert own["error"] < 1e-12  # nine heights, eight straight pieces, eight bends
    assert lab(chosen(curve="own", units=8, y5=3))["fit"]["weights"] != own["weights"]
    assert len(OWN) == 9
    smooth = lab(chosen())["fit"]
    assert 3 < smooth["halved"] < 5 and len(smooth["parts"]["data"]) == smooth["units"] == 8
    bump = lab(chosen(curve="bump"))["fit"]
    assert all("type" not in bump[name]["layout"]["yaxis"] for name in ("sum", "parts"))  # heights, not powers of ten
    flat = lab(chosen(bend="none"))["fit"]
    assert len({round(row["error"], 9) for row in flat["rows"]}) == 1 and len(flat["errors"]["data"]) == 1


def test_a_training_starts_where_its_seed_says():
    asked = body(chosen(start=3, trained="tanh", rule="adam"))
    assert asked["recipe"] == {"optimiser": "adam"} and asked["options"]["activation"] == "tanh"
    request = {name: asked[name] for name in ("inputs", "target", "edits", "options", "update")}
    run = catalogue()[SLUG].trace(request)
    for name in BY_HAND:
        assert run[name].numpy() == pytest.approx(np.array(start(3)[name]), abs=1e-6)


def test_what_is_trained_answers_the_four_points():
    by_hand = {name: np.array(value) for name, value in BY_HAND.items()}
    run = {"request": {"options": {"activation": "relu", "weights": "random"}}, "checkpoint": 5}
    found = trained(run, [], by_hand)
    assert found["answers"]["right"] == 4 and found["answers"]["loss"] == 0 and found["step"] == 5
    assert trained(run, [], {}) == {} == trained(run, [], by_hand | {"readout.bias": np.array([np.inf])})
    assert len(edits(BY_HAND)) == 9


@pytest.mark.parametrize(("activation", "reaches"), [("relu", 0.0), ("none", 0.25)])
def test_on_the_page_relu_learns_xor_and_no_activation_comes_to_rest_at_a_quarter(client, activation, reaches):
    data = {"trained": activation, "rule": "adam", "rate": "0.05", "steps": "500"}
    sent = client.post(f"{BASE}/training", data=data, headers=HTML, follow_redirects=False)
    assert sent.status_code == 303
    for _ in range(200):
        page = client.get(sent.headers["location"].replace(f"{BASE}?", f"{BASE}.json?")).json()
        if page["training"]["run"]["state"] == "done":
            break
        time.sleep(0.1)
    assert page["training"]["run"]["state"] == "done"
    assert page["training"]["metrics"]["loss"] == pytest.approx(reaches, abs=1e-3)
    assert (page["training"]["shown"]["answers"]["right"] == 4) is (activation == "relu")
    html = parse(client.get(sent.headers["location"], headers=HTML).text)
    values, _ = data_numbers(page)
    assert exact_values(html.one("section", id="training")) <= values | {-value for value in values}


def test_starts_are_sent_as_the_table_says():
    assert {row["key"] for row in text()["starts"]["rows"]} == set(TRAINING.settings[0].choices or ())
    assert text()["starts"]["rows"][0]["solved"] == [0, 0]


@pytest.mark.parametrize("query", PAGES)
def test_every_number_of_the_page_is_in_its_json(client, query):
    assert strays(client, SLUG, query) == set()


@pytest.mark.parametrize("seed", range(4))
def test_exercises_by_hand(seed):
    slope, fourth, collapsed, least, fading, _ = LESSON.exercises(seed)
    a, rest, *_ = slope.values
    assert slope.answer == pytest.approx(a * rest, abs=1e-6)
    bias = fourth.values[0]
    assert fourth.answer == 2 - 2 * max(0, 2 + bias)
    w11, w21, v1, v2, *_ = collapsed.values
    assert collapsed.answer == v1 * w11 + v2 * w21
    low, high = least.values[:2]
    assert least.answer == ((high - low) / 2) ** 2
    assert fading.answer == 0.25 ** fading.values[0]
    assert XOR[3] == ((1, 1), 0)
