"""The pages as a browser without scripts gets them."""

from __future__ import annotations

from itertools import pairwise
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from app.lessons import catalogue
from app.page import source
from tests.app.markup import data_numbers, document, exact_values, fields, parse, shown_numbers

LESSON = "/lessons/accountable_network"
HTML = {"accept": "text/html"}
STATES = [
    "",
    "do:hidden.activation[1]=off&cell=hidden.preactivation[1]",
    "hidden.weight[1,0]=0.1&step=9&view=matrices&cell=hidden.weight[1,0]&of=gradient&prove=1",
    "rows=3&view=graph&step=8&x[2,0]=5",
    "readout.weight[0,2]=101&activation=none&lr=0.05&frozen=hidden.weight&step=11",
    "predict=1&guess=4&a1=3&a2=9/2&a5=a&a6=because",
]


def json_address(url):
    path, mark, query = url.partition("?")
    return f"{path}.json{mark}{query}"


@pytest.mark.parametrize("query", STATES)
def test_every_number_of_a_page_is_in_its_json(client, query):
    url = f"{LESSON}?{query}"
    main = document(client, url).one("main")
    values, written = data_numbers(client.get(json_address(url)).json())
    shown = exact_values(main)
    assert len(shown) > 20
    assert shown - values - {-value for value in values} == set()
    assert shown_numbers(main) - written == set()


@pytest.mark.parametrize("query", STATES)
def test_every_page_is_sound_markup(client, query):
    page = document(client, f"{LESSON}?{query}")
    assert page.one("html")["lang"] == "en"
    assert page.one("head").one("title").text == "A network you can account for · Longhand"
    ids = [node["id"] for node in page.walk() if "id" in node.attributes]
    assert len(ids) == len(set(ids))
    levels = [int(node.tag[1]) for node in page.walk() if node.tag in ("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    labels = {node.get("for") for node in page.all("label")}
    for field in [*page.all("input"), *page.all("select"), *page.all("textarea")]:
        wrapped = field.parent is not None and field.parent.tag == "label"
        assert field.get("type") == "hidden" or field.get("aria-label") or field.get("id") in labels or wrapped, field
    for link in page.all("a"):
        unseen = link.get("aria-hidden") == "true" and link.get("tabindex") == "-1"
        assert link.text or link.get("aria-label") or unseen, link
        assert "href" in link.attributes or link.get("aria-disabled") == "true"
    for table in page.all("table", where=lambda one: one.get("role") != "presentation"):
        assert table.all("caption") or table.get("aria-label") or table.get("aria-labelledby"), table.text
    named = {node.get("aria-describedby") for node in page.walk() if node.get("aria-describedby")}
    assert named <= set(ids)


@pytest.mark.parametrize("query", STATES)
def test_submitting_the_form_unchanged_gives_the_same_run(client, query):
    page = document(client, f"{LESSON}?{query}")
    form = page.one("form", id="forms")
    assert (form["method"], form["action"]) == ("get", LESSON)
    again = document(client, f"{LESSON}?{urlencode(fields(form))}")
    canonical = page.one("link", rel="canonical")["href"]
    without_guess = canonical.replace("&guess=4", "")
    assert again.one("link", rel="canonical")["href"] == without_guess


def test_the_same_meaning_has_the_same_canonical_link(client):
    one = document(client, f"{LESSON}?lr=0.10&x[0]=2&hidden.weight[1,0]=1/4")
    other = document(client, f"{LESSON}?hidden.weight%5B1%2C0%5D=0.25&rows=1")
    link = f"{LESSON}?hidden.weight[1,0]=0.25"
    assert one.one("link", rel="canonical")["href"] == other.one("link", rel="canonical")["href"] == link
    assert one.one("a", data_action="copy-link")["data-copy"] == link
    assert one.one("link", rel="alternate")["href"] == f"{LESSON}.json?hidden.weight[1,0]=0.25"


def test_an_example_is_added_and_removed_by_buttons(client):
    form = document(client, LESSON).one("form", id="forms")
    add = next(button for button in form.all("button") if "Add" in button.text)
    more = document(client, f"{LESSON}?{urlencode(fields(form, add))}")
    assert more.one("link", rel="canonical")["href"] == f"{LESSON}?rows=2"
    assert [node["name"] for node in more.one("fieldset", data_tensor="x").all("input")] == [
        "x[0,0]",
        "x[0,1]",
        "x[1,0]",
        "x[1,1]",
    ]
    form = more.one("form", id="forms")
    remove = next(button for button in form.all("button") if "Remove" in button.text)
    less = document(client, f"{LESSON}?{urlencode(fields(form, remove))}")
    assert less.one("link", rel="canonical")["href"] == LESSON


def test_a_frozen_parameter_is_thawed_by_its_box_alone(client):
    form = document(client, f"{LESSON}?frozen=readout.weight").one("form", id="forms")
    sent = fields(form)
    assert ("frozen", "readout.weight") in sent
    assert ("frozen", "readout.weight[0,0]") not in sent  # shown frozen with the whole, and so not sent
    sent.remove(("frozen", "readout.weight"))
    thawed = document(client, f"{LESSON}?{urlencode(sent)}")
    assert thawed.one("link", rel="canonical")["href"] == LESSON


def test_a_bad_field_is_marked_beside_itself_with_422_and_the_page_is_whole(client):
    page = document(client, f"{LESSON}?hidden.weight[1,0]=abc", 422)
    field = page.one("input", name="hidden.weight[1,0]")
    assert (field["value"], field["aria-invalid"]) == ("abc", "true")
    message = "W₂₁ must be a number; got “abc”. Using 0.5."
    assert page.one(id=field["aria-describedby"]).text == message
    assert message in page.one("div", role="alert").text
    assert page.one("main")["data-errors"] == "1"
    assert page.one("div", data_result="prediction").one("data")["value"] == "5.5"


@pytest.mark.parametrize(
    "query",
    [
        "x[0]=<script>alert(1)</script>",
        "cell=<b>",
        "guess=<i>&predict=1",
        "a1=<b>&a6=%22><script>",
        "%FF=%FE",
        "x[0]=" + "9" * 5000,
    ],
)
def test_text_that_a_visitor_sends_is_never_markup(client, query):
    response = client.get(f"{LESSON}?{query}", headers=HTML)
    assert response.status_code in (200, 422)
    assert "<script>alert" not in response.text and '"><script>' not in response.text
    assert parse(response.text).one("main").all("i", where=lambda one: not one.get("class")) == []


def test_every_link_of_the_stage_leads_to_a_page(client):
    page = document(client, f"{LESSON}?step=2&do:hidden.activation[1]=off")
    links = {node["href"] for node in page.one(id="stage").all("a") if node.get("href", "").startswith(LESSON)}
    assert len(links) > 60
    for link in sorted(links)[::5]:
        target = link.partition("#")[0]
        assert client.get(target, headers=HTML).status_code == 200, link


def test_every_show_me_link_of_the_text_is_a_state_without_errors(client):
    page = document(client, LESSON)
    links = {node["href"] for node in page.one("article").all("a", cls="show")}
    assert len(links) > 5
    for link in links:
        parts = urlsplit(link)
        found = source.page("lesson", "accountable_network", parts.query, "")
        assert found is not None and found.data["errors"] == [], link


def test_the_state_of_a_link_is_what_the_page_shows(client):
    page = document(client, f"{LESSON}?step=3&cell=prediction[0]&view=matrices")
    assert page.one("a", aria_current="step")["data-step"] == "3"
    assert page.one("h2", id="longhand-title").text == "ŷ"
    assert page.one("a", data_view="matrices")["aria-current"] == "true"
    assert dict(parse_qsl(urlsplit(page.one("a", data_action="back")["href"]).query)) == {
        "step": "2",
        "view": "matrices",
    }


def test_a_lesson_weighs_less_than_120_kilobytes(client):
    """Without the foot, which grows with the course."""
    content, _, _ = client.get(LESSON, headers=HTML).content.partition(b'<footer class="foot">')
    assert len(content) < 120_000


def test_predict_first_hides_and_asks_then_says(client):
    page = document(client, f"{LESSON}?predict=1")
    assert page.one(id="stage")["data-predict"] == "asking"
    assert page.one("div", data_result="prediction").one("dd").text == "?"
    assert not page.all(id="numbers") and not page.all(id="plane")
    form = page.one("form", cls="predict")
    answered = document(client, f"{LESSON}?{urlencode([(n, '5,5' if n == 'guess' else v) for n, v in fields(form)])}")
    assert answered.one(id="results").one("p", cls="verdict").classes == {"verdict", "right"}


def test_home_has_a_live_network_and_every_lesson_and_model(client):
    page = document(client, "/")
    assert {float(node["data-value"]) for node in page.all("tspan", cls="n") if "data-value" in node.attributes} >= {
        3,
        1,
        -3.5,
        5.5,
    }
    links = {node.get("href") for node in page.all("a")}
    assert {LESSON, "/models/tiny_network", "/models", "/open", "/api"} <= links


def test_home_runs_what_is_typed_there_and_its_data_is_the_same(client):
    page = document(client, "/?x[0]=0&x[1]=1")
    shown = {float(node["data-value"]) for node in page.all("tspan", cls="n") if "data-value" in node.attributes}
    assert {-1.0, 2.0, 2.5} <= shown
    data = client.get("/.json?x[0]=0&x[1]=1").json()
    assert data["trace"]["result"]["prediction"] == 1.0
    assert [lesson["slug"] for lesson in data["lessons"]] == list(catalogue())


def test_home_says_what_it_could_not_read(client):
    page = document(client, "/?x[0]=abc", status=422)
    assert page.one("input", name="x[0]")["value"] == "abc"
    assert "number" in page.one("span", cls="error").text


@pytest.mark.parametrize("path", ["/", "/models", "/models/tiny_network", "/open", "/api"])
def test_every_other_page_is_sound_too(client, path):
    page = document(client, path)
    assert len(page.all("h1")) == 1
    assert page.one("main")["id"] == "main"
    ids = [node["id"] for node in page.walk() if "id" in node.attributes]
    assert len(ids) == len(set(ids))


def test_a_model_has_the_stage_with_every_field(client):
    page = document(client, "/models/tiny_network?x[0]=3")
    assert page.one("form", id="forms")["action"] == "/models/tiny_network"
    assert client.get("/models/tiny_network.json?x[0]=3").json()["trace"]["tensors"]["x"]["data"] == [3, -1]


def test_a_trace_file_is_opened_and_shown(client):
    trace_id = client.get(f"{LESSON}.json?do:hidden.activation[1]=off").json()["trace"]["id"]
    content = client.get(f"/api/v1/traces/{trace_id}/file").content
    answer = client.post("/open", files={"file": ("run.safetensors", content)}, follow_redirects=False)
    assert answer.status_code == 303
    page = document(client, answer.headers["location"])
    assert page.one("div", data_result="prediction").one("data")["value"] == "6.5"
    assert not page.all("form", id="forms")
    assert page.one("h2", id="longhand-title").text == "z₁"
    values, _ = data_numbers(client.get(answer.headers["location"] + ".json").json())
    assert exact_values(page.one("main")) - values == set()


def test_a_file_that_is_no_trace_is_refused_on_the_page(client):
    answer = client.post("/open", files={"file": ("run.bin", b"not a trace")}, headers=HTML)
    assert answer.status_code == 422
    assert parse(answer.text).one("p", role="alert").text.startswith("This file can't be opened")
    assert client.post("/open", files={}, headers=HTML).status_code in (415, 422)


@pytest.mark.parametrize("path", ["/nothing", "/lessons/none", "/models/none", "/traces/none"])
def test_what_is_not_there_is_a_page_for_browsers_and_a_problem_for_programs(client, path):
    page = document(client, path, 404)
    assert page.one("p", cls="status").text == "404"
    answer = client.get(path, headers={"accept": "application/json"})
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


def test_json_says_where_a_number_is_not_finite(client):
    data = client.get("/models/tiny_network.json?x[0]=1e6&hidden.weight[0,0]=1e6&readout.weight[0,0]=1e6&lr=1e6").json()
    assert {"at": "results.cards[2].cells[0].value", "value": "inf"} in data["nonfinite"] or any(
        one["value"] in ("inf", "nan") for one in data["nonfinite"]
    )


def test_every_model_says_what_it_takes_holds_and_costs_and_its_data_is_the_same(client):
    page, data = document(client, "/models"), client.get("/models.json").json()
    assert data["models"] == client.get("/api/v1/models").json()["models"]
    values, _ = data_numbers(data)
    assert exact_values(page.one("main")) - values == set()
    tiny = page.one("li", id="tiny_network")
    assert tiny.one("h2").one("a")["href"] == "/models/tiny_network"
    assert {"W", "hidden.weight", "z", "hidden.preactivation"} <= set(tiny.one("table").text.split())
    assert [number["value"] for number in tiny.one("dl").all("data")] == ["2", "1", "13", "29"]
