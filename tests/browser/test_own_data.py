"""A reader's table on its lesson's page: brought, chosen from, trained on, and a row of it opened."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

LESSON = "/lessons/own_data"
TABLE = "width,height,kind\n" + "\n".join(
    f"{at % 10}.5,{at * 7 % 10}.25,{'big' if at % 10 + at * 7 % 10 > 9 else 'small'}" for at in range(100)
)


def test_a_table_is_brought_trained_on_and_opened_row_by_row(page: Page) -> None:
    page.goto(LESSON)
    page.fill("#table-text", TABLE)
    page.get_by_role("button", name="Take this table").click()
    expect(page).to_have_url(re.compile(r"\?data=\d+#your-table$"))
    page.wait_for_load_state()
    page.select_option("#f-column", label="width")
    expect(page).to_have_url(re.compile(r"column=1"))
    expect(page.locator("article")).to_contain_text("width is a number.")
    page.select_option("#f-column", label="kind")
    expect(page.locator("article")).to_contain_text("kind is a class: one of big, small.")
    page.locator("#training").get_by_role("button", name="Start", exact=True).click()
    expect(page.locator("#training")).to_have_attribute("data-state", "done", timeout=30_000)
    expect(page.locator("#training [data-figure=training-plane]")).to_be_attached()
    page.locator("#training [data-figure=training-plane]").scroll_into_view_if_needed()
    page.wait_for_function("""() => document.querySelector("[data-figure=training-plane]")?.data?.length === 6""")
    page.fill("#trace-row", "7")
    page.get_by_role("button", name="Open every number of it").click()
    expect(page.locator("h1")).to_have_text("Row 7 of the table: kind")
    expect(page.locator("#stage")).to_be_visible()
