"""The reader's own curve is bent by a click."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

FIGURE = "[data-figure=sum]"


def test_a_click_moves_the_nearest_height_of_one_s_own_curve(page: Page) -> None:
    page.goto("/lessons/activation_functions?curve=own", timeout=30_000)
    page.locator(FIGURE).scroll_into_view_if_needed()
    expect(page.locator(f"{FIGURE}[data-state=drawn]")).to_be_visible(timeout=30_000)
    plot = page.locator(f"{FIGURE} .nsewdrag")
    box = plot.bounding_box()
    assert box is not None
    before = page.locator("#f-y3").input_value()
    plot.click(position={"x": box["width"] * 0.26, "y": box["height"] * 0.1})
    expect(page).to_have_url(re.compile(r"[?&]y3="))
    after = float(page.locator("#f-y3").input_value())
    assert after > 0.5 > float(before)
    assert "y2=" not in page.url and "y4=" not in page.url


def test_without_a_curve_of_one_s_own_a_click_changes_nothing(page: Page) -> None:
    page.goto("/lessons/activation_functions")
    page.locator(FIGURE).scroll_into_view_if_needed()
    expect(page.locator(f"{FIGURE}[data-state=drawn]")).to_be_visible(timeout=30_000)
    page.locator(f"{FIGURE} .nsewdrag").click()
    page.wait_for_timeout(300)
    assert page.url.endswith("/lessons/activation_functions")
