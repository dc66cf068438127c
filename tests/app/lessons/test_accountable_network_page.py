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
    text, _, check = prose(client, "predict=1").partition('id="check"')
    assert check
    values = re.findall(r'<data class="n" value="([^"]+)"', text)
    assert not {"5.5", "6.5", "1.125", "251"} & set(values)


def test_marked_answers_say_why(client: TestClient) -> None:
    read = words(prose(client, "a1=1&a2=x&a5=b&a6=It+depends"))
    assert "Right: the engine gets 1." in read
    assert "This answer can't be read: expected a number such as 2, −1.5 or 9/2; got 'x'." in read
    assert "Compare your answer with the one worked out below." in read


def test_plane_is_there_with_its_table(client: TestClient) -> None:
    html = client.get(f"{PATH}?readout.weight[0,2]=101", headers={"accept": "text/html"}).text
    plane = words(re.search(r'<section id="plane".*?</section>', html, re.S)[0])  # type: ignore[index]
    assert "The edit changes the prediction at 569 of 1089 grid points (52.2 %)" in plane
    assert "it has no effect: ŷ stays 5.5. No effect here is not no effect." in plane
    assert "251 was 1" in plane
    assert html.count("data-figure=") == 2
