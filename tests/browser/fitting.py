"""What sticks out of a page that should fit its window."""

from __future__ import annotations

from playwright.sync_api import Page

_OVERFLOWING = """() => [...document.querySelectorAll('body *')].filter((element) => {
    const box = element.getBoundingClientRect();
    if (!box.width || box.right <= innerWidth + 1 || !element.checkVisibility()) return false;
    for (let parent = element.parentElement; parent; parent = parent.parentElement) {
        const style = getComputedStyle(parent);
        if (style.overflowX !== 'visible' || style.clipPath !== 'none') return false;
    }
    return getComputedStyle(element).clipPath === 'none';
}).slice(0, 5).map((element) => `${element.localName}.${element.getAttribute('class')}`)"""


def overflowing(page: Page) -> list[str]:
    """The elements that reach beyond the window's right edge, where nothing around them scrolls or clips; "the page"
    where the page itself scrolls sideways."""
    wide = page.evaluate("() => document.documentElement.scrollWidth > innerWidth")
    return [*page.evaluate(_OVERFLOWING), *(["the page"] if wide else [])]
