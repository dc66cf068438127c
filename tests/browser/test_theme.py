"""Light and dark: the system's preference first, then the reader's choice."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

LESSON = "/lessons/accountable_network"
GROUND = "() => getComputedStyle(document.body).backgroundColor"
LIGHT = "rgb(251, 250, 246)"
DARK = "rgb(19, 22, 28)"


@pytest.mark.parametrize(("theme", "ground"), [("light", LIGHT), ("dark", DARK)])
def test_the_page_follows_the_system(page: Page, ground: str) -> None:
    page.goto(LESSON)
    assert page.evaluate(GROUND) == ground


def test_a_choice_is_kept_through_edits_and_reloads(page: Page) -> None:
    page.goto(LESSON)
    switch = page.locator('[data-action="theme"]')
    expect(switch).to_have_accessible_name("Theme: system")
    switch.click()
    expect(switch).to_have_accessible_name("Theme: light")
    switch.click()
    expect(switch).to_have_accessible_name("Theme: dark")
    assert page.evaluate(GROUND) == DARK
    page.locator('.transport [data-action="forward"]').click()
    page.wait_for_function("() => location.search.includes('step=1')")
    expect(switch).to_have_accessible_name("Theme: dark")
    page.reload()
    assert page.evaluate(GROUND) == DARK
