"""Reading a lesson's page as a person does, number by number, and exactly."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

EXACT = """(parts) => parts.flatMap((part) => [...part.querySelectorAll('data.n, tspan.n[data-value]')])
    .filter((number) => !number.closest('.was'))
    .map((number) => Number(number.getAttribute('value') ?? number.getAttribute('data-value')))"""


def exact(parts: Locator) -> list[float]:
    """The exact numbers shown in some parts of the page, in order; of a page that has arrived whole."""
    parts.page.wait_for_load_state("domcontentloaded")
    return parts.evaluate_all(EXACT)


def result(page: Page, name: str) -> list[float]:
    """A result's card: prediction, loss or after_update."""
    return exact(page.locator(f'[data-result="{name}"] dd'))


def tensor(page: Page, name: str) -> list[float]:
    """A tensor of the run, from the table of all its numbers."""
    return exact(page.locator(f'#numbers table[data-tensor="{name}"]'))


def drawn(page: Page, name: str, size: int) -> list[float]:
    """A vector's values in the picture, the first number in each unit."""
    cells = [page.locator(f'#scene [data-cell="{name}[{at}]"]:visible').first for at in range(size)]
    return [exact(cell)[0] for cell in cells]


def passage(page: Page, title: str) -> Locator:
    """What the lesson says under a heading: everything up to the next one."""
    heading = f"h2[contains(., '{title}')]"
    return page.locator(f"xpath=//article//{heading}/following-sibling::*[preceding-sibling::h2[1]/self::{heading}]")
