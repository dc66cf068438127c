"""Rows of many numbers in one word of an address."""

from __future__ import annotations

import base64
import random
import zlib
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

from app import whole
from app.page import source
from app.query import read
from app.state import State, state_of
from engine.models.digit_images import TEST_IMAGES, image


@pytest.fixture(scope="module")
def start() -> State:
    return state_of(source.model("digit_network").space)


def again(state: State) -> State:
    return read(state.space, parse_qsl(urlsplit(state.address).query, keep_blank_values=True))


def test_an_image_of_the_test_set_is_said_by_its_number(start):
    state = start.changed(set={"x": "test:17"})
    assert state.address == "/models/digit_network?x=test:17"
    assert state.request["inputs"]["x"] == pytest.approx(image(17), abs=1e-7)
    assert again(state) == state
    assert read(start.space, [("x", "17")]) == state


def test_what_is_drawn_is_said_by_a_code_that_gives_the_same_numbers(start):
    chance = random.Random(0)
    drawn = [0.0] * 784
    for place in chance.sample(range(784), 120):
        drawn[place] = chance.choice([0.5, 1.0, 0.1, 1 / 3])
    state = start.changed(set={"x": whole.code(drawn)})
    assert len(state.address) < 900
    assert np.array_equal(np.float32(state.request["inputs"]["x"]), np.float32(drawn))
    assert again(state) == state


def test_a_code_may_come_without_being_deflated(start):
    drawn = [0.25] * 784
    assert read(start.space, [("x", whole.plain_code(drawn))]) == read(start.space, [("x", whole.code(drawn))])


def test_few_changed_cells_stand_one_by_one_and_more_of_them_as_a_whole(start):
    few = start.changed(set={f"x[{at}]": 0.5 for at in range(whole.FEW)})
    many = start.changed(set={f"x[{at}]": 0.5 for at in range(whole.FEW + 1)})
    assert few.address.count("x[") == whole.FEW and "x=" not in few.address
    assert "x[" not in many.address and "x=" in many.address
    assert again(many) == many


def test_a_cell_that_stands_beside_its_row_changes_it_wherever_it_stands(start):
    first = read(start.space, [("x", "test:17"), ("x[400]", "0.125")])
    assert first == read(start.space, [("x[400]", "0.125"), ("x", "test:17")])
    assert first.value("x", (0, 400)) == 0.125 and first.value("x", (0, 401)) == pytest.approx(image(17)[401])


def test_further_examples_have_rows_of_their_own(start):
    state = read(start.space, [("rows", "2"), ("x@1", "test:3")])
    assert state.request["inputs"]["x"][1] == pytest.approx(image(3), abs=1e-7)
    assert state.address == "/models/digit_network?x@1=test:3&rows=2" and again(state) == state
    assert read(start.space, [("x@1", "test:3")]).cells == {}


def test_a_row_is_taken_back_like_a_cell(start):
    state = start.changed(set={"x": "test:17"})
    assert state.link(set={"x": None}) == "/models/digit_network"
    assert state.link(set={"x": "test:0"}) == "/models/digit_network"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("test:10000", "x must be test:0 to test:9999; got “test:10000”. Using its default."),
        ("train:1", "x must be test: and a number, or the code of 784 numbers; got “train:1”. Using its default."),
        ("!", "x must be test: and a number, or the code of 784 numbers; got “!”. Using its default."),
        (whole.code([0.0] * 783), "x must be test: and a number, or the code of 784 numbers; got “"),
        (whole.code([2.0] * 784), "x must hold numbers from 0 to 1; got “others”. Using its default."),
        (whole.code([float("nan")] * 784), "x must be test: and a number, or the code of 784 numbers; got “"),
    ],
)
def test_words_that_cannot_be_read_say_what_they_must_be(start, word, message):
    state = read(start.space, [("x", word)])
    assert state.cells == {} and len(state.errors) == 1
    assert state.errors[0].message.startswith(message)


def test_a_code_that_unpacks_to_more_than_its_row_is_not_unpacked_further(start):
    bomb = base64.urlsafe_b64encode(zlib.compress(bytes(50_000_000), 9)).decode()
    with pytest.raises(ValueError, match=r"the code of 784 numbers"):
        whole.read(bomb, 784)


def test_a_row_that_is_said_whole_is_one_change_with_one_way_back():
    page = source.page("model", "digit_network", "x=test:17&x[0]=0&target[0]=5", "")
    edits = {edit["field"]: edit for edit in page.data["edits"]}
    assert list(edits) == ["x", "target[0]"]
    assert (edits["x"]["before"], edits["x"]["after"]) == ("test:0", "test:17")
    assert edits["x"]["undo"] == "/models/digit_network?target[0]=5"
    assert page.data["reset"] == "/models/digit_network"


def test_short_rows_words_and_matrices_have_no_word():
    tiny = source.model("tiny_network").space
    digits = source.model("digit_network").space
    assert whole.row_of(tiny, "x") is None and whole.row_of(digits, "target") is None
    assert whole.row_of(digits, "hidden1.weight") is None and whole.row_of(digits, "x@99") is None
    assert whole.row_of(digits, "x").samples is TEST_IMAGES
