"""No decorative numbers: every number on every page is one of the page's data, and every cell shows its tensor's value.

What the server sends is read in every kind of state (shown.py), as a browser without scripts shows it; a browser reads
the same, and then what scripts made of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from app import numbers
from app.space import cell_name, split_cell
from app.templating import filled
from tests.app.markup import NUMBER, Node, data_numbers
from tests.browser.shown import ShownPage, page_html, pages, place
from tests.browser.states import (
    Data,
    address,
    has_data,
    lesson_pages,
    one_step_a_kind,
    one_tensor_a_kind,
    page_data,
    plain_pages,
    runs,
    staged_pages,
    steps_by_phase,
    stored_trace,
)

# Data that no reader sees as a number: places in a picture, what a chart is drawn from (looked at by itself), links.
NOT_SHOWN = frozenset({"layouts", "figures", "made_of"})

# The texts of a page as the browser has them; as shown.py reads them.
TEXTS = """() => {
    const main = document.querySelector('main');
    const notation = main.dataset.page === 'api' ? 'math, code' : 'math';
    const found = new Set();
    const take = (text, element) => {
        if (/\\d/.test(text) && !element.closest(`script, style, template, ${notation}`)) found.add(text);
    };
    const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) take(node.data, node.parentElement);
    for (const name of ['aria-label', 'title', 'alt', 'placeholder']) {
        for (const one of main.querySelectorAll(`[${name}]:not(data)`)) take(one.getAttribute(name), one);
    }
    for (const field of main.querySelectorAll('input[type=text], input:not([type])')) take(field.value, field);
    return [...found];
}"""


def _known(data: Any, without: frozenset[str] = NOT_SHOWN) -> Any:
    """A page's data without addresses and places in a picture: a number shown is none of those."""
    if isinstance(data, dict):
        return {
            key: _known(part, NOT_SHOWN - {"figures"} if key == "matrices" else without)
            for key, part in data.items()
            if key not in without
        }
    if isinstance(data, list):
        return [_known(part, without) for part in data]
    return "" if isinstance(data, str) and data.startswith("/") else data


def _problems(shown: ShownPage, known: Any) -> Iterator[str]:
    """Numbers on the page, marked or in words, that the data does not have."""
    values, written = data_numbers(known)
    yield from _unwritten(shown.texts, written)
    for part in shown.marked:
        value = float(part.exact)
        if math.isfinite(value) and not {value, -value} & values:
            yield f"{part.exact} in {place(part.node)}"
        if part.text != numbers.text(value):
            yield f"“{part.text}” stands for {part.exact} in {place(part.node)}"
        if part.digits not in ("", numbers.digits(value)):
            yield f"“{part.digits}” is said to be all digits of {part.exact} in {place(part.node)}"


def _unwritten(texts: dict[str, Node], written: set[str]) -> Iterator[str]:
    for text, node in texts.items():
        for number in NUMBER.findall(text):
            if number not in written:
                yield f"{number} in “{text.strip()[:80]}” of {place(node)}"


def _cell_problems(shown: ShownPage, trace: Data) -> Iterator[str]:
    """Cells, fields and tables that show another number than the run's tensor holds."""
    tensors = trace["tensors"]
    for cell, exact in shown.cells:
        name, index = split_cell(cell)
        if "data" not in tensors[name]:  # too large: the page has an address for it, and the numbers that it shows
            continue
        value: Any = filled(tensors[name])
        for at in index or ():
            value = value[at]
        if _one(exact) != _one(value):
            yield f"{cell} is {value}, shown as {exact}"
    for name, exacts in shown.tables.items():
        if not exacts:  # too many for a table: a link stands there
            continue
        values = list(_flat(filled(tensors[name])))
        if list(map(_one, exacts)) != list(map(_one, values)):
            yield f"{name} is {values}, shown as {exacts}"


def _one(value: Any) -> str:
    """A number of float32 as text, NaN like any other."""
    return repr(numbers.single(float(value)))


def _flat(data: Any) -> Iterator[float]:
    if isinstance(data, list):
        for part in data:
            yield from _flat(part)
    else:
        yield data


def _check(shown: ShownPage, where: str, data: Data) -> None:
    """Every number of the page as it stands; `data` is its data, with the trace that its cells are of."""
    problems = [*_problems(shown, _known(data)), *(_cell_problems(shown, data["trace"]) if "trace" in data else ())]
    assert problems == [], f"{where}:\n" + "\n".join(dict.fromkeys(problems))


def _check_all(server: str, urls: list[str]) -> None:
    for url, shown, data in pages(server, urls):
        _check(shown, url, data)


@pytest.mark.parametrize("path", lesson_pages())
def test_every_number_of_every_kind_of_step_in_every_view_is_in_the_pages_data(server: str, path: str) -> None:
    data = page_data(server, path)
    steps = steps_by_phase(data)
    edited = runs(data)["edited"]
    _check_all(
        server,
        [
            address(path, edited, f"step={step}", f"view={view}")
            for view in data["views"]
            for step in (one_step_a_kind(data) if view == "matrices" else steps)
        ],
    )


@pytest.mark.parametrize("path", staged_pages())
def test_every_number_of_every_kind_of_run_is_in_the_pages_data(server: str, path: str) -> None:
    data = page_data(server, path)
    urls = []
    for number, run in enumerate(runs(data).values()):
        views = data["views"] if path in lesson_pages() else [data["views"][number % len(data["views"])]]
        for view, step in zip(views, steps_by_phase(data), strict=False):
            urls.append(address(path, run, f"step={step}", f"view={view}"))
    _check_all(server, urls)


@pytest.mark.parametrize("path", lesson_pages())
def test_every_number_of_every_kind_of_tensors_longhand_and_proof_is_in_the_pages_data(server: str, path: str) -> None:
    data = page_data(server, path)
    run = runs(data).get("batch", "")
    tensors = one_tensor_a_kind(page_data(server, address(path, run)))
    last = {name: tuple(size - 1 for size in tensor["shape"]) for name, tensor in tensors.items()}
    cells = [quote(cell_name(name, index)) for name, index in last.items()]
    _check_all(server, [address(path, run, f"cell={cell}", "prove=1") for cell in cells])


@pytest.mark.parametrize("path", lesson_pages())
def test_every_number_while_predicting_and_of_every_verdict_is_in_the_pages_data(server: str, path: str) -> None:
    exercises = page_data(server, path)["exercises"]
    some = "&".join(f"{one['answer_field']}={'a' if one['kind'] == 'choice' else '7'}" for one in exercises)
    unread = "&".join(f"{one['answer_field']}=1e" for one in exercises)
    queries = ("predict=1", "predict=1&guess=4.25", some, f"{some}&seed=3", unread, "lr=fast&x[0]=1e99")
    _check_all(server, [f"{path}?{query}" for query in queries])


@pytest.mark.parametrize("path", lesson_pages())
def test_every_number_of_a_stored_run_is_in_the_pages_data(server: str, path: str) -> None:
    trace = stored_trace(server, path)
    _check_all(server, [address(trace, f"view={view}", "step=1") for view in page_data(server, path)["views"]])


def test_every_number_of_a_page_without_a_stage_is_in_the_sites_data(server: str) -> None:
    sources = [page_data(server, path) for path in staged_pages()]
    for path in plain_pages():
        if has_data(path):
            _check_all(server, [f"{path}{query}" for query in ("", "?x[0]=1.7&x[1]=0.3")])
        else:
            shown = ShownPage(page_html(server, path))
            _check(shown, path, {"trace": sources[0]["trace"], "site": sources})


@pytest.mark.parametrize("path", [*lesson_pages(), *plain_pages()])
def test_a_browser_reads_the_same_numbers_and_scripts_add_none(
    no_script_page: Page, page: Page, server: str, path: str
) -> None:
    no_script_page.goto(path, wait_until="domcontentloaded")
    assert set(no_script_page.evaluate(TEXTS)) == set(ShownPage(page_html(server, path)).texts)
    page.goto(path)
    if has_data(path) or path in lesson_pages():
        _, written = data_numbers(_known(page_data(server, path)))
        texts = ShownPage(page.locator("main").evaluate("(main) => main.outerHTML")).texts
        assert [*_unwritten(texts, written)] == []


def test_every_number_of_a_chart_is_in_the_pages_data(page: Page, server: str) -> None:
    for path in lesson_pages():
        data = page_data(server, path)
        if data["plane"] is None:
            continue
        url = address(path, runs(data)["edited"])
        figures = page_data(server, url)["plane"]["figures"]
        page.goto(url)
        for name, figure in figures.items():
            box = page.locator(f'[data-figure="plane-{name}"]')
            box.scroll_into_view_if_needed()
            expect(box).to_have_attribute("data-state", "drawn")
            assert json.loads(box.locator("+ script").text_content() or "") == figure
        _, written = data_numbers(figures)
        drawn = page.evaluate("() => [...document.querySelectorAll('[data-figure] text')].map((t) => t.textContent)")
        shown = {number for text in drawn for number in NUMBER.findall(text)}
        assert len(shown) > 5
        assert shown - written == set()


def test_a_decorative_number_is_found(no_script_page: Page, server: str) -> None:
    page = no_script_page
    (path, *_) = lesson_pages()
    known = _known(page_data(server, path))
    page.goto(path)
    for write in (
        "() => document.querySelector('.prose p').append(' 0.7312')",
        "() => document.querySelector('svg text').append(' 0.7312')",
        "() => document.querySelector('#scene [data-cell]').setAttribute('aria-label', 'z = 0.7312')",
        "() => { document.querySelector('#stage data.n').textContent = '0.7312'; }",
        "() => document.querySelector('#stage data.n').setAttribute('value', '0.7312')",
        "() => document.querySelector('#forms input[type=text]').setAttribute('value', '0.7312')",
    ):
        page.reload()
        page.evaluate(write)
        shown = ShownPage(page.locator("main").evaluate("(main) => main.outerHTML"))
        assert any("0.7312" in problem for problem in _problems(shown, known)), write
