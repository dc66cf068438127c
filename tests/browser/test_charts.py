"""Charts: loaded when they come into view, drawn right under the page's policy, redrawn after an edit."""

from __future__ import annotations

import base64

from playwright.sync_api import Page, expect

LESSON = "/lessons/accountable_network"
FIGURE = "#plane [data-figure]"


def _draw(page: Page) -> None:
    page.goto(LESSON)
    page.locator(FIGURE).first.scroll_into_view_if_needed()
    expect(page.locator(f"{FIGURE}[data-state=drawn]").first).to_be_visible()


def _red_of_row(page: Page, png: bytes, *, from_bottom: int) -> list[int]:
    """The red part, 0 to 255, of each pixel of one row of a picture."""
    return page.evaluate(
        """async ([source, fromBottom]) => {
            const image = new Image();
            image.src = source;
            await image.decode();
            const canvas = document.createElement('canvas');
            [canvas.width, canvas.height] = [image.width, image.height];
            const context = canvas.getContext('2d');
            context.drawImage(image, 0, 0);
            const row = context.getImageData(0, image.height - fromBottom, image.width, 1).data;
            return [...row].filter((_, i) => i % 4 === 0);
        }""",
        [f"data:image/png;base64,{base64.b64encode(png).decode()}", from_bottom],
    )


def test_the_chart_library_is_loaded_only_when_a_chart_comes_into_view(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(LESSON)
    page.wait_for_timeout(300)
    assert not any("plotly-cartesian" in url for url in asked)
    page.locator(FIGURE).first.scroll_into_view_if_needed()
    expect(page.locator(f"{FIGURE}[data-state=drawn]").first).to_be_visible()
    assert sum("plotly-cartesian.min.js" in url for url in asked) == 1


def test_a_heat_map_is_drawn_in_flat_cells(page: Page) -> None:
    """Under a strict policy and without its rules Plotly smooths the cells into each other."""
    _draw(page)
    page.evaluate(
        """async () => {
            const box = document.createElement('div');
            box.id = 'proof';
            box.style.cssText = 'position:fixed;inset:0 auto auto 0;width:400px;height:400px;z-index:99';
            document.body.append(box);
            await Plotly.newPlot(box, [{type: 'heatmap', z: [[0, 1], [1, 0]], showscale: false,
                                        colorscale: [[0, '#ffffff'], [1, '#000000']]}],
                                 {margin: {l: 0, r: 0, t: 0, b: 0}, xaxis: {visible: false}, yaxis: {visible: false}},
                                 {staticPlot: true});
        }"""
    )
    page.wait_for_timeout(200)
    row = _red_of_row(page, page.locator("#proof").screenshot(), from_bottom=20)
    middle = len(row) // 2
    lower_left, lower_right = set(row[10 : middle - 4]), set(row[middle + 4 : -10])
    assert lower_left == {255}
    assert lower_right == {0}


def test_a_chart_of_earlier_numbers_is_dimmed_until_it_is_seen_and_drawn_again(page: Page) -> None:
    _draw(page)
    figure = page.locator(FIGURE).first
    numbers = "(f) => JSON.stringify(f.data.map((trace) => [trace.x, trace.z]))"
    before = figure.evaluate(numbers)
    page.fill('#forms input:not([type=hidden])[name="x[0]"]', "1")
    expect(page.locator('[data-result="prediction"] dd .n').first).not_to_have_text("5.5")
    opacity, now = figure.evaluate(f"(f) => [getComputedStyle(f).opacity, ({numbers})(f)]")
    assert float(opacity) < 1 or now != before
    figure.scroll_into_view_if_needed()
    expect(page.locator(f"{FIGURE}[data-state=drawn]").first).to_be_visible()
    assert figure.evaluate(numbers) != before
    assert figure.evaluate("(f) => getComputedStyle(f).opacity") == "1"


def test_a_chart_takes_the_colours_of_the_theme(page: Page) -> None:
    _draw(page)
    ink = "(f) => f.layout.font.color"
    figure = page.locator(FIGURE).first
    light = figure.evaluate(ink)
    page.locator('[data-action="theme"]').click()
    page.locator('[data-action="theme"]').click()
    page.wait_for_function(
        "(light) => document.querySelector('#plane [data-figure]').layout.font.color !== light", arg=light
    )
