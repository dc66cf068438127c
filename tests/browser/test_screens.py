"""Every page at three widths: nothing overflows. Themes differ in colours alone.

Where SCREENSHOTS names a folder, each page is also written there as a PNG in both themes, to be looked at.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize

from tests.browser.conftest import THEMES
from tests.browser.fitting import overflowing
from tests.browser.states import lesson_pages, plain_pages, staged_pages, stored_trace

FOLDER = os.environ.get("SCREENSHOTS")
FIRST = "/lessons/accountable_network"
STATES = [
    "?step=3",
    "?step=9&view=graph&cell=hidden.weight[1,0]",
    "?step=9&view=matrices&rows=3&prove=1",
    "?do:hidden.activation[1]=off&hidden.weight[1,0]=0.25&step=10&frozen=hidden.weight",
    "?predict=1",
    "?a1=3&a2=9/2&hidden.weight[0,0]=0.123456",
]

SIZES: list[ViewportSize] = [
    {"width": 360, "height": 780},
    {"width": 1024, "height": 768},
    {"width": 1920, "height": 1080},
]
OTHERS = [path for path in staged_pages() if path not in lesson_pages()]
TRACE = "a stored trace"


@pytest.mark.parametrize(
    "path", [*plain_pages(), *lesson_pages(), *OTHERS[:1], TRACE, *(FIRST + state for state in STATES)]
)
def test_every_page_fits_its_window(page: Page, server: str, path: str) -> None:
    page.set_viewport_size(SIZES[0])
    page.goto(stored_trace(server, FIRST) if path == TRACE else path)
    page.wait_for_function("() => document.fonts.status === 'loaded'")
    for size in SIZES:
        page.set_viewport_size(size)
        found = overflowing(page)
        for theme in THEMES if FOLDER else ():
            page.emulate_media(color_scheme=theme)
            _keep(page, path, f"{size['width']}-{theme}")
        assert found == [], size


def _keep(page: Page, path: str, size: str) -> None:
    name = re.sub(r"[^\w.=-]+", "_", path.strip("/")) or "home"
    file = Path(FOLDER or "") / f"{name[:90]}-{size}.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=file, full_page=True)
