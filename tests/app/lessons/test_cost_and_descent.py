"""The walks of the page are the engine's, its numbers are in its JSON, its links go on, exercises are the engine's."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from app.lessons.cost_and_descent import LESSON, LINE_STEPS, NAMED_RATES, SLUG, lab, prose
from app.lessons.cost_and_descent_figures import B_RANGE, W_RANGE
from app.shown import shown
from engine.experiments.cost_and_descent import LONGEST, least, loss_slice, walk
from tests.app.lessons.contract import strays
from tests.app.markup import parse

START = (2.0, 5.0)
BASE = f"/lessons/{SLUG}"
HTML = {"accept": "text/html"}
PAGES = (
    "", "rows=8&step=6", "taken=0", "taken=200&batch=8", "rate=2&taken=60", "rule=adam&w=4&b=-5&order=9", "slice=3",
    "predict=1&step=2", "rule=momentum&batch=4&rows=2", "line.weight[0,0]=1.5&view=matrices", "rate=0",
)  # fmt: skip


def text(**changes: Any) -> dict[str, Any]:
    return prose(shown(SLUG, **changes).trace, shown(SLUG).trace)


def chosen(**changes: Any) -> dict[str, Any]:
    return {setting.name: setting.default for setting in LESSON.beside} | changes


def test_the_lab_shows_so_many_steps_of_the_engine_s_walks():
    found = lab(chosen(taken=7, w=2, b=-3, batch="2", order=5))
    careful, drunk = walk("sgd", 0.1, (2.0, -3.0)), walk("sgd", 0.1, (2.0, -3.0), 2, 5)
    for row, one in zip(found["walks"], (careful, drunk), strict=True):
        assert (row["steps"], row["cost"]) == (7, 7 * one.batch)
        assert (row["w"], row["b"]) == pytest.approx(one.places[7]) and row["loss"] == pytest.approx(one.losses[7])
        assert row["near"] == one.arrival
    ways = [line for line in found["contour"]["data"] if line["mode"] == "lines+markers"]
    assert [len(way["x"]) for way in ways] == [8, 8]
    assert [row["step"] for row in found["rows"]] == list(range(8))


def test_with_all_points_a_step_there_is_one_walker():
    assert [row["name"] for row in lab(chosen(batch="8"))["walks"]] == ["all 8 a step"]


def test_the_first_and_the_last_step_end_the_way():
    start, end = lab(chosen(taken=0)), lab(chosen(taken=LONGEST))
    assert start["walks"][0]["cost"] == 0 and start["walks"][0]["loss"] == pytest.approx(text()["all"]["loss"])
    assert end["on"][1] == LONGEST and len(end["rows"]) <= 13 and end["rows"][-1]["step"] == LONGEST


def test_a_walk_that_diverges_says_so_and_stays_finite():
    row = lab(chosen(rate=3, batch="8", taken=100))["walks"][0]
    assert row["diverged"] and row["near"] is None and row["steps"] < 100
    assert lab(chosen(rate=3, batch="8", taken=1))["walks"][0]["diverged"] is None


def test_on_the_curve_one_creeps_one_arrives_and_one_leaves():
    small, right, large = text()["one"]["rows"]
    start = walk("sgd", 0.1, (-1.0, -1.0)).losses[0]
    assert right["loss"] == pytest.approx(least()[2], rel=1e-5)
    assert right["loss"] < small["loss"] < start < large["loss"]
    assert (abs(right["factor"]) < abs(small["factor"]) < 1 < -large["factor"]) and LINE_STEPS == 8


def test_momentum_overshoots_and_adam_starts_straight_as_the_text_says():
    plain, momentum, adam = (walk(rule, 0.1, START) for rule in ("sgd", "momentum", "adam"))
    rises = [any(after > before for before, after in pairwise(one.losses[:40])) for one in (plain, momentum)]
    assert rises == [False, True] and min(place[1] for place in momentum.places) < least()[1]
    for (w0, b0), (w1, b1) in zip(adam.places[:8], adam.places[1:9], strict=True):
        assert (w1 - w0) == pytest.approx(b1 - b0, rel=0.05)


def test_named_rates_are_too_slow_fair_hopping_and_out():
    slow, fair, hopping, out = (walk("sgd", rate, START) for rate in NAMED_RATES)
    assert slow.arrival is None and fair.arrival is not None and out.losses[-1] > 1e4
    sides = [place[0] > 0 for place in hopping.places[:10]]
    assert sides == [not sides[0] if at % 2 else sides[0] for at in range(10)]


def test_the_slice_says_how_far_the_descent_left_it():
    found, cut = lab(chosen(slice=1))["slice"], loss_slice(1)
    assert (found["to"], found["outside"]) == (pytest.approx(cut.path[-1]), cut.outside)
    assert found["here"] == pytest.approx(cut.losses[10][10]) and found["points"] == 441


def test_without_scripts_links_go_on_back_and_to_the_start(client):
    page = parse(client.get(f"{BASE}?taken=5&w=3", headers=HTML).text)
    links = {link.text: link["href"] for link in page.all("a", cls="button") if link.get("href")}
    assert "taken=6" in links["One step"] and "taken=15" in links["Ten steps"] and "taken=4" in links["Step back"]
    assert "taken=0" in links["To the start"] and all("w=3" in links[name] for name in ("One step", "To the start"))
    assert "w=3" not in links["Reset"] and "taken" not in links["Reset"]
    last = parse(client.get(f"{BASE}?taken={LONGEST}", headers=HTML).text)
    assert not [link for link in last.all("a", cls="button") if link.text == "One step"]


def test_a_start_outside_the_picture_is_refused(client):
    assert client.get(f"{BASE}?w={W_RANGE[1] + 1:g}", headers=HTML).status_code == 422
    assert client.get(f"{BASE}?b={B_RANGE[0]:g}", headers=HTML).status_code == 200


def test_the_careful_walker_s_next_step_is_shown_on_the_stage(client):
    page = parse(client.get(f"{BASE}?taken=3", headers=HTML).text)
    (link,) = [one["href"] for one in page.all("a", cls="show") if one.text == "The careful one's next step, by hand"]
    data = client.get(link.replace(f"{BASE}?", f"{BASE}.json?")).json()
    after = data["trace"]["tensors"]["line.weight.updated"]["data"][0][0]
    assert after == pytest.approx(walk("sgd", 0.1, START).places[4][0], rel=1e-6)


@pytest.mark.parametrize("query", PAGES)
def test_every_number_of_the_page_is_in_its_json(client, query):
    assert strays(client, SLUG, query) == set()


@pytest.mark.parametrize("seed", range(4))
def test_exercises_by_hand(seed):
    step, left, cost, momentum, _, _ = LESSON.exercises(seed)
    x, y, w, rate, *_ = step.values
    assert step.answer == pytest.approx(w - rate * (w * x - y) * x)
    rate, along, _, before, after, *_ = left.values
    assert left.answer == pytest.approx(1 - rate * along) == pytest.approx(after / before, rel=1e-4)
    points, epochs, batch, *_ = cost.values
    assert cost.answer * batch == points * epochs
    assert momentum.answer == pytest.approx(momentum.values[0] * 2.71)
