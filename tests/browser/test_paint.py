"""Drawing on a row of numbers: with the pointer, by keys, and what there is without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from app import whole
from tests.browser.conftest import OpenPage

LESSON = "/lessons/detector_by_hand"
FORM = "#paint-image"
CANVAS = f"{FORM} canvas"


@pytest.fixture
def drawing(page: Page) -> Page:
    page.goto(LESSON)
    page.locator(CANVAS).scroll_into_view_if_needed()
    return page


@pytest.fixture
def values(drawing: Page) -> Callable[[], list[float]]:
    return lambda: whole.read(drawing.locator(FORM).get_attribute("data-code") or "", 784)


def cell(page: Page, row: int, column: int) -> dict[str, float]:
    """The middle of a cell of the drawing, from the canvas' corner."""
    box = page.locator(CANVAS).bounding_box()
    assert box is not None
    return {"x": (column + 0.5) * box["width"] / 28, "y": (row + 0.5) * box["height"] / 28}


def test_a_stroke_is_sent_when_it_ends_and_stands_in_the_address(drawing, values):
    drawing.get_by_role("button", name="clear").last.click()
    expect(drawing).to_have_url(re.compile(r"\?x="))
    assert values() == [0.0] * 784
    box = drawing.locator(CANVAS).bounding_box()
    start, end = cell(drawing, 8, 8), cell(drawing, 8, 19)
    drawing.mouse.move(box["x"] + start["x"], box["y"] + start["y"])
    drawing.mouse.down()
    drawing.mouse.move(box["x"] + end["x"], box["y"] + end["y"], steps=4)
    before = drawing.url
    drawing.mouse.up()
    expect(drawing).not_to_have_url(before)
    drawn = values()
    assert drawn[8 * 28 + 8 : 8 * 28 + 20] == [1.0] * 12
    assert drawn[7 * 28 + 12] == drawn[9 * 28 + 12] == 0.5 and drawn[11 * 28 + 12] == 0
    expect(drawing.locator(f"{FORM} input[name=x]").first).to_have_value("")
    url = drawing.url
    drawing.reload()
    assert values() == drawn and drawing.url == url


def test_keys_walk_and_draw(drawing, values):
    canvas = drawing.locator(CANVAS)
    canvas.focus()
    drawing.get_by_role("button", name="broad").last.click()
    canvas.focus()
    for key in ("ArrowUp", "ArrowLeft", "ArrowLeft"):
        drawing.keyboard.press(key)
    expect(drawing.locator(f"{FORM} output")).to_have_text(re.compile("^Row 14, column 13:"))
    assert drawing.url.endswith(LESSON)
    drawing.keyboard.press("Space")
    drawing.keyboard.press("Shift+ArrowDown")
    expect(drawing).to_have_url(re.compile(r"\?x"))
    assert values()[13 * 28 + 12] == values()[14 * 28 + 12] == 1
    expect(canvas).to_be_focused()


def test_weights_are_painted_with_both_signs(drawing):
    drawing.locator("#paint-weights").get_by_role("button", name="−0.5").click()
    drawing.locator("#paint-weights canvas").click(position={"x": 20, "y": 20})
    expect(drawing).to_have_url(re.compile(r"\?detector\.weight="))
    code = drawing.locator("#paint-weights").get_attribute("data-code") or ""
    assert whole.read(code, 784).count(-0.5) == 76 + 9


def test_a_drawing_is_centred_by_its_mass(drawing, values):
    drawing.get_by_role("button", name="clear").last.click()
    expect(drawing).to_have_url(re.compile(r"\?x="))
    for press in (
        lambda: drawing.locator(CANVAS).click(position=cell(drawing, 4, 22)),
        drawing.get_by_role("button", name="centre it").click,
    ):
        before = drawing.url
        press()
        expect(drawing).not_to_have_url(before)
    assert values()[14 * 28 + 14] == 1 and values()[4 * 28 + 22] == 0


def test_an_image_is_picked_by_its_number_with_and_without_scripts(new_page: OpenPage):
    for scripts in (True, False):
        page = new_page(java_script_enabled=scripts)
        page.goto(LESSON)
        page.fill("#paint-image-place", "17")
        page.locator(FORM).get_by_role("button", name="Show").click()
        expect(page).to_have_url(re.compile(r"\?x=(test:)?17"))
        assert page.locator(f"{FORM} .still img").count() == 1
        expect(page.locator(f"{FORM} .still")).to_be_visible(visible=not scripts)


def test_a_number_that_is_no_image_is_refused_in_place(drawing, expected_errors):
    expected_errors.append("status 422")
    drawing.fill("#paint-image-place", "10000")
    drawing.locator(FORM).get_by_role("button", name="Show").click()
    expect(drawing.locator(f"{FORM} .error")).to_have_text(re.compile("x must be test:0 to test:9999"))
