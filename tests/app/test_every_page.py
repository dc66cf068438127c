"""What pages share: the foot, the links over the bar, the step's cost, the tables of all numbers."""

from __future__ import annotations

from app.lessons import catalogue
from engine.models import catalogue as models
from tests.app.markup import parse

LESSON = "/lessons/accountable_network"
HTML = {"accept": "text/html"}


def test_all_numbers_lists_a_gradient_once_where_one_step_sends_it(client):
    tables = [table["data-tensor"] for table in parse(client.get(LESSON).text).all("table", cls="all")]
    assert "squared_error.grad" in tables
    assert not [name for name in tables if "@" in name]


def test_a_step_says_what_it_costs_and_how_that_is_counted(client):
    def cost(step):
        return parse(client.get(f"{LESSON}?step={step}").text).one("p", cls="where").text

    assert "15 operations, a multiply-add is two" in cost(0)
    assert cost(4).endswith("1 operation") or "1 operation ·" in cost(4)
    assert "operation" not in cost(5)


def test_the_foot_leads_to_every_lesson_and_model_and_skip_links_lead_to_what_is_there(client):
    for path in ("/", LESSON, "/models", "/models/tiny_network", "/open", "/api", "/docs", "/nothing"):
        page = parse(client.get(path, headers=HTML).text)
        links = {link["href"] for link in page.one("footer", cls="foot").all("a")}
        assert {f"/lessons/{slug}" for slug in catalogue()} | {f"/models/{name}" for name in models()} <= links
        ids = {node.get("id") for node in page.walk()}
        skips = {link["href"].removeprefix("#") for link in page.all("a", cls="skip")}
        assert "main" in skips and skips <= ids
        assert ("stage" in skips) == ("stage" in ids)
