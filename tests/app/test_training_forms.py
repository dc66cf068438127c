"""The training panel's forms: each leads back to the page, and what cannot be done is said in the panel."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from app.settings import Settings
from tests.app.markup import Node, data_numbers, exact_values, fields, parse

LESSON = "/lessons/accountable_network"
TRAINING = f"{LESSON}/training"
LONG = {"rate": "0.00001", "steps": "100000"}
OWN = "http://127.0.0.1"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The app with one worker, without its start."""
    app = create_app(Settings(data_dir=str(tmp_path_factory.mktemp("data")), heavy_workers=1))
    yield TestClient(app, base_url=OWN, headers={"accept": "text/html"})
    app.state.services.runs.close()


@pytest.fixture(autouse=True)
def _rested(site: TestClient) -> Iterator[None]:
    """No run is left to the next test."""
    yield
    for run in site.get("/api/v1/runs").json()["runs"]:
        if run["state"] == "running":
            site.post(run["links"]["cancel"])


def send(site: TestClient, path: str = TRAINING, /, **form: str) -> str:
    """The address that a form leads to."""
    response = site.post(path, data=form, follow_redirects=False)
    assert response.status_code == 303, response.text[:500]
    return response.headers["location"]


def run_of(address: str) -> str:
    return dict(parse_qsl(urlsplit(address).query))["run"]


def panel(site: TestClient, address: str, status: int = 200) -> Node:
    response = site.get(address)
    assert response.status_code == status
    return parse(response.text).one("section", id="training")


def press(site: TestClient, address: str, label: str) -> str:
    """What a browser without scripts does when a button of the panel is pressed; the address it comes to."""
    found = panel(site, address)
    button = next(one for one in found.all("button") if one.text == label)
    form = button
    while form.tag != "form" and form.parent is not None:
        form = form.parent
    sent = dict(fields(form)) | ({button["name"]: button["value"]} if button.get("name") else {})
    return send(site, button.get("formaction") or form["action"], **sent)


def state_of(site: TestClient, address: str) -> tuple[str, int]:
    run = site.get(f"/api/v1/runs/{run_of(address)}").json()
    return run["state"], run["step"]


def test_a_page_without_a_run_offers_its_settings_and_a_start(site: TestClient) -> None:
    found = panel(site, LESSON)
    assert found["data-state"] == "none"
    assert [field["name"] for field in found.all("input") if field.get("type") == "text"] == ["rate", "steps"]
    assert [button.text for button in found.all("button")] == ["Start", "Start with one step"]


def test_a_start_leads_back_to_the_page_with_the_run_and_what_was_set(site: TestClient) -> None:
    address = send(site, **{"rate": "0.05", "steps": "40", "x[0]": "3", "step": "2"})
    path, _, anchor = address.partition("#")
    assert (urlsplit(path).path, anchor) == (LESSON, "training")
    query = dict(parse_qsl(urlsplit(path).query))
    assert re.fullmatch("[0-9a-f]{32}", query.pop("run"))
    assert query == {"rate": "0.05", "steps": "40", "x[0]": "3", "step": "2"}
    run = site.get(f"/api/v1/runs/{run_of(address)}").json()
    assert run["request"]["update"]["learning_rate"] == 0.05
    assert run["steps"] == 40


def test_a_short_run_is_shown_at_its_end_with_its_curve(site: TestClient) -> None:
    address = send(site, rate="0.02", steps="30")
    deadline = time.monotonic() + 20
    while (found := panel(site, address))["data-state"] != "done":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert "done step 30 of 30" in found.text
    data = site.get(address.replace(LESSON, f"{LESSON}.json")).json()["training"]
    curve = data["figures"][0]["figure"]["data"][0]
    assert (curve["name"], curve["x"]) == ("loss", list(range(31)))
    assert curve["y"][:3] == pytest.approx([0.70833, 0.40403, 0.26163], rel=1e-4)
    assert curve["y"][-1] == data["metrics"]["loss"]
    assert [row[0] for row in data["table"]["rows"]][-1] == 30
    assert exact_values(found) <= data_numbers(data)[0]


def test_the_buttons_pause_step_go_on_and_end(site: TestClient) -> None:
    address = press(site, send(site, **LONG), "Pause")
    state, step = state_of(site, address)
    assert state == "paused"
    address = press(site, address, "1 step")
    assert state_of(site, address) == ("paused", step + 1)
    address = press(site, address, "10 steps")
    assert state_of(site, address) == ("paused", step + 11)
    address = press(site, address, "Go on")
    assert state_of(site, address)[0] == "running"
    address = press(site, address, "End it")
    assert state_of(site, address)[0] == "cancelled"
    labels = [button.text for button in panel(site, address).all("button")]
    assert labels == ["Start anew", "Start with one step", "Branch off here", "Again from the same start"]


def test_a_start_with_one_step_pauses_after_it(site: TestClient) -> None:
    address = press(site, LESSON, "Start with one step")
    assert state_of(site, address) == ("paused", 1)


def test_again_is_the_same_run_from_the_same_start(site: TestClient) -> None:
    first = press(site, send(site, go="1", rate="0.05", steps="30"), "10 steps")
    again = press(site, first, "Again from the same start")
    assert run_of(again) != run_of(first)
    assert state_of(site, first) == ("paused", 11)
    old, new = (losses(site, address) for address in (first, again))
    assert new[:12] == old[:12]
    asked = [site.get(f"/api/v1/runs/{run_of(address)}").json() for address in (first, again)]
    assert asked[0]["request"] == asked[1]["request"]
    assert asked[0]["steps"] == asked[1]["steps"] == 30


def losses(site: TestClient, address: str) -> list[float]:
    data = site.get(address.replace(LESSON, f"{LESSON}.json")).json()["training"]
    return data["figures"][0]["figure"]["data"][0]["y"]


def test_a_branch_has_the_past_and_goes_on_with_other_settings(site: TestClient) -> None:
    first = press(site, send(site, go="1", rate="0.05", steps="30"), "10 steps")
    branch = send(site, f"{TRAINING}/{run_of(first)}/fork", rate="0.01", steps="20", run=run_of(first))
    run = site.get(f"/api/v1/runs/{run_of(branch)}").json()
    assert (run["parent"], run["fork_step"], run["steps"]) == (run_of(first), 11, 31)
    assert run["request"]["update"]["learning_rate"] == 0.01


def test_a_start_puts_the_run_that_goes_on_aside(site: TestClient) -> None:
    first = send(site, **LONG)
    second = send(site, **LONG, run=run_of(first))
    assert state_of(site, first)[0] == "paused"
    assert state_of(site, second)[0] == "running"


def test_a_setting_that_cannot_be_read_is_said_beside_its_field_and_nothing_starts(site: TestClient) -> None:
    before = site.get("/api/v1/runs").json()
    address = send(site, rate="fast", steps="40")
    found = panel(site, address, 422)
    assert found.one("input", id="f-rate")["value"] == "fast"
    assert found.one("p", id="ef-rate").text == "Learning rate must be a number from 0 to 10; got “fast”. Using 0.02."
    assert found["data-state"] == "none"
    assert site.get("/api/v1/runs").json() == before


def test_when_every_process_is_taken_the_panel_says_so_and_the_page_is_whole(site: TestClient) -> None:
    send(site, **LONG)
    response = site.post(TRAINING, data={"rate": "0.05", "steps": "30"})
    assert response.status_code == 503
    found = parse(response.text).one("section", id="training")
    assert found.one("p", role="alert").text.endswith("Others are training; try again in a moment.")
    assert found.one("input", id="f-rate")["value"] == "0.05"
    assert parse(response.text).one("section", id="stage")


def test_a_run_that_is_gone_is_said_to_be(site: TestClient) -> None:
    gone = f"{LESSON}?run={'0' * 32}"
    found = panel(site, gone)
    assert found["data-state"] == "gone"
    assert "no longer kept" in found.text
    assert state_of(site, press(site, gone, "Start with one step")) == ("paused", 1)
    assert urlsplit(send(site, f"{TRAINING}/{'0' * 32}/pause", run="0" * 32)).path == LESSON


def test_a_run_of_another_model_is_none_of_this_page(site: TestClient) -> None:
    answer = site.post("/api/v1/models/norm_and_residual/train", json={"steps": 1, "background": True}).json()
    assert panel(site, f"{LESSON}?run={answer['id']}")["data-state"] == "gone"


def test_an_address_with_another_text_as_run_is_an_error(site: TestClient) -> None:
    assert panel(site, f"{LESSON}?run=mine", 422)["data-state"] == "none"


def test_a_diverged_run_says_where(site: TestClient) -> None:
    address = send(site, rate="10", steps="60")
    deadline = time.monotonic() + 20
    while (found := panel(site, address))["data-state"] != "done":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    training = site.get(address.replace(LESSON, f"{LESSON}.json")).json()["training"]
    assert 10 < training["diverged"] <= 20
    assert f"no longer a finite number at step {training['diverged']}" in found.text
    assert training["stage"] is None


def test_a_pressed_button_that_comes_too_late_changes_nothing(site: TestClient) -> None:
    address = send(site, go="1", rate="0.02", steps="30")
    send(site, f"{TRAINING}/{run_of(address)}/pause", run=run_of(address))
    assert state_of(site, address) == ("paused", 1)


def test_the_panel_alone_and_its_data_are_as_the_page_has_them(site: TestClient) -> None:
    address = send(site, go="1", rate="0.02", steps="30")
    alone = site.get(panel(site, address)["data-panel"])
    assert alone.headers["cache-control"] == "no-store"
    assert parse(alone.text).one("section").text == panel(site, address).text
    data = site.get(f"{TRAINING}/{run_of(address)}.json?rate=0.02&steps=30").json()
    assert (data["run"]["state"], data["run"]["step"], data["metrics"]) == (
        "paused",
        1,
        {"loss": data["metrics"]["loss"]},
    )


def test_a_page_with_a_run_is_never_an_old_one(site: TestClient) -> None:
    address = send(site, go="1", rate="0.02", steps="30")
    assert site.get(address).headers["cache-control"] == "no-store"
    assert "step 1 of 30" in panel(site, address).text
    press(site, address, "10 steps")
    assert "step 11 of 30" in panel(site, address).text


def test_the_trained_parameters_are_seen_on_the_stage(site: TestClient) -> None:
    address = press(site, send(site, go="1", rate="0.02", steps="30"), "10 steps")
    link = panel(site, address).one("a", cls="show")["href"]
    trace = site.get(link.replace(LESSON, f"{LESSON}.json")).json()["trace"]["tensors"]
    kept = site.get(f"/api/v1/runs/{run_of(address)}/parameters", headers={"accept": "application/json"}).json()
    for name, tensor in kept["tensors"].items():
        assert flat(trace[name]) == pytest.approx(flat(tensor))
    assert dict(parse_qsl(urlsplit(link).query))["run"] == run_of(address)


def flat(tensor: dict[str, Any]) -> list[float]:
    return [value for row in tensor["data"] for value in (row if isinstance(row, list) else [row])]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://elsewhere.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:8001"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": OWN},
    ],
)
@pytest.mark.parametrize("path", ["", f"/{'0' * 32}/pause", f"/{'0' * 32}/again", f"/{'0' * 32}/fork"])
def test_a_form_of_another_site_is_refused(site: TestClient, path: str, headers: dict[str, str]) -> None:
    before = site.get("/api/v1/runs").json()
    response = site.post(TRAINING + path, data={"steps": "5"}, headers={**headers, "accept": "application/json"})
    assert response.status_code == 403
    assert response.json()["detail"].startswith("the form must come from a page of this site; got one from ")
    assert site.get("/api/v1/runs").json() == before


def test_a_form_of_this_site_is_taken(site: TestClient) -> None:
    headers = {"origin": OWN, "sec-fetch-site": "same-origin"}
    assert site.post(TRAINING, data={"go": "1"}, headers=headers, follow_redirects=False).status_code == 303


@pytest.mark.parametrize(
    ("path", "content", "kind", "status"),
    [
        (TRAINING, b"{}", "application/json", 415),
        (TRAINING, b"\xff\xfe", "application/x-www-form-urlencoded", 422),
        (TRAINING, b"&".join([b"a=1"] * 5000), "application/x-www-form-urlencoded", 422),
        ("/lessons/one_attention_head/training", b"", "application/x-www-form-urlencoded", 404),
        ("/lessons/nothing/training", b"", "application/x-www-form-urlencoded", 404),
        (f"{TRAINING}/mine/pause", b"", "application/x-www-form-urlencoded", 422),
    ],
)
def test_what_is_no_form_of_the_panel_is_refused(
    site: TestClient, path: str, content: bytes, kind: str, status: int
) -> None:
    assert site.post(path, content=content, headers={"content-type": kind}).status_code == status


def test_the_forms_address_itself_leads_to_the_panel(site: TestClient) -> None:
    response = site.get(f"{TRAINING}?rate=0.05", follow_redirects=False)
    assert (response.status_code, response.headers["location"]) == (303, f"{LESSON}?rate=0.05#training")
