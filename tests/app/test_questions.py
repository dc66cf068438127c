"""Explain, verify, paths and compare over HTTP, with the worked numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from starlette.testclient import TestClient

TRACE = "/api/v1/models/tiny_network/trace"


@pytest.fixture(scope="module")
def trace(client: TestClient) -> dict[str, Any]:
    return client.post(TRACE, json={}).json()


def asked(client: TestClient, trace: dict[str, Any], question: str, **body: Any) -> dict[str, Any]:
    response = client.post(trace["links"][question], json=body)
    assert response.status_code == 200, response.text
    return response.json()


def test_a_value_is_explained_term_by_term(client: TestClient, trace: dict[str, Any]) -> None:
    found = asked(client, trace, "explain", tensor="hidden.preactivation", index=[1])
    assert (found["label"], found["captured"], found["residual"]) == ("z₂", 1, 0)
    first, second, bias = found["expression"]["args"]
    assert [leaf["value"] for leaf in first["args"]] == [0.5, 2]
    assert [leaf["value"] for leaf in second["args"]] == [1, -1]
    assert (bias["tensor"], bias["index"], bias["value"]) == ("hidden.bias", [1], 1)


def test_a_leaf_shows_the_number_that_the_trace_shows(client: TestClient) -> None:
    trace = client.post(TRACE, json={"inputs": {"x": [0.1, 0.2]}}).json()
    found = asked(client, trace, "explain", tensor="hidden.preactivation", index=[0])
    leaves = [leaf["value"] for term in found["expression"]["args"] for leaf in term.get("args", [])]
    assert leaves == [1, 0.1, -1, 0.2]
    assert found["captured"] == trace["tensors"]["hidden.preactivation"]["data"][0]
    assert abs(found["residual"]) < 1e-8


def test_a_gradient_is_explained_by_the_steps_that_send_to_it(client: TestClient, trace: dict[str, Any]) -> None:
    found = asked(client, trace, "explain", tensor="hidden.weight", index=[1, 0], what="gradient")
    assert found["captured"] == -3
    assert sum(part["expression"]["value"] for part in found["contributions"]) == -3


def test_a_gradient_is_verified_by_finite_differences(client: TestClient, trace: dict[str, Any]) -> None:
    found = asked(client, trace, "verify", tensor="hidden.weight", index=[0, 0], what="gradient")
    assert found["ok"] is True
    assert found["finite_difference"] == pytest.approx(6, rel=1e-6)
    assert found["autograd64"] == 6


def test_the_paths_of_a_gradient_add_up_to_it(client: TestClient, trace: dict[str, Any]) -> None:
    found = asked(client, trace, "paths", tensor="x", index=[0])
    assert len(found["paths"]) == 3
    total = math.fsum(path["value"] for path in found["paths"])
    assert total + found["rest"] == pytest.approx(found["total"])
    assert found["total"] == trace["tensors"]["x.grad"]["data"][0]
    limited = asked(client, trace, "paths", tensor="x", index=[0], limit=1)
    assert (len(limited["paths"]), limited["complete"]) == (1, False)


def test_two_runs_are_compared_cell_by_cell(client: TestClient, trace: dict[str, Any]) -> None:
    edits = [{"parameter": "readout.weight", "index": [0, 2], "value": 101}]
    edited = client.post(TRACE, json={"edits": edits}).json()
    found = asked(client, edited, "compare", other=trace["id"])
    assert found["same"] is False
    assert found["first"] == "readout.weight"
    assert (found["cells"][0]["label"], found["cells"][0]["before"], found["cells"][0]["after"]) == ("v₃", 1, 101)
    # no effect at (2, -1): the third unit is off, so no value and no other gradient moves
    assert "prediction" not in found["tensors"]
    assert asked(client, trace, "compare", other=trace["id"])["same"] is True


@pytest.mark.parametrize("question", ["explain", "verify", "paths"])
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"tensor": "nothing", "index": []}, "tensor"),
        ({"tensor": "hidden.bias", "index": [3]}, "index[0]"),
        ({"tensor": "hidden.bias", "index": []}, "index"),
        ({"tensor": "hidden.bias", "index": [-1]}, "index[0]"),
        ({"tensor": "hidden.bias", "index": [0.5]}, "index[0]"),
        ({"tensor": "hidden.bias", "index": ["0"]}, "index[0]"),
        ({"index": [0]}, "tensor"),
    ],
)
def test_a_cell_that_is_not_there_is_422(
    client: TestClient, trace: dict[str, Any], question: str, body: dict[str, Any], field: str
) -> None:
    response = client.post(trace["links"][question], json=body)
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == field
    assert "; got " in response.json()["detail"]


def test_a_tensor_without_a_path_to_the_loss_says_so(client: TestClient) -> None:
    trace = client.post(TRACE, json={"backward": False}).json()
    found = asked(client, trace, "explain", tensor="hidden.bias", index=[0], what="gradient")
    assert (found["note"], found["expression"]) == ("no path", None)
    for question, more in (("paths", {}), ("verify", {"what": "gradient"})):
        response = client.post(trace["links"][question], json={"tensor": "hidden.bias", "index": [0], **more})
        assert response.status_code == 422


def test_comparing_with_an_unknown_trace_is_404(client: TestClient, trace: dict[str, Any]) -> None:
    assert client.post(trace["links"]["compare"], json={"other": "nothing"}).status_code == 404
