"""The lesson's bytes and operations are its run's, its lab's those of the chosen batch, its exercises the engine's."""

from __future__ import annotations

import math
from typing import Any

import pytest

from app.lessons.training_loop import LESSON, SLUG, TOKENS, lab, prose
from app.lessons.training_loop_figures import memory_figure
from app.shown import shown
from engine.experiments.training_cost import moments, peak
from engine.experiments.training_loop import NETWORKS, losses, step
from tests.app.lessons.contract import strays
from tests.app.markup import parse

BASE = f"/lessons/{SLUG}"
HTML = {"accept": "text/html"}
PAGES = (
    "", "rows=4", "predict=1&step=3", "do:hidden.activation[0]=off", "activation=none", "step=8&view=matrices",
    "network=digit_network&batch=2&steps=3", "network=tiny_network&rate=5&steps=80&batch=1",
)  # fmt: skip


def text(**changes: Any) -> dict[str, Any]:
    return prose(shown(SLUG, **changes).trace, shown(SLUG).trace)


def values(**changed: Any) -> dict[str, Any]:
    return {**{one.name: one.default for one in LESSON.settings}, **changed}


def test_steps_of_each_phase_are_the_run_s():
    assert text()["run"]["phases"] == [
        {"name": "forward", "steps": 5}, {"name": "backward", "steps": 5}, {"name": "update", "steps": 4},
    ]  # fmt: skip


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_the_run_keeps_seven_numbers_an_example(rows):
    memory = text(rows=rows)["run"]["memory"]
    assert memory["peak"] == 28 * rows == sum(one["bytes"] for one in memory["tensors"])
    assert sum(one["numbers"] for one in memory["tensors"]) == 7 * rows
    assert {one["symbol"].lower() for one in memory["tensors"]} == {"x", "t", "h", "ŷ"}


def test_the_chart_stacks_what_lies_in_memory():
    trace = shown(SLUG, rows=2).trace
    figure = memory_figure(trace)
    stacked = [sum(heights) for heights in zip(*(bars["y"] for bars in figure["data"]), strict=True)]
    assert stacked == [moment.total for moment in moments(trace)]
    assert [one["text"] for one in figure["layout"]["annotations"]] == ["forward", "backward", "update"]
    assert [line["x0"] for line in figure["layout"]["shapes"]] == [5.5, 10.5]
    assert max(figure["layout"]["yaxis"]["tickvals"]) >= max(stacked)


def test_operations_add_up_and_meet_the_rule():
    cost = text(rows=3)["run"]["flops"]
    assert sum(row["forward"] for row in cost["rows"]) == cost["forward"]
    assert sum(row["backward"] for row in cost["rows"]) == cost["backward"]
    assert (cost["each"]["forward"], cost["each"]["backward"]) == (2, 4)


def test_the_words_about_the_three_networks_hold(facts):
    rule = facts["machinery"]["training_flops_per_parameter_per_token"]
    tiny, digits, block = text()["networks"]
    for row in (tiny, digits):
        assert (row["each"]["forward"], row["each"]["backward"]) == (rule["forward"], rule["backward"])
        assert row["each"]["needed"] < rule["backward"]
    assert digits["each"]["needed"] == pytest.approx(2, abs=0.1)  # about as much as forward
    assert block["each"]["forward"] > 2 and block["each"]["needed"] == block["each"]["backward"] > 4
    assert digits["rule"]["forward"] + digits["rule"]["backward"] == rule["total"] * 13002
    assert digits["forward"] == pytest.approx(digits["rule"]["forward"], rel=0.01)
    assert tiny["forward"] != pytest.approx(tiny["rule"]["forward"], rel=0.1)
    assert [row["memory"]["gradients"] for row in (tiny, digits, block)] == [4 * 13, 4 * 13002, 4 * 744]
    assert set(TOKENS) <= set(NETWORKS)


def test_the_lab_shows_the_chosen_batch():
    found = lab(values(network="digit_network", batch=3, steps=5, rate=0.5))
    trace = step("digit_network", 3)
    assert (found["peak"], found["one"]) == (peak(trace), peak(step("digit_network", 1)))
    assert found["loop"]["first"] == pytest.approx(losses("digit_network", 3, 5, 0.5)[0])
    assert found["loop"]["last"] < found["loop"]["first"]
    assert found["loop"]["flops"] == 5 * found["whole"]
    assert [row["step"] for row in found["loop"]["rows"]] == [0, 1, 2, 3, 4, 5]


def test_a_cut_is_offered_where_it_helps():
    block, tiny = lab(values())["cut"], lab(values(network="tiny_network"))["cut"]
    assert block["helps"] and block["share"] < 0.6 and 0 < block["more"] < 1 / 3
    assert not tiny["helps"]


def test_a_loss_beyond_all_bounds_is_said(client):
    found = lab(values(network="tiny_network", batch=1, steps=80, rate=5))["loop"]
    assert found["last"] is None and 0 < found["broken"] < 80
    assert all(math.isfinite(loss) for loss in found["figure"]["data"][0]["y"])
    page = client.get(f"{BASE}?network=tiny_network&batch=1&steps=80&rate=5", headers=HTML).text
    assert "beyond all bounds" in page


@pytest.mark.parametrize("query", ["batch=99", "steps=0", "network=none", "rate=-1"])
def test_what_cannot_be_run_is_said_and_the_page_stays_whole(client, query):
    answer = client.get(f"{BASE}?{query}", headers=HTML)
    assert answer.status_code == 422
    assert parse(answer.text).all("figure", cls="chart")


@pytest.mark.parametrize("query", PAGES)
def test_every_number_of_the_page_is_in_its_json(client, query):
    assert strays(client, SLUG, query) == set()


@pytest.mark.parametrize("seed", range(6))
def test_the_exercises_numbers_are_those_of_the_formulas(seed):
    kept, product, back, state, *_ = LESSON.exercises(seed)
    assert kept.answer == 28 * kept.values[0]
    examples, columns, rows, *_ = product.values
    assert product.answer == 2 * examples * columns * rows
    assert back.answer == 2 * back.values[1]
    assert state.answer == 16 * state.values[0]
