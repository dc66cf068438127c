"""Taking things away: the link, a recipe, the picture."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from playwright.sync_api import Page, expect

LESSON = "/lessons/accountable_network"


def test_copy_link_gives_the_whole_canonical_address(page: Page, server: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(LESSON)
    page.fill('#forms input:not([type=hidden])[name="x[0]"]', "3.0")
    page.wait_for_function("() => decodeURIComponent(location.search).includes('x[0]=3')")
    page.locator('[data-action="copy-link"]').click()
    expect(page.locator('[data-action="copy-link"].copied')).to_have_count(1)
    link = page.evaluate("() => navigator.clipboard.readText()")
    assert link.startswith(f"{server}{LESSON}?")
    assert unquote(link).endswith("x[0]=3")


def test_copy_gives_the_recipe_as_it_is_shown(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(LESSON)
    recipe = page.locator('[data-recipe="curl"]')
    recipe.locator("summary").click()
    recipe.get_by_role("button", name="Copy").click()
    expect(recipe.locator(".copied")).to_have_count(1)
    assert page.evaluate("() => navigator.clipboard.readText()").strip() == recipe.locator("code").inner_text().strip()


def test_the_svg_stands_alone(page: Page, tmp_path: Path) -> None:
    page.goto(f"{LESSON}?step=1")
    with page.expect_download() as download:
        page.locator('[data-action="svg"]').click()
    file = tmp_path / "scene.svg"
    download.value.save_as(file)
    assert download.value.suggested_filename == "accountable_network-network.svg"
    source = file.read_text(encoding="utf-8")
    root = ElementTree.fromstring(source)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(--" not in source and "color-mix" not in source
    assert "@font-face" in source and re.search(r"fill:\s*rgb", source)
    values = [text.get("data-value") for text in root.iter("{http://www.w3.org/2000/svg}tspan")]
    assert {"2", "-1", "3", "1", "-3.5", "5.5"} <= set(values)


def test_the_png_is_the_picture_at_three_times_its_size(page: Page, tmp_path: Path) -> None:
    page.goto(f"{LESSON}?step=1")
    with page.expect_download() as download:
        page.locator('[data-action="png"]').click()
    file = tmp_path / "scene.png"
    download.value.save_as(file)
    content = file.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", content[16:24])
    box = page.evaluate(
        """() => { const svg = [...document.querySelectorAll('#scene svg')].find((s) => s.getClientRects().length);
                   return [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height]; }"""
    )
    assert [width, height] == [round(3 * (box[0] + 24)), round(3 * (box[1] + 24))]
    assert len(content) > 20_000


def test_views_without_a_picture_offer_none(page: Page) -> None:
    page.goto(f"{LESSON}?step=1&view=matrices")
    expect(page.locator('[data-action="svg"]')).to_be_hidden()
    page.locator('.views [data-view="network"]').click()
    expect(page.locator('[data-action="svg"]')).to_be_visible()
