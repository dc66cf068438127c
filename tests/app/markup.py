"""A page as a tree, so that tests select elements; and the numbers that a page shows."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from app import numbers

VOID = frozenset(
    ("base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr", "use", "path", "rect", "circle")
)


@dataclass(repr=False)
class Node:
    """One element. children: elements and texts in order."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Any] = field(default_factory=list)
    parent: Node | None = None

    def __repr__(self) -> str:
        return f"<{self.tag} {self.attributes} {self.text[:60]!r}>"

    def __getitem__(self, name: str) -> str:
        return self.attributes[name]

    def get(self, name: str, default: str | None = None) -> str | None:
        return self.attributes.get(name, default)

    @functools.cached_property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())

    @property
    def text(self) -> str:
        """The text in it, white space folded; scripts have none, and a formula's digits are notation."""
        return re.sub(r"\s+", " ", "".join(self._texts())).strip()

    def _texts(self) -> Iterator[str]:
        if self.tag in ("script", "style", "math"):
            return
        for child in self.children:
            if isinstance(child, Node):
                yield from child._texts()
                yield "" if child.tag in ("b", "a", "span", "data", "small", "tspan", "i", "code") else " "
            else:
                yield child

    def walk(self) -> Iterator[Node]:
        """It and all elements in it, in the order of the page."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += [child for child in reversed(node.children) if isinstance(child, Node)]

    def all(self, tag: str = "", *, where: Callable[[Node], bool] = lambda _: True, **attributes: str) -> list[Node]:
        """Elements below by tag and attributes (`cls` is a class, underscores stand for dashes)."""
        wanted = {name.replace("_", "-"): value for name, value in attributes.items() if name != "cls"}
        return [
            node
            for node in self.walk()
            if (not tag or node.tag == tag)
            and ("cls" not in attributes or attributes["cls"] in node.classes)
            and all(node.attributes.get(name) == value for name, value in wanted.items())
            and where(node)
        ]

    def one(self, tag: str = "", **attributes: str) -> Node:
        found = self.all(tag, **attributes)
        assert len(found) == 1, f"expected one {tag} {attributes}; got {len(found)}"
        return found[0]


def document(client: Any, url: str, status: int = 200) -> Node:
    """The page that a browser gets at an address of the site."""
    response = client.get(url, headers={"accept": "text/html"})
    assert response.status_code == status, response.text[:300]
    return parse(response.text)


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self.at = Node("document")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs}, parent=self.at)
        self.at.children.append(node)
        if tag not in VOID:
            self.at = node

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.at.children.append(Node(tag, {name: value or "" for name, value in attrs}, parent=self.at))

    def handle_endtag(self, tag: str) -> None:
        node: Node | None = self.at
        while node is not None and node.tag != tag:
            node = node.parent
        if node is not None and node.parent is not None:
            self.at = node.parent

    def handle_data(self, data: str) -> None:
        self.at.children.append(data)


def parse(html: str) -> Node:
    """The document of an HTML text."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    return builder.root


def fields(form: Node, button: Node | None = None) -> list[tuple[str, str]]:
    """What a browser without scripts sends for a form: its successful controls in order."""
    sent = []
    for node in form.walk():
        if "disabled" in node.attributes or not node.get("name"):
            continue
        if node.tag == "input" and (node.get("type") not in ("checkbox", "radio") or "checked" in node.attributes):
            sent.append((node["name"], node.attributes.get("value", "")))
        elif node.tag == "select":
            options = node.all("option")
            chosen = [one for one in options if "selected" in one.attributes] or options[:1]
            sent.append((node["name"], chosen[0]["value"]))
        elif node.tag == "textarea":
            sent.append((node["name"], node.text))
        elif node is button:
            sent.append((node["name"], node["value"]))
    return sent


def exact_values(main: Node) -> set[float]:
    """Every exact value that a page's number elements carry."""
    values = [node["value"] for node in main.all("data", cls="n")]
    values += [node["data-value"] for node in main.all("tspan", cls="n") if "data-value" in node.attributes]
    return {float(value) for value in values if value not in ("NaN", "Infinity", "-Infinity")}


NUMBER = re.compile(r"(?<![\w.,₀-₉])−?\d+(?:\.\d+)?(?:e−?\d+)?(?![\w])")


def shown_numbers(main: Node) -> set[str]:
    """Every number in a page's visible text, as it is written."""
    return set(NUMBER.findall(main.text))


def data_numbers(data: Any) -> tuple[set[float], set[str]]:
    """Every number in JSON data; and every way its numbers and texts write one."""
    values: set[float] = set()
    written: set[str] = set()

    def take(part: Any) -> None:
        if isinstance(part, dict):
            for key, value in part.items():
                written.update(NUMBER.findall(key))
                take(value)
        elif isinstance(part, list):
            for value in part:
                take(value)
        elif isinstance(part, str):
            written.update(NUMBER.findall(part))
        elif isinstance(part, int | float) and not isinstance(part, bool):
            values.add(float(part))

    take(data)
    return values, written | {numbers.text(value) for value in values} | {numbers.text(-value) for value in values}
