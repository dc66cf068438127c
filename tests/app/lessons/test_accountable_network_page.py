"""The lesson's text as served: its numbers are the page's, and it keeps quiet while the reader predicts."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from starlette.testclient import TestClient

PATH = "/lessons/accountable_network"


def prose(client: TestClient, query: str = "") -> str:
    """The text column's HTML."""
    answer = client.get(f"{PATH}?{query}", headers={"accept": "text/html"})
    assert answer.status_code == 200
    return re.search(r'<article class="prose">.*?</article>', answer.text, re.S)[0]  # type: ignore[index]


def words(html: str) -> str:
    """What a person reads, formulas left out."""
    plain = re.sub(r"<(math|svg|script)\b.*?</\1>", "", html, flags=re.S)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", plain)))


def numbers(data: Any) -> set[float]:
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, list):
        return set().union(*map(numbers, data))
    return {float(data)} if isinstance(data, int | float) and not isinstance(data, bool) else set()


def test_text_reads_as_it_should(client: TestClient) -> None:
    read = words(prose(client))
    for sentence in (
        "The network holds 6 in W, 3 in b, 3 in v and 1 in c: 13 parameters in all.",
        "z₂ = 0.5 · 2 + 1 · (−1) + 1 = 1",
        "In this run unit 1 and unit 2 speak; unit 3 is silent.",
        "ŷ = 2 · 3 + (−1) · 1 + 1 · 0 + 0.5 = 5.5",
        "the loss falls from 1.125 to 0.01125. Move all 13 parameters, and it rises to 7.9.",
        "It rises, from 5.5 to 6.5.",
        "In this run, with learning rate 0.1, the update takes the loss from 1.125 to 7.9.",
        "the same edit takes the prediction from 1 to 251.",
        "so without its ReLU the network says ŷ = 0.5 x₁ + (−1) x₂ + 0",
    ):
        assert sentence in read


@pytest.mark.parametrize("query", ["", "hidden.bias[1]=2&lr=0.05", "rows=3", "activation=none", "x[0]=-0.3&seed=4"])
def test_every_number_of_the_text_stands_in_the_page_data(client: TestClient, query: str) -> None:
    known = numbers(client.get(f"{PATH}.json?{query}").json())
    shown = [float(value) for value in re.findall(r'<data class="n" value="([^"]+)"', prose(client, query))]
    assert len(shown) > 100
    assert [value for value in shown if value not in known] == []


def test_text_follows_the_run(client: TestClient) -> None:
    read = words(prose(client, "hidden.bias[1]=-3"))
    assert "z₂ = 0.5 · 2 + 1 · (−1) + (−3) = −3 was 1" in read
    assert "In this run unit 1 speaks; unit 2 and unit 3 are silent." in read
    assert "It rises, from 5.5 to 6.5." in read
    bare = words(prose(client, "activation=none&do:hidden.activation[0]=off"))
    assert "The ReLU is taken out of this run" in bare
    assert "You have set unit 1 by hand." in bare


def test_results_are_not_given_away_while_the_reader_predicts(client: TestClient) -> None:
    for query in ("predict=1", "predict=1&guess=abc", "predict=1&a1=1", "predict=1&do:hidden.activation[1]=off"):
        text = prose(client, query)
        values = re.findall(r'<data class="n" value="([^"]+)"', text)
        assert not {"5.5", "6.5", "1.125", "251"} & set(values)
        read = words(text)
        for given_away in (
            "It rises",
            "rises to",
            "past the target",
            "lands best",
            "stays",
            "is silent",
            "Take this step",
        ):
            assert given_away not in read
        assert "The questions are back when you have answered the one beside the run." in read


@pytest.mark.parametrize(("passage", "answer"), [
    ("One more sum", "ŷ = 2"), ("How wrong is it?", "L = 2.25"), ("Switch a unit off", "It rises"),
    ("No effect here is not no effect", "the prediction stays"),
])  # fmt: skip
def test_predicting_is_offered_before_the_answer_is_told(client: TestClient, passage: str, answer: str) -> None:
    read = words(prose(client)).partition(passage)[2]
    assert 0 < read.index("Let me predict it") < read.index(answer)


def test_links_keep_the_edits_where_the_text_speaks_of_this_run(client: TestClient) -> None:
    links = re.findall(r'<a class="show" href="([^"]+)">([^<]+)</a>', prose(client, "hidden.weight[0,0]=2"))
    kept = [name for link, name in links if "hidden.weight[0,0]=2" in link]
    assert kept == [
        "Show me the second sum", "Show me the silent unit", "Let me predict it", "Show me", "Let me predict it",
        "Show me", "Show the paths", "The graph", "A closed path", "Freeze W and b", "Take it out",
    ]  # fmt: skip
    step = next(link for link, name in links if name == "Take this step")
    assert "hidden.weight[0,0]=" in step and "hidden.weight[0,0]=2" not in step
    reset = {name for link, name in links if "hidden.weight[0,0]=" not in link}
    assert {"v₁ alone", "All of them", "The sum over the rows", "Let me predict it"} <= reset


def test_a_silent_unit_can_always_be_seen(client: TestClient) -> None:
    assert "A silent unit, in the unedited run" in words(prose(client, "hidden.bias[2]=9"))
    assert "unit 1 and unit 3 are silent. Show me a silent unit" in words(prose(client, "hidden.bias[0]=-9"))


@pytest.mark.parametrize(("query", "lines", "hatching"), [
    ("", "3 lines bend the one of this run", "where it does not, it is hatched"),
    ("activation=none", "Nothing bends the one of this run", "Where your change alters nothing"),
    ("readout.weight[0,2]=101", "3 lines bend", "Where your change alters nothing, it is hatched"),
    ("readout.weight[0,2]=0", "2 lines bend", "Where your change alters nothing, it is hatched"),
    ("readout.bias[0]=1", "3 lines bend", "alters it everywhere in the picture, so nothing is hatched"),
])  # fmt: skip
def test_words_about_the_plane_follow_the_run(client: TestClient, query: str, lines: str, hatching: str) -> None:
    read = words(prose(client, query))
    assert lines in read and hatching in read


def test_marked_answers_say_why(client: TestClient) -> None:
    read = words(prose(client, "a1=1&a2=x&a5=b&a6=It+depends"))
    assert "Right: the engine gets 1." in read
    wrong = words(prose(client, "a1=123456"))
    assert "Not 123456. Hint: First the three sums" in wrong and "Show the worked answer" in wrong
    assert "This answer can't be read: expected a number such as 2, −1.5 or 9/2; got 'x'." in read
    assert "Compare your answer with the one worked out below." in read


def test_plane_is_there_with_its_table(client: TestClient) -> None:
    html = client.get(f"{PATH}?readout.weight[0,2]=101", headers={"accept": "text/html"}).text
    plane = words(re.search(r'<section id="plane".*?</section>', html, re.S)[0])  # type: ignore[index]
    assert "The edit changes the prediction at 569 of 1089 grid points (52.2 %)" in plane
    assert "it has no effect: ŷ stays 5.5. No effect here is not no effect." in plane
    assert "251 was 1" in plane
    assert html.count("data-figure=") == 2
