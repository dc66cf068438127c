"""The training panel's data: which points are drawn, how metrics are put together, when the stage can show a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import torch

from app.errors import missing
from app.lessons import catalogue
from app.page import source
from app.page.training import MOST_POINTS, MOST_ROWS, panel
from app.run_store import DONE, PAUSED, Run

ID = "0" * 32
RUN = Run(ID, "tiny_network", {}, {}, 1000, state=PAUSED)
LESSON = catalogue()["accountable_network"]
PARAMETERS = {
    "hidden.weight": torch.arange(6.0).reshape(3, 2),
    "hidden.bias": torch.zeros(3),
    "readout.weight": torch.ones(1, 3),
    "readout.bias": torch.tensor([0.1]),
}


@dataclass
class Kept:
    """Runs as the panel asks for them: one of them, with these points and this checkpoint."""

    points_: Sequence[Mapping[str, Any]]
    losses: Sequence[float] = ()
    parameters: Mapping[str, torch.Tensor] = field(default_factory=lambda: PARAMETERS)
    run: Run = RUN

    def find(self, run_id: str) -> Run:
        if run_id != ID:
            raise missing("run", run_id)
        return replace(self.run, step=self.points_[-1]["step"] if self.points_ else 0)

    def points(self, run_id: str) -> Sequence[Mapping[str, Any]]:
        return self.points_

    def checkpoint(self, run_id: str) -> dict[str, Any] | None:
        if not self.losses:
            return None
        return {"losses": torch.tensor(self.losses, dtype=torch.float64), "state": {"parameters": self.parameters}}


def made(kept: Kept, lesson: Any = LESSON, run_id: str = ID) -> dict[str, Any]:
    page = source.page("lesson", LESSON.slug, f"run={run_id}", "")
    assert page is not None
    found = panel(lesson, page.state, kept)  # type: ignore[arg-type]
    assert found is not None
    return found


def point(step: int, loss: float = 1.0, **metrics: float) -> dict[str, Any]:
    return {"step": step, "loss": loss, **metrics}


def curves(data: dict[str, Any]) -> dict[str, list[str]]:
    return {one["name"]: [line["name"] for line in one["figure"]["data"]] for one in data["figures"]}


def test_metrics_of_a_kind_share_a_figure_and_places_are_none():
    points = [
        point(step, accuracy=0.5, test_accuracy=0.4, test_loss=2.0, epoch=step / 10, measured=0) for step in range(3)
    ]
    data = made(Kept(points))
    assert curves(data) == {"loss": ["loss", "test loss"], "accuracy": ["accuracy", "test accuracy"]}
    assert data["epoch"] == 0.2
    assert set(data["metrics"]) == {"loss", "accuracy", "test_accuracy", "test_loss"}


def test_between_points_the_loss_of_every_step_is_drawn_where_it_is_kept():
    data = made(Kept([point(0, 5.0), point(4, 1.0)], [5.0, 4.0, 3.0, 2.0, 1.0]))
    line = data["figures"][0]["figure"]["data"][0]
    assert (line["x"], line["y"]) == ([0, 1, 2, 3, 4], [5, 4, 3, 2, 1])


def test_a_long_curve_is_thinned_and_keeps_its_ends():
    data = made(Kept([point(step, 1 / (step + 1)) for step in range(5000)], [1 / (step + 1) for step in range(5000)]))
    line = data["figures"][0]["figure"]["data"][0]
    assert len(line["x"]) == MOST_POINTS
    assert (line["x"][0], line["x"][-1]) == (0, 4999)
    assert all(y == 1 / (x + 1) for x, y in zip(line["x"], line["y"], strict=True))
    assert len(data["table"]["rows"]) == MOST_ROWS


def test_other_metrics_have_no_gaps_where_only_the_loss_is_known():
    data = made(Kept([point(0, accuracy=0.1), point(9, accuracy=0.9)], [1.0] * 10))
    accuracy = data["figures"][1]["figure"]["data"][0]
    assert (accuracy["x"], accuracy["y"]) == ([0, 9], [0.1, 0.9])
    assert data["table"]["rows"] == [[0, 1.0, 0.1], [9, 1.0, 0.9]]


def test_the_first_loss_that_is_no_number_is_named_and_leaves_a_gap():
    points = [point(0, 2.0), {"step": 3, "loss": None, "loss_nonfinite": "nan"}]
    data = made(Kept(points, [2.0, 4.0, float("inf"), float("nan")]))
    assert data["diverged"] == 2
    assert data["figures"][0]["figure"]["data"][0]["y"] == [2.0, 4.0, None, None]
    assert np.isnan(data["metrics"]["loss"])
    assert made(Kept([point(0), {"step": 1, "loss": None, "loss_nonfinite": "inf"}]))["diverged"] == 1


def test_a_run_without_a_point_yet_is_shown():
    data = made(Kept([]))
    assert (data["figures"], data["metrics"], data["file"], data["stage"]) == ([], {}, None, None)


def test_the_lesson_s_own_part_gets_the_run_the_points_and_arrays():
    got = {}

    def show(run: Any, points: Any, parameters: Any) -> dict[str, Any]:
        got.update(run=run, points=points, parameters=parameters)
        return {"steps": run["checkpoint"]}

    training = replace(LESSON.training, show=show)
    data = made(Kept([point(0), point(2, 0.5)], [1.0, 0.7, 0.5]), replace(LESSON, training=training))
    assert data["shown"] == {"steps": 2}
    assert got["points"] == [point(0), point(2, 0.5)]
    assert got["run"]["state"] == PAUSED
    assert isinstance(got["parameters"]["hidden.bias"], np.ndarray)


def test_the_stage_shows_the_parameters_as_edits_with_the_run_s_options():
    run = Run(ID, "tiny_network", {"options": {"activation": "none"}}, {}, 1000, state=DONE)
    link = made(Kept([point(0)], [1.0], run=run))["stage"]
    page = source.page("lesson", LESSON.slug, link.partition("?")[2], "")
    assert page is not None
    assert page.data["errors"] == []
    for name, values in PARAMETERS.items():
        assert np.allclose(page.data["trace"]["tensors"][name]["data"], values)
    assert page.state.options == {"activation": "none"}
    assert page.state.run == ID


@pytest.mark.parametrize(
    "parameters",
    [
        {**PARAMETERS, "readout.bias": torch.tensor([float("nan")])},
        {**PARAMETERS, "readout.bias": torch.tensor([1e7])},
        {**PARAMETERS, "hidden.bias": torch.zeros(4)},
        {**PARAMETERS, "more": torch.zeros(1)},
        {"hidden.weight": torch.zeros(100, 100)},
    ],
)
def test_parameters_that_do_not_go_with_the_stage_have_no_link(parameters):
    data = made(Kept([point(0)], [1.0], parameters))
    assert data["stage"] is None
    assert data["file"] is not None


def test_a_run_that_is_not_there_or_another_model_s_is_gone():
    assert made(Kept([point(0)]), run_id="1" * 32)["gone"]
    other = made(Kept([point(0)], run=Run(ID, "digit_network", {}, {}, 9)))
    assert (other["gone"], other["run"]) == (True, None)


def test_a_page_without_training_has_no_panel():
    page = source.page("lesson", "one_attention_head", "", "")
    assert page is not None
    assert page.data["training"] is None
