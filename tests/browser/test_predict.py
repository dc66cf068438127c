"""Predict first: results are hidden, a guess is taken, the verdict is said and read out."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

LESSON = "/lessons/accountable_network"
PREDICTION = '[data-result="prediction"] dd'
GUESS = "form.predict input[name=guess]"


def test_predict_first_hides_the_results_and_waits_for_a_guess(page: Page) -> None:
    page.goto(LESSON)
    page.locator('[data-action="predict"]').click()
    expect(page.locator("#stage")).to_have_attribute("data-predict", "asking")
    expect(page.locator(PREDICTION)).to_have_text("?")
    expect(page.locator(GUESS)).to_be_focused()


@pytest.mark.parametrize(("guess", "verdict"), [("11/2", "right"), ("5.5", "right"), ("4", "wrong")])
def test_a_guess_gets_its_verdict_and_the_number(page: Page, guess: str, verdict: str) -> None:
    page.goto(f"{LESSON}?predict=1")
    page.fill(GUESS, guess)
    page.keyboard.press("Enter")
    expect(page.locator(f".outcome .verdict.{verdict}")).to_contain_text("5.5")
    expect(page.locator("#announce")).to_contain_text("5.5")
    expect(page.locator(PREDICTION)).to_contain_text("5.5")


def test_no_number_that_is_hidden_stands_anywhere_in_the_picture(page: Page) -> None:
    page.goto(f"{LESSON}?predict=1")
    shown = page.locator("#scene svg:visible").first.locator("a[data-cell='prediction[0]'] .n:visible")
    assert shown.count() == 0 or not shown.first.evaluate("(n) => getComputedStyle(n).visibility === 'visible'")
