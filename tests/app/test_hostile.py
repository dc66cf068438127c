"""What nobody should send: every answer is a 4xx problem+json that says expected and got, and nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from httpx2 import Response
    from starlette.testclient import TestClient

TRACE = "/api/v1/models/tiny_network/trace"
JSON = {"content-type": "application/json"}


@pytest.fixture(autouse=True)
def _nothing_is_lost(client: TestClient) -> Iterator[None]:
    """After each request the unedited run is what it was before."""
    yield
    trace = client.post(TRACE, json={}).json()
    assert (trace["result"]["prediction"], trace["result"]["loss"]) == (5.5, 1.125)
    assert trace["tensors"]["hidden.weight"]["data"] == [[1, -1], [0.5, 1], [-1, 2]]


def refused(response: Response, *statuses: int) -> dict[str, Any]:
    assert response.status_code in (statuses or (422,)), response.text[:500]
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert set(problem) == {"type", "title", "status", "detail", "errors"}
    assert problem["status"] == response.status_code
    for error in problem["errors"]:
        assert {"field", "message"} <= set(error)
    assert len(response.content) < 20_000, response.text[:200]
    return problem


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"inputs": {"x": ["nan", 1]}}, "inputs.x[0] must be a number; got 'nan'"),
        ({"inputs": {"x": ["2", 1]}}, "inputs.x[0] must be a number; got '2'"),
        ({"inputs": {"x": [True, 1]}}, "inputs.x[0] must be a number; got true"),
        ({"inputs": {"x": [None, 1]}}, "inputs.x[0] must be a number; got null"),
        ({"inputs": {"x": [1, 2, 3]}}, "inputs.x must have 2 numbers; got 3"),
        ({"inputs": {"x": []}}, "inputs.x must have 2 numbers; got 0"),
        ({"inputs": {"x": 5}}, "inputs.x must be a list of 2 numbers"),
        ({"inputs": {"x": [[1, 2], [3]]}}, "inputs.x[1] must have shape [2] as the members before it; got [1]"),
        ({"inputs": {"x": [[1, 2], 3]}}, "inputs.x[1] must have shape [2]"),
        ({"inputs": {"x": [[[1, 2]]]}}, "inputs.x"),
        ({"inputs": {"x": [[[[1]]]]}}, "inputs.x[0][0][0] must be a number; got a list of 1"),
        ({"inputs": {"x": {"0": 1}}}, "inputs.x must be a number; got an object with 1 members"),
        ({"inputs": {"x": [1e39, 0]}}, "inputs.x[0] must be at most 3.40282e+38 in size"),
        ({"inputs": {"x": [1e7, 0]}}, "inputs.x[0] must be a finite number from -1e+06 to 1e+06; got"),
        ({"inputs": {"y": [1, 2]}}, "inputs.y must be one of x; got 'y'"),
        ({"inputs": [1, 2]}, "inputs must be an object; got a list of 2"),
        ({"inputs": {"x": [[0, 0]] * 257}}, "inputs.x must have at most 256 members; got 257"),
        ({"target": [1, 2]}, "target must be 1 number, as there is one example; got 2"),
        ({"target": "4"}, "target must be a number; got '4'"),
        ({"inputs": {"x": [[1, 2], [3, 4]]}, "target": [1, 2, 3]}, "target must be 1 number or 2"),
        ({"edits": [{"parameter": "no", "index": [0], "value": 1}]}, "edits[0].parameter must be one of hidden.weight"),
        (
            {"edits": [{"parameter": "hidden.bias", "index": [3], "value": 1}]},
            "edits[0].index[0] must be from 0 to 2; got 3",
        ),
        (
            {"edits": [{"parameter": "hidden.bias", "index": [-1], "value": 1}]},
            "edits[0].index[0] must be at least 0; got -1",
        ),
        (
            {"edits": [{"parameter": "hidden.bias", "index": [0.0], "value": 1}]},
            "edits[0].index[0] must be a whole number",
        ),
        ({"edits": [{"parameter": "hidden.bias", "index": [10**30], "value": 1}]}, "edits[0].index[0] must be"),
        ({"edits": [{"parameter": "hidden.bias", "index": [0, 0], "value": 1}]}, "edits[0].index must have 1 number"),
        (
            {"edits": [{"parameter": "hidden.bias", "index": [0], "value": "1"}]},
            "edits[0].value must be a number; got '1'",
        ),
        ({"edits": [{"parameter": "hidden.bias", "index": [0]}]}, "edits[0].value must be given; got nothing"),
        ({"edits": [{}] * 4097}, "edits must have at most 4096 members"),
        ({"edits": {"parameter": "hidden.bias"}}, "edits must be a list; got an object with 1 members"),
        ({"interventions": [{"at": "no", "index": [0], "set": 1}]}, "interventions[0].at must be one of hidden"),
        ({"interventions": [{"at": "hidden.activation", "index": [9], "set": 1}]}, "inter"),
        ({"interventions": [{"at": "hidden.activation", "index": [0]}]}, "interventions[0] must have exactly one of"),
        (
            {"interventions": [{"at": "hidden.activation", "index": [0], "set": 1, "add": 1}]},
            "interventions[0] must have exactly one of set, scale, add and patch; got set and add",
        ),
        ({"interventions": [{"at": "hidden.activation", "index": [None], "patch": [1, 2]}]}, "inter"),
        ({"update": {"rule": "adam", "learning_rate": 1}}, "update.rule must be 'sgd' or 'adamw'; got 'adam'"),
        ({"update": {"learning_rate": "0.1"}}, "update.learning_rate must be a number; got '0.1'"),
        ({"update": {}}, "update.learning_rate must be given; got nothing"),
        (
            {"update": {"learning_rate": 1, "frozen": [{"parameter": "no"}]}},
            "update.frozen[0].parameter must be one of",
        ),
        ({"options": {"activation": "softmax"}}, "options.activation must be one of relu, none; got 'softmax'"),
        ({"options": {"activation": ["relu"]}}, "options.activation must be text, a number, true or false"),
        ({"options": {"no": "relu"}}, "options.no must be one of activation; got 'no'"),
        ({"mode": "fast"}, "mode must be 'explain' or 'exact'; got 'fast'"),
        ({"seed": -1}, "seed must be at least 0; got -1"),
        ({"seed": 1.5}, "seed must be a whole number; got 1.5"),
        ({"seed": 2**70}, "seed must be"),
        ({"backward": "yes"}, "backward must be true or false; got 'yes'"),
        (
            {"surprise": 1},
            "surprise must be one of inputs, target, edits, update, options, seed, interventions, backward",
        ),
        (
            {"update": {"rate": 1}},
            "update.rate must be one of rule, learning_rate, frozen, betas, epsilon, weight_decay; got 'rate'",
        ),
        ({"edits": [{"name": "hidden.bias"}]}, "edits[0].name must be one of parameter, index, value; got 'name'"),
        ([], "body must be an object; got a list of 0"),
        ("x", "body must be an object; got 'x'"),
    ],
)
def test_a_request_that_does_not_fit_says_expected_and_got(client: TestClient, body: Any, detail: str) -> None:
    problem = refused(client.post(TRACE, json=body))
    assert problem["detail"].startswith(detail)
    assert "; got " in problem["detail"]
    assert problem["errors"][0]["expected"]
    assert problem["errors"][0]["got"]


@pytest.mark.parametrize(
    "text",
    [
        '{"target": NaN}',
        '{"target": Infinity}',
        '{"target": -Infinity}',
        '{"target": 1e999}',
        '{"target": -1e999}',
        '{"target": ' + "9" * 5000 + "}",
        '{"target": 0x10}',
        '{"target": 1, "target": 2}',
        '{"update": {"learning_rate": 1, "learning_rate": 2}}',
        '{"target": 1',
        "{'target': 1}",
        '{"target": 1,}',
        "nonsense",
        '"\\ud800"',
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"inputs":' * 100_000 + "1" + "}" * 100_000,
        '{"inputs": {"x": ' + "[" * 990 + "]" * 990 + "}}",
    ],
    ids=lambda text: text[:30],
)
def test_text_that_is_not_strict_json_is_refused(client: TestClient, text: str) -> None:
    problem = refused(client.post(TRACE, content=text, headers=JSON), 400, 413, 422)
    assert "; got " in problem["detail"]


def test_a_key_twice_is_named(client: TestClient) -> None:
    problem = refused(client.post(TRACE, content='{"target": 1, "target": 2}', headers=JSON), 400)
    assert problem["detail"] == "body must be JSON; got the key 'target' twice in one object"


@pytest.mark.parametrize("body", [b"\xff\xfe", b'{"target": "\xc3\x28"}', b"\x00", b"\xef\xbb\xbf{}"])
def test_bytes_that_are_not_utf_8_are_refused(client: TestClient, body: bytes) -> None:
    refused(client.post(TRACE, content=body, headers=JSON), 400)


def test_a_million_rows_are_refused(client: TestClient) -> None:
    rows = b'{"inputs": {"x": [' + b"[0,0]," * 100_000 + b"[0,0]]}}"
    problem = refused(client.post(TRACE, content=rows, headers=JSON))
    assert problem["detail"] == "inputs.x must have at most 256 members; got 100001"


def test_a_body_of_50_mb_is_refused_before_it_is_read(client: TestClient) -> None:
    problem = refused(client.post(TRACE, content=b" " * 50_000_000, headers=JSON), 413)
    assert problem["detail"] == "body must have at most 1048576 bytes; got 50000000 bytes"


def test_a_body_of_unknown_length_is_cut_off(client: TestClient) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(50):
            yield b" " * 1_000_000

    refused(client.post(TRACE, content=pieces(), headers=JSON), 413)


@pytest.mark.parametrize("length", ["-1", "1e3", "many", "9" * 30])
def test_a_length_that_is_no_count_is_refused(client: TestClient, length: str) -> None:
    response = client.post(TRACE, content=b"{}", headers={**JSON, "content-length": length})
    refused(response, 400, 413)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"])
def test_another_media_type_is_refused(client: TestClient, kind: str) -> None:
    refused(client.post(TRACE, content=b"{}", headers={"content-type": kind}), 415)


@pytest.mark.parametrize("method", ["put", "patch", "delete", "get"])
def test_another_method_is_405_and_says_which_there_are(client: TestClient, method: str) -> None:
    response = client.request(method.upper(), TRACE)
    refused(response, 405)
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/models/../../etc/passwd",
        "/api/v1/models/%2e%2e%2f/trace",
        "/api/v1/traces/..%2f..%2fpyproject.toml",
        "/api/v1/traces/..%2f..%2fpyproject/file",
        "/api/v1/traces/%00",
        "/api/v1/traces/%ff%fe/file",
        "/static/../app/main.py",
        "/static/%2e%2e/app/main.py",
        "/static/%00",
        "/assets/../package.json",
        "/assets/temml/../../package.json",
        "/assets/temml/package.json",
        "/assets/typescript/lib/tsc.js",
        "/api/v1/nothing",
        "/api/v2/models",
    ],
)
def test_a_path_that_leads_nowhere_is_404(client: TestClient, path: str) -> None:
    refused(client.get(path), 404, 422)


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.evil.example:80"])
def test_a_foreign_host_is_refused(client: TestClient, host: str) -> None:
    problem = refused(client.get("/api/v1/models", headers={"host": host}), 400)
    assert problem["detail"].startswith("Host must be a name this site answers to; got ")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:8000"])
def test_our_own_hosts_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/healthz", headers={"host": host}).status_code == 200


def test_what_comes_back_is_never_longer_than_it_must_be(client: TestClient) -> None:
    long = "x" * 500_000
    refused(client.post(TRACE, json={"mode": long}))
    refused(client.post(TRACE, json={long: 1}))
    refused(client.post(TRACE, json={"inputs": {long: [1, 2]}}))
    refused(client.post(TRACE, json={"options": {"activation": long}}))
    refused(client.get(f"/api/v1/models/{'x' * 5000}"), 404, 422)
    refused(client.post(TRACE, json={"edits": [{"parameter": str(n)} for n in range(4096)]}))


def test_a_problem_is_json_of_plain_ascii_safe_text(client: TestClient) -> None:
    response = client.post(TRACE, json={"mode": "\u202e\x00<script>\U0001f600"})
    assert json.loads(response.content)["status"] == 422


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("/api/v1/models?page=2", "query must be left out: this address takes none; got 'page'"),
        ("/api/v1/traces/none/tensors/loss?slise=0", "query must be one of slice, digits, enc; got 'slise'"),
    ],
)
def test_an_unknown_name_in_the_query_is_refused(client: TestClient, path: str, detail: str) -> None:
    assert refused(client.get(path))["detail"] == detail
