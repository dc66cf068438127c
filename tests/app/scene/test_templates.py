"""The pictures as SVG: what a reader, a keyboard and a script find in them."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser
from urllib.parse import urlencode

import pytest

from app import numbers, templating
from app.scene import graph, network


class Elements(HTMLParser):
    """All elements of some markup in order: (tag, attributes, own text)."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.found: list[list] = []
        self._open: list[int] = []
        self.feed(markup)
        assert not self._open

    def handle_starttag(self, tag, attributes):
        self._open.append(len(self.found))
        self.found.append([tag, dict(attributes), ""])

    def handle_startendtag(self, tag, attributes):
        self.found.append([tag, dict(attributes), ""])

    def handle_endtag(self, tag):
        assert self.found[self._open.pop()][0] == tag

    def handle_data(self, text):
        if self._open:
            self.found[self._open[-1]][2] += text

    def all(self, tag, **attributes):
        return [
            e
            for e in self.found
            if e[0] == tag and all(e[1].get(n.replace("_", "-")) == v for n, v in attributes.items())
        ]


def link(**changes):
    return "/page?" + urlencode({name: value for name, value in changes.items() if value is not None})


def svg(picture):
    return Elements(templating.environment().get_template(f"scene/{picture['kind']}.html").module.draw(picture, link))


def values(data):
    """Every number in plain data, as a page writes it."""
    if isinstance(data, dict):
        return {text for value in data.values() for text in values(value)}
    if isinstance(data, list | tuple):
        return {text for value in data for text in values(value)}
    return {numbers.exact(data)} if isinstance(data, int | float) and not isinstance(data, bool) else set()


@pytest.fixture(scope="module")
def run(tiny):
    return tiny(update={"rule": "sgd", "learning_rate": 0.1, "frozen": []})


@pytest.fixture(params=[network, graph], ids=["network", "graph"])
def kind(request):
    return request.param


def test_a_picture_is_drawn_wide_and_tall_with_a_sentence_that_says_what_it_is(run, kind):
    picture = kind.draw(run)
    drawn = svg(picture).all("svg", role="group")
    assert [e[1]["class"] for e in drawn] == ["picture wide", "picture tall"]
    assert all(e[1]["aria-label"] == picture["summary"] for e in drawn)


def test_every_number_drawn_stands_in_the_data(run, kind, tiny):
    for step in range(len(run.steps)):
        picture = kind.draw(run, tiny(), step, "hidden.weight[1,0]")
        known = values(picture)
        written = [(e[1]["data-value"], e[2]) for e in svg(picture).all("tspan") if "data-value" in e[1]]
        assert len(written) >= 40
        assert all(exact in known for exact, _ in written)
        assert all(numbers.text(float(exact)) == text for exact, text in written)


def test_every_cell_is_a_link_with_a_name_and_an_address(run, kind):
    elements = svg(kind.draw(run, selected="hidden.preactivation[1]"))
    links = [e for e in elements.all("a") if "data-cell" in e[1]]
    assert all(e[1]["href"].startswith("/page?cell=") and e[1]["aria-label"] for e in links)
    shown = Counter(e[1]["data-cell"] for e in links)
    for cell in ("x[0]", "hidden.preactivation[1]", "hidden.activation[2]", "readout.bias[0]", "loss", "target[0]"):
        assert shown[cell] == 2
    chosen = [e[1]["data-cell"] for e in links if e[1].get("aria-current") == "true"]
    assert chosen == ["hidden.preactivation[1]"] * 2


def test_every_weight_of_the_network_is_one_link_to_open_and_one_line_to_point_at(run):
    elements = svg(network.draw(run))
    assert len(elements.all("a", data_cell="hidden.weight[1,0]", aria_label="W₂₁ = 0.5, gradient −3")) == 2
    lines = elements.all("a", data_lights="hidden.weight[1,0]")
    assert len(lines) == 2
    assert all(e[1]["tabindex"] == "-1" and e[1]["aria-hidden"] == "true" for e in lines)


def test_in_backward_the_network_links_to_gradients(run):
    step = next(step.index for step in run.steps if step.name == "prediction.backward")
    elements = svg(network.draw(run, step=step))
    (first, _) = elements.all("a", data_cell="hidden.activation[1]")
    assert first[1]["href"] == link(cell="hidden.activation[1]", of="gradient")
    (first, _) = elements.all("a", data_cell="target[0]")
    assert first[1]["href"] == link(cell="target[0]")


def test_operations_of_the_graph_link_to_their_steps(run):
    elements = svg(graph.draw(run, step=1))
    steps = [e[1]["data-step"] for e in elements.all("a") if "data-step" in e[1]]
    assert steps == ["0", "1", "2", "3", "4"] * 2
    (relu, _) = elements.all("a", data_step="1")
    assert (relu[1]["href"], relu[1]["aria-current"]) == (link(step=1), "step")
    assert relu[1]["aria-label"] == "relu: h = ReLU(z), step 2"


def test_numbers_left_off_an_edge_are_in_a_table_when_selected(tiny):
    trace = tiny(inputs={"x": [[2, -1], [0, 1], [1, 0]]}, target=[4, 0, 1])
    elements = svg(graph.draw(trace, selected="hidden.preactivation[0,0]"))
    assert [e[2] for e in elements.all("caption")] == ["value", "gradient"]
    assert [e[2] for e in elements.all("data")[:9]] == ["3", "1", "−3.5", "−1", "2", "2.5", "1", "1.5", "−0.5"]


def test_ids_are_unique(run, kind):
    ids = Counter(e[1]["id"] for e in svg(kind.draw(run)).found if "id" in e[1])
    assert all(count == 1 for count in ids.values())
