"""The lesson's numbers are its run's, its words hold for it, its links open what they say."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from app.lessons.one_block_one_step import LESSON, SLUG, prose
from app.shown import shown
from engine.experiments.one_block_one_step import losses
from tests.app.markup import parse

BASE = f"/lessons/{SLUG}"


def text(**changes: Any) -> dict[str, Any]:
    """The prose's numbers of a changed run."""
    return prose(shown(SLUG, **changes).trace, shown(SLUG).trace)


def test_the_page_s_run_takes_adamw_s_step():
    request = shown(SLUG, lr=0.02).trace.request["update"]
    assert (request["rule"], request["learning_rate"], request["betas"]) == ("adamw", 0.02, [0.9, 0.999])


def test_parameters_and_steps_are_counted():
    run = text()["run"]
    assert run["counts"]["total"] == sum(row["size"] for row in run["counts"]["rows"]) == 744
    assert sum(run["steps"].values()) == len(shown(SLUG).trace.steps)


def test_each_head_s_weights_add_up_to_one():
    rows = text()["run"]["pattern"]
    for head in range(2):
        assert sum(row["cells"][head]["value"] for row in rows) == pytest.approx(1, abs=1e-6)


def test_the_gradient_of_a_logit_is_probability_less_target_over_the_positions():
    run = text()["run"]
    assert sum(row["chance"] for row in run["guesses"]) == pytest.approx(1, abs=1e-6)
    assert [row["word"] for row in run["guesses"] if row["right"]] == [run["next"]]
    for row in run["guesses"]:
        assert row["gradient"] == pytest.approx((row["chance"] - row["right"]) / run["positions"], abs=1e-6)


def test_the_loss_starts_above_that_of_equal_chances_and_falls():
    run = text()["run"]
    assert run["loss"]["value"] > run["uniform"] == pytest.approx(math.log(8))
    assert run["update"]["loss"] < run["loss"]["value"]


@pytest.mark.parametrize("rate", [0.01, 0.05])
def test_every_cell_moves_by_the_rate_and_its_decay(rate):
    moves = text(lr=rate)["run"]["update"]["moves"]
    assert len(moves) == 3
    assert [abs(move["gradient"]) for move in moves] == sorted(abs(move["gradient"]) for move in moves)
    for move in moves:
        expected = -rate * math.copysign(1, move["gradient"]) - rate * 0.01 * move["before"]
        assert move["moved"] == pytest.approx(expected, abs=1e-5)


def test_a_word_that_is_not_read_only_decays():
    unread = text()["run"]["update"]["unread"]
    assert unread["word"] == "dog"
    assert len(unread["line"]["parts"]) > 1


def test_the_text_speaks_of_the_words_that_are_typed():
    run = text(set={"tokens[3]": "ran", "target[3]": "."})["run"]
    assert (run["word"], run["next"], run["words"]) == ("ran", ".", ["the", "cat", "sat", "ran"])


def test_forty_steps_are_measured(client):
    again = text()["again"]
    assert [row["AdamW"] for row in again["rows"]] == pytest.approx(list(losses("AdamW")[::5]))
    assert again["last"]["AdamW"] < 0.1 < again["last"]["SGD"]
    assert again["larger"]["last"] < again["last"]["SGD"]
    page = parse(client.get(BASE).text)
    assert "The loss after some of the steps" in [caption.text for caption in page.all("caption")]


def test_each_part_of_the_update_opens_as_matrices(client):
    trace = shown(SLUG).trace
    for part in ("first_moment", "second_moment", "denominator", "updated"):
        step = next(step.index for step in trace.steps if step.output == f"W_U.{part}")
        page = parse(client.get(f"{BASE}?step={step}&view=matrices&cell=W_U.{part}[0,0]").text)
        assert page.one("figure", cls="mat", **{"data-tensor": f"W_U.{part}"})


def test_only_the_last_part_of_the_update_is_said_to_move_a_parameter(client):
    def words(tensor: str) -> str:
        step = next(step.index for step in shown(SLUG).trace.steps if step.output == tensor)
        return client.get(f"{BASE}.json?step={step}").json()["step"]["words"]

    assert words("W_U.second_moment") == "prepares the update"
    assert words("W_U.updated") == "moves a parameter against its gradient"


@pytest.mark.parametrize("seed", range(12))
def test_one_choice_alone_has_no_gradient(seed):
    one = LESSON.exercises(seed)[3]
    assert [choice.key for choice in one.choices if not choice.reply] == [one.answer]


def test_adamw_s_answer_is_pytorch_s():
    one = LESSON.exercises(5)[2]
    weight, gradient, rate, decay, answer = one.values
    parameter = torch.nn.Parameter(torch.tensor([weight]))
    parameter.grad = torch.tensor([gradient])
    torch.optim.AdamW([parameter], lr=rate, weight_decay=decay).step()
    assert parameter.item() == pytest.approx(answer, abs=1e-6)


@pytest.mark.parametrize(
    "query", ["activation=relu", "rows=2", "predict=1&step=20", "step=140", "view=graph", "view=flow", "lr=0"]
)
def test_the_page_holds_in_every_state(query, client):
    assert client.get(f"{BASE}?{query}", headers={"accept": "text/html"}).status_code == 200
