"""Runs over HTTP: begun in the background, watched, changed; a reader who leaves pauses only what it started."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load as read_tensors
from starlette.testclient import TestClient

from app.main import create_app
from app.run_lines import RunLines
from app.settings import Settings

TRAIN = "/api/v1/models/tiny_network/train"
SLOW = {"update": {"learning_rate": 1e-6}, "background": True}
LINES = {"accept": "application/jsonl"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The app with one worker, without its start."""
    app = create_app(Settings(data_dir=str(tmp_path_factory.mktemp("data")), heavy_workers=1))
    yield TestClient(app, base_url="http://127.0.0.1")
    app.state.services.runs.close()


def begun(site: TestClient, steps: int = 100_000) -> dict[str, Any]:
    response = site.post(TRAIN, json={**SLOW, "steps": steps})
    assert response.status_code == 202, response.text
    assert response.headers["location"] == response.json()["links"]["self"]
    return response.json()


def rested(site: TestClient, run: dict[str, Any]) -> dict[str, Any]:
    deadline = time.monotonic() + 60
    while (now := site.get(run["links"]["self"]).json())["state"] == "running":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return now


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_run_in_the_background_is_watched_to_its_end_by_its_links(site: TestClient) -> None:
    run = begun(site, 200)
    assert (run["state"], run["steps"], run["request"]) == ("running", 200, {"update": {"learning_rate": 1e-6}})
    lines = lines_of(site.get(run["links"]["progress"], headers=LINES).text)
    assert lines[0] == {
        "type": "open",
        "run": run["id"],
        "model": {"name": "tiny_network", "title": lines[0]["model"]["title"]},
        "steps": 200,
    }
    assert lines[1] == {"type": "progress", "step": 0, "loss": 1.125}
    assert (lines[-1]["type"], lines[-1]["state"], len(lines[-1]["losses"])) == ("done", "done", 201)
    whole = site.get(run["links"]["progress"]).json()
    assert [{"type": "progress", **point} for point in whole["points"]] == lines[1:-1]
    assert whole["run"]["last"] == whole["points"][-1] == {"step": 200, "loss": lines[-1]["losses"][-1]}
    later = site.get(run["links"]["progress"], params={"since": 199}).json()
    assert later["points"] == whole["points"][-1:]
    assert site.get("/api/v1/runs", params={"limit": 1}).json()["runs"] == [whole["run"]]


def test_parameters_are_the_same_in_every_encoding(site: TestClient) -> None:
    run = rested(site, begun(site, 3))
    done = lines_of(site.get(run["links"]["progress"], headers=LINES).text)[-1]
    url = run["links"]["parameters"]
    numbers = site.get(url).json()
    packed = site.get(url, params={"enc": "b64"}).json()
    file = read_tensors(site.get(url, params={"enc": "file"}).content)
    assert numbers["step"] == packed["step"] == 3
    for name, tensor in numbers["tensors"].items():
        array = np.array(tensor["data"], np.float32)
        assert tensor["data"] == done["parameters"][name]
        assert base64.b64decode(packed["tensors"][name]["bdata"]) == array.tobytes()
        assert np.array_equal(file[name].numpy(), array)
    assert numbers["tensors"]["hidden.weight"]["shape"] == [3, 2]


def test_a_run_is_paused_gone_on_with_and_cancelled(site: TestClient) -> None:
    run = begun(site)
    paused = site.post(run["links"]["pause"]).json()
    assert paused["state"] == "paused"
    assert site.post(run["links"]["resume"], json={"steps": 1}).status_code == 200
    stepped = rested(site, run)
    assert (stepped["state"], stepped["step"]) == ("paused", paused["step"] + 1)
    assert site.post(run["links"]["cancel"]).json()["state"] == "cancelled"
    refused = site.post(run["links"]["resume"])
    assert refused.status_code == 409
    assert refused.json()["detail"] == "run must be paused to be gone on with; got cancelled"


def test_a_fork_has_the_past_of_its_run_and_what_is_changed_from_there(site: TestClient) -> None:
    run = rested(site, begun(site, 20))
    response = site.post(run["links"]["fork"], json={"step": 5, "update": {"learning_rate": 0.01}, "steps": 8})
    assert response.status_code == 201
    fork = rested(site, response.json())
    assert (fork["parent"], fork["fork_step"], fork["steps"]) == (run["id"], 5, 8)
    assert fork["request"] == {"update": {"learning_rate": 0.01}}
    ours, theirs = (
        lines_of(site.get(one["links"]["progress"], headers=LINES).text)[-1]["losses"] for one in (fork, run)
    )
    assert ours[:6] == theirs[:6]
    assert (len(ours), ours[6] == theirs[6]) == (9, False)


def test_when_every_process_is_taken_the_answer_is_503_with_a_time_to_try_again(site: TestClient) -> None:
    run = begun(site)
    refused = site.post(TRAIN, json=SLOW)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    site.post(run["links"]["cancel"])
    assert site.post(TRAIN, json={"steps": 1}).status_code == 200


def test_a_reader_who_leaves_pauses_what_it_started_and_nothing_else(site: TestClient) -> None:
    run = begun(site)
    runs = site.app.state.services.runs  # type: ignore[attr-defined]
    live = runs.live(run["id"])
    RunLines(runs, live.run, live, after=-1, pause_when_left=False).cancel("the client left")
    assert not live.asked
    RunLines(runs, live.run, live, after=-1, pause_when_left=True).cancel("the client left")
    assert live.ended.wait(5)
    assert (rested(site, run)["state"], rested(site, run)["note"]) == ("paused", "the client left")


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (TRAIN, {"recipe": {"batch": 4}}, "recipe.batch must be left out: this model trains by its update; got 4"),
        (TRAIN, {"background": 1}, "background must be true or false; got 1"),
        ("/api/v1/runs/none/fork", {}, "step must be given; got nothing"),
        ("/api/v1/runs/none/resume", {"steps": 0}, "steps must be at least 1; got 0"),
    ],
)
def test_what_does_not_fit_says_expected_and_got(site: TestClient, path: str, body: Any, message: str) -> None:
    response = site.post(path, json=body)
    assert (response.status_code, response.json()["detail"]) == (422, message)


@pytest.mark.parametrize(("method", "name"), [("get", ""), ("get", "/progress"), ("get", "/parameters"), *(
    ("post", f"/{name}") for name in ("pause", "resume", "cancel")
)])  # fmt: skip
def test_an_unknown_run_is_404(site: TestClient, method: str, name: str) -> None:
    response = site.request(method, f"/api/v1/runs/none{name}")
    assert (response.status_code, response.json()["detail"]) == (404, "run must exist; got 'none'")


def test_a_path_is_no_run_id(site: TestClient) -> None:
    assert site.get("/api/v1/runs/..%2F..%2Fetc/parameters").status_code == 404
