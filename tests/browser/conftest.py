"""A real server, a real Chromium, and pages that fail their test when the browser complains.

Override `theme` and `viewport` with `pytest.mark.parametrize`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response

from tests.browser.site import ROOT, running_chromium, running_site

TIMEOUT_MS = 8_000
THEMES = ("light", "dark")
COLOURS = ("color-contrast", "link-in-text-block")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests run last: quick failures come first, and Playwright's event loop, which stays in the main thread
    once it was started, is in no other test's way."""
    here = Path(__file__).parent
    items.sort(key=lambda item: here in item.path.parents)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running site, such as `http://127.0.0.1:40123`; stopped by SIGTERM at the end."""
    with running_site(tmp_path_factory.mktemp("server")) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One headless Chromium for all tests; the tests fail, and are not skipped, where there is none."""
    with running_chromium() as chromium:
        yield chromium


@pytest.fixture
def theme() -> str:
    """The reader's colour scheme: `light` or `dark`."""
    return "light"


@pytest.fixture
def viewport() -> tuple[int, int]:
    """Width and height of the window, px."""
    return (1024, 768)


@pytest.fixture
def expected_errors() -> list[str]:
    """Regular expressions of complaints that a test provokes on purpose; it appends them before it does."""
    return []


# What Chromium says of drawing in three dimensions without a graphics card: of its speed, not of the page.
ABOUT_SPEED = re.compile(r"^Canvas2D: Multiple readback|^\[\.WebGL-.*Performance")


@dataclass
class Complaints:
    """What the browser objected to on the pages of one test."""

    server: str
    found: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.found.append(f"script error: {error}"))
        page.on("request", self._request)
        page.on("requestfailed", self._failed)
        page.on("response", self._response)

    def _console(self, message: ConsoleMessage) -> None:
        # A failed response is reported with its address by `_response`.
        if message.text.startswith("Failed to load resource") or ABOUT_SPEED.search(message.text):
            return
        if message.type in ("error", "warning"):
            self.found.append(f"console {message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((f"{self.server}/", "data:", "blob:", "about:")):
            self.found.append(f"request to another host: {request.url}")

    def _failed(self, request: Request) -> None:
        # A page that leaves, or a script that cancels, aborts its own requests.
        if request.failure != "net::ERR_ABORTED":
            self.found.append(f"request failed: {request.method} {request.url}: {request.failure}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.found.append(f"status {response.status}: {response.request.method} {response.url}")


OpenPage = Callable[..., Page]
Axe = Callable[..., None]


@pytest.fixture
def new_page(
    server: str, browser: Browser, theme: str, viewport: tuple[int, int], expected_errors: list[str]
) -> Iterator[OpenPage]:
    """Makes a page in a context of its own: `new_page(reduced_motion="reduce")`; options as Playwright names them.

    Addresses are relative to the server. When the test ends, a console error or warning, an uncaught exception, a
    failed request, a status of 400 or more, or a request to another host fails it, unless it is in `expected_errors`.
    """
    complaints = Complaints(server)
    contexts = []

    def make(**options: Any) -> Page:
        width, height = viewport
        defaults = {
            "base_url": server,
            "color_scheme": theme,
            "viewport": {"width": width, "height": height},
            "locale": "en-GB",
            "timezone_id": "UTC",
            "service_workers": "block",
        }
        context = browser.new_context(**(defaults | options))
        context.set_default_timeout(TIMEOUT_MS)
        context.on("page", complaints.watch)
        contexts.append(context)
        return context.new_page()

    yield make
    for context in contexts:
        context.close()
    unexpected = [text for text in complaints.found if not any(re.search(known, text) for known in expected_errors)]
    if unexpected:
        pytest.fail("the browser complained:\n" + "\n".join(unexpected), pytrace=False)


@pytest.fixture
def page(new_page: OpenPage) -> Page:
    """A page with scripts on."""
    return new_page()


@pytest.fixture
def no_script_page(new_page: OpenPage) -> Page:
    """A page with scripts off."""
    return new_page(java_script_enabled=False)


@pytest.fixture(scope="session")
def axe() -> Axe:
    """`axe(page)` fails the test if axe-core, all its rules on, finds anything on the page as it stands; `axe(page,
    COLOURS)` with these rules alone.

    axe waits on timers, which never fire where scripts are off: it takes pages with scripts on only.
    """
    source = (ROOT / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")

    def check(page: Page, rules: Sequence[str] = ()) -> None:
        if page.evaluate("() => matchMedia('(scripting: none)').matches"):
            raise ValueError("expected a page with scripts on; got one with scripts off, where axe never ends")
        if not page.evaluate("() => 'axe' in window"):
            page.evaluate(source)
        # Preloading makes inline stylesheets, which the policy forbids; only a rule that is off by default needs it.
        options = {"preload": False, **({"runOnly": {"type": "rule", "values": rules}} if rules else {})}
        violations = page.evaluate("(options) => axe.run(document, options).then((found) => found.violations)", options)
        if violations:
            pytest.fail(f"axe on {page.url}:\n" + "\n".join(map(_written, violations)))

    return check


def _written(violation: dict[str, Any]) -> str:
    """One violation of axe, with the elements that it is about and what would mend each."""
    lines = [f"{violation['impact']}: {violation['id']}: {violation['help']}"]
    for node in violation["nodes"]:
        summary = " ".join(node["failureSummary"].split())
        lines.append(f"    {json.dumps(node['target'])} {node['html'][:160]}\n        {summary}")
    return "\n".join(lines)
