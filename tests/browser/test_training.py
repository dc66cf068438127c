"""Training on a lesson's page: begun, watched, paused, stepped, gone on with, ended; with scripts, and without."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

LESSON = "/lessons/accountable_network"
PANEL = "#training"
STEP = re.compile(r"step (\d+) of")


def start(page: Page, rate: str = "0.00001", steps: str = "100000") -> None:
    page.goto(LESSON)
    page.fill("#f-rate", rate)
    page.fill("#f-steps", steps)
    press(page, "Start")


def press(page: Page, label: str) -> None:
    page.locator(PANEL).get_by_role("button", name=label, exact=True).click()


def is_now(page: Page, state: str) -> None:
    expect(page.locator(PANEL)).to_have_attribute("data-state", state)


def step(page: Page) -> int:
    found = STEP.search(page.locator(f"{PANEL} .stands").inner_text())
    assert found
    return int(found[1])


def longest(page: Page) -> float:
    """The last step of the curve as it is drawn."""
    return page.evaluate("""() => Math.max(...document.querySelector("[data-figure=training-loss]").data[0].x)""")


def test_a_run_is_watched_paused_stepped_gone_on_with_and_ended(page: Page) -> None:
    start(page)
    is_now(page, "running")
    assert "run=" in page.url
    page.locator(f"{PANEL} .chart").scroll_into_view_if_needed()
    page.wait_for_function("""() => document.querySelector("[data-figure=training-loss]")?.data?.[0].x.length > 2""")
    first = longest(page)
    page.wait_for_function(
        """(first) => Math.max(...document.querySelector("[data-figure=training-loss]").data[0].x) > first""", arg=first
    )
    press(page, "Pause")
    is_now(page, "paused")
    paused = step(page)
    press(page, "1 step")
    expect(page.locator(f"{PANEL} .stands")).to_contain_text(f"step {paused + 1} of")
    expect(page.locator("#training-step-1")).to_be_focused()
    press(page, "Go on")
    is_now(page, "running")
    page.reload()
    is_now(page, "running")
    assert step(page) > paused
    press(page, "End it")
    is_now(page, "cancelled")
    page.go_back()
    expect(page.locator("h1")).to_be_visible()


def test_with_scripts_off_all_of_it_is_forms_and_links(no_script_page: Page) -> None:
    page = no_script_page
    start(page)
    is_now(page, "running")
    before = step(page)
    page.get_by_role("link", name="See how far it is").click()
    assert step(page) >= before
    press(page, "Pause")
    is_now(page, "paused")
    paused = step(page)
    press(page, "10 steps")
    is_now(page, "paused")
    assert step(page) == paused + 10
    page.locator(f"{PANEL} details.curve summary").click()
    expect(page.locator(f"{PANEL} details.curve tbody tr").last.locator("td").first).to_have_text(str(paused + 10))
    press(page, "Go on")
    is_now(page, "running")
    page.reload()
    is_now(page, "running")
    press(page, "End it")
    is_now(page, "cancelled")


def test_what_is_being_typed_stays_while_the_run_goes_on(page: Page) -> None:
    start(page)
    is_now(page, "running")
    page.fill("#f-rate", "0.03")
    now = step(page)
    page.wait_for_function(
        """(now) => Number(/step (\\d+)/.exec(document.querySelector("#training .stands").textContent)[1]) > now""",
        arg=now,
    )
    expect(page.locator("#f-rate")).to_have_value("0.03")
    expect(page.locator("#f-rate")).to_be_focused()
    press(page, "Branch off here")
    expect(page.locator(PANEL)).to_have_attribute("data-panel", re.compile("rate=0.03"))
    press(page, "End it")


def test_the_chart_is_not_dimmed_when_a_new_point_comes(page: Page) -> None:
    start(page)
    figure = page.locator("[data-figure=training-loss]")
    figure.scroll_into_view_if_needed()
    expect(figure).to_have_attribute("data-state", "drawn")
    page.evaluate(
        """() => {
          window.states = new Set();
          const figure = document.querySelector("[data-figure=training-loss]");
          new MutationObserver(() => window.states.add(figure.dataset.state)).observe(figure, { attributes: true });
        }"""
    )
    first = longest(page)
    page.wait_for_function(
        """(first) => Math.max(...document.querySelector("[data-figure=training-loss]").data[0].x) > first""", arg=first
    )
    assert set(page.evaluate("[...window.states]")) <= {"drawn"}
    press(page, "End it")


def test_where_the_run_is_is_said_when_it_rests_and_not_with_every_step(page: Page) -> None:
    page.add_init_script(
        """addEventListener("DOMContentLoaded", () => {
          window.said = [];
          const line = document.querySelector("#announce");
          new MutationObserver(() => window.said.push(line.textContent)).observe(line, { childList: true });
        })"""
    )
    start(page)
    is_now(page, "running")
    page.wait_for_timeout(1500)
    press(page, "Pause")
    is_now(page, "paused")
    page.wait_for_function("() => window.said.some((text) => /paused/.test(text))")
    said = page.evaluate("window.said")
    assert len(said) <= 4
    assert re.fullmatch(r"Step \d+ of 100000, paused\. Loss 0\.\d+\.", said[-1])


def test_the_trained_numbers_are_on_the_stage_and_the_run_stays(page: Page) -> None:
    start(page, "0.02", "100")
    is_now(page, "done")
    page.get_by_role("link", name="See it on the stage").click()
    expect(page.locator("#compare [data-edit='readout.bias[0]']")).to_be_visible()
    is_now(page, "done")


@pytest.mark.parametrize(("theme", "viewport"), [("light", (1280, 900)), ("dark", (360, 740))])
def test_the_panel_is_accessible_and_fits(page: Page, axe: Callable[[Page], None]) -> None:
    start(page, "10", "40")
    is_now(page, "done")
    expect(page.locator(f"{PANEL} .notice")).to_contain_text("no longer a finite number")
    page.locator(f"{PANEL} .chart").first.scroll_into_view_if_needed()
    expect(page.locator("[data-figure=training-loss]")).to_have_attribute("data-state", "drawn")
    axe(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
