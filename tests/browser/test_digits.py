"""All digits of a rounded number, where its cell has the focus or is pointed at."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

LESSON = "/lessons/accountable_network?hidden.weight[1,0]=0.123456789"


@pytest.fixture
def lesson(page: Page) -> Page:
    page.goto(LESSON)
    return page


def test_a_rounded_number_in_the_picture_shows_its_digits_when_pointed_at(lesson: Page) -> None:
    lesson.locator('#scene a[data-cell="hidden.weight[1,0]"]:visible').first.hover()
    expect(lesson.locator(".digits")).to_have_text("0.12345679")
    lesson.locator("h1").hover()
    expect(lesson.locator(".digits")).to_have_count(0)


def test_a_cell_with_the_focus_shows_the_digits_of_its_number(lesson: Page) -> None:
    lesson.locator('[data-result="prediction"] a').focus()
    shown = lesson.locator('[data-result="prediction"] a > .n').get_attribute("title")
    expect(lesson.locator(".digits")).to_have_text(shown or "no title")


def test_a_short_number_has_nothing_more_to_show(lesson: Page) -> None:
    lesson.locator('#scene a[data-cell="hidden.weight[0,0]"]:visible').first.hover()
    expect(lesson.locator(".digits")).to_have_count(0)
