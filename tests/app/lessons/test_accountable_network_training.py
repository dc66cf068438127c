"""What the lesson says of many updates is what they do, and its panel asks for the same."""

from __future__ import annotations

import pytest

from app.lessons.accountable_network import SLUG
from app.lessons.accountable_network_training import TRAINING, body, repeated
from app.schemas import TrainRequest
from app.shown import shown


def test_the_first_step_is_the_update_of_the_three_rows_on_the_stage() -> None:
    for led in (repeated()["fit"], repeated()["wild"]):
        run = shown(SLUG, rows=3, lr=led["rate"])
        assert led["start"] == run.loss
        assert led["after_one"] == pytest.approx(run.trace.result["after_update"]["loss"])


def test_the_rate_that_fits_never_rises_and_the_large_one_often_does() -> None:
    told = repeated()
    assert told["steps"] == 100
    assert (told["fit"]["rate"], told["fit"]["rises"]) == (0.02, 0)
    assert told["fit"]["end"] == pytest.approx(0.00104, rel=0.01)
    assert told["wild"]["rises"] > 30
    assert told["wild"]["end"] > 100 * told["fit"]["end"]


def test_the_panel_asks_for_what_the_interface_takes() -> None:
    asked = TrainRequest.model_validate(body({one.name: one.default for one in TRAINING.settings}))
    assert (asked.steps, asked.update and asked.update.learning_rate) == (100, 0.02)
