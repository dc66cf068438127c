"""The routes of the lesson on your own data: a table in and out, a row as a trace, the script of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from app.settings import Settings
from tests.app.markup import parse
from tests.engine.training.test_tables import MIXED

LESSON = "/lessons/own_data"
BROKEN = "a,b\n" + "1,2\n" * 7 + "x,3"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The app with one worker, without its start."""
    app = create_app(Settings(data_dir=str(tmp_path_factory.mktemp("data")), heavy_workers=1))
    yield TestClient(app, base_url="http://127.0.0.1", headers={"accept": "text/html"})
    app.state.services.runs.close()


def send(site: TestClient, text: str = "", file: bytes = b"", **headers: str) -> Any:
    files = {"text": (None, text), "file": ("t.csv", file, "text/csv")}
    return site.post(f"{LESSON}/table", files=files, headers=headers, follow_redirects=False)


@pytest.fixture(scope="module")
def address(site: TestClient) -> str:
    """The lesson's page with a table and a run on it that came to its end."""
    query = urlsplit(send(site, file=MIXED).headers["location"]).query
    form = {**dict(parse_qsl(query)), "passes": "3", "rule": "sgd", "rate": "0.1"}
    response = site.post(f"{LESSON}/training", data=form, follow_redirects=False)
    assert response.status_code == 303, response.text[:500]
    run = dict(parse_qsl(urlsplit(response.headers["location"]).query))["run"]
    live = site.app.state.services.runs.live(run)  # type: ignore[attr-defined]
    if live:
        live.ended.wait()
    return str(response.headers["location"])


def run_of(address: str) -> str:
    return dict(parse_qsl(urlsplit(address).query))["run"]


def test_a_pasted_table_and_a_file_lead_to_the_same_page(site):
    pasted, file = send(site, MIXED.decode()), send(site, file=MIXED)
    assert pasted.status_code == file.status_code == 303
    assert pasted.headers["location"] == file.headers["location"]
    assert re.fullmatch(rf"{LESSON}\?data=\d+#your-table", file.headers["location"])
    page = site.get(file.headers["location"])
    assert "Your table has" in page.text and "colour = green" in page.text


def test_a_table_that_was_missing_is_there_once_it_is_brought(site):
    text = b"a,b\n" + b"1.5,2\n2.5,9\n" * 5
    from engine.data.tables import number_of

    link = f"{LESSON}?data={number_of(text)}"
    assert "is not kept here" in site.get(link).text
    assert send(site, file=text).headers["location"].startswith(link)
    assert "is not kept here" not in site.get(link).text


def test_the_shipped_table_sent_again_is_the_plain_page(site):
    content = site.get(f"{LESSON}/table/0.csv").content
    assert send(site, file=content).headers["location"] == f"{LESSON}#your-table"


def test_what_cannot_be_read_is_said_at_the_form_and_stays_in_it(site):
    response = send(site, BROKEN)
    assert response.status_code == 422
    page = parse(response.text)
    alerts = [one.text for one in page.all("p") if one.get("role") == "alert"]
    assert alerts == ["Row 9, column a must be a number with a decimal point, such as -1.5; got 'x'."]
    assert page.one("textarea", id="table-text").text.split() == BROKEN.split()


def test_a_form_without_a_table_and_one_of_another_site_are_refused(site):
    assert send(site).status_code == 422
    assert send(site, MIXED.decode(), origin="https://elsewhere.example").status_code == 403
    assert site.post(f"{LESSON}/table", content=b"a,b").status_code == 422
    assert site.get(f"{LESSON}/table", follow_redirects=False).headers["location"] == f"{LESSON}#your-table"


def test_a_table_is_given_back_as_it_came(site):
    number = dict(parse_qsl(urlsplit(send(site, file=MIXED).headers["location"]).query))["data"]
    response = site.get(f"{LESSON}/table/{number}.csv")
    assert response.content == MIXED
    assert response.headers["content-type"].startswith("text/csv")
    assert site.get(f"{LESSON}/table/7.csv").status_code == 404


def test_words_of_a_table_are_text_on_the_page(site):
    text = "a,<b>x</b>\n" + "1.5,<script>alert(1)</script>\n2.5,&amp;\n" * 4
    page = site.get(send(site, text).headers["location"]).text
    assert "<script>alert(1)" not in page and "<b>x</b>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_the_panel_shows_what_the_run_came_to(site, address):
    page = parse(site.get(address).text)
    panel = page.one("section", id="training")
    assert panel["data-state"] == "done"
    assert "misses price by" in re.sub(r"\s+", " ", panel.text)
    links = [link.get("href", "") for link in panel.all("a")]
    assert f"{LESSON}/training/{run_of(address)}/script.py" in links
    assert not [link for link in links if link.endswith("#stage")]


def test_a_run_has_a_script(site, address):
    response = site.get(f"{LESSON}/training/{run_of(address)}/script.py")
    assert response.status_code == 200 and "attachment" in response.headers["content-disposition"]
    compile(response.text, "reproduce.py", "exec")
    assert "PHASES = [(9, 'sgd', 0.1, 16)]" in response.text


def test_a_branch_s_script_has_the_steps_of_both(site, address):
    form = {**dict(parse_qsl(urlsplit(address).query)), "passes": "2", "rate": "0.01"}
    form.pop("run")
    response = site.post(f"{LESSON}/training/{run_of(address)}/fork", data=form, follow_redirects=False)
    child = run_of(response.headers["location"])
    live = site.app.state.services.runs.live(child)
    if live:
        live.ended.wait()
    text = site.get(f"{LESSON}/training/{child}/script.py").text
    assert "PHASES = [(9, 'sgd', 0.1, 16), (15, 'sgd', 0.01, 16)]" in text


def test_a_row_is_opened_as_a_trace_and_says_so(site, address):
    row = f"{LESSON}/training/{run_of(address)}/row"
    response = site.get(f"{row}?row=7", follow_redirects=False)
    assert response.status_code == 303
    assert site.get(f"{row}?row=7", follow_redirects=False).headers["location"] == response.headers["location"]
    page = parse(site.get(response.headers["location"]).text)
    assert page.one("h1").text == "Row 7 of the table: price"
    assert not [link for link in page.all("a") if link.get("href") == "/models/TableNetwork"]
    assert site.get(f"{row}?row=61").status_code == 422
    assert site.get(f"{row}?row=0").status_code == 422


def test_only_runs_on_tables_have_scripts_and_rows(site):
    unknown = f"{LESSON}/training/{'0' * 32}"
    assert site.get(f"{unknown}/script.py").status_code == 404
    body = {"steps": 1, "background": True, "update": {"learning_rate": 0.1}}
    other = site.post("/api/v1/models/tiny_network/train", json=body).json()["id"]
    assert site.get(f"{LESSON}/training/{other}/script.py").status_code == 404


def test_a_run_on_a_table_that_is_not_kept_is_refused(site):
    response = site.post(f"{LESSON}/training", data={"data": "7"}, follow_redirects=False)
    assert response.status_code == 422
    assert "Data must be the number of a table that is kept here; got 7." in response.text
