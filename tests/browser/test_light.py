"""Pointing at a cell lights what it was made of and what it feeds."""

from __future__ import annotations

from playwright.sync_api import Page

LESSON = "/lessons/accountable_network"


def _lit(page: Page, kind: str) -> set[str]:
    return set(page.evaluate(f"() => [...document.querySelectorAll('.{kind}')].map((cell) => cell.dataset.cell)"))


def test_focusing_a_cell_lights_its_parts_and_its_uses(page: Page) -> None:
    page.goto(f"{LESSON}?step=0&view=matrices")
    page.locator('.matrices [data-cell="hidden.preactivation[1]"]').focus()
    parts = {"hidden.weight[1,0]", "hidden.weight[1,1]", "hidden.bias[1]", "x[0]", "x[1]"}
    assert _lit(page, "lit-from") == parts
    uses = _lit(page, "lit-to")
    assert not uses & parts
    page.locator("#numbers > summary").focus()
    assert _lit(page, "lit-from") == set()


def test_pointing_at_a_node_of_the_picture_lights_the_fields_it_was_made_of(page: Page) -> None:
    page.goto(f"{LESSON}?step=1")
    page.locator('#scene [data-cell="hidden.preactivation[1]"]:visible').first.hover()
    fields = page.evaluate("() => [...document.querySelectorAll('form#forms .lit-from')].map((field) => field.name)")
    assert {"hidden.weight[1,0]", "hidden.weight[1,1]", "hidden.bias[1]"} <= set(fields)
