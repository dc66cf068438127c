"""The pages about the API: its table, its examples, which run as they stand, and the drawn description."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.app.markup import Node, parse

if TYPE_CHECKING:
    from starlette.testclient import TestClient


def page(client: TestClient, path: str) -> Node:
    return parse(client.get(path).text)


def run(client: TestClient, code: str, patch: pytest.MonkeyPatch) -> None:
    """Runs an example as it stands, its requests answered by the app."""
    patch.setitem(sys.modules, "httpx", client)
    exec(compile(code, "example", "exec"), {})  # noqa: S102


def code_of(client: TestClient, name: str) -> str:
    return "".join(page(client, "/api").one("code", cls=name).children)


def test_the_table_has_every_operation_of_the_description(client: TestClient) -> None:
    rows = [[cell.text for cell in row.children if isinstance(cell, Node)] for row in page(client, "/api").all("tr")]
    paths = client.get("/openapi.json").json()["paths"]
    described = [[f"{m.upper()} {path}", one["summary"]] for path, ms in paths.items() for m, one in ms.items()]
    assert rows[1:] == described
    assert ["POST /api/v1/models/{model}/trace", "Run a model and record every step"] in described


def test_the_example_of_a_whole_run_prints_prediction_and_gradient(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(client, code_of(client, "whole"), monkeypatch)
    assert capsys.readouterr().out == "6.5 [[10.0, -5.0], [0.0, -0.0], [0.0, -0.0]]\n"


def test_the_example_of_a_stream_prints_each_step(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = code_of(client, "streaming")
    assert len([line for line in code.splitlines() if line.strip() and not line.startswith("import")]) == 4
    run(client, code, monkeypatch)
    steps = client.post("/api/v1/models/tiny_network/trace", json={}).json()["steps"]
    assert capsys.readouterr().out.splitlines() == [f"{step['phase']} {step['name']}" for step in steps]


def test_the_description_asks_the_site_it_comes_from(client: TestClient) -> None:
    text = client.get("/openapi.json", headers={"host": "localhost:1234"}).json()["info"]["description"]
    assert 'url = "http://localhost:1234/api/v1/models/tiny_network/trace"' in text
    assert 'json={"inputs": {"x": [2, -1]}, "target": 4}' in text
    assert "{origin}" not in text and "8000" not in text


def test_the_drawn_description_has_the_bar_and_none_of_the_sheets_that_would_restyle_it(client: TestClient) -> None:
    docs = page(client, "/docs")
    assert [link["href"] for link in docs.one("nav").all("a")] == ["/", "/models", "/open", "/api"]
    sheets = [link["href"] for link in docs.all("link", rel="stylesheet")]
    assert "/static/css/base.css" not in sheets
    assert "/static/docs/docs.css" in sheets
