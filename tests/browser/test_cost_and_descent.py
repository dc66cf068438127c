"""The descents: a click starts elsewhere, Play takes steps until it is paused, and one chart library draws the page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

LESSON = "/lessons/cost_and_descent"
WALK = "[data-figure=walk]"


@pytest.fixture
def drawn(page: Page) -> Page:
    page.goto(f"{LESSON}?taken=3&batch=8", timeout=30_000)
    page.locator(WALK).scroll_into_view_if_needed()
    expect(page.locator(f"{WALK}[data-state=drawn]")).to_be_visible(timeout=30_000)
    return page


def test_a_click_on_the_contours_starts_there(drawn: Page) -> None:
    plot = drawn.locator(f"{WALK} .nsewdrag")
    box = plot.bounding_box()
    assert box is not None
    plot.click(position={"x": box["width"] / 4, "y": box["height"] / 3})
    expect(drawn).to_have_url(re.compile(r"w=-1(?:\.0\d)?&b=2(?:\.0\d)?|w=-0\.9\d?&b=(?:2|1\.9\d?)"))
    assert abs(float(drawn.locator("#f-w").input_value()) + 1) < 0.1
    assert abs(float(drawn.locator("#f-b").input_value()) - 2) < 0.1


def test_play_takes_steps_until_it_is_paused(drawn: Page) -> None:
    button = drawn.locator("[data-action=descend]")
    expect(button).to_have_text("Play")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(drawn).to_have_url(re.compile("taken=[5-9]"), timeout=30_000)
    button.click()
    expect(button).to_have_text("Play")
    drawn.wait_for_timeout(800)
    url = drawn.url
    drawn.wait_for_timeout(800)
    assert drawn.url == url


def test_a_page_with_a_surface_takes_the_library_that_draws_it_and_no_other(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(LESSON, timeout=30_000)
    page.locator("[data-figure=surface]").scroll_into_view_if_needed()
    expect(page.locator("[data-figure=surface][data-state=drawn] canvas").first).to_be_visible(timeout=60_000)
    page.locator("[data-figure=curve]").scroll_into_view_if_needed()
    expect(page.locator("[data-figure=curve][data-state=drawn]")).to_be_visible(timeout=30_000)
    assert sum("plotly-gl3d" in url for url in asked) == 1
    assert not any("plotly-cartesian" in url for url in asked)
