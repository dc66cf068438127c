"""axe-core finds nothing, on any page, in either theme, in any of the states that a page can be in.

Themes differ in colours alone, so that in the dark one its rules of colour are asked.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import COLOURS, Axe
from tests.browser.states import lesson_pages, plain_pages, stored_trace

FIRST = "/lessons/accountable_network"
STATES = {
    "graph": "?step=1&view=graph",
    "backward matrices": "?step=8&view=matrices",
    "several examples": "?rows=3&example=1&view=matrices",
    "switched and selected": "?do:hidden.activation[1]=off&cell=prediction[0]",
    "edited, frozen, updating": "?hidden.weight[1,0]=0.123456&frozen=hidden.weight&step=10",
    "proved": "?cell=hidden.weight[1,0]&of=gradient&prove=1",
    "asked": "?predict=1",
    "answered wrong": "?predict=1&guess=2&a1=3&a2=x",
    "not a number": "?x[0]=1e999&lr=abc",
}

TRACE = "a stored trace"


def in_both_themes(page: Page, axe: Axe) -> None:
    axe(page)
    page.emulate_media(color_scheme="dark")
    page.evaluate("() => Promise.all(document.getAnimations().map((one) => one.finished))")
    axe(page, COLOURS)
    page.emulate_media(color_scheme="light")


@pytest.mark.parametrize("path", [*plain_pages(), *lesson_pages(), "/models/tiny_network", TRACE])
def test_every_page_as_it_opens(page: Page, server: str, axe: Axe, path: str) -> None:
    page.goto(stored_trace(server, FIRST) if path == TRACE else path)
    in_both_themes(page, axe)


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_a_lesson_in_its_states(page: Page, axe: Axe, state: str, expected_errors: list[str]) -> None:
    expected_errors.append("status 422")
    page.goto(FIRST + state)
    in_both_themes(page, axe)


def test_what_opens(page: Page, axe: Axe) -> None:
    page.goto(f"{FIRST}?hidden.weight[1,0]=0.25")
    page.evaluate("() => { for (const one of document.querySelectorAll('details')) one.open = true; }")
    in_both_themes(page, axe)
    page.keyboard.press("?")
    in_both_themes(page, axe)


def test_a_page_that_is_not_there(page: Page, axe: Axe, expected_errors: list[str]) -> None:
    expected_errors.append("status 404")
    page.goto("/lessons/nothing")
    in_both_themes(page, axe)
