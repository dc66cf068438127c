"""The lesson's numbers are those of the worked values, its words hold for its runs, its links show what it says."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from app.exercise import check, exercises
from app.lessons import accountable_network
from app.lessons.accountable_network import LESSON, RATES, SLUG, prose
from app.page import source
from app.shown import numbers, shown
from engine.models import catalogue

MODEL = catalogue()["tiny_network"]
BASE = f"/lessons/{SLUG}"


def text(**changes: Any) -> dict[str, Any]:
    """The prose's numbers of a changed run."""
    return prose(shown(SLUG, **changes).trace, shown(SLUG).trace)


def page(link: str) -> source.Page:
    """The page that a link of the lesson opens; its address is read without an error."""
    path, _, query = link.partition("?")
    assert path == BASE
    found = source.page("lesson", SLUG, query, "http://localhost")
    assert found is not None
    assert found.data["errors"] == []
    return found


def links(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        part = list(part.values())
    if isinstance(part, list | tuple):
        for inner in part:
            yield from links(inner)
    elif isinstance(part, str) and part.startswith("/"):
        yield part


def test_prose_of_the_default_run_shows_the_worked_values(facts: dict[str, Any]) -> None:
    worked = facts["tiny_network"]
    run = text()["run"]
    first = worked["forward"][0]
    assert [cell["value"] for cell in run["x"]] == first["x"]
    assert [unit["sum"]["value"] for unit in run["units"]] == first["z"]
    assert [unit["sends"]["value"] for unit in run["units"]] == first["h"]
    assert run["prediction"]["value"] == first["prediction"]
    assert run["loss"]["value"] == worked["loss"]["value"]
    assert run["arriving"]["value"] == worked["gradients"]["prediction"]
    assert run["update"]["value"] == worked["update_v1_only"]["v1"]
    assert text()["counts"]["total"] == worked["parameter_count"] == 13


def test_second_sum_is_written_out_term_by_term() -> None:
    line = text()["run"]["units"][1]["sum"]
    assert numbers(line["parts"]) == [0.5, 2, 1, -1, 1]
    assert (line["label"], line["cell"], line["value"]) == ("z₂", "hidden.preactivation[1]", 1)


def test_units_are_named_by_what_they_do() -> None:
    assert (text()["run"]["on"], text()["run"]["silent"], text()["run"]["held"]) == ("unit 1 and unit 2", "unit 3", "")
    held = text(do={"hidden.activation[1]": "off"})["run"]
    assert (held["on"], held["silent"], held["held"]) == ("unit 1", "unit 3", "unit 2")
    bare = text(options={"activation": "none"})["run"]
    assert (bare["on"], bare["silent"], bare["rectified"]) == ("", "", False)
    loud = text(set={"hidden.bias[2]": 9})["run"]
    assert loud["on"] == "unit 1, unit 2 and unit 3"


def test_gradient_of_x1_is_the_sum_of_its_three_paths() -> None:
    paths = text()["run"]["paths"]
    assert paths["label"] == "∂L/∂x₁"
    assert [path["value"] for path in paths["paths"]] == [3, -0.75, 0]
    assert paths["total"] == 2.25
    assert [hop["label"] for hop in paths["paths"][1]["hops"]] == ["z₂", "h₂", "ŷ", "s", "L"]


def test_changed_values_carry_the_baseline() -> None:
    run = text(set={"hidden.bias[1]": 2})["run"]
    assert (run["units"][1]["sum"]["value"], run["units"][1]["sum"]["before"]) == (2, 1)
    assert run["units"][0]["sum"]["before"] is None
    assert (run["prediction"]["value"], run["prediction"]["before"]) == (4.5, 5.5)


def test_learning_rates_are_the_worked_ones(facts: dict[str, Any]) -> None:
    rates = text()["rates"]
    worked = facts["tiny_network"]["update_all_13_by_learning_rate"]
    assert [row["rate"] for row in rates["rows"]] == list(RATES) == [row["learning_rate"] for row in worked]
    assert [row["every"] for row in rates["rows"]] == pytest.approx([row["loss"] for row in worked], rel=1e-5)
    assert rates["every"]["loss"] == pytest.approx(facts["tiny_network"]["update_all_13"]["loss"], rel=1e-6)
    assert rates["every"]["prediction"] == pytest.approx(0.025, rel=1e-5)
    assert rates["alone"]["loss"] == pytest.approx(facts["tiny_network"]["update_v1_only"]["loss"], rel=1e-4)
    assert (rates["every"]["updatable"], rates["alone"]["updatable"], rates["moved_of_frozen"]) == (13, 1, 4)


def test_words_about_named_runs_hold() -> None:
    """The prose says: rises, falls, past the target, lands best, holding the answer down, to the last digit."""
    found = text()
    base, rates, off, v3 = (found[name] for name in ("base", "rates", "off", "v3"))
    assert rates["alone"]["loss"] < base["loss"] < rates["every"]["loss"]
    assert rates["every"]["prediction"] < base["target"] < base["prediction"]
    assert [row["rises"] for row in rates["rows"]] == [True, False, False, False]
    assert (rates["best"]["rate"], rates["best_alone"]["rate"]) == (0.02, 0.1)
    assert off["after"] > off["before"]
    assert off["share"] == off["sends"] * off["weight"] == off["before"] - off["after"] == -1
    assert (off["gradient_before"], off["gradient_after"]) == (-1.5, 0)
    assert (v3["here"]["before"], v3["here"]["after"], v3["here"]["sends"], v3["here"]["gradient"]) == (5.5, 5.5, 0, 0)
    assert (v3["there"]["before"], v3["there"]["after"], v3["there"]["sends"]) == (1, 251, 2.5)
    assert (v3["old"], v3["new"]) == (1, 101)


def test_collapse_is_derived_from_the_parameters_of_the_run() -> None:
    one = text()["one"]
    assert [line["value"] for line in one["weights"]] == [0.5, -1]
    assert one["bias"]["value"] == 0
    assert one["prediction"]["value"] == shown(SLUG, options={"activation": "none"}).prediction == 2
    assert numbers(one["weights"][0]["parts"]) == [2, 1, -1, 0.5, 1, -1]
    edited = text(set={"readout.weight[0,1]": 3, "hidden.bias[0]": -2}, options={"activation": "none"})
    assert edited["one"]["prediction"]["value"] == edited["run"]["prediction"]["value"]
    assert [line["value"] for line in edited["one"]["weights"]] == [2.5, 3]


def test_examples_stand_in_rows(facts: dict[str, Any]) -> None:
    rows = text()["rows"]
    batch = facts["tiny_network"]["batch"]
    assert [[cell["value"] for cell in row["x"]] for row in rows["examples"]] == batch["X"]
    assert [[cell["value"] for cell in row["hidden.preactivation"]] for row in rows["examples"]] == batch["Z"]
    assert [row["prediction"][0]["value"] for row in rows["examples"]] == batch["prediction"]
    assert rows["loss"] == pytest.approx((1.5**2 + 1 + 1) / 3 / 2, rel=1e-6)
    assert rows["gradient"]["value"] == pytest.approx(-4 / 3, rel=1e-6)


def test_prose_of_several_examples_speaks_of_the_first() -> None:
    run = text(rows=3)["run"]
    assert run["rows"] == 3
    assert [unit["sum"]["value"] for unit in run["units"]] == [3, 1, -3.5]
    assert run["paths"]["total"] == pytest.approx(2.25 / 3, rel=1e-6)


@pytest.mark.parametrize("link", sorted(set(links(text()))))
def test_every_link_of_the_text_is_read_without_an_error_and_is_canonical(link: str) -> None:
    found = page(link)
    assert found.status == 200
    assert found.state.address == link


@pytest.mark.parametrize(
    ("link", "prediction"),
    [
        (text()["off"]["link"], 6.5),
        (text()["v3"]["here"]["link"], 5.5),
        (text()["v3"]["there"]["link"], 251),
        (text()["rates"]["every"]["link"], 5.5),
        (text()["rows"]["link"], [5.5, 1, 1]),
        (text()["rows"]["sum"], [5.5, 1, 1]),
    ],
)
def test_links_show_the_runs_that_the_text_names(link: str, prediction: Any) -> None:
    assert page(link).data["trace"]["result"]["prediction"] == prediction


def test_links_of_the_update_open_its_steps() -> None:
    found = text()
    assert page(found["rates"]["every"]["link"]).data["step"]["phase"] == "update"
    for row in found["rates"]["rows"]:
        for which in ("every", "alone"):
            opened = page(row["links"][which]).data
            assert opened["step"]["phase"] == "update"
            after = next(card for card in opened["results"]["cards"] if card["key"] == "after_update")
            assert after["cells"][0]["value"] == row[which]


def test_the_text_points_into_the_run_that_is_shown() -> None:
    run = text(set={"hidden.bias[2]": 9, "hidden.bias[0]": -9}, do={"hidden.activation[1]": "off"})["run"]
    trace = shown(SLUG, set={"hidden.bias[2]": 9, "hidden.bias[0]": -9}, do={"hidden.activation[1]": "off"}).trace
    made = {name: trace.steps[view["step"]] for name, view in run["views"].items()}
    assert [made[name].output for name in ("sum", "sends", "readout", "loss")] == [
        "hidden.preactivation", "hidden.activation", "prediction", "loss",
    ]  # fmt: skip
    assert "x.grad" in {sent.to for sent in made["paths"].sends}
    assert run["views"]["silent"]["cell"] == "hidden.activation[0]"
    assert (run["views"]["closed"]["cell"], run["views"]["closed"]["of"]) == ("hidden.preactivation[0]", "gradient")


def test_where_no_unit_is_silent_the_text_points_to_none() -> None:
    views = text(set={"hidden.bias[2]": 9})["run"]["views"]
    assert (views["silent"], views["closed"]) == (None, None)


def test_gradient_of_a_weight_opens_as_its_sum_over_the_rows() -> None:
    found = page(text()["rows"]["sum"]).data
    longhand = found["longhand"]
    assert (longhand["cell"], longhand["gradient"]["label"]) == ("hidden.weight[1,0]", "∂L/∂W₂₁")
    assert longhand["gradient"]["total"]["value"] == pytest.approx(-4 / 3, rel=1e-6)
    assert len(longhand["gradient"]["blocks"][0]["expression"]["terms"]) == 3
    assert found["step"]["phase"] == "backward"


def plain(x: tuple[float, float], v3: float = 1, off: int | None = None) -> tuple[float, list[float]]:
    """The network by hand, in plain Python: prediction and which units are on."""
    weights, biases, readout = [(1, -1), (0.5, 1), (-1, 2)], (0, 1, 0.5), (2, -1, v3)
    sums = [a * x[0] + b * x[1] + c for (a, b), c in zip(weights, biases, strict=True)]
    sends = [max(0, z) if unit != off else 0 for unit, z in enumerate(sums)]
    return sum(v * h for v, h in zip(readout, sends, strict=True)) + 0.5, sums


SEEDS = (0, 1, 2**31 - 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_agree_with_the_network_worked_by_hand(seed: int) -> None:
    first, second, third, fourth, _, _ = exercises(SLUG, seed)
    assert first.answer == plain(first.values[:2])[0]
    unit = int(second.prompt.split("hidden unit ")[1][0]) - 1
    assert second.answer == plain(second.values[:2], off=unit)[0]
    assert third.answer == plain(third.values[2:4], v3=third.values[0])[0]
    x, target = fourth.values[:2], fourth.values[2]
    column = "₁₂".index(fourth.prompt.split("∂L/∂x")[1][0])
    moved = [
        tuple(number + (step if place == column else 0) for place, number in enumerate(x)) for step in (1e-6, -1e-6)
    ]
    losses = [(plain(point)[0] - target) ** 2 / 2 for point in moved]
    assert fourth.answer == pytest.approx((losses[0] - losses[1]) / 2e-6, rel=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_questions_link_to_the_run_that_answers_them(seed: int) -> None:
    for one in exercises(SLUG, seed)[:3]:
        assert page(one.link).data["trace"]["result"]["prediction"] == one.answer
    gradient = exercises(SLUG, seed)[3]
    shown_page = page(gradient.link)
    column = int(gradient.link.split("cell=x[")[1][0])
    assert shown_page.data["trace"]["tensors"]["x.grad"]["data"][column] == gradient.answer
    assert all(page(one.link).status == 200 for one in exercises(SLUG, seed)[4:])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_wrong_number_gets_a_hint_that_keeps_the_answer_back(seed: int) -> None:
    for one in exercises(SLUG, seed)[:4]:
        verdict = check(SLUG, one.n, "123456", seed)
        assert (verdict.status, verdict.message) == ("wrong", "Not 123456.")
        assert verdict.hint == one.hint
        assert f" {one.answer:g}" not in verdict.hint
        for value, words in one.slips:
            assert check(SLUG, one.n, str(value), seed).hint == words


@pytest.mark.parametrize("seed", SEEDS)
def test_slips_are_told_apart_from_the_answer_and_each_other(seed: int) -> None:
    for one in exercises(SLUG, seed)[:4]:
        values = [one.answer, *(value for value, _ in one.slips)]
        assert all(abs(a - b) > 2 * one.tolerance for a, b in itertools.combinations(values, 2))


@pytest.mark.parametrize("seed", SEEDS)
def test_right_answers_are_right_and_say_why(seed: int) -> None:
    for one in exercises(SLUG, seed):
        given = "It speaks of this input only." if one.kind == "thought" else str(one.answer)
        verdict = check(SLUG, one.n, given, seed)
        assert verdict.status == ("open" if one.kind == "thought" else "right")
        assert verdict.explanation
        assert verdict.link.startswith(BASE)


def test_loss_rises_because_all_moves_together_overshoot() -> None:
    question = exercises(SLUG, 0)[4]
    right = next(choice for choice in question.choices if choice.key == question.answer)
    assert right.reply == "All the moves together carry the prediction from 5.5 past the target 4 to 0.025."
    assert sorted(choice.key for choice in question.choices) == ["a", "b", "c", "d"]
    wrong = next(choice.key for choice in question.choices if choice.text.startswith("The gradient points"))
    assert check(SLUG, 5, wrong, 0).message == (
        "Not quite. With the same gradient and a rate of 0.01 the loss falls to 0.3976: the direction is right."
    )


def test_same_seed_same_questions_and_another_seed_others() -> None:
    accountable_network.accountable_network_check.exercises.cache_clear()
    before = [one.data() for one in exercises(SLUG, 5)]
    accountable_network.accountable_network_check.exercises.cache_clear()
    assert [one.data() for one in exercises(SLUG, 5)] == before
    prompts = {exercises(SLUG, seed)[0].prompt for seed in range(4)}
    assert len(prompts) > 2


def test_lesson_takes_its_place_in_the_course() -> None:
    assert (LESSON.order, LESSON.part, LESSON.model, LESSON.plane) == (1, "Foundations", "tiny_network", True)
