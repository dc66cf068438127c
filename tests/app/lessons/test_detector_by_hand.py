"""The lesson's numbers are those of its runs and of PyTorch on the same images; its words hold for them."""

from __future__ import annotations

import pytest
import torch

from app import whole
from app.lessons.detector_by_hand import SLUG, prose
from app.page import source
from app.shown import shown
from engine.data import mnist
from engine.models.detector_by_hand import BIAS, painted
from tests.app.lessons.contract import strays

PAGES = ["", "x=test:1&target[0]=0", "rows=3", "predict=1", "step=3&view=matrices", "a1=1&a2=2&a3=a&a4=b"]


def text(**changes):
    return prose(shown(SLUG, **changes).trace, shown(SLUG).trace)


def test_default_weights_are_1_on_a_bar_and_a_half_against_it_around():
    weight = painted().reshape(28, 28)
    assert weight[7:10, 8:20].unique().tolist() == [1] and int((weight == 1).sum()) == 36
    assert int((weight == -0.5).sum()) == 7 * 16 - 36 and weight[5:12, 6:22].count_nonzero() == weight.count_nonzero()
    assert text()["run"]["counts"] == {"positive": 36, "negative": 76, "total": -2}


def test_images_that_light_the_unit_are_counted_by_pytorch_too():
    images = mnist.images("test").first(1000)
    lit = images.pixels.float() / 255 @ painted() + BIAS > 0
    many = text()["many"]
    assert many["lit"] == int(lit.sum()) == 209
    assert [row["lit"] for row in many["digits"]] == [
        int((lit & (images.labels == digit)).sum()) for digit in range(10)
    ]
    assert sum(row["of"] for row in many["digits"]) == many["images"] == 1000


def test_strongest_light_it_and_the_misses_are_just_below_the_threshold():
    many = text()["many"]
    assert min(one["sum"] for one in many["strongest"]) > -BIAS > max(one["sum"] for one in many["missed"])
    run = shown(SLUG, set={"x": f"test:{many['missed'][0]['place']}"})
    assert run.value("preactivation", (0,)) - BIAS == pytest.approx(many["missed"][0]["sum"], abs=1e-4)


def test_a_higher_threshold_lights_fewer():
    rows = text()["biases"]
    assert [row["lit"] for row in rows] == sorted((row["lit"] for row in rows), reverse=True)
    assert next(row for row in rows if row["bias"] == BIAS)["lit"] == 209


def test_the_surround_makes_the_bar_an_edge():
    told = text()
    bar, bare, upright = told["paintings"]
    assert (bar["most"], bare["most"], upright["most"]) == (7, 9, 1)
    assert bare["lit"] > 2 * bar["lit"]
    assert (told["block"]["with"], told["block"]["without"]) == (-2, 36)


def test_gradient_is_the_image_times_the_error_or_nothing_in_the_dark():
    lit, dark = shown(SLUG), shown(SLUG, set={"x": "test:1"})
    error = text()["run"]["error"]
    assert torch.allclose(lit.trace["detector.weight.grad"][0], error * lit.trace["x"], atol=1e-6)
    assert not dark.trace["detector.weight.grad"].any() and text(set={"x": "test:1"})["run"]["gradient"]["zero"]


def test_painted_weights_stand_in_the_address_and_in_the_numbers():
    upright = whole.code(painted(rows=(8, 21), columns=(13, 16)).tolist())
    page = source.page("lesson", SLUG, f"detector.weight={upright}", "")
    assert page.data["errors"] == [] and page.data["prose"]["many"]["lit"] == text()["paintings"][2]["lit"]
    assert len(page.state.address) < 200
    assert set(page.data["paints"]) == {"x", "detector.weight"}


@pytest.mark.parametrize("query", PAGES)
def test_every_number_of_the_page_is_in_its_json(client, query):
    assert strays(client, SLUG, query) == set()
