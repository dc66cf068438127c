"""The API against its own description: no status that it does not name, no 500, answers of the named shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.python import asgi
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app.lessons import catalogue
from app.main import create_app, modules
from app.settings import Settings

if TYPE_CHECKING:
    from starlette.testclient import TestClient

WAIT_SECONDS = 120  # a stream of the longest training that may be asked for, on a slow machine
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
ROUTES = {
    ("get", "/api/v1/models"),
    ("get", "/api/v1/models/{model}"),
    ("post", "/api/v1/models/{model}/trace"),
    ("post", "/api/v1/models/{model}/train"),
    ("get", "/api/v1/runs"),
    ("get", "/api/v1/runs/{run_id}"),
    ("get", "/api/v1/runs/{run_id}/progress"),
    ("get", "/api/v1/runs/{run_id}/parameters"),
    ("post", "/api/v1/runs/{run_id}/pause"),
    ("post", "/api/v1/runs/{run_id}/resume"),
    ("post", "/api/v1/runs/{run_id}/cancel"),
    ("post", "/api/v1/runs/{run_id}/fork"),
    ("get", "/api/v1/traces/{trace_id}"),
    ("get", "/api/v1/traces/{trace_id}/tensors/{name}"),
    ("get", "/api/v1/traces/{trace_id}/file"),
    ("post", "/api/v1/traces"),
    ("post", "/api/v1/traces/{trace_id}/explain"),
    ("post", "/api/v1/traces/{trace_id}/verify"),
    ("post", "/api/v1/traces/{trace_id}/compare"),
    ("post", "/api/v1/traces/{trace_id}/paths"),
    ("get", "/api/v1/lessons"),
    ("get", "/api/v1/lessons/{slug}"),
    ("get", "/api/v1/lessons/{slug}/exercises"),
    ("post", "/api/v1/lessons/{slug}/exercises/{n}/check"),
}
BEGINS = ("/train", "/resume", "/fork")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return create_app(Settings(data_dir=str(tmp_path_factory.mktemp("data"))))


@pytest.fixture(scope="module")
def session(app: FastAPI) -> Iterator[asgi.ASGIClient]:
    """One start of the app for all cases; what it would make behind its start is made before, as that seeds the random
    state, which Hypothesis does not allow while it draws.
    """
    for module in modules():
        for make in getattr(module, "warm_up_later", list)():
            make()
    with asgi.get_client(app, max_stream_events=10_000) as running:
        yield running


@pytest.fixture(scope="module")
def described(app: FastAPI) -> Any:
    return schemathesis.openapi.from_asgi("/openapi.json", app)


def end_runs(session: asgi.ASGIClient) -> None:
    """What goes on in the background would leave no process for the next case: 503, rightly."""
    for run in session.get("http://127.0.0.1/api/v1/runs").json()["runs"]:
        if run["state"] == "running":
            session.post(f"http://127.0.0.1{run['links']['cancel']}")


@pytest.mark.parametrize(("method", "path"), sorted(ROUTES), ids=lambda part: part.replace("/", "-").strip("-"))
def test_every_answer_is_one_that_the_description_names(
    described: Any, session: asgi.ASGIClient, method: str, path: str
) -> None:
    operation = described[path][method]
    trace = session.post("http://127.0.0.1/api/v1/models/tiny_network/trace", json={}).json()
    run = session.post("http://127.0.0.1/api/v1/models/tiny_network/train", json={"steps": 20, "background": True})
    real = {
        "run_id": run.json()["id"],
        "model": "tiny_network",
        "trace_id": trace["id"],
        "name": "hidden.weight.grad",
        "slug": next(iter(catalogue()), "none"),
        "n": 1,
    }

    @given(case=operation.as_strategy(), known=st.booleans())
    @settings(
        max_examples=120,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    def hold(case: Any, known: bool) -> None:
        if known and case.path_parameters:
            case.path_parameters.update({name: real[name] for name in case.path_parameters})
        case.call_and_validate(checks=CHECKS, headers={"host": "127.0.0.1"}, session=session, timeout=WAIT_SECONDS)
        if path.endswith(BEGINS):
            end_runs(session)

    hold()


def operations(client: TestClient) -> dict[tuple[str, str], dict[str, Any]]:
    paths = client.get("/openapi.json").json()["paths"]
    return {(method, path): one for path, methods in paths.items() for method, one in methods.items()}


def test_the_description_has_every_route_and_no_other(client: TestClient) -> None:
    assert set(operations(client)) == ROUTES


def test_every_operation_is_described_with_examples(client: TestClient) -> None:
    schema = client.get("/openapi.json").json()
    for (method, path), operation in operations(client).items():
        where = f"{method} {path}"
        assert operation["operationId"], where
        assert operation["summary"], where
        assert operation["description"], where
        for parameter in operation.get("parameters", []):
            assert parameter["description"], (where, parameter["name"])
            assert parameter["schema"].get("examples") or parameter.get("examples"), (where, parameter["name"])
        for content in operation.get("requestBody", {}).get("content", {}).values():
            found = str(content["schema"])
            if "#/components/schemas/" in found:
                name = found.split("#/components/schemas/")[1].split("'")[0]
                assert schema["components"]["schemas"][name]["examples"], where


def test_examples_of_answers_are_what_the_engine_computes(client: TestClient) -> None:
    found = operations(client)
    trace = client.post("/api/v1/models/tiny_network/trace", json={}).json()
    shown = found["post", "/api/v1/models/{model}/trace"]["responses"]["200"]["content"]["application/json"]["example"]
    assert shown["id"] == trace["id"]
    assert shown["tensors"].items() <= trace["tensors"].items()
    explained = found["post", "/api/v1/traces/{trace_id}/explain"]["responses"]["200"]["content"]["application/json"]
    asked = {"tensor": "hidden.preactivation", "index": [1]}
    assert explained["example"] == client.post(trace["links"]["explain"], json=asked).json()


def test_every_error_is_declared_in_the_one_shape(client: TestClient) -> None:
    for (method, path), operation in operations(client).items():
        statuses = set(operation["responses"])
        assert {"400", "500", "503"} <= statuses
        if method == "post":
            assert {"413", "415", "422"} <= statuses
        if "{" in path:
            assert "404" in statuses
        for status, response in operation["responses"].items():
            if status >= "400":
                assert list(response["content"]) == ["application/problem+json"]
                assert response["content"]["application/problem+json"]["example"]["status"] == int(status)


def test_operation_ids_are_unique(client: TestClient) -> None:
    ids = [operation["operationId"] for operation in operations(client).values()]
    assert len(ids) == len(set(ids))


def test_the_examples_of_requests_are_answered(client: TestClient) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    trace = None
    for example in schemas["TraceRequest"]["examples"]:
        response = client.post("/api/v1/models/tiny_network/trace", json=example)
        assert response.status_code == 200, response.text
        trace = response.json()
    assert trace is not None
    for example in schemas["TrainRequest"]["examples"]:
        assert client.post("/api/v1/models/tiny_network/train", json=example).status_code == 200
    for question, name in (("explain", "ExplainRequest"), ("verify", "VerifyRequest"), ("paths", "PathsRequest")):
        for example in schemas[name]["examples"]:
            response = client.post(trace["links"][question], json=example)
            assert response.status_code == 200, response.text
