"""From a phone to 4K, and zoomed: nothing overflows, and the drawing turns upright where it is narrow."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

LESSON = "/lessons/accountable_network"
PAGES = [
    "/",
    LESSON,
    f"{LESSON}?step=1&view=graph",
    f"{LESSON}?step=9&view=matrices",
    f"{LESSON}?rows=3",
    "/models",
    "/models/tiny_network",
    "/open",
    "/api",
]

OVERFLOWING = """() => [...document.querySelectorAll('body *')].filter((element) => {
    const box = element.getBoundingClientRect();
    if (!box.width || box.right <= innerWidth + 1) return false;
    for (let parent = element.parentElement; parent; parent = parent.parentElement) {
        const style = getComputedStyle(parent);
        if (style.overflowX !== 'visible' || style.clipPath !== 'none') return false;
    }
    return getComputedStyle(element).clipPath === 'none';
}).slice(0, 5).map((element) => `${element.localName}.${element.getAttribute('class')}`)"""


@pytest.mark.parametrize("viewport", [(360, 780), (512, 384), (1024, 768), (1920, 1080), (3840, 2160)])
def test_no_page_is_wider_than_its_window(page: Page, viewport: tuple[int, int]) -> None:
    for address in PAGES:
        page.goto(address)
        assert page.evaluate(OVERFLOWING) == [], address
        assert page.evaluate("() => document.documentElement.scrollWidth") <= viewport[0], address


@pytest.mark.parametrize(("viewport", "upright"), [((360, 780), True), ((1024, 768), False)])
def test_the_drawing_is_upright_on_a_phone(page: Page, upright: bool) -> None:
    page.goto(LESSON)
    expect(page.locator("#scene svg.tall").first).to_be_visible(visible=upright)
    expect(page.locator("#scene svg.wide").first).to_be_visible(visible=not upright)


@pytest.mark.parametrize("viewport", [(360, 780)])
def test_no_text_in_the_drawing_is_below_eleven_pixels_on_a_phone(page: Page) -> None:
    page.goto(LESSON)
    smallest = page.evaluate(
        """() => Math.min(...[...document.querySelectorAll('#scene svg.tall text')]
            .filter((text) => text.getClientRects().length)
            .map((text) => parseFloat(getComputedStyle(text).fontSize)
                           * text.ownerSVGElement.getBoundingClientRect().width
                           / text.ownerSVGElement.viewBox.baseVal.width))"""
    )
    assert smallest >= 11


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
