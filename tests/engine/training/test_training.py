"""Every way to train keeps to the one interface: what is left and gone on with ends where it would have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from engine.errors import InputError
from engine.models import catalogue
from engine.training import checkpoint
from engine.training.training import Progress, Training, loops, prepare

STEPS = 6


def ended(training: Training) -> tuple[list[float], dict[str, torch.Tensor]]:
    losses = [progress.loss for progress in training]
    return losses, training.state()["parameters"]


@pytest.mark.parametrize("model", ["tiny_network", *loops()])
@pytest.mark.parametrize("left_after", [0, 1, 4, STEPS])
def test_left_and_gone_on_with_from_a_file_it_ends_where_it_would_have(
    model: str, left_after: int, tmp_path: Path
) -> None:
    def fresh() -> Training:
        return prepare(model, {}, steps=STEPS, recipe={})

    losses, parameters = ended(fresh())
    first = fresh()
    for progress in first:
        assert isinstance(progress, Progress)
        if progress.step == left_after:
            break
    checkpoint.save(first.state(), tmp_path / "state")
    second = fresh()
    second.resume(checkpoint.load(tmp_path / "state"))
    rest = {progress.step: progress.loss for progress in second}
    for step, loss in rest.items():
        assert loss == losses[step], step
    assert set(range(left_after + 1, STEPS + 1)) <= set(rest)
    for name, value in second.state()["parameters"].items():
        assert torch.equal(value, parameters[name]), name


@pytest.mark.parametrize("model", sorted(catalogue().keys() - loops().keys()))
def test_every_model_trains_from_the_loss_that_its_trace_has(model: str) -> None:
    start, _ = prepare(model, {}, steps=1, recipe={"optimiser": "adam"})
    trace = catalogue()[model].trace({})
    assert start.loss == pytest.approx(float(trace.result["loss"]))
    assert torch.isfinite(torch.tensor(start.loss))


@pytest.mark.parametrize("model", ["tiny_network", *loops()])
def test_progress_counts_from_the_start_and_each_update_once(model: str) -> None:
    assert [progress.step for progress in prepare(model, {}, steps=3, recipe={})] == [0, 1, 2, 3]


def test_a_changed_learning_rate_holds_from_where_it_is_gone_on_with() -> None:
    def at_rate(rate: float) -> Training:
        update: dict[str, Any] = {"rule": "sgd", "learning_rate": rate}
        return prepare("tiny_network", {"update": update}, steps=2, recipe={})

    slow, fast = at_rate(0.001), at_rate(0.002)
    seen = iter(slow)
    next(seen), next(seen)
    fast.resume(slow.state())
    before = slow.state()["parameters"]["readout.bias"]
    moves = []
    for training in (slow, fast):
        rest = seen if training is slow else iter(fast)
        for _ in rest:
            pass
        moves.append(float(training.state()["parameters"]["readout.bias"] - before))
    assert moves[1] == pytest.approx(2 * moves[0], rel=1e-3)


def test_gradient_descent_takes_no_recipe() -> None:
    with pytest.raises(InputError, match=r"recipe\.batch_size must be left out: .*; got 8"):
        prepare("tiny_network", {}, steps=1, recipe={"batch_size": 8})


def test_every_loop_trains_a_model_that_there_is() -> None:
    assert set(loops()) <= set(catalogue())
