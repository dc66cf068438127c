"""Models and traces over HTTP: worked values, headers, streams that equal the whole, errors that say what to send."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from starlette.testclient import TestClient

TRACE = "/api/v1/models/tiny_network/trace"
WHOLE = {
    "inputs": {"x": [[2, -1], [0, 1]]},
    "target": [4, 1],
    "edits": [{"parameter": "readout.weight", "index": [0, 2], "value": 101}],
    "interventions": [{"at": "hidden.activation", "index": [None, 1], "scale": 0.5}],
    "update": {"rule": "sgd", "learning_rate": 0.01, "frozen": [{"parameter": "hidden.bias"}]},
}


def traced(client: TestClient, request: Mapping[str, Any]) -> dict[str, Any]:
    response = client.post(TRACE, json=request)
    assert response.status_code == 200, response.text
    return response.json()


def lines_of(client: TestClient, request: Mapping[str, Any], **options: Any) -> list[dict[str, Any]]:
    response = client.post(TRACE, json=request, **options)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/jsonl"
    return [json.loads(one) for one in response.text.splitlines()]


def test_the_worked_forward_and_gradients_come_back(client: TestClient, facts: dict[str, Any]) -> None:
    worked = facts["tiny_network"]
    for row in worked["forward"]:
        trace = traced(client, {"inputs": {"x": row["x"]}})
        assert trace["result"]["prediction"] == row["prediction"]
        assert trace["tensors"]["hidden.preactivation"]["data"] == row["z"]
        assert trace["tensors"]["hidden.activation"]["data"] == row["h"]
    trace = traced(client, {"inputs": {"x": worked["gradients"]["x"]}, "target": worked["gradients"]["target"]})
    assert trace["result"]["loss"] == worked["loss"]["value"]
    for name in worked["parameters"]:
        assert trace["tensors"][f"{name}.grad"]["data"] == worked["gradients"][name]


def test_an_empty_body_asks_for_the_defaults(client: TestClient) -> None:
    assert client.post(TRACE).json() == traced(client, {})


def test_one_update_and_what_it_leads_to_come_back(client: TestClient, facts: dict[str, Any]) -> None:
    worked = facts["tiny_network"]["update_all_13"]
    trace = traced(client, {"update": {"learning_rate": worked["learning_rate"]}})
    for name in facts["tiny_network"]["parameters"]:
        flat = np.ravel(trace["tensors"][f"{name}.updated"]["data"])
        assert flat == pytest.approx(np.ravel(worked[name]), abs=1e-7)
    assert trace["result"]["after_update"]["loss"] == pytest.approx(worked["loss"], rel=1e-6)


def test_adamw_s_parts_come_back_and_what_it_can_not_use_is_refused(client: TestClient) -> None:
    update = {"rule": "adamw", "learning_rate": 0.01, "betas": [0.9, 0.99], "weight_decay": 0}
    tensors = traced(client, {"update": update})["tensors"]
    for name in ("hidden.weight", "readout.bias"):
        gradient = np.asarray(tensors[f"{name}.grad"]["data"])
        assert np.ravel(tensors[f"{name}.first_moment"]["data"]) == pytest.approx(np.ravel(gradient) * 0.1)
        assert np.ravel(tensors[f"{name}.second_moment"]["data"]) == pytest.approx(np.ravel(gradient) ** 2 * 0.01)
    for wrong, field in (
        ({"betas": [0.9]}, "update.betas"),
        ({"betas": [0.9, "x"]}, "update.betas[1]"),
        ({"betas": [0.9, 1]}, "update.betas[1]"),
        ({"epsilon": -1}, "update.epsilon"),
        ({"rule": "sgd"}, "update.betas"),
        ({"rule": "adam"}, "update.rule"),
    ):
        answer = client.post(TRACE, json={"update": {**update, **wrong}})
        assert answer.status_code == 422, wrong
        assert answer.json()["errors"][0]["field"] == field


def test_a_trace_has_an_address_and_a_tag_of_its_content(client: TestClient) -> None:
    response = client.post(TRACE, json={"target": 5})
    trace = response.json()
    assert response.headers["location"] == trace["links"]["self"] == f"/api/v1/traces/{trace['id']}"
    assert response.headers["etag"] == f'"{trace["id"]}"'
    assert client.post(TRACE, json={"target": 5, "seed": None}).json()["id"] == trace["id"]
    assert client.post(TRACE, json={"target": 6}).json()["id"] != trace["id"]


@pytest.mark.parametrize("kind", ["application/jsonl", "application/x-ndjson"])
def test_an_accept_header_asks_for_lines_under_either_name(client: TestClient, kind: str) -> None:
    response = client.post(TRACE, json={}, headers={"accept": f"text/plain, {kind};q=0.9"})
    assert response.headers["content-type"] == kind
    assert json.loads(response.text.splitlines()[-1])["type"] == "done"


def test_a_stream_ends_in_done_and_holds_what_the_whole_answer_holds(client: TestClient) -> None:
    whole = traced(client, WHOLE)
    lines = lines_of(client, {**WHOLE, "stream": True})
    assert lines[0]["type"] == "open"
    assert lines[-1]["type"] == "done"
    assert {line["type"] for line in lines} == {"open", "tensor", "step", "done"}
    assert [line["step"] for line in lines if line["type"] == "step"] == whole["steps"]
    assert {line["tensor"]["name"]: line["tensor"] for line in lines if line["type"] == "tensor"} == whole["tensors"]
    for part in ("schema", "id", "request", "model", "result", "links"):
        assert lines[-1][part] == whole[part]


def test_in_a_stream_a_tensor_comes_before_the_step_that_names_it(client: TestClient) -> None:
    met: set[str] = set()
    for line in lines_of(client, {**WHOLE, "stream": True}):
        if line["type"] == "tensor":
            met.add(line["tensor"]["name"])
        if line["type"] == "step":
            assert {one["tensor"] for one in line["step"]["inputs"]} | set(line["step"]["outputs"]) <= met


def test_the_accept_header_asks_for_lines_too_and_they_are_not_to_be_kept(client: TestClient) -> None:
    response = client.post(TRACE, json={}, headers={"accept": "application/jsonl"})
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-accel-buffering"] == "no"
    assert json.loads(response.text.splitlines()[-1])["type"] == "done"


def test_a_streamed_trace_can_be_fetched_by_its_id(client: TestClient) -> None:
    done = lines_of(client, {"target": 7.5, "stream": True})[-1]
    assert client.get(done["links"]["self"]).json()["result"] == done["result"]


def test_a_bad_request_is_refused_before_a_stream_begins(client: TestClient) -> None:
    response = client.post(TRACE, json={"inputs": {"x": [1, 2, 3]}, "stream": True})
    assert response.status_code == 422
    assert response.json()["detail"] == "inputs.x must have 2 numbers; got 3"


def test_numbers_beyond_float32_come_back_as_null_and_are_named(client: TestClient) -> None:
    edits = [{"parameter": "readout.weight", "index": [0, None], "value": 1e6}]
    hot = [{"at": "hidden.activation", "index": [place], "scale": 1e6} for place in (0, 1)]
    cells = [*hot, *hot, *hot, *hot, *hot, *hot]
    trace = traced(client, {"inputs": {"x": [1e6, 1e6]}, "edits": edits, "interventions": cells})
    assert trace["result"]["loss"] is None
    assert {"at": "loss", "value": "inf"} in trace["result"]["nonfinite"] or trace["result"]["nonfinite"]
    assert trace["tensors"]["loss"]["data"] is None
    assert trace["tensors"]["loss"]["nonfinite"][0]["index"] == []


def test_the_list_of_models_says_what_each_takes(client: TestClient) -> None:
    (tiny,) = [one for one in client.get("/api/v1/models").json()["models"] if one["name"] == "tiny_network"]
    assert tiny["parameter_count"] == 13
    assert [one["name"] for one in tiny["parameters"]] == [
        "hidden.weight",
        "hidden.bias",
        "readout.weight",
        "readout.bias",
    ]
    assert "hidden.activation" in [one["name"] for one in tiny["activations"]]
    assert tiny["inputs"] == [
        {"name": "x", "size": 2, "default": [2, -1], "rows": 256, "limit": 1e6, "least": None, "words": None}
    ]
    assert tiny["options"][0]["values"] == {"relu": "ReLU", "none": "none"}
    # 2*2*3+3 for z, 3 for h, 2*3+1 for the prediction, and the loss
    assert tiny["cost"]["forward_flops"] >= 25
    assert tiny["cost"]["estimate_flops"] == 6 * 13


def test_one_model_gives_its_parameters(client: TestClient, facts: dict[str, Any]) -> None:
    model = client.get("/api/v1/models/tiny_network").json()
    assert {one["name"]: one["data"] for one in model["parameters"]} == facts["tiny_network"]["parameters"]


def test_an_unknown_model_is_404_and_says_which_there_are(client: TestClient) -> None:
    for response in (client.get("/api/v1/models/gpt"), client.post("/api/v1/models/gpt/trace", json={})):
        assert response.status_code == 404
        assert "tiny_network" in response.json()["detail"]


def test_requests_at_the_same_time_get_what_they_get_alone(client: TestClient) -> None:
    def request(number: int) -> dict[str, Any]:
        edits = [{"parameter": "hidden.weight", "index": [number % 3, number % 2], "value": number / 7}]
        hot = [{"at": "hidden.activation", "index": [number % 3], "add": number / 3}]
        return {"inputs": {"x": [number, 1]}, "edits": edits, "interventions": hot}

    alone = [traced(client, request(number)) for number in range(24)]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda number: traced(client, request(number % 24)), range(96)))
    for number, trace in enumerate(together):
        assert trace == alone[number % 24]
