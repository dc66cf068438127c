"""From a phone to 4K, and zoomed: nothing overflows, and the drawing turns upright where it is narrow."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.fitting import overflowing

LESSON = "/lessons/accountable_network"
PAGES = [
    "/",
    LESSON,
    f"{LESSON}?step=1&view=graph",
    f"{LESSON}?step=9&view=matrices",
    f"{LESSON}?rows=3",
    "/models",
    "/api",
]


@pytest.mark.parametrize("viewport", [(512, 384), (3840, 2160)])
def test_no_page_is_wider_than_its_window_zoomed_or_on_a_wall(page: Page) -> None:
    for address in PAGES:
        page.goto(address)
        assert overflowing(page) == [], address


@pytest.mark.parametrize(("viewport", "upright"), [((360, 780), True), ((1024, 768), False)])
def test_the_drawing_is_upright_on_a_phone(page: Page, upright: bool) -> None:
    page.goto(LESSON)
    expect(page.locator("#scene svg.tall").first).to_be_visible(visible=upright)
    expect(page.locator("#scene svg.wide").first).to_be_visible(visible=not upright)


@pytest.mark.parametrize("viewport", [(360, 780), (1024, 768)])
@pytest.mark.parametrize("address", [LESSON, "/"])
def test_no_text_in_the_drawing_is_below_eleven_pixels(page: Page, address: str) -> None:
    page.goto(address)
    smallest = page.evaluate(
        """() => Math.min(...[...document.querySelectorAll('main svg.picture text')]
            .filter((text) => text.getClientRects().length)
            .map((text) => parseFloat(getComputedStyle(text).fontSize)
                           * text.ownerSVGElement.getScreenCTM().a))"""
    )
    assert smallest >= 11


@pytest.mark.parametrize("viewport", [(360, 780)])
def test_the_run_is_one_press_away_while_the_text_is_read_on_a_phone(page: Page) -> None:
    page.goto(LESSON)
    link = page.get_by_role("link", name="See the run")
    for heading in page.locator(".prose h2").all()[::3]:
        heading.scroll_into_view_if_needed()
        expect(link).to_be_in_viewport(ratio=1)
    link.click()
    expect(page.locator("#stage .timeline")).to_be_in_viewport()
    expect(link).not_to_be_in_viewport()


@pytest.mark.parametrize("viewport", [(1024, 768)])
def test_beside_the_text_the_run_needs_no_way_to_it(page: Page) -> None:
    page.goto(LESSON)
    expect(page.get_by_role("link", name="See the run")).to_have_count(0)


@pytest.mark.parametrize("viewport", [(3840, 2160)])
def test_text_grows_with_the_window_on_large_screens(page: Page) -> None:
    page.goto(LESSON)
    assert page.evaluate("() => parseFloat(getComputedStyle(document.documentElement).fontSize)") == 24


@pytest.mark.parametrize("viewport", [(360, 780)])
def test_show_me_leads_to_the_stage_on_a_phone_and_back_to_the_text(page: Page) -> None:
    page.goto(LESSON)
    link = page.locator(".prose a.show").first
    link.click()
    back = page.get_by_role("button", name="Back to the text")
    expect(back).to_be_visible()
    expect(page.locator("#stage .timeline")).to_be_in_viewport()
    back.click()
    expect(link).to_be_in_viewport()
    expect(link).to_be_focused()
    expect(back).to_have_count(0)


@pytest.mark.parametrize("viewport", [(360, 780)])
def test_the_current_step_is_in_sight_in_a_narrow_timeline(page: Page) -> None:
    page.goto(f"{LESSON}?step=12")
    page.locator(".timeline").evaluate("(strip) => strip.scrollIntoView()")
    expect(page.locator(".timeline [aria-current=step]")).to_be_in_viewport(ratio=0.9)
