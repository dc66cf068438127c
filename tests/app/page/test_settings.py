"""What a reader chooses beside the run: in the address, in every link and form, in the page object."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pytest

from app import templating
from app.lessons import Lesson, Setting, catalogue
from app.page import source
from app.query import MAX_TEXT
from app.state import _LOOKED
from tests.app.markup import Node, fields, parse

SETTINGS = (
    Setting("curve", "Curve", "sine", choices={"sine": "a sine", "step": "a step"}),
    Setting("units", "Units", 4, least=1, limit=64, whole=True),
    Setting("scale", "Scale", 0.5, least=0),
)
PATH = "/lessons/one"
MACRO = """{% import "stage/macros.html" as m with context %}{{ m.settings(["curve", "units"], "Draw it") }}"""


@pytest.fixture(autouse=True)
def lesson(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lesson]:
    """A lesson with settings at /lessons/one; nothing of it is kept."""
    one = replace(
        catalogue()["accountable_network"],
        slug="one",
        training=None,
        settings=SETTINGS,
        lab=lambda values: {"got": values},
    )
    monkeypatch.setattr(source, "catalogue", lambda: {"one": one})
    kept = (source.lesson, source.page, source._recorded, source._told)
    for function in kept:
        function.cache_clear()
    yield one
    monkeypatch.undo()
    for function in kept:
        function.cache_clear()


def page(query: str = "") -> source.Page:
    found = source.page("lesson", "one", query, "")
    assert found is not None
    return found


def form_of(found: source.Page) -> Node:
    return parse(templating.environment().from_string(MACRO).render(page=found.data, state=found.state)).one("form")


def test_the_lab_gets_every_value_and_its_answer_is_on_the_page():
    assert page().data["lab"] == {"got": {"curve": "sine", "units": 4, "scale": 0.5}}
    assert page("curve=step&units=9&scale=1/4").data["lab"] == {"got": {"curve": "step", "units": 9, "scale": 0.25}}


def test_a_setting_is_a_field_with_its_value_and_its_choices():
    curve, units, _ = page("units=9").data["settings"]
    assert (curve["value"], curve["changed"], units["value"], units["changed"]) == ("sine", False, "9", True)
    assert curve["choices"] == [{"value": "sine", "label": "a sine"}, {"value": "step", "label": "a step"}]
    assert (units["chosen"], units["default"], units["choices"]) == (9, 4, None)


def test_the_canonical_address_leaves_out_defaults_and_keeps_the_order():
    assert page("scale=0.5&units=4&curve=sine").state.address == PATH
    assert page("scale=0.25&curve=step&step=2").state.address == f"{PATH}?step=2&curve=step&scale=0.25"


@pytest.mark.parametrize(
    "link",
    [
        lambda state: state.link(step=2),
        lambda state: state.link(set={"x[0]": 3}),
        lambda state: state.link(answers=None),
        lambda state: state.show(set={"x[0]": 3}),
        lambda state: state.carry(f"{PATH}?step=3"),
    ],
)
def test_every_link_keeps_what_is_chosen(link):
    kept = dict(parse_qsl(urlsplit(link(page("curve=step&units=9").state)).query))
    assert (kept["curve"], kept["units"]) == ("step", "9")


def test_a_link_chooses_and_takes_back():
    state = page("units=9").state
    assert state.link(settings={"curve": "step"}) == f"{PATH}?curve=step&units=9"
    assert state.link(settings={"units": None}) == PATH
    with pytest.raises(ValueError, match="expected curve to be one of sine, step; got 'round'"):
        state.link(settings={"curve": "round"})
    with pytest.raises(ValueError, match="expected one of the settings curve, units, scale; got 'colour'"):
        state.link(settings={"colour": "blue"})


@pytest.mark.parametrize(
    ("query", "field", "message"),
    [
        ("units=0", "units", "Units must be a whole number from 1 to 64; got “0”. Using 4."),
        ("units=2.5", "units", "Units must be a whole number from 1 to 64; got “2.5”. Using 4."),
        ("units=", "units", "Units must be a whole number from 1 to 64; got nothing. Using 4."),
        ("units=NaN", "units", "Units must be a whole number from 1 to 64; got “NaN”. Using 4."),
        ("curve=round", "curve", "Curve must be one of sine, step; got “round”. Using a sine."),
        ("scale=-1", "scale", "Scale must be a number of 0 or more; got “-1”. Using 0.5."),
        (f"scale={'9' * MAX_TEXT}", "scale", f"Scale must be a number of 0 or more; got “{'9' * 40}…”. Using 0.5."),
    ],
)
def test_a_value_that_does_not_fit_is_an_error_and_the_default_is_used(query, field, message):
    found = page(query)
    assert found.status == 422
    assert [(one["field"], one["message"]) for one in found.data["errors"]] == [(field, message)]
    assert found.data["lab"] == {"got": {"curve": "sine", "units": 4, "scale": 0.5}}
    assert next(one["error"] for one in found.data["settings"] if one["name"] == field) == message
    assert found.state.address == PATH


def test_the_form_sends_what_is_chosen_and_all_else_of_the_address():
    found = page("units=9&scale=0.25&x[0]=3&step=2")
    form = form_of(found)
    assert (form["method"], form["action"]) == ("get", f"{PATH}#set-curve")
    assert dict(fields(form)) == {"x[0]": "3", "step": "2", "scale": "0.25", "curve": "sine", "units": "9"}
    assert [label.text for label in form.all("label")] == ["Curve", "Units"]
    assert form.one("button").text == "Draw it"


def test_a_field_that_could_not_be_read_keeps_its_text_and_says_why():
    found = page("units=many")
    form = form_of(found)
    field = form.one("input", id="f-units")
    assert (field["value"], field["aria-invalid"]) == ("many", "true")
    assert form.one("p", id=field["aria-describedby"]).text == found.data["errors"][0]["message"]


def test_a_model_by_itself_knows_no_settings():
    assert source.page("model", "tiny_network", "curve=step", "").data["errors"][0]["field"] == "curve"


@pytest.mark.parametrize("slug", list(catalogue()))
def test_no_setting_takes_a_name_that_an_address_already_uses(slug, monkeypatch):
    monkeypatch.setattr(source, "catalogue", catalogue)
    space = source.lesson(slug).space
    names = [one.name for one in catalogue()[slug].settings]
    assert len(names) == len(set(names))
    assert not {*names} & {*_LOOKED, "rows", "lr", "frozen", *space.options, *space.inputs, *space.parameters}
    assert all(name.isidentifier() and not re.fullmatch(r"a\d+", name) for name in names)
