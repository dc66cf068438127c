"""Rows that can be drawn on, and tensors on a grid as pictures with one line of cells."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pytest

from app import pages, whole
from app.numbers import single
from app.page import source
from app.picture import picture
from engine.models.digit_images import image


def page(query: str = "") -> dict:
    return source.page("model", "digit_network", query, "").data


def test_an_input_on_a_grid_can_be_drawn_and_its_code_holds_its_numbers():
    found = page("x=test:17")["paints"]
    assert list(found) == ["x"]
    paint = found["x"]
    assert whole.read(paint["code"], 784) == [float(np.float32(one)) for one in image(17)]
    assert (paint["grid"], paint["word"], paint["last"], paint["full"]) == ([28, 28], "17", 9999, 1)
    assert paint["src"] == picture(image(17), (28, 28), 1)
    assert list(page("rows=2")["paints"]) == ["x", "x@1"]
    assert source.page("model", "tiny_network", "", "").data["paints"] == {}


def test_a_drawing_has_no_number_and_a_bad_word_says_so():
    assert page("x=test:17&x[400]=0.5")["paints"]["x"]["word"] == ""
    bad = page("x=nothing")["paints"]["x"]
    assert bad["word"] == "0" and bad["error"].startswith("x must be test: and a number")


def test_the_form_sends_all_of_the_state_but_the_row_itself():
    html = pages._rendered("model", "digit_network", "x[3]=0.5&target[0]=4&step=2&cell=loss", "")[1].decode()
    form = re.search(r'<form class="paint settings".*?</form>', html, re.DOTALL)[0]
    sent = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form))
    assert sent == {"target[0]": "4", "step": "2", "cell": "loss"}
    assert 'name="x" id="draw-x-place"' in form


def test_a_matrix_on_a_grid_is_drawn_row_by_row_with_one_line_of_cells():
    figures = {
        one.get("tensor"): one for one in page("view=matrices&cell=hidden1.weight[3,400]")["matrices"]["figures"]
    }
    weight = figures["hidden1.weight"]
    assert [one["chosen"] for one in weight["pictures"]] == [unit == 3 for unit in range(16)]
    assert weight["line"] == 400 // 28 and len(weight["rows"]) == 1 and len(weight["rows"][0]) == 28
    assert weight["rows"][0][400 % 28]["cell"] == "hidden1.weight[3,400]"
    assert (weight["above"], weight["below"]) == ("hidden1.weight[3,372]", "hidden1.weight[3,428]")
    x = figures["x"]
    assert len(x["pictures"]) == 1 and x["rows"][0][8]["value"] == single(float(np.float32(image(0)[400])))


def test_at_the_edges_of_the_grid_there_is_no_line_beside():
    def figure(cell: str) -> dict:
        return next(
            one for one in page(f"view=matrices&cell={cell}")["matrices"]["figures"] if one.get("tensor") == "x"
        )

    assert figure("x[5]")["above"] is None and figure("x[780]")["below"] is None


def test_large_inputs_get_a_field_for_the_chosen_cell_alone():
    groups = {group["name"]: group for group in page("cell=x[400]")["forms"]["groups"]}
    assert [field["name"] for row in groups["x"]["rows"] for field in row] == ["x[400]"]
    assert groups["x"]["first"] == "x[0]"
    assert [row[0]["name"] for row in page("x[3]=0.5&cell=x[400]")["forms"]["groups"][0]["rows"]] == ["x[3]", "x[400]"]


@pytest.mark.parametrize("query", ["", "x=test:17", "view=matrices", "step=18", "rows=3"])
def test_pages_of_pictures_are_small(query):
    assert len(gzip.compress(pages._rendered("model", "digit_network", query, "")[1])) < 60_000
