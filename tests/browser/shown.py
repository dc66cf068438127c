"""Every number that a page shows, read off its HTML as a browser without scripts shows it.

Texts of HTML and SVG, names that screen readers say, what fields hold; numbers that are marked as exact; cells.
test_numbers.py holds this reading against the browser's own.
"""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property

from tests.app.markup import Node, parse
from tests.browser.states import Data, page_data

NAMES = ("aria-label", "title", "alt", "placeholder")
ALL_NUMBERS = re.compile(r'<details id="numbers".*?</details>', re.DOTALL)
AT_ONCE = 2
"""How many pages a site is asked for ahead."""


@dataclass(frozen=True)
class Marked:
    """A number with its exact value. digits: all digits, as it says them on hover; empty where the text has them."""

    exact: str
    text: str
    digits: str
    node: Node = field(compare=False)


class ShownPage:
    """The `main` of a page's HTML."""

    def __init__(self, html: str) -> None:
        self.main = parse(html[html.index("<main") : html.index("</main>")]).one("main")

    @cached_property
    def texts(self) -> dict[str, Node]:
        """Every text with a digit in it that is no notation, with the element in which it stands first."""
        found: dict[str, Node] = {}
        for node in _without_notation(self.main, in_api=self.main.get("data-page") == "api"):
            texts = [child for child in node.children if isinstance(child, str)]
            if node.tag != "data":
                texts += [node[name] for name in NAMES if name in node.attributes]
            if node.tag == "input" and node.get("type", "text") == "text":
                texts.append(node.get("value") or "")
            for text in texts:
                if re.search(r"\d", text):
                    found.setdefault(text, node)
        return found

    @property
    def marked(self) -> set[Marked]:
        return {
            Marked(_exact(node) or "", node.text, node.get("title") or "", node)
            for node in self.main.walk()
            if "n" in node.classes and (node.tag == "data" or (node.tag == "tspan" and "data-value" in node.attributes))
        }

    @property
    def cells(self) -> Iterator[tuple[str, str]]:
        """Each cell that says which one it is, a link or a field that could be read, and the number that it shows."""
        for node in self.main.all(where=lambda one: "data-cell" in one.attributes):
            if node.classes & {"cell", "number"} or any("tensor-details" in one.classes for one in _above(node)):
                number = next((below for below in node.walk() if below is not node and "n" in below.classes), None)
                if number is not None and (exact := _exact(number)):
                    yield node["data-cell"], exact
            elif node.tag == "input" and "aria-invalid" not in node.attributes:
                yield node["data-cell"], node["value"]

    @property
    def tables(self) -> dict[str, list[str]]:
        """Every tensor of the table of all numbers, and its numbers in order."""
        return {
            table["data-tensor"]: [data["value"] for data in table.all("data")]
            for table in self.main.all("table", cls="all")
        }


def _without_notation(node: Node, *, in_api: bool) -> Iterator[Node]:
    """A formula's digits are notation: squares, halves; so are names of routes and a program to copy."""
    if node.tag in ("script", "style", "template", "math") or (in_api and node.tag == "code"):
        return
    yield node
    for child in node.children:
        if isinstance(child, Node):
            yield from _without_notation(child, in_api=in_api)


def _exact(node: Node) -> str | None:
    return node.get("value") or node.get("data-value")


def _above(node: Node) -> Iterator[Node]:
    at = node.parent
    while at is not None:
        yield at
        at = at.parent


def place(node: Node) -> str:
    near = [node, *list(_above(node))[:3]]
    return " ".join(f"<{one.tag} {one.get('class') or one.get('id') or ''}>" for one in reversed(near))


def pages(server: str, urls: list[str]) -> Iterator[tuple[str, ShownPage, Data]]:
    """Each address with its page and its data, asked for ahead of need; also of pages that say what they could not
    read (422). The list of all numbers stands in the first page of several that have the same one."""
    seen: set[tuple[str, str]] = set()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for url, (html, data) in zip(urls, pool.map(lambda url: _fetched(server, url), urls), strict=True):
            listed = ALL_NUMBERS.search(html)
            if listed is not None:
                known = (data["trace"]["id"], re.sub(r' href="[^"]*"', "", listed[0]))
                html = html.replace(listed[0], "") if known in seen else html
                seen.add(known)
            yield url, ShownPage(html), data


def _fetched(server: str, url: str) -> tuple[str, Data]:
    return page_html(server, url), page_data(server, url)


def page_html(server: str, url: str) -> str:
    """A page's HTML, also of one that says what it could not read (422)."""
    request = urllib.request.Request(f"{server}{url}", headers={"accept": "text/html"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        if error.code != 422:
            raise
        return error.read().decode()
