"""What the lessons on attention share, and what holds for each of their pages."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from app.exercise import exercises
from app.lessons import catalogue
from app.lessons.attention_tables import apart, chart, choices, grid, typed, view, words_of, worked
from app.page import source
from app.shown import shown
from tests.app.markup import data_numbers, exact_values, parse, shown_numbers

SLUGS = ("one_attention_head", "one_word_three_meanings", "several_heads", "cross_attention")
SEEDS = (0, 1, 2**31 - 1)
STATES = {
    "one_attention_head": (
        "",
        "mask=none&scale=off",
        "tokens[3]=forest&step=9&cell=pattern[3,1]",
        "rows=2",
        "predict=1",
    ),
    "one_word_three_meanings": ("", "rows=3", "tokens[0]=mole", "tokens[3]=of", "mask=causal", "predict=1"),
    "several_heads": ("", "heads=before", "heads=adjectives&tokens[3]=moss", "rows=2", "predict=1"),
    "cross_attention": ("", "source[1]=forêt", "tokens[1]=creature", "rows=2", "predict=1"),
}
ALL = [(slug, query) for slug in SLUGS for query in STATES[slug]]


def prose(slug: str, **changes: Any) -> dict[str, Any]:
    return catalogue()[slug].prose(shown(slug, **changes).trace, shown(slug).trace)


def links(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        part = list(part.values())
    if isinstance(part, list | tuple):
        for inner in part:
            yield from links(inner)
    elif isinstance(part, str) and part.startswith("/lessons/"):
        yield part


@pytest.mark.parametrize(("slug", "query"), ALL)
def test_every_number_of_a_page_is_in_its_json(client, slug, query):
    answer = client.get(f"/lessons/{slug}?{query}", headers={"accept": "text/html"})
    assert answer.status_code == 200
    main = parse(answer.text).one("main")
    values, written = data_numbers(client.get(f"/lessons/{slug}.json?{query}").json())
    shown_values = exact_values(main)
    assert len(shown_values) > (5 if "predict" in query else 20)
    assert shown_values - values - {-value for value in values} == set()
    assert shown_numbers(main.one("article")) - written == set()


@pytest.mark.parametrize("slug", SLUGS)
def test_every_link_of_the_text_opens_its_run_without_an_error(slug):
    found = {*links(prose(slug)), *(one.link for one in exercises(slug, 0))}
    assert len(found) > 5
    for link in sorted(found):
        path, _, query = link.partition("?")
        page = source.page("lesson", slug, query, "http://localhost")
        assert path == f"/lessons/{slug}"
        assert page is not None and page.data["errors"] == [] and page.state.address == link


@pytest.mark.parametrize("slug", SLUGS)
def test_results_are_not_given_away_while_the_reader_predicts(client, slug):
    html = client.get(f"/lessons/{slug}?predict=1", headers={"accept": "text/html"}).text
    text = parse(html).one("article")
    loss = shown(slug).loss
    assert loss not in exact_values(text)


@pytest.mark.parametrize(("slug", "place"), list(zip(SLUGS, range(13, 17), strict=True)))
def test_lessons_take_their_places_in_the_course(slug, place):
    lesson = catalogue()[slug]
    assert (lesson.order, lesson.part, lesson.model) == (place, "The transformer, part by part", slug)


def test_a_grid_has_names_and_cells():
    trace = shown("cross_attention").trace
    found = grid(trace, "pattern", (), words_of(trace), words_of(trace, "source"))
    assert found["corner"] == "query ↓ key →"
    assert found["columns"] == ["la", "créature", "bleue", "."]
    assert found["rows"][1]["label"] == "the"
    assert found["rows"][1]["cells"][2]["cell"] == "pattern[1,2]"
    assert found["rows"][1]["cells"][2]["value"] == pytest.approx(0.9)


def test_a_worked_line_leaves_zero_terms_out_and_says_how_many():
    trace = shown("cross_attention").trace
    found = worked(trace, "mix", (1, 6))
    assert [part["number"] for part in found["parts"] if "number" in part] == [pytest.approx(0.9), 1]
    assert (found["left_out"], found["value"]) == (3, pytest.approx(0.9))
    whole = worked(trace, "loss", ())
    assert whole["left_out"] == 0 and whole["value"] == shown("cross_attention").loss


def test_a_view_of_what_a_run_does_not_have_is_none():
    trace = shown("one_attention_head", options={"mask": "none"}).trace
    assert view(trace, "masked_scores", (0, 1)) is None
    found = view(trace, "pattern", (3, 1))
    assert found is not None and found["cell"] == "pattern[3,1]"


def test_a_chart_names_its_ticks_and_keeps_its_numbers():
    figure = chart([("a", [0, 1, 2], [0.5, 2.0, 1.0])], "step", "loss")
    assert figure["data"][0]["y"] == [0.5, 2.0, 1.0]
    assert figure["layout"]["yaxis"]["ticktext"] == ["0", "0.5", "1", "1.5", "2"]
    assert figure["layout"]["xaxis"]["tickvals"] == [0, 1, 2]


def test_parts_of_a_check():
    assert typed("tokens", ["the", "a"]) == {"tokens[0]": "the", "tokens[1]": "a"}
    assert apart([(1.0, "same"), (2.0, "other"), (2.001, "too near")], 1.0) == ()
    found, right = choices(random.Random(1), [("yes", "right"), ("no", "wrong"), ("maybe", "wrong")])
    assert next(one for one in found if one.key == right).text == "yes"
