"""Typing into a field changes the page in place: every number, nothing typed lost, only the newest answer shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from playwright.sync_api import Page, Route, expect

LESSON = "/lessons/accountable_network"
FIRST_INPUT = '#forms input:not([type=hidden])[name="x[0]"]'
PREDICTION = '[data-result="prediction"] dd .n >> nth=0'
STALE = "main[data-stale]"


def _data(page: Page) -> dict[str, Any]:
    """The page's own data at its present address."""
    path = page.evaluate("() => location.pathname + '.json' + location.search")
    return page.request.get(path).json()


def _hold(page: Page, pattern: str) -> list[Route]:
    """Requests whose address matches wait in the list until the test lets them go on."""
    held: list[Route] = []
    page.route(re.compile(pattern), lambda route: held.append(route))
    return held


def _until(page: Page, condition: Callable[[], bool]) -> None:
    for _ in range(200):
        if condition():
            return
        page.wait_for_timeout(10)
    raise AssertionError("expected the condition within 2 s; it did not come")


def test_typing_a_number_shows_the_run_of_that_number(page: Page) -> None:
    page.goto(LESSON)
    expect(page.locator(PREDICTION)).to_have_text("5.5")
    page.fill(FIRST_INPUT, "0")
    page.fill('#forms input:not([type=hidden])[name="x[1]"]', "1")
    expect(page.locator(PREDICTION)).to_have_text("1")
    assert _data(page)["trace"]["result"]["prediction"] in (1, [1])


def test_typing_keeps_the_field_its_caret_and_the_focus(page: Page) -> None:
    page.goto(LESSON)
    field = page.locator(FIRST_INPUT)
    field.evaluate("(field) => { field.sameElement = true; }")
    field.fill("21")
    expect(page.locator(PREDICTION)).not_to_have_text("5.5")
    field.evaluate("(field) => field.setSelectionRange(1, 1)")
    page.keyboard.type("5")
    expect(page.locator(STALE)).to_have_count(0)
    page.wait_for_function("() => decodeURIComponent(location.search).includes('x[0]=251')")
    state = field.evaluate("(f) => [f.value, f.selectionStart, f === document.activeElement, f.sameElement]")
    assert state == ["251", 2, True, True]


def test_numbers_are_marked_stale_until_the_answer_is_in(page: Page) -> None:
    page.goto(LESSON)
    held = _hold(page, r"x(%5B|\[)0")
    page.fill(FIRST_INPUT, "3")
    expect(page.locator(STALE)).to_have_attribute("aria-busy", "true")
    expect(page.locator(PREDICTION)).to_have_text("5.5")
    _until(page, lambda: bool(held))
    held.pop().continue_()
    expect(page.locator(STALE)).to_have_count(0)
    expect(page.locator(PREDICTION)).not_to_have_text("5.5")


def test_an_answer_that_was_overtaken_is_never_shown(page: Page) -> None:
    page.goto(LESSON)
    held = _hold(page, r"x(%5B|\[)0")
    page.fill(FIRST_INPUT, "7")
    _until(page, lambda: len(held) == 1)
    page.fill(FIRST_INPUT, "1")
    _until(page, lambda: len(held) == 2)
    held[1].continue_()
    expect(page.locator(STALE)).to_have_count(0)
    newest = page.locator(PREDICTION).inner_text()
    page.wait_for_timeout(200)
    assert page.locator(PREDICTION).inner_text() == newest
    assert "x[0]=1" in unquote(page.url)
    assert page.locator(FIRST_INPUT).input_value() == "1"


def test_a_slow_answer_shows_progress_and_can_be_cancelled(page: Page) -> None:
    page.goto(LESSON)
    _hold(page, r"x(%5B|\[)0")
    page.fill(FIRST_INPUT, "3")
    progress = page.locator("#progress")
    expect(progress).to_be_hidden()
    expect(progress).to_be_visible()
    progress.get_by_role("button", name="Cancel").click()
    expect(progress).to_contain_text("kept")
    expect(page.locator(STALE)).to_have_count(1)
    assert page.locator(FIRST_INPUT).input_value() == "3"


def test_without_a_server_the_page_says_so_keeps_what_was_typed_and_tries_again(
    page: Page, expected_errors: list[str]
) -> None:
    expected_errors.append(r"request failed|ERR_FAILED")
    page.goto(LESSON)
    page.route(re.compile(r"x(%5B|\[)0"), lambda route: route.abort())
    page.fill(FIRST_INPUT, "3")
    progress = page.locator("#progress")
    expect(progress).to_contain_text("cannot be reached")
    expect(page.locator(STALE)).to_have_count(1)
    assert page.locator(FIRST_INPUT).input_value() == "3"
    page.unroute_all()
    progress.get_by_role("button", name="Try again").click()
    expect(page.locator(STALE)).to_have_count(0)
    expect(progress).to_be_hidden()
    assert "x[0]=3" in unquote(page.url)


def test_a_link_followed_after_a_failure_takes_what_was_typed_along(page: Page, expected_errors: list[str]) -> None:
    expected_errors.append(r"request failed|ERR_FAILED")
    page.goto(LESSON)
    page.route(re.compile(r"x(%5B|\[)0"), lambda route: route.abort())
    page.fill(FIRST_INPUT, "3")
    expect(page.locator("#progress")).to_contain_text("cannot be reached")
    page.unroute_all()
    page.locator('.transport [data-action="forward"]').click()
    page.wait_for_function("() => location.search.includes('step=1')")
    assert "x[0]=3" in unquote(page.url)


def test_an_unreadable_number_says_expected_and_got_beside_the_field_while_typing_goes_on(
    page: Page, expected_errors: list[str]
) -> None:
    expected_errors.append("status 422")
    page.goto(LESSON)
    field = page.locator(FIRST_INPUT)
    field.click()
    field.press("Control+a")
    page.keyboard.type("1e")
    expect(field).to_have_attribute("aria-invalid", "true")
    error = page.locator(f"#{field.get_attribute('aria-describedby')}".replace(".", "\\.")).inner_text()
    assert "must" in error and "got" in error and "1e" in error
    page.keyboard.type("1")
    expect(field).not_to_have_attribute("aria-invalid", "true")
    assert field.input_value() == "1e1"
    assert field.evaluate("(f) => f === document.activeElement")


def test_answers_that_are_not_sent_survive_edits(page: Page) -> None:
    page.goto(LESSON)
    answer = page.locator('#check input[name="a1"]').first
    answer.fill("9/2")
    page.fill(FIRST_INPUT, "3")
    expect(page.locator(PREDICTION)).not_to_have_text("5.5")
    assert answer.input_value() == "9/2"


def test_typing_replaces_the_address_and_steps_add_to_it(page: Page) -> None:
    page.goto(LESSON)
    before = page.evaluate("() => history.length")
    page.fill(FIRST_INPUT, "3")
    page.wait_for_function("() => decodeURIComponent(location.search).includes('x[0]=3')")
    assert page.evaluate("() => history.length") == before
    page.locator('.transport [data-action="forward"]').click()
    page.wait_for_function("() => location.search.includes('step=1')")
    assert page.evaluate("() => history.length") == before + 1
    page.go_back()
    page.wait_for_function("() => !location.search.includes('step=1')")
    expect(page.locator('[data-step="0"][aria-current="step"]')).to_have_count(1)
    assert page.locator(FIRST_INPUT).input_value() == "3"


def test_the_result_is_announced(page: Page) -> None:
    page.goto(LESSON)
    page.fill(FIRST_INPUT, "0")
    page.fill('#forms input:not([type=hidden])[name="x[1]"]', "1")
    expect(page.locator("#announce")).to_contain_text("Prediction ŷ 1, was 5.5.")


def test_opened_details_stay_open(page: Page) -> None:
    page.goto(LESSON)
    page.locator("#numbers > summary").click()
    page.fill(FIRST_INPUT, "3")
    expect(page.locator(PREDICTION)).not_to_have_text("5.5")
    assert page.locator("#numbers").get_attribute("open") is not None
