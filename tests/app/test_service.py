"""What every answer has, and what machines ask: headers, health, counters, browser files, the API's documentation."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.testclient import TestClient

from app.assets import ALLOWED, NODE_MODULES, asset_url, assets
from app.errors import Problem
from app.limits import CONTENT_SECURITY_POLICY
from app.main import create_app
from app.metrics import Counters
from app.page import source
from app.settings import Settings

TRACE = "/api/v1/models/tiny_network/trace"


@pytest.mark.parametrize("path", ["/healthz", "/docs", "/api/v1/models", "/nothing", "/static/docs/docs.js"])
def test_every_answer_has_the_security_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


GETS = [
    "/", "/.json", "/models", "/models/tiny_network",
    "/lessons/accountable_network.json?step=3", "/open", "/api", "/docs",
    "/openapi.json", "/healthz", "/static/page.js", "/api/v1/models", "/api/v1/lessons", "/nothing",
]  # fmt: skip


@pytest.mark.parametrize("path", GETS)
def test_head_has_the_headers_of_get_and_no_body(client: TestClient, path: str) -> None:
    whole, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    assert head.headers == whole.headers


def test_head_of_what_only_takes_post_is_405(client: TestClient) -> None:
    head = client.head(TRACE)
    assert (head.status_code, head.headers["allow"]) == (405, "POST")


def test_a_body_that_is_too_large_is_a_page_for_browsers(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path), max_upload_bytes=1024)
    client = TestClient(create_app(settings), base_url="http://127.0.0.1")
    response = client.post("/open", files={"file": b"x" * 2000}, headers={"accept": "text/html"})
    assert response.status_code == 413
    assert "<h1>Request Entity Too Large</h1>" in response.text
    assert "body must have at most 1024 bytes; got " in response.text


def test_the_policy_allows_no_inline_script() -> None:
    directives = dict(one.strip().split(" ", 1) for one in CONTENT_SECURITY_POLICY.split(";"))
    assert directives["script-src"] == "'self'"
    assert directives["default-src"] == "'none'"
    assert [name for name, value in directives.items() if "unsafe-inline" in value] == ["style-src-attr"]


def test_alive_and_ready(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}


def test_before_its_start_the_app_is_not_ready(tmp_path: Path) -> None:
    unstarted = TestClient(create_app(Settings(data_dir=str(tmp_path))), base_url="http://127.0.0.1")
    response = unstarted.get("/readyz")
    assert response.status_code == 503
    assert response.headers["retry-after"] == "1"


def test_requests_traces_and_streams_are_counted(client: TestClient) -> None:
    def value(name: str) -> float:
        lines = client.get("/metrics").text.splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))

    asked = 'longhand_requests_total{method="POST",route="/api/v1/models/{model}/trace",status="200"}'
    before = (value(asked), value("longhand_traces_total"), value("longhand_streams_total"))
    client.post(TRACE, json={"target": 8})
    client.post(TRACE, json={"target": 9, "stream": True})
    after = (value(asked), value("longhand_traces_total"), value("longhand_streams_total"))
    assert [now - then for now, then in zip(after, before, strict=True)] == [2, 2, 1]
    assert value("longhand_open_streams") == 0


def test_whether_pages_are_still_made_ahead_is_a_gauge(client: TestClient) -> None:
    client.app.state.warming.join()  # type: ignore[attr-defined]
    assert "longhand_warming_up 0" in client.get("/metrics").text.splitlines()


def test_paths_that_match_nothing_share_one_counter(client: TestClient) -> None:
    for number in range(5):
        client.get(f"/nothing/{number}")
    text = client.get("/metrics").text
    assert "nothing" not in text
    assert 'route="none",status="404"' in text


def test_a_label_is_escaped() -> None:
    counters = Counters()
    counters.trace('a"b\\c\nd')
    assert 'longhand_traces_total{model="a\\"b\\\\c\\nd"} 1' in counters.text()


def test_browser_files_are_kept_for_good_under_their_version_and_checked_without(client: TestClient) -> None:
    fixed = client.get(asset_url("temml/dist/temml.mjs"))
    assert fixed.status_code == 200
    assert "@" in asset_url("temml/dist/temml.mjs")
    assert "immutable" in fixed.headers["cache-control"]
    assert fixed.headers["content-type"].startswith("text/javascript")
    loose = client.get("/assets/temml/dist/temml.mjs")
    assert loose.headers["cache-control"] == "public, no-cache"
    assert loose.content == fixed.content == (NODE_MODULES / "temml/dist/temml.mjs").read_bytes()
    again = client.get("/assets/temml/dist/temml.mjs", headers={"if-none-match": loose.headers["etag"]})
    assert again.status_code == 304


def test_browser_files_come_compressed_where_that_helps(client: TestClient) -> None:
    name = "temml/dist/temml.mjs"
    assert client.get(f"/assets/{name}", headers={"accept-encoding": "gzip"}).headers["content-encoding"] == "gzip"
    assert gzip.decompress(assets()[name].zipped or b"") == assets()[name].content
    assert "content-encoding" not in client.get(f"/assets/{name}", headers={"accept-encoding": "identity"}).headers
    assert assets()["temml/dist/Temml.woff2"].zipped is None


def test_every_allowed_pattern_finds_a_file() -> None:
    for package, patterns in ALLOWED.items():
        for pattern in patterns:
            assert list((NODE_MODULES / package).glob(pattern)), (package, pattern)


def test_our_own_files_are_checked_by_their_tag(client: TestClient) -> None:
    response = client.get("/static/docs/docs.js")
    assert response.headers["cache-control"] == "public, no-cache"
    again = client.get("/static/docs/docs.js", headers={"if-none-match": response.headers["etag"]})
    assert again.status_code == 304


def test_the_documentation_names_only_files_of_this_site(client: TestClient) -> None:
    text = client.get("/docs").text
    assert "http://" not in text
    assert "https://" not in text
    assert "<script>" not in text
    for address in (asset_url("swagger-ui-dist/swagger-ui-bundle.js"), "/static/docs/docs.js", "/static/docs/docs.css"):
        assert f'"{address}"' in text
        assert client.get(address).status_code == 200


def broken_app(tmp_path: Path) -> FastAPI:
    app = create_app(Settings(data_dir=str(tmp_path)))

    @app.get("/api/broken")
    @app.get("/broken")
    async def broken() -> Response:
        raise RuntimeError("secret")

    return app


def test_an_unexpected_error_is_a_problem_that_tells_nothing_secret(tmp_path: Path) -> None:
    client = TestClient(broken_app(tmp_path), base_url="http://127.0.0.1")
    response = client.get("/api/broken")
    assert response.status_code == 500
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert "secret" not in response.text


def test_browsers_outside_the_api_get_the_error_page(tmp_path: Path) -> None:
    def error_page(request: Request, problem: Problem) -> Response:
        return HTMLResponse(f"<h1>{problem.status}</h1>", problem.status)

    app = broken_app(tmp_path)
    app.state.error_page = error_page
    client = TestClient(app, base_url="http://127.0.0.1")
    html = {"accept": "text/html,*/*"}
    assert client.get("/nothing", headers=html).text == "<h1>404</h1>"
    assert client.get("/broken", headers=html).text == "<h1>500</h1>"
    assert client.get("/nothing").headers["content-type"] == "application/problem+json"
    assert client.get("/api/broken", headers=html).json()["status"] == 500
    assert client.get("/api/v1/models/none", headers=html).json()["status"] == 404


def test_a_run_above_the_bound_is_refused_with_number_and_limit(tmp_path: Path) -> None:
    client = TestClient(create_app(Settings(data_dir=str(tmp_path), heavy_flops=10_000)), base_url="http://127.0.0.1")
    response = client.post("/api/v1/models/tiny_network/train", json={"steps": 1000})
    assert response.status_code == 422
    assert response.json()["detail"] == "the run must need at most 10,000 floating-point operations; got about 78,000"
    assert client.post(TRACE, json={}).status_code == 200


def test_answers_are_compressed_for_who_can_read_it(client: TestClient) -> None:
    response = client.post(TRACE, json={}, headers={"accept-encoding": "gzip"})
    assert response.headers["content-encoding"] == "gzip"
    assert json.loads(response.content)["result"]["prediction"] == 5.5


def test_a_star_answers_every_host(tmp_path: Path) -> None:
    app = create_app(Settings(data_dir=str(tmp_path), allowed_hosts=("*",)))
    client = TestClient(app, base_url="http://anything.example")
    assert client.get("/healthz").status_code == 200


def test_a_lesson_is_made_before_the_app_is_ready(client: TestClient) -> None:
    """The first reader does not wait for templates to compile and for the runs that the text names."""
    assert client.get("/readyz").json() == {"status": "ready"}
    misses = source._told.cache_info().misses
    assert client.get("/lessons/accountable_network").status_code == 200
    assert source._told.cache_info().misses == misses
