"""The whole lesson by keyboard: everything is reached, focus is always seen and never lost, nothing traps it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.reading import exact, result

LESSON = "/lessons/accountable_network"
MOST_STOPS = 400

# The element with focus: what it is, how many were visited before it, the part of the page it is in, whether its focus
# is seen (an outline, or shapes drawn otherwise than without focus), and whether it is in sight and uncovered.
FOCUS = """() => {
    const one = document.activeElement;
    if (!one || one === document.body) return null;
    one.dataset.visited ??= document.querySelectorAll('[data-visited]').length;
    const look = () => [...one.querySelectorAll('rect, path')].map((shape) => {
        const { stroke, strokeWidth, fill } = getComputedStyle(shape);
        return stroke + strokeWidth + fill;
    }).join();
    const outline = getComputedStyle(one);
    let shown = outline.outlineStyle !== 'none' && parseFloat(outline.outlineWidth) >= 2;
    if (one instanceof SVGElement) {
        const focused = look();
        one.blur();
        shown = look() !== focused;
        one.focus();
    }
    const box = one.getBoundingClientRect();
    const [left, right] = [Math.max(box.left, 0), Math.min(box.right, innerWidth)];
    const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
    const inSight = right > left && bottom > top && [0.5, 0.1, 0.9].some((part) => {
        const found = document.elementFromPoint(left + (right - left) * part, top + (bottom - top) * part);
        return found && (one.contains(found) || found.contains(one) || one.labels?.[0]?.contains(found));
    });
    const part = (one.matches('input, select, textarea') ? one.parentElement : one).closest('[id]');
    return {name: one.cloneNode(false).outerHTML.slice(0, 200), shown, inSight, part: part?.id ?? '',
            cell: one.getAttribute('data-cell'), place: Number(one.dataset.visited)};
}"""

UNREACHED = """() => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')]
    .filter((one) => one.checkVisibility({visibilityProperty: true}) && one.tabIndex >= 0 && !one.disabled
                     && one.type !== 'hidden' && !('visited' in one.dataset))
    .filter((one) => one.type !== 'radio' || !document.querySelector(`[name="${one.name}"][data-visited]`))
    .map((one) => one.cloneNode(false).outerHTML.slice(0, 140))"""


@pytest.fixture
def lesson(page: Page) -> Page:
    """The lesson as it comes."""
    page.goto(LESSON)
    return page


def settled(page: Page) -> None:
    expect(page.locator("main[data-stale]")).to_have_count(0)


def focus(page: Page) -> dict[str, Any]:
    """What has the focus; fails where nothing has it, or where that is not to be seen."""
    found = page.evaluate(FOCUS)
    assert found is not None, "the focus is lost"
    assert found["shown"], f"the focus is not seen on {found['name']}"
    assert found["inSight"], f"the focus is out of sight on {found['name']}"
    return found


def press(page: Page, *keys: str) -> dict[str, Any]:
    """Presses keys, waits for what they change, and gives what has the focus then."""
    for key in keys:
        page.keyboard.press(key)
    settled(page)
    return focus(page)


def tab_to(page: Page, reached: Callable[[dict[str, Any]], bool], key: str = "Tab") -> dict[str, Any]:
    """Tabs on until it is reached."""
    seen = []
    for _ in range(MOST_STOPS):
        page.keyboard.press(key)
        found = focus(page)
        if reached(found):
            return found
        seen.append(found["name"])
    raise AssertionError("not reached by Tab; passed " + "\n".join(seen[-20:]))


def walk(page: Page) -> list[str]:
    """Every stop from here to the end of the page."""
    stops = []
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement === document.body"):
            return stops
        stops.append(focus(page)["name"])
    raise AssertionError("Tab does not come to an end: " + "\n".join(stops[-20:]))


def on(selector: str) -> Callable[[dict[str, Any]], bool]:
    return lambda found: selector in found["name"]


@pytest.mark.parametrize(
    "query",
    ["?do:hidden.activation[1]=off&rows=2", "?step=9&view=matrices&prove=1&a1=3", "?step=8&view=graph&predict=1"],
)
def test_tab_reaches_everything_shows_where_it_is_and_comes_to_an_end(page: Page, query: str) -> None:
    page.goto(LESSON + query)
    stops = walk(page)
    assert "skip" in stops[0]
    assert page.evaluate(UNREACHED) == []
    for place in reversed(range(len(stops))):
        page.keyboard.press("Shift+Tab")
        assert focus(page)["place"] == place


@pytest.mark.parametrize("query", ["?step=2", "?step=8&view=graph", "?step=9&view=matrices&rows=2"])
def test_arrows_reach_every_cell_of_a_view(page: Page, query: str) -> None:
    page.goto(LESSON + query)
    cells = page.locator("#scene [data-grid] :is([data-cell], [data-step]):visible")
    count = cells.count()
    assert count > 10
    missed = page.evaluate(
        """(selector) => {
            const all = [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
            const name = (one) => one.getAttribute('data-cell') ?? `step ${one.getAttribute('data-step')}`;
            const reached = new Set([all.find((one) => one.tabIndex === 0)]);
            for (const one of reached) {
                for (const key of ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown']) {
                    one.focus();
                    one.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
                    reached.add(document.activeElement);
                }
            }
            return all.filter((one) => !reached.has(one)).map(name);
        }""",
        "#scene [data-grid] :is([data-cell], [data-step])",
    )
    assert missed == []


def test_a_reader_works_through_the_lesson_with_the_keyboard_alone(lesson: Page) -> None:
    press(lesson, "Tab")
    assert press(lesson, "Enter")["part"] == "main"
    # The timeline: one stop, its keys, and on from there.
    tab_to(lesson, on("data-step="))
    press(lesson, "ArrowRight", "ArrowRight")
    lesson.wait_for_function("() => location.search.includes('step=')")
    # The picture: a cell, its longhand, a leaf of it, the proof.
    found = tab_to(lesson, lambda found: found["cell"] is not None)
    press(lesson, "ArrowDown")
    found = press(lesson, "ArrowUp")
    assert press(lesson, "Enter")["cell"] == found["cell"]
    assert press(lesson, "Escape")["cell"] is None
    tab_to(lesson, on('data-action="prove"'))
    press(lesson, "Enter")
    expect(lesson.locator("#longhand .proof.ok")).to_have_count(1)
    tab_to(lesson, lambda found: found["part"] == "longhand" and found["cell"] is not None)
    press(lesson, "Enter")
    # The form: a number, a switch, a box, a radio, a row, Run.
    tab_to(lesson, on('name="x[0]"'))
    lesson.keyboard.press("Control+a")
    lesson.keyboard.type("3")
    settled(lesson)
    expect(lesson.locator("#compare li")).to_have_count(1)
    assert 'name="x[0]"' in focus(lesson)["name"]
    tab_to(lesson, on('name="rows"'))
    assert 'name="rows"' in press(lesson, "Enter")["name"]
    assert len(result(lesson, "prediction")) == 2
    tab_to(lesson, on('name="do:hidden.activation[1]"'))
    press(lesson, "ArrowDown")
    expect(lesson.locator("#compare li", has_text="h₂")).to_have_count(1)
    tab_to(lesson, on('name="activation"'))
    assert 'value="none"' in press(lesson, "ArrowRight")["name"]
    tab_to(lesson, on('name="lr"'))
    lesson.keyboard.press("Control+a")
    lesson.keyboard.type("0.01")
    press(lesson, "Enter")
    tab_to(lesson, on('name="frozen"'))
    press(lesson, "Space")
    assert exact(lesson.locator("#forms .count")) == [13, 7]
    changes = lesson.locator("#compare li").count()
    tab_to(lesson, on('data-action="undo"'))
    press(lesson, "Enter")
    expect(lesson.locator("#compare li")).to_have_count(changes - 1)
    tab_to(lesson, on('data-action="reset"'))
    press(lesson, "Enter")
    expect(lesson.locator("#compare li")).to_have_count(0)
    # What is behind the pictures, and what is taken away.
    tab_to(lesson, on("<summary"))
    press(lesson, "Enter")
    tab_to(lesson, on('data-action="copy-link"'))
    tab_to(lesson, on("<summary"))
    press(lesson, "Enter")
    expect(lesson.locator('[data-recipe="curl"] pre')).to_be_visible()


def test_the_check_is_answered_and_focus_stays_in_it(lesson: Page) -> None:
    lesson.locator("#check input").first.focus()
    lesson.keyboard.type("123456")
    assert 'name="a1"' in press(lesson, "Enter")["name"]
    expect(lesson.locator('[data-exercise="1"].wrong')).to_have_count(1)
    tab_to(lesson, on('type="submit"'))
    assert 'type="submit"' in press(lesson, "Enter")["name"]
    tab_to(lesson, on("seed=1"))
    assert focus(lesson)["part"] == "check"
    assert press(lesson, "Enter")["part"] == "check"


def test_predicting_by_keyboard_keeps_the_focus_at_the_question(lesson: Page) -> None:
    tab_to(lesson, on('data-action="predict"'))
    assert 'name="guess"' in press(lesson, "Enter")["name"]
    lesson.keyboard.type("1")
    assert press(lesson, "Enter")["part"] == "results"
    expect(lesson.locator("#results .verdict")).to_have_count(1)


@pytest.mark.parametrize(
    ("query", "start", "part"),
    [
        ("?cell=hidden.preactivation[1]", "#longhand .sum a", "longhand"),
        ("?cell=hidden.preactivation[1]", '#longhand [data-action="prove"]', "longhand"),
        ("?cell=hidden.preactivation[1]&prove=1", "#longhand .proof a", "longhand"),
        ("?cell=hidden.weight[1,0]", "#longhand .paths a >> nth=-1", "longhand"),
        ("?cell=hidden.weight[1,0]", "#longhand [data-step-link]", "longhand"),
        ("?x[0]=3&x[1]=3", '#compare [data-action="undo"]', "compare"),
        ("?x[0]=3", '#compare [data-action="reset"]', "compare"),
        ("?rows=2", "#forms .rows button >> nth=1", "forms"),
        ("?predict=1&guess=2", "#results .verdict a >> nth=-1", "results"),
        ("?predict=1", "#results .predict a", "results"),
        ("?step=8&view=graph", "#scene [data-cell]:visible >> nth=3", "scene"),
        ("?step=8&view=matrices", "#scene [data-cell]:visible >> nth=3", "scene"),
        ("?view=graph", "#scene [data-step]:visible >> nth=2", "scene"),
        ("?step=12", '.transport [data-action="forward"]', "stage"),
        ("", ".prose .show >> nth=2", "main"),
        ("?predict=1", '.tools [data-action="predict"]', ""),
    ],
)
def test_what_goes_away_when_it_is_pressed_leaves_the_focus_near(page: Page, query: str, start: str, part: str) -> None:
    page.goto(LESSON + query)
    page.locator(start).first.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("(before) => location.search !== before", arg=query)
    settled(page)
    found = focus(page)
    assert found["part"] == part, found["name"]
    page.keyboard.press("Tab")
    assert focus(page)["name"] != found["name"]


def test_the_list_of_keys_holds_the_focus_and_gives_it_back(lesson: Page) -> None:
    before = tab_to(lesson, on('data-action="keys"'))
    assert "button" in press(lesson, "Enter")["name"]
    expect(lesson.get_by_role("dialog")).to_be_visible()
    lesson.keyboard.press("Escape")
    expect(lesson.get_by_role("dialog")).to_be_hidden()
    assert focus(lesson)["name"] == before["name"]
