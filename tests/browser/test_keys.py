"""The keyboard: the timeline's keys, arrows between cells, one tab stop a grid, the list of keys."""

from __future__ import annotations

from playwright.sync_api import Page, expect

LESSON = "/lessons/accountable_network"
CURRENT = "() => Number(document.querySelector('[data-step][aria-current=step]').dataset.step)"


def _wait_for_step(page: Page, step: int) -> None:
    page.wait_for_function(f"(step) => ({CURRENT})() === step", arg=step)


def test_arrows_home_and_end_move_through_the_timeline(page: Page) -> None:
    page.goto(LESSON)
    last = page.locator("[data-step]").count() - 1
    page.keyboard.press("ArrowRight")
    _wait_for_step(page, 1)
    page.keyboard.press("ArrowRight")
    _wait_for_step(page, 2)
    page.keyboard.press("ArrowLeft")
    _wait_for_step(page, 1)
    page.keyboard.press("End")
    _wait_for_step(page, last)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    _wait_for_step(page, 0)


def test_arrows_in_a_field_move_the_caret_and_not_the_timeline(page: Page) -> None:
    page.goto(LESSON)
    page.locator('#forms input:not([type=hidden])[name="x[0]"]').focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    page.wait_for_timeout(150)
    assert page.evaluate(CURRENT) == 0


def test_space_plays_and_pauses(page: Page) -> None:
    page.goto(LESSON)
    play = page.locator('[data-action="play"]')
    page.keyboard.press("Space")
    expect(play).to_have_attribute("aria-pressed", "true")
    page.wait_for_function(f"() => ({CURRENT})() >= 2")
    page.keyboard.press("Space")
    expect(play).to_have_attribute("aria-pressed", "false")
    stopped = page.evaluate(CURRENT)
    page.wait_for_timeout(1800)
    assert page.evaluate(CURRENT) == stopped


def test_every_grid_is_one_tab_stop(page: Page) -> None:
    page.goto(f"{LESSON}?step=1")
    stops = page.evaluate(
        """() => [...document.querySelectorAll('[data-grid]')].map((grid) =>
                [...grid.querySelectorAll('[data-cell], [data-step]')]
                    .filter((cell) => cell.closest('[data-grid]') === grid && cell.getClientRects().length))
            .filter((cells) => cells.length)
            .map((cells) => cells.filter((cell) => cell.getAttribute('tabindex') === '0').length)"""
    )
    assert len(stops) >= 2
    assert set(stops) == {1}


def test_arrows_move_between_cells_enter_opens_one_and_escape_leaves(page: Page) -> None:
    page.goto(f"{LESSON}?step=0&view=matrices")
    focused = "() => document.activeElement?.getAttribute('data-cell')"
    page.locator('.matrices [data-cell="hidden.weight[0,0]"]').focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == "hidden.weight[0,1]"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == "hidden.weight[1,1]"
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(focused) == "hidden.weight[1,0]"
    page.keyboard.press("Enter")
    page.wait_for_function("() => decodeURIComponent(location.search).includes('cell=hidden.weight[1,0]')")
    expect(page.locator("#longhand")).to_contain_text("W₂₁")
    assert page.evaluate(focused) == "hidden.weight[1,0]"
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement.hasAttribute('data-grid')")


def test_arrows_move_between_the_cells_of_the_picture(page: Page) -> None:
    page.goto(f"{LESSON}?step=1")
    picture = page.locator("#scene [data-grid]").first
    start = picture.locator('[data-cell="hidden.preactivation[1]"]:visible').first
    start.focus()
    page.keyboard.press("ArrowDown")
    below = page.evaluate("() => document.activeElement.getAttribute('data-cell')")
    assert below and below != "hidden.preactivation[1]"


def test_question_mark_lists_the_keys(page: Page) -> None:
    page.goto(LESSON)
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    expect(dialog).to_contain_text("one step back, one step on")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
