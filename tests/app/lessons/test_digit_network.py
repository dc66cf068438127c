"""The lesson's numbers are those of its run, of PyTorch and of the files shipped; its words hold for them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors import safe_open

from app.lessons.digit_network import DOUBTED, SLUG, prose
from app.lessons.digit_network_training import TRAINING, body
from app.lessons.digit_network_training import shown as trained
from app.page import source
from app.picture import picture
from app.schemas import TrainRequest
from app.shown import shown
from engine.data import mnist
from engine.experiments.digit_network import CURVES
from engine.models import catalogue
from engine.models.digit_network import WEIGHTS, start
from engine.training.training import prepare
from tests.app.lessons.contract import strays

PAGES = [
    "",
    "x=test:18&target[0]=3",
    "rows=3",
    "predict=1",
    "step=18&view=matrices",
    "loss=squared_error&activation=sigmoid",
    "a1=1&a2=2&a3=3&a4=4&a5=a&a6=b",
    "weights=untrained&epochs=1",
]


@pytest.fixture(scope="module")
def run():
    return shown(SLUG).trace


@pytest.fixture(scope="module")
def told(run):
    return prose(run, run)


def test_13_002_parameters_are_counted_by_layer(told):
    assert [row["sum"] for row in told["layers"]["rows"]] == [12_560, 272, 170]
    assert told["layers"]["total"] == 13_002
    assert [(row["inputs"], row["units"]) for row in told["layers"]["rows"]] == [(784, 16), (16, 16), (16, 10)]


def test_default_image_is_read_right_without_being_sure(told):
    outputs = told["run"]["outputs"]
    assert (told["run"]["place"], outputs["first"], outputs["second"]) == (DOUBTED, 8, 2)
    assert 0.5 < outputs["cells"][8]["value"] < 0.8
    assert int(mnist.images("test").labels[DOUBTED]) == told["run"]["target"] == 8


def test_weights_are_drawn_from_the_run(run, told):
    assert told["run"]["weights"][3] == picture(run["hidden1.weight"][3].numpy(), (28, 28))
    assert len(told["run"]["weights"]) == 16


def test_gradients_of_weights_are_in_proportion_to_what_comes_along_them(run, told):
    ways = told["run"]["raise"]
    sent = ways["arriving"]["value"]
    assert sent == pytest.approx(float(run["probability"][8]) - 1, abs=1e-6) and ways["bias"]["value"] == sent
    for row in ways["rows"]:
        assert row["weight_gradient"]["value"] == pytest.approx(sent * row["activation"]["value"], rel=1e-5)
        assert row["asks"] == pytest.approx(sent * row["weight"]["value"], rel=1e-5)
    active = [row["activation"]["value"] for row in ways["rows"]]
    assert active == sorted(active, reverse=True)
    assert ways["silent"] == int((run["hidden2.activation"] == 0).sum())


def test_ten_wishes_sum_to_the_gradient_that_a_unit_gets(told):
    asks = told["run"]["asks"]
    for row in asks["rows"]:
        assert sum(one["value"] for one in row["cells"]) == pytest.approx(row["gets"]["value"], abs=1e-6)
    assert abs(asks["chosen"]["gets"]["value"]) == max(abs(row["gets"]["value"]) for row in asks["rows"])
    loudest = max(range(10), key=lambda digit: abs(asks["chosen"]["cells"][digit]["value"]))
    assert asks["loudest"] == loudest


def test_shipped_network_reads_at_least_95_5_percent(told):
    best = told["shipped"][0]
    assert best["options"] == {"activation": "relu", "loss": "cross_entropy"}
    assert best["accuracy"] >= 95.5 and told["read"]["accuracy"] == best["accuracy"]
    assert told["read"]["wrong"] == pytest.approx(10_000 - 100 * best["accuracy"])
    with safe_open(WEIGHTS, "pt") as file:
        made = json.loads(file.metadata()["made"])
    assert (made["epochs"], made["seed"], made["recipe"]["optimiser"]) == (40, 0, "adam")


def test_images_read_wrong_are_shown_with_what_they_are_read_as(told):
    one = told["read"]["examples"][0]
    again = shown(SLUG, set={"x": f"test:{one['place']}"}).trace
    assert int(again["probability"].argmax()) == one["answer"] != one["digit"]
    assert float(again["probability"].max()) == pytest.approx(one["sure"] / 100, rel=1e-4)


def test_second_layer_can_hardly_be_told_from_noise_and_the_first_can(told):
    spectrum = told["spectrum"]
    assert spectrum["outside"] <= 4 and spectrum["first"]["outside"] > 10
    values = np.linalg.svd(catalogue()[SLUG].module().hidden2.weight.detach().numpy(), compute_uv=False)
    assert [row["value"] for row in spectrum["rows"]] == pytest.approx(values.tolist(), abs=1e-5)


def test_noise_is_read_with_confidence_after_training_only(told):
    assert all(one["noise"]["sure"] > 0.6 for one in told["shipped"]) and told["noise"]["untrained"] < 0.2
    assert told["shipped"][0]["noise"]["sure"] > 0.85 and told["noise"]["sure"] > 0.9
    assert [one["noise"]["digit"] for one in told["shipped"]][2:] == [5, 5]


def test_random_labels_are_learned_later_and_by_heart(told):
    labels = told["labels"]
    kept = json.loads(CURVES.read_text(encoding="utf-8"))
    assert kept["recipe"]["images"] == labels["images"] and kept["epochs"] == labels["epochs"]
    for row in labels["rows"]:
        assert row["random"] == pytest.approx(100 * kept["labels"]["random"]["accuracies"][row["epoch"]], rel=1e-6)
        assert row["epoch"] == 0 or row["random"] < row["real"]
    assert labels["end"]["random"] > 95 and labels["test"]["random"] < 15 < 80 < labels["test"]["real"]


def chosen(**changes):
    return {one.name: one.default for one in TRAINING.settings} | changes


@pytest.mark.parametrize(
    ("changes", "steps", "rate"),
    [({}, 1800, 0.3), ({"rule": "adam"}, 1800, 0.005), ({"batch": 64, "epochs": 2, "images": 1000}, 32, 0.3),
     ({"rate": 0.1, "batch": 1, "epochs": 1000}, 100_000, 0.1)],
)  # fmt: skip
def test_settings_ask_for_a_training_that_the_engine_takes(changes, steps, rate):
    asked = TrainRequest.model_validate(body(chosen(**changes)))
    assert (asked.steps, asked.recipe["learning_rate"]) == (steps, rate)


@pytest.mark.parametrize("hidden", ["16-16", "none", "128-64"])
def test_every_width_can_be_trained_and_looked_at(hidden):
    asked = body(chosen(hidden=hidden, images=100, epochs=1, bend="sigmoid", cost="squared_error", labels="random"))
    request = {"options": asked["options"], "seed": 1}
    training = prepare(SLUG, request, steps=asked["steps"], recipe=asked["recipe"])
    assert [progress.step for progress in training] == [0, 1]
    parameters = {name: value.numpy() for name, value in training.state()["parameters"].items()}
    found = trained({"request": request, "checkpoint": 1}, [], parameters)
    assert found["parameters"] == sum(value.size for value in parameters.values())
    assert len(found["weights"]) == min(32, found["units"]) and len(found["examples"]) == 12
    assert sum(cell["count"] for row in found["confusion"]["rows"] for cell in row["cells"]) == 10_000


def test_a_training_that_has_diverged_or_not_begun_shows_nothing():
    request = {"options": {"activation": "relu", "loss": "cross_entropy"}}
    parameters = {name: value.numpy() for name, value in start().items()}
    parameters["output.bias"] = np.full(10, np.nan, np.float32)
    assert trained({"request": request, "checkpoint": 1}, [], parameters) == {}
    assert trained({"request": request, "checkpoint": 0}, [], {}) == {}


@pytest.mark.parametrize("query", PAGES)
def test_every_number_of_the_page_is_in_its_json(client, query):
    assert strays(client, SLUG, query) == set()


def test_predict_first_tells_no_output(client):
    page = client.get(f"/lessons/{SLUG}?predict=1", headers={"accept": "text/html"}).text
    assert 'class="outputs"' not in page and source.page("lesson", SLUG, "predict=1", "").data["state"]["asking"]
