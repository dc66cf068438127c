"""Every page at three widths: nothing overflows. Themes differ in colours alone.

Where SCREENSHOTS names a folder, each page is also written there as a PNG in both themes, to be looked at.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

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


OTHERS = [path for path in staged_pages() if path not in lesson_pages()]
TRACE = "a stored trace"


@pytest.mark.parametrize(
    "path", [*plain_pages(), *lesson_pages(), *OTHERS[:1], TRACE, *(FIRST + state for state in STATES)]
)
@pytest.mark.parametrize("viewport", [(360, 780), (1024, 768), (1920, 1080)])
def test_every_page_fits_its_window(page: Page, server: str, viewport: tuple[int, int], path: str) -> None:
    page.goto(stored_trace(server, FIRST) if path == TRACE else path)
    page.wait_for_function("() => document.fonts.status === 'loaded'")
    found = overflowing(page)
    for theme in THEMES if FOLDER else ():
        page.emulate_media(color_scheme=theme)
        _keep(page, path, f"{viewport[0]}-{theme}")
    assert found == []


def _keep(page: Page, path: str, size: str) -> None:
    name = re.sub(r"[^\w.=-]+", "_", path.strip("/")) or "home"
    file = Path(FOLDER or "") / f"{name[:90]}-{size}.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=file, full_page=True)
