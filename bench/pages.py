"""What a reader waits for: each lesson's page from a cold start, and a typed number until every number is repainted."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from playwright.sync_api import Browser, Page

from app.lessons import catalogue
from bench.row import Row
from bench.timing import resting_site
from tests.browser.site import running_chromium

COLD_STARTS = 5
TYPED = 40
# What a page may load beside its weight: the chart library, and the fonts.
APART = ("plotly", ".woff2")

# Types into the first number field as a person does, and waits for the frame after the answer is in the document. Gives
# the time until then, and how much of it the request took.
TYPE = """
(text) => new Promise((done) => {
  const field = document.querySelector('#forms input[inputmode=decimal], #forms input[name^="x["]');
  const start = performance.now();
  performance.clearResourceTimings();
  document.addEventListener("longhand:page", () => requestAnimationFrame(() => setTimeout(() => {
    const fetched = performance.getEntriesByType("resource").find((entry) => entry.initiatorType === "fetch");
    done([performance.now() - start, fetched ? fetched.responseEnd - fetched.startTime : NaN]);
  })), { once: true });
  field.focus();
  field.value = text;
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
})
"""
# Until the page's own scripts have run and the main thread is free again.
INTERACTIVE = """
() => new Promise((done) => {
  const settled = () => requestAnimationFrame(() => setTimeout(() => done(performance.now())));
  document.readyState === "complete" ? settled() : addEventListener("load", settled);
})
"""


def measure() -> Iterator[Row]:
    """For each lesson: cold start, weight, and typing."""
    with resting_site() as address, running_chromium() as browser:
        for slug in catalogue():
            yield from _cold(browser, f"{address}/lessons/{slug}", slug)
            yield from _typing(browser, f"{address}/lessons/{slug}", slug)


def _cold(browser: Browser, url: str, slug: str) -> Iterator[Row]:
    times_ms = []
    weights: dict[str, int] = {}
    for _ in range(COLD_STARTS):
        context = browser.new_context()
        page = context.new_page()
        page.goto(url, wait_until="commit")
        times_ms.append(page.evaluate(INTERACTIVE))
        page.wait_for_load_state("networkidle")
        weights = _weights(page)
        context.close()
    yield Row(f"{slug}: cold, interactive", statistics.median(times_ms), "ms", at_most=1000)
    apart = sum(size for name, size in weights.items() if any(part in name for part in APART))
    total = sum(weights.values())
    detail = f"{len(weights)} files; Plotly and fonts {apart / 1024:.0f} KB more"
    yield Row(f"{slug}: weight as sent", (total - apart) / 1024, "KB", at_most=250, detail=detail)


def _weights(page: Page) -> dict[str, int]:
    """Bytes over the wire of the page and of everything it loaded, by address."""
    return page.evaluate(
        """() => Object.fromEntries([...performance.getEntriesByType("navigation"),
             ...performance.getEntriesByType("resource")].map((entry) => [entry.name, entry.transferSize]))"""
    )


def _typing(browser: Browser, url: str, slug: str) -> Iterator[Row]:
    context = browser.new_context()
    page = context.new_page()
    page.goto(url, wait_until="networkidle")
    page.evaluate(TYPE, "1")
    timed = [page.evaluate(TYPE, f"{1 + number / 64}") for number in range(TYPED)]
    context.close()
    times_ms, requests_ms = ([pair[part] for pair in timed] for part in (0, 1))
    request_ms, most_ms = statistics.median(requests_ms), statistics.quantiles(times_ms, n=20)[-1]
    detail = f"the request {request_ms:.3g} ms of it; 95 of 100 within {most_ms:.3g} ms"
    yield Row(f"{slug}: a typed number to every number repainted", statistics.median(times_ms), "ms", 50, None, detail)
