"""The check on the page: each question by itself, hints before answers, and whose answers a link carries."""

from __future__ import annotations

from urllib.parse import urlencode

from tests.app.markup import document, fields

LESSON = "/lessons/accountable_network"


def test_exercises_are_marked_by_the_server(client):
    form = document(client, LESSON).one(id="check-1").one("form")
    sent = [(name, "1e5" if name == "a1" else value) for name, value in fields(form)]
    page = document(client, f"{LESSON}?{urlencode(sent)}")
    first = page.one("div", data_exercise="1")
    assert "wrong" in first.classes
    assert first.one("input")["value"] == "1e5"
    assert first.one("p", cls="verdict").text == "Not 1e5."
    assert first.one("p", cls="hint").text.startswith("Hint: First the three sums")
    assert first.one("details", cls="explanation").one("summary").text == "Show the worked answer"
    assert not any(one.all("p", cls="verdict") for one in page.all("div", cls="exercise") if one is not first)


def test_each_question_is_checked_by_itself_and_the_other_answers_stay(client):
    form = document(client, f"{LESSON}?a1=3&seed=2&x[0]=1").one(id="check-2").one("form")
    assert form["action"] == f"{LESSON}#check-2"
    sent = [(name, "7" if name == "a2" else value) for name, value in fields(form)]
    assert sorted(sent) == [("a1", "3"), ("a2", "7"), ("seed", "2"), ("x[0]", "1")]


def test_a_shared_link_leaves_the_answers_out_unless_they_are_wanted(client):
    page = document(client, f"{LESSON}?x[0]=1&a1=3")
    copies = {node.text: node["data-copy"] for node in page.all("a", data_action="copy-link")}
    assert copies == {
        "Copy link": f"{LESSON}?x[0]=1",
        "Copy link without my answers": f"{LESSON}?x[0]=1",
        "Copy link with my answers": f"{LESSON}?x[0]=1&a1=3",
    }
    assert page.one("link", rel="canonical")["href"] == f"{LESSON}?x[0]=1&a1=3"
    assert len(document(client, LESSON).all("a", data_action="copy-link")) == 1


def test_links_to_other_runs_keep_the_answers(client):
    page = document(client, f"{LESSON}?x[0]=1&seed=2&a1=3")
    links = [node["href"] for node in page.one("article").all("a", cls="show")]
    assert len(links) > 15
    assert all(link.endswith("seed=2&a1=3") for link in links)
    assert any("x[0]=1&" in link for link in links) and any("x[0]=1&" not in link for link in links)
