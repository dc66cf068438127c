"""Training over HTTP: progress lines, the trained parameters, and that the model keeps its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from starlette.testclient import TestClient

TRAIN = "/api/v1/models/tiny_network/train"
TRACE = "/api/v1/models/tiny_network/trace"


def train(client: TestClient, **body: Any) -> list[dict[str, Any]]:
    response = client.post(TRAIN, json=body)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/jsonl"
    return [json.loads(line) for line in response.text.splitlines()]


def test_one_step_is_the_update_that_a_trace_shows(client: TestClient) -> None:
    update = {"rule": "sgd", "learning_rate": 0.1, "frozen": [{"parameter": "readout.weight", "index": [0, 1]}]}
    trace = client.post(TRACE, json={"update": update}).json()
    done = train(client, update=update, steps=1)[-1]
    for name, value in done["parameters"].items():
        assert value == trace["tensors"][f"{name}.updated"]["data"]
    assert done["losses"] == [trace["result"]["loss"], trace["result"]["after_update"]["loss"]]
    assert done["parameters"]["readout.weight"][0][1] == -1


def test_the_lines_are_open_progress_and_done(client: TestClient) -> None:
    lines = train(client, update={"learning_rate": 0.01}, steps=300)
    assert [line["type"] for line in lines[:2]] == ["open", "progress"]
    assert {line["type"] for line in lines[1:-1]} == {"progress"}
    assert lines[1] == {"type": "progress", "step": 0, "loss": 1.125}
    done = lines[-1]
    assert (done["type"], done["steps"], len(done["losses"])) == ("done", 300, 301)
    assert done["losses"][1] == pytest.approx(0.39760903125, rel=1e-6)
    assert done["losses"][-1] < 1e-10


def test_trained_parameters_sent_back_as_edits_give_the_last_loss(client: TestClient) -> None:
    done = train(client, update={"learning_rate": 0.005}, steps=7)[-1]
    edits = [
        {"parameter": name, "index": [row, column] if isinstance(cells, list) else [row], "value": value}
        for name, rows in done["parameters"].items()
        for row, cells in enumerate(rows)
        for column, value in enumerate(cells if isinstance(cells, list) else [cells])
    ]
    assert client.post(TRACE, json={"edits": edits}).json()["result"]["loss"] == done["losses"][-1]


def test_training_leaves_the_model_as_it_was(client: TestClient) -> None:
    before = client.post(TRACE, json={"target": 2.25}).json()
    train(client, update={"learning_rate": 0.1}, steps=50)
    assert client.post(TRACE, json={"target": 2.25}).json()["tensors"] == before["tensors"]


def test_a_loss_that_overflows_is_null_and_said(client: TestClient) -> None:
    done = train(client, update={"learning_rate": 1e6}, steps=40)[-1]
    assert done["losses"][-1] is None
    assert done["nonfinite"][-1]["at"] == "losses[40]"


def test_several_examples_train_together(client: TestClient) -> None:
    lines = train(client, inputs={"x": [[2, -1], [0, 1]]}, target=[4, 1], update={"learning_rate": 0.01}, steps=20)
    assert lines[-1]["losses"][-1] < lines[-1]["losses"][0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"steps": 100_001}, "steps must be at most 100000; got 100001"),
        ({"steps": 0}, "steps must be at least 1; got 0"),
        ({"steps": "10"}, "steps must be a whole number; got '10'"),
        (
            {"update": {"learning_rate": 0.1, "frozen": [{"parameter": "no"}]}},
            "update.frozen[0].parameter must be one of",
        ),
        ({"inputs": {"x": [1]}}, "inputs.x must have 2 numbers; got 1"),
        (
            {"interventions": []},
            "interventions must be one of inputs, target, edits, update, options, seed, steps, recipe, background; got",
        ),
    ],
)
def test_a_bad_request_is_refused_before_a_line_is_sent(client: TestClient, body: dict[str, Any], message: str) -> None:
    response = client.post(TRAIN, json=body)
    assert response.status_code == 422
    assert response.json()["detail"].startswith(message)
