"""What the lesson says of a table, its exercises, what its panel shows, and the script that trains the same weights."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.exercise import check
from app.lessons.own_data import LESSON, SLUG, lab, prose
from app.lessons.own_data_script import Phase, script
from app.lessons.own_data_training import TRAINING, body, on_stage, shown
from app.schemas import TrainRequest
from app.shown import shown as run_of
from engine.data import tables
from engine.errors import InputError
from engine.training.checkpoint import tensor_file
from engine.training.tables import TableRecipe, TableTraining
from engine.training.training import prepare
from tests.app.markup import data_numbers, exact_values, parse
from tests.engine.training.test_tables import MIXED

CHOSEN: dict[str, Any] = {one.name: one.default for one in LESSON.beside}
LINE = b"x,y\n" + b"".join(b"%d,%d.5\n" % (at, 2 * at) for at in range(12))
THREE = b"a,b,kind\n" + b"".join(b"%d.5,%d.25,%s\n" % (at % 7, at % 5, b"uvw"[at % 3 :][:1]) for at in range(30))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


def trained(**values: Any) -> tuple[TableTraining, dict[str, Any], dict[str, Any]]:
    """A training by the panel's settings, its record as show gets it, and what the panel shows."""
    asked = body(CHOSEN | values)
    steps, recipe = asked.pop("steps"), asked.pop("recipe")
    run = prepare(LESSON.model, asked, steps=steps, recipe=recipe)
    assert isinstance(run, TableTraining)
    list(run)
    record = {
        "id": "0" * 32, "request": asked, "recipe": recipe, "checkpoint": steps, "links": {"parameters": "p"},
    }  # fmt: skip
    return run, record, shown(record, [], {name: one.numpy() for name, one in run.state()["parameters"].items()})


def test_the_table_on_the_page_is_the_shipped_one_made_ready():
    told = lab(CHOSEN)
    assert (told["rows"], told["training"], told["validation"]) == (200, 150, 50)
    assert (told["task"], told["target"], told["classes"]) == ("class", "moon", ["lower", "upper"])
    assert (told["sizes"], told["parameters"], told["plane"]) == ([2, 8, 2], 42, True)
    for one in told["features"]:
        assert one["ready"] == pytest.approx((one["raw"] - one["mean"]) / one["deviation"], rel=1e-6)


def test_a_table_that_is_not_kept_is_said_to_be_missing():
    assert lab(CHOSEN | {"data": 5}) == {"number": 5, "missing": True}


def test_a_target_that_does_not_fit_is_said_and_the_table_still_shown():
    told = lab(CHOSEN | {"task": "number"})
    assert told["error"] == "task must be class where the target is words; got number for column moon"
    assert told["rows"] == 200
    assert lab(CHOSEN | {"column": 4})["error"] == "target must be a column from 1 to 3; got 4"


def test_words_become_an_input_each(data):
    told = lab(CHOSEN | {"data": tables.keep(MIXED, data)})
    assert [one["name"] for one in told["features"]] == [
        "size", "colour = blue", "colour = green", "colour = red", "kind",
    ]  # fmt: skip
    assert told["task"] == "number" and told["parameters"] == 5 * 8 + 8 + 8 + 1


def test_the_stage_runs_the_row_that_the_network_gets_most_wrong():
    told = prose(run_of(SLUG).trace, run_of(SLUG).trace)
    table = tables.find(0)
    row = told["row"] - 1
    for place, cell in enumerate(told["run"]["x"]):
        one = lab(CHOSEN)["features"][place]
        ready = (table.columns[place].values[row] - one["mean"]) / one["deviation"]
        assert cell["value"] == pytest.approx(ready, rel=1e-5)
    assert LESSON.request["target"] == table.columns[2].values[row]
    assert told["run"]["loss"] == pytest.approx(run_of(SLUG).loss) and told["run"]["loss"] > math.log(2)
    assert sum(cell["value"] for cell in told["run"]["said"]) == pytest.approx(1)


def test_few_rows_are_learned_by_heart():
    fits = prose(run_of(SLUG).trace, run_of(SLUG).trace)["fits"]
    assert (fits["many"]["rows"], fits["few"]["rows"], fits["parameters"]) == (150, 20, 1218)
    assert fits["few"]["training"] < fits["many"]["training"] / 10
    assert fits["few"]["validation"] > 3 * fits["few"]["best"] > 3 * fits["many"]["validation"]


def test_the_panel_asks_for_what_the_interface_takes():
    asked = TrainRequest.model_validate(body(CHOSEN))
    assert asked.steps == 100 * math.ceil(150 / 16)
    assert asked.recipe["hidden"] == "8" and asked.recipe["table"] == 0


def test_too_many_steps_and_an_unknown_table_are_refused():
    with pytest.raises(InputError, match="passes must be at most 666 where a pass takes 150 steps; got 1000"):
        body(CHOSEN | {"passes": 1000, "batch": 1})
    with pytest.raises(InputError, match="data must be the number of a table that is kept here; got 5"):
        body(CHOSEN | {"data": 5})


def test_the_panel_shows_classes_the_plane_and_the_worst_rows():
    run, record, told = trained(passes=20)
    assert told["right"] == round(50 * run._measured["validation_accuracy"])
    assert sum(sum(row["counts"]) for row in told["table"]) == told["rows"] == 50
    assert [one["name"] for one in told["figures"]] == ["plane"]
    kinds = [trace["type"] for trace in told["figures"][0]["figure"]["data"]]
    assert kinds == ["heatmap", "contour", "scatter", "scatter", "scatter", "scatter"]
    assert sum(len(trace["x"]) for trace in told["figures"][0]["figure"]["data"][2:]) == 200
    assert told["worst"][0]["loss"] >= told["worst"][1]["loss"]
    assert told["worst"][0]["link"].endswith(f"/row?row={told['worst'][0]['row']}")
    assert on_stage(record)


def test_the_panel_shows_a_number_s_misses_beside_those_of_the_mean(data):
    run, record, told = trained(data=tables.keep(MIXED, data), passes=30)
    assert told["task"] == "number" and told["error"] == pytest.approx(run._measured["validation_error"], rel=1e-5)
    assert told["error"] < told["guess"]
    assert [one["name"] for one in told["figures"]] == ["misses"]
    assert not on_stage(record)


def test_one_input_is_drawn_as_a_line_and_three_classes_as_a_plane(data):
    _, _, told = trained(data=tables.keep(LINE, data), passes=2)
    assert [one["name"] for one in told["figures"]] == ["line", "misses"]
    _, _, told = trained(data=tables.keep(THREE, data), passes=2)
    ground = told["figures"][0]["figure"]["data"][0]
    assert ground["zmin"] == -0.5 and ground["zmax"] == 2.5
    assert {cell for row in ground["z"] for cell in row} <= {0, 1, 2}
    _, _, told = trained(data=tables.keep(THREE, data), column=1, task="number", passes=1)
    assert [one["name"] for one in told["figures"]] == ["misses"]


def test_a_plane_of_numbers_is_coloured_around_the_mean(data):
    plane = tables.keep(b"a,b,c\n" + b"".join(b"%d.5,%d,%d.25\n" % (at % 7, at % 5, at % 3) for at in range(30)), data)
    _, _, told = trained(data=plane, passes=2)
    ground = told["figures"][0]["figure"]["data"][0]
    assert [one["name"] for one in told["figures"]] == ["plane", "misses"]
    mean = lab(CHOSEN | {"data": plane})["aim"]["mean"]
    assert (ground["zmin"] + ground["zmax"]) / 2 == pytest.approx(mean)


def test_what_has_diverged_or_lost_its_table_is_not_drawn():
    _, record, _ = trained(passes=1)
    start = TableTraining(TableRecipe(), "tanh", steps=1).state()["parameters"]
    parameters = {name: one.numpy() for name, one in start.items()}
    assert shown(record, [], {}) == {}
    assert shown(record, [], parameters | {"output.bias": parameters["output.bias"] * float("nan")}) == {}
    assert shown(record | {"recipe": {"table": 5}}, [], parameters) == {"gone": True}


def reproduced(tmp_path: Path, text: str, number: int, parameters: dict[str, Any]) -> str:
    """What the script prints, run by itself on the table and the parameters."""
    (tmp_path / "reproduce.py").write_text(text, encoding="utf-8")
    (tmp_path / "table.csv").write_bytes(tables.content_of(number))
    (tmp_path / "p.safetensors").write_bytes(tensor_file(parameters))
    command = [sys.executable, "reproduce.py", "table.csv", "p.safetensors"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout + done.stderr


def test_the_script_comes_to_the_same_parameters_to_the_bit(tmp_path, data):
    number = tables.keep(MIXED, data)
    run, _, _ = trained(data=number, passes=4, rate=0.05, rule="momentum", layers="8-8", start=3)
    made = script([Phase(run.steps, run.recipe)], run.data, tables.find(number), "tanh", 3)
    assert "longhand" not in made.lower() and "engine" not in made
    said = reproduced(tmp_path, made, number, run.state()["parameters"])
    assert said.endswith("equal to the bit\n") and "not equal" not in said, said
    assert f"validation loss {run._measured['validation_loss']:.6g}" in said


def test_the_script_of_a_branch_takes_its_ancestors_steps_first(tmp_path):
    first, then = TableRecipe(), TableRecipe(optimiser="sgd", learning_rate=0.2, batch_size=7)
    before = TableTraining(first, "relu", steps=13)
    list(before)
    after = TableTraining(then, "relu", steps=30)
    after.resume(before.state())
    list(after)
    made = script([Phase(13, first), Phase(30, then)], after.data, tables.find(0), "relu", 0)
    said = reproduced(tmp_path, made, 0, after.state()["parameters"])
    assert said.endswith("equal to the bit\n") and "not equal" not in said, said


@pytest.mark.parametrize("seed", range(6))
def test_the_right_answers_are_right_and_slips_are_told(seed):
    for one in LESSON.exercises(seed):
        if one.kind == "thought":
            assert check(SLUG, one.n, "something", seed).status == "open"
            continue
        assert check(SLUG, one.n, str(one.answer), seed).status == "right"
        for slip, words in one.slips:
            verdict = check(SLUG, one.n, repr(slip), seed)
            assert verdict.status == "wrong" and words in (verdict.message, verdict.hint)


@pytest.mark.parametrize("query", ["", "column=1", "task=number", "data=5", "rows=3", "predict=1", "a1=2&a4=a"])
def test_a_page_shows_the_numbers_of_its_data(client, query):
    page = client.get(f"/lessons/{SLUG}?{query}", headers={"accept": "text/html"})
    assert page.status_code == 200
    values, _ = data_numbers(client.get(f"/lessons/{SLUG}.json?{query}").json())
    told = exact_values(parse(page.text).one("main"))
    assert len(told) > 15 and told - values - {-value for value in values} == set()


def test_every_setting_of_the_panel_has_a_name_of_its_own():
    assert len({one.name for one in LESSON.beside}) == len(LESSON.beside)
    assert {one.name for one in TRAINING.settings} <= {one.name for one in LESSON.beside}
