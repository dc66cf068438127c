"""The lesson's numbers are its runs' and measurements', its words hold for them, its links open what they say."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from app.lessons.norm_and_residual import LESSON, SLUG, prose
from app.shown import shown
from engine.experiments.norm_and_residual import by_depth, by_distance
from tests.app.markup import parse

BASE = f"/lessons/{SLUG}"


def text(**changes: Any) -> dict[str, Any]:
    """The prose's numbers of a changed run."""
    return prose(shown(SLUG, **changes).trace, shown(SLUG).trace)


def test_the_norm_is_worked_with_whole_numbers():
    lines = {line["label"]: line["value"] for line in text()["run"]["lines"]}
    assert lines["μ¹"] == 3 and lines["m¹"] == 25
    assert lines["σ¹"] == pytest.approx(5, abs=1e-5)
    assert [lines[f"x̂¹{place}"] for place in "₁₂₃₄"] == pytest.approx([0.2, 1.4, -0.2, -1.4], abs=1e-5)


def test_doubling_is_forgotten_by_both_norms_and_a_shift_by_layer_norm_only():
    base, twice, shifted = text()["forgets"]["rows"]
    assert twice["layer"]["out"] == pytest.approx(base["layer"]["out"], abs=1e-5)
    assert twice["rms"]["out"] == pytest.approx(base["rms"]["out"], abs=1e-5)
    assert shifted["layer"]["out"] == pytest.approx(base["layer"]["out"], abs=1e-5)
    assert shifted["rms"]["out"] != pytest.approx(base["rms"]["out"], abs=0.1)


def test_the_stream_adds_up():
    for first, *added, last in text()["run"]["stream"]["rows"]:
        assert first["value"] + sum(cell["value"] for cell in added) == pytest.approx(last["value"], abs=1e-5)


@pytest.mark.parametrize("norm", ["layer", "rms", "none"])
def test_the_routes_add_up_and_the_highway_is_most_of_them(norm):
    routes = text(options={"norm": norm})["run"]["routes"]
    assert routes["count"] == len(routes["rows"]) == 8
    for place, whole in enumerate(routes["total"]):
        assert sum(row["parts"][place] for row in routes["rows"]) == pytest.approx(whole, abs=1e-5)
    assert 0.8 < routes["highway"] < 1.2


def test_without_the_residual_one_route_is_left():
    routes = text(options={"residual": "off"})["run"]["routes"]
    assert [row["through"] for row in routes["rows"]] == ["1, 2, 3"] and routes["highway"] is None


def test_routes_are_not_listed_where_they_do_not_hold():
    assert text(rows=2)["run"]["routes"] is None
    assert text(do={"layers.0.branch[0]": "off"})["run"]["routes"] is None


def test_what_the_text_says_of_depth_and_distance_is_measured():
    found = text()
    depth, far = found["depth"], found["distance"]
    assert depth["plain"]["arriving"] == pytest.approx(by_depth("plain").arriving[0], rel=1e-6)
    assert depth["plain"]["arriving"] < 1e-30 < depth["he"]["arriving"] < 0.1
    assert depth["residual"]["size"] > 100 and 1 < depth["kept"]["size"] < 10 and 1 < depth["kept"]["arriving"] < 10
    assert far["rnn"] == pytest.approx(by_distance("RNN")[-1], rel=1e-6) and far["attention"] > 0.1
    for name, figure in found["figures"].items():
        assert all(len(line["x"]) == len(line["y"]) for line in figure["data"]), name


def test_every_chart_has_its_numbers_in_a_table(client):
    page = parse(client.get(BASE).text)
    assert len(page.all("figure", cls="chart")) == 3
    captions = [caption.text for caption in page.all("caption")]
    assert "Size of activations and share of the gradient at some layers" in captions
    assert "The gradient by distance, as a share of the last word's own" in captions


def test_exercises_vary_with_the_seed_and_are_the_same_for_one():
    prompts = [tuple(one.prompt for one in LESSON.exercises(seed)) for seed in range(8)]
    assert len(set(prompts)) > 4
    assert prompts[3] == tuple(one.prompt for one in LESSON.exercises(3))


@pytest.mark.parametrize(
    "query",
    [
        *(f"norm={norm}&residual={residual}" for norm, residual in itertools.product(("rms", "none"), ("on", "off"))),
        "rows=2", "predict=1&step=4", "step=6&view=matrices", "view=graph", "x[0]=0&x[1]=0&x[2]=0&x[3]=0",
    ],
)  # fmt: skip
def test_the_page_holds_in_every_state(query, client):
    assert client.get(f"{BASE}?{query}", headers={"accept": "text/html"}).status_code == 200
