"""No decorative numbers: every number on every page is one of the page's data, and every cell shows its tensor's value.

The pages are read as a browser shows them: text of HTML and SVG, what fields hold, names that screen readers say.
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
from tests.app.markup import NUMBER, data_numbers
from tests.browser.states import (
    Data,
    address,
    has_data,
    lesson_pages,
    one_step_a_kind,
    page_data,
    plain_pages,
    runs,
    staged_pages,
    steps_by_phase,
    stored_trace,
)

# What holds digits that are no numbers of a run, each with its reason.
NOTATION = {
    "math": "a formula's digits are notation: squares, halves",
    "main[data-page=api] code": "names of routes, and a program to copy",
}

# Data that no reader sees as a number: places in a picture, what a chart is drawn from (looked at by itself), links.
NOT_SHOWN = {"layouts", "figures", "made_of"}

PLACE = """(element) => {
    const path = [];
    for (let one = element; one && one.localName !== 'main' && path.length < 4; one = one.parentElement) {
        path.unshift(one.cloneNode(false).outerHTML.replace(/<\\/.*/s, '').slice(0, 90));
    }
    return path.join(' ');
}"""

READ = f"""(notation) => {{
    const main = document.querySelector('main');
    const found = new Map();  // each text once, with where it stands first
    const place = {PLACE};
    const skipped = (element) => element.closest(`script, style, template, ${{notation}}`);
    const take = (kind, text, element) => {{
        if (!text || found.has(text) || !/\\d/.test(text) || skipped(element)) return;
        found.set(text, {{kind, text, place: place(element)}});
    }};
    const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) take('text', node.data, node.parentElement);
    for (const name of ['aria-label', 'title', 'alt', 'placeholder']) {{
        for (const one of main.querySelectorAll(`[${{name}}]:not(data)`)) take(name, one.getAttribute(name), one);
    }}
    for (const field of main.querySelectorAll('input[type=text], input:not([type]), textarea')) {{
        take('field', field.value, field);
    }}
    return [...found.values()];
}}"""

MARKED = f"""() => {{
    const found = new Map();
    for (const one of document.querySelectorAll('main data.n, main tspan.n[data-value]')) {{
        const [exact, text] = [one.getAttribute('value') ?? one.getAttribute('data-value'), one.textContent.trim()];
        const title = one.getAttribute('title') ?? '';
        const key = `${{exact}} ${{text}} ${{title}}`;
        if (!found.has(key)) found.set(key, {{exact, text, title, place: ({PLACE})(one)}});
    }}
    return [...found.values()];
}}"""

# What says of which cell it is: cells as links, numbers of the graph, fields that could be read.
CELLS = """() => {
    const links = '.cell[data-cell], .number[data-cell], .tensor-details [data-cell]';
    const cells = [...document.querySelectorAll(`main :is(${links})`)].flatMap((link) => {
        const shown = link.querySelector('.n');
        const exact = shown?.getAttribute('value') ?? shown?.getAttribute('data-value');
        return exact ? [[link.getAttribute('data-cell'), exact]] : [];
    });
    const fields = document.querySelectorAll('main input[data-cell]:not([aria-invalid])');
    return [...cells, ...[...fields].map((field) => [field.getAttribute('data-cell'), field.value])];
}"""

TABLES = """() => Object.fromEntries([...document.querySelectorAll('main table.all')].map((table) => [
    table.getAttribute('data-tensor'),
    [...table.querySelectorAll('data')].map((one) => one.getAttribute('value')),
]))"""


def _known(data: Any) -> Any:
    """A page's data without addresses and places in a picture: a number shown is none of those."""
    if isinstance(data, dict):
        return {key: _known(part) for key, part in data.items() if key not in NOT_SHOWN}
    if isinstance(data, list):
        return [_known(part) for part in data]
    return "" if isinstance(data, str) and data.startswith("/") else data


def _problems(page: Page, known: Any) -> Iterator[str]:
    """Numbers on the page, marked or in words, that the data does not have."""
    values, written = data_numbers(known)
    for part in page.evaluate(READ, ", ".join(NOTATION)):
        for number in NUMBER.findall(part["text"]):
            if number not in written:
                yield f"{number} in the {part['kind']} “{part['text'].strip()[:80]}” of {part['place']}"
    for part in page.evaluate(MARKED):
        value = float(part["exact"])
        if math.isfinite(value) and not {value, -value} & values:
            yield f"{part['exact']} in {part['place']}"
        if part["text"] != numbers.text(value):
            yield f"“{part['text']}” stands for {part['exact']} in {part['place']}"
        if part["title"] not in ("", numbers.digits(value)):
            yield f"“{part['title']}” is said to be all digits of {part['exact']} in {part['place']}"


def _cell_problems(page: Page, trace: Data) -> Iterator[str]:
    """Cells, fields and tables that show another number than the run's tensor holds."""
    tensors = trace["tensors"]
    for cell, exact in page.evaluate(CELLS):
        name, index = split_cell(cell)
        value: Any = filled(tensors[name])
        for at in index or ():
            value = value[at]
        if _one(exact) != _one(value):
            yield f"{cell} is {value}, shown as {exact}"
    for name, exacts in page.evaluate(TABLES).items():
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


def _check(page: Page, where: str, data: Data) -> None:
    """Every number of the page as it stands; `data` is its data, with the trace that its cells are of."""
    problems = [*_problems(page, _known(data)), *(_cell_problems(page, data["trace"]) if "trace" in data else ())]
    assert problems == [], f"{where}:\n" + "\n".join(dict.fromkeys(problems))


def _visit(page: Page, server: str, url: str) -> None:
    page.goto(url, wait_until="domcontentloaded")
    _check(page, url, page_data(server, url))


@pytest.mark.parametrize("path", lesson_pages())
def test_every_number_of_every_kind_of_step_in_every_view_is_in_the_pages_data(
    no_script_page: Page, server: str, path: str
) -> None:
    data = page_data(server, path)
    steps = steps_by_phase(data)
    for view in data["views"]:
        for step in one_step_a_kind(data) if view == "matrices" else steps:
            _visit(no_script_page, server, address(path, runs(data)["edited"], f"step={step}", f"view={view}"))


@pytest.mark.parametrize("path", staged_pages())
def test_every_number_of_every_kind_of_run_is_in_the_pages_data(no_script_page: Page, server: str, path: str) -> None:
    data = page_data(server, path)
    for place, run in enumerate(runs(data).values()):
        views = data["views"] if path in lesson_pages() else [data["views"][place % len(data["views"])]]
        for view, step in zip(views, steps_by_phase(data), strict=False):
            _visit(no_script_page, server, address(path, run, f"step={step}", f"view={view}"))


@pytest.mark.parametrize("path", lesson_pages())
def test_every_number_of_every_tensors_longhand_and_proof_is_in_the_pages_data(
    no_script_page: Page, server: str, path: str
) -> None:
    data = page_data(server, path)
    run = runs(data).get("batch", "")
    tensors = page_data(server, address(path, run))["trace"]["tensors"]
    for name, tensor in tensors.items():
        if "@" not in name:
            cell = cell_name(name, tuple(size - 1 for size in tensor["shape"]))
            _visit(no_script_page, server, address(path, run, f"cell={quote(cell)}", "prove=1"))


@pytest.mark.parametrize("path", lesson_pages())
def test_every_number_while_predicting_and_of_every_verdict_is_in_the_pages_data(
    no_script_page: Page, server: str, path: str, expected_errors: list[str]
) -> None:
    expected_errors.append("status 422")
    exercises = page_data(server, path)["exercises"]
    some = "&".join(f"{one['answer_field']}={'a' if one['kind'] == 'choice' else '7'}" for one in exercises)
    unread = "&".join(f"{one['answer_field']}=1e" for one in exercises)
    for query in ("predict=1", "predict=1&guess=4.25", some, f"{some}&seed=3", unread, "lr=fast&x[0]=1e99"):
        _visit(no_script_page, server, f"{path}?{query}")


@pytest.mark.parametrize("path", lesson_pages())
def test_every_number_of_a_stored_run_is_in_the_pages_data(no_script_page: Page, server: str, path: str) -> None:
    for view in page_data(server, path)["views"]:
        _visit(no_script_page, server, address(stored_trace(server, path), f"view={view}", "step=1"))


def test_every_number_of_a_page_without_a_stage_is_in_the_sites_data(no_script_page: Page, server: str) -> None:
    page = no_script_page
    sources = [page_data(server, path) for path in staged_pages()]
    for path in plain_pages():
        if has_data(path):
            for query in ("", "?x[0]=1.7&x[1]=0.3"):
                _visit(page, server, f"{path}{query}")
        else:
            page.goto(path)
            _check(page, path, {"trace": sources[0]["trace"], "site": sources})


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
        "() => document.querySelector('svg text').append('0.7312')",
        "() => document.querySelector('#scene [data-cell]').setAttribute('aria-label', 'z = 0.7312')",
        "() => { document.querySelector('#stage data.n').textContent = '0.7312'; }",
        "() => document.querySelector('#stage data.n').setAttribute('value', '0.7312')",
        "() => { document.querySelector('#forms input[type=text]').value = '0.7312'; }",
    ):
        page.reload()
        page.evaluate(write)
        assert any("0.7312" in problem for problem in _problems(page, known)), write
