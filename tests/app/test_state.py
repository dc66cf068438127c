"""A page's address: read, run, written again."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.query import read
from app.space import cell_name, indices, split_cell
from app.spaces import space_of
from app.state import state_of
from engine.models import catalogue

MODEL = catalogue()["tiny_network"]
REQUEST = {**MODEL.defaults, "update": {"rule": "sgd", "learning_rate": 0.1, "frozen": []}}
SPACE = space_of("/lessons/one", MODEL, REQUEST, examples=({"x": [0, 1], "target": 4}, {"x": [1, 0], "target": 2}))


def state(query: str = ""):
    return read(SPACE, parse_qsl(query, keep_blank_values=True))


def again(link: str):
    return state(urlsplit(link).query)


PARAMETER_CELLS = [
    cell_name(name, index) for name, record in SPACE.parameters.items() for index in indices(record.shape)
]
CELLS = [f"x[{row},{column}]" for row in range(3) for column in range(2)] + [
    *PARAMETER_CELLS,
    *(f"target[{row}]" for row in range(3)),
]
UNITS = [cell_name(name, index) for name, record in SPACE.switches.items() for index in indices(record.shape)]
NUMBERS = st.one_of(
    st.integers(-1_000_000, 1_000_000).map(str),
    st.floats(-1e6, 1e6, width=32).map(repr),
    st.sampled_from(["0.1", "−2,5", "9/2", "0", "-0", "1e-3"]),
)
PAIRS = st.one_of(
    st.tuples(st.sampled_from(CELLS), NUMBERS),
    st.tuples(st.sampled_from([f"x[{i}]" for i in range(2)]), NUMBERS),
    st.tuples(st.just("rows"), st.sampled_from("1234")),
    st.tuples(st.sampled_from([f"do:{unit}" for unit in UNITS]), st.sampled_from(["", "off", "set", "scale", "add"])),
    st.tuples(st.sampled_from([f"by:{unit}" for unit in UNITS]), NUMBERS),
    st.tuples(st.just("activation"), st.sampled_from(["relu", "none"])),
    st.tuples(st.just("lr"), st.floats(0, 100).map(repr)),
    st.tuples(st.just("frozen"), st.sampled_from(["", "hidden.weight", *PARAMETER_CELLS])),
    st.tuples(st.sampled_from(["step", "example", "seed"]), st.sampled_from(["0", "1", "7"])),
    st.tuples(st.just("cell"), st.sampled_from(["", "loss", "hidden.weight.grad[1,0]", "z & y=1#é"])),
    st.tuples(st.just("of"), st.sampled_from(["value", "gradient"])),
    st.tuples(st.just("view"), st.sampled_from(["network", "graph", "matrices"])),
    st.tuples(st.sampled_from(["prove", "predict"]), st.sampled_from(["", "1"])),
    st.tuples(st.sampled_from(["guess", "a1", "a6"]), st.text(max_size=12)),
)


@given(st.lists(PAIRS, max_size=25))
def test_reading_a_link_gives_the_state_that_wrote_it(pairs):
    one = read(SPACE, pairs)
    assert again(one.link()) == one
    assert again(one.link()).link() == one.link()


@given(st.lists(PAIRS, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_different_fields_does_not_change_the_link(pairs, random):
    fields = {name: value for name, value in pairs if name != "frozen" and not name.startswith("x[")}
    mixed = list(fields.items())
    random.shuffle(mixed)
    assert read(SPACE, mixed).link() == read(SPACE, fields.items()).link()


@given(st.lists(PAIRS, max_size=25))
def test_the_hidden_inputs_hold_the_whole_state(pairs):
    one = read(SPACE, pairs)
    assert read(SPACE, one.hidden()) == one


def test_the_default_state_has_no_query():
    assert (
        state("x[0]=2&x[1]=-1&lr=0.1&rows=1&step=0&of=value&view=network&prove=&frozen=&activation=relu").link()
        == "/lessons/one"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("hidden.weight[1,0]=0.25", "hidden.weight[1,0]=1/4"),
        ("hidden.weight[1,0]=0.1", "hidden.weight[1,0]=0.100000001"),
        ("do:hidden.activation[1]=off", "do:hidden.activation[1]=set&by:hidden.activation[1]=0"),
        ("frozen=readout.weight", "frozen=readout.weight[0,0]&frozen=readout.weight[0,1]&frozen=readout.weight[0,2]"),
        ("frozen=readout.weight", "frozen=readout.weight[0,1]&frozen=readout.weight"),
        ("rows=2&x[0]=7", "rows=2&x[0,0]=7"),
        ("target[0]=3", "target[0,0]=3"),
        ("rows=3&rows=2", "rows=2"),
    ],
)
def test_one_meaning_has_one_link(one, other):
    assert state(one).link() == state(other).link() != "/lessons/one"
    assert not state(one).errors


def test_a_link_states_only_what_differs_in_a_fixed_order():
    one = state(
        "step=2&lr=0.05&do:hidden.activation[1]=scale&by:hidden.activation[1]=0.5&target[0]=3&hidden.weight[1,0]=0.25&x[1]=7"
    )
    assert one.link() == (
        "/lessons/one?x[1]=7&hidden.weight[1,0]=0.25&target[0]=3&do:hidden.activation[1]=scale"
        "&by:hidden.activation[1]=0.5&lr=0.05&step=2"
    )


def test_the_request_is_the_api_form():
    one = state(
        "x[0]=1&hidden.weight[1,0]=0.25&do:hidden.activation[1]=off&lr=0.05&frozen=hidden.weight&frozen=readout.weight[0,1]"
    )
    request = one.request
    assert request["inputs"] == {"x": [1, -1]}
    assert request["target"] == 4
    assert request["edits"] == [{"parameter": "hidden.weight", "index": [1, 0], "value": 0.25}]
    assert request["interventions"] == [{"at": "hidden.activation", "index": [1], "set": 0}]
    assert request["update"] == {
        "rule": "sgd",
        "learning_rate": 0.05,
        "frozen": [{"parameter": "hidden.weight", "index": None}, {"parameter": "readout.weight", "index": [0, 1]}],
    }


def test_rows_take_the_lessons_examples_and_keep_what_was_edited():
    request = state("rows=3&x[1,0]=5&do:hidden.activation[1]=off").request
    assert request["inputs"] == {"x": [[2, -1], [5, 1], [1, 0]]}
    assert request["target"] == [4, 4, 2]
    assert request["interventions"] == [{"at": "hidden.activation", "index": [None, 1], "set": 0}]


def test_the_baseline_has_as_many_rows_and_nothing_else():
    assert state("rows=3&x[1,0]=5&lr=2").baseline.link() == "/lessons/one?rows=3"


def test_a_bad_field_is_said_with_expected_and_got_and_the_rest_runs():
    one = state("hidden.weight[1,0]=abc&x[0]=3")
    assert one.errors[0].field == "hidden.weight[1,0]"
    assert one.errors[0].message == "W₂₁ must be a number; got “abc”. Using 0.5."
    assert one.raw["hidden.weight[1,0]"] == "abc"
    assert one.request["inputs"] == {"x": [3, -1]}
    assert one.link() == "/lessons/one?x[0]=3"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("x[0]=", "x₁ must be a number; got nothing. Using 2."),
        ("x[0]=nan", "x₁ must be a number; got “nan”. Using 2."),
        ("x[0]=1e9", "x₁ must be a number from −1e6 to 1e6; got “1e9”. Using 2."),
        ("rows=2&x[1,0]=q", "x₁ of example 2 must be a number; got “q”. Using 0."),
        ("hidden.bias[9]=1", "hidden.bias must have an index inside 3, from 0; got “[9]”. Using NONE."),
        ("rows=1000000000", "rows must be a whole number from 1 to 16; got “1000000000”. Using 1."),
        ("lr=-1", "learning rate must be a number of 0 or more; got “-1”. Using 0.1."),
        ("do:hidden.activation[1]=set", "h₂ must have a number to set it to; got nothing. Using COMPUTED."),
        ("do:hidden.activation[1]=cut", "h₂ must be one of computed, off, set, scale, add; got “cut”. Using computed."),
        ("activation=gelu", "Hidden activation must be one of relu, none; got “gelu”. Using relu."),
        ("frozen=nothing", "frozen must name a parameter or a cell of PARAMETERS; got “nothing”. Using the others."),
        ("step=-1", "step must be a whole number from 0 to 9999; got “-1”. Using 0."),
        ("view=3d", "view must be one of network, image, flow, memory, graph, matrices; got “3d”. Using network."),
    ],
)  # fmt: skip
def test_every_error_names_the_field_what_it_must_be_and_what_came(query, message):
    words = {"PARAMETERS": "hidden.weight, hidden.bias, readout.weight, readout.bias", "NONE": "the run without it"}
    for short, long in {**words, "COMPUTED": "the computed value"}.items():
        message = message.replace(short, long)
    assert [error.message for error in state(query).errors] == [message]


@pytest.mark.parametrize(
    ("query", "message", "link"),
    [
        ("x[0]=3&x[0]=abc", "x₁ must be a number; got “abc”. Using 3.", "/lessons/one?x[0]=3"),
        ("x[0]=3&x[0]=", "x₁ must be a number; got nothing. Using 3.", "/lessons/one?x[0]=3"),
        ("x[0]=abc&x[0]=1e9", "x₁ must be a number from −1e6 to 1e6; got “1e9”. Using 2.", "/lessons/one"),
        ("lr=0.5&lr=-1", "learning rate must be a number of 0 or more; got “-1”. Using 0.5.", "/lessons/one?lr=0.5"),
        (
            "do:hidden.activation[1]=scale&by:hidden.activation[1]=0.5&by:hidden.activation[1]=half",
            "h₂ must have a number to scale; got “half”. Using 0.5.",
            "/lessons/one?do:hidden.activation[1]=scale&by:hidden.activation[1]=0.5",
        ),
    ],
)
def test_a_number_that_cannot_be_read_leaves_the_one_before_it_in_use(query, message, link):
    one = state(query)
    assert [error.message for error in one.errors] == [message]
    assert one.link() == link


def test_the_numbers_that_a_form_sends_ahead_are_those_that_are_set():
    one = state("rows=2&x[1,0]=5&do:hidden.activation[1]=add&by:hidden.activation[1]=2&lr=0.5&activation=none&frozen=")
    assert one.numbers == [("x[1,0]", "5"), ("by:hidden.activation[1]", "2"), ("lr", "0.5")]


def test_another_runs_address_takes_the_variant_and_the_answers_along():
    one = state("x[0]=3&seed=4&step=2&a2=9/2&a1=1")
    assert one.carry("/lessons/one") == "/lessons/one?seed=4&a1=1&a2=9%2F2"
    assert again(one.carry("/lessons/one?lr=0.5&step=1")).link() == one.carry("/lessons/one?lr=0.5&step=1")
    assert state("x[0]=3").carry("/lessons/one?lr=0.5") == "/lessons/one?lr=0.5"


def test_an_unknown_field_is_an_error_and_not_dropped_silently():
    assert state("colour=red").errors[0].message.startswith("the field “colour” must be a cell of x, hidden.weight")


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), max_size=8))
def test_no_query_whatever_raises(pairs):
    read(SPACE, pairs).link()


def test_links_change_one_thing_and_none_takes_it_back():
    one = state("hidden.weight[1,0]=0.25&step=2")
    assert one.link(cell="loss") == "/lessons/one?hidden.weight[1,0]=0.25&step=2&cell=loss"
    assert one.link(set={"hidden.weight[1,0]": None}) == "/lessons/one?step=2"
    assert (
        one.link(step=None, do={"hidden.activation[1]": "off"})
        == "/lessons/one?hidden.weight[1,0]=0.25&do:hidden.activation[1]=off"
    )
    assert one.show(set={"x[0]": 0, "x[1]": 1}, lr=0.05) == "/lessons/one?x[0]=0&x[1]=1&lr=0.05"
    assert (
        one.show(frozen=["hidden.weight"], options={"activation": "none"})
        == "/lessons/one?activation=none&frozen=hidden.weight"
    )
    assert state("frozen=hidden.weight").link(frozen=None) == "/lessons/one"


def test_a_link_to_an_unknown_cell_or_field_is_refused():
    with pytest.raises(ValueError, match=r"expected a cell .*; got 'hidden.weight\[9,9\]'"):
        state().link(set={"hidden.weight[9,9]": 1})
    with pytest.raises(ValueError, match="expected a field of the state; got 'colour'"):
        state().link(colour="red")


def test_fewer_rows_drop_the_rows_that_are_gone():
    assert state("rows=3&x[2,0]=9&example=2").link(rows=2) == "/lessons/one?rows=2"


def test_cells_are_named_and_read_the_same_way():
    assert cell_name("hidden.weight", (1, 0)) == "hidden.weight[1,0]"
    assert split_cell("hidden.weight[1,0]") == ("hidden.weight", (1, 0))
    assert split_cell("loss") == ("loss", ())
    assert split_cell("loss[") == ("loss[", None)
    assert state_of(SPACE).value("x", (0, 1)) == -1


def test_words_are_read_written_and_refused_like_numbers():
    model = catalogue()["one_attention_head"]
    request = {**model.defaults, "update": {"rule": "sgd", "learning_rate": 0.1, "frozen": []}}
    space = space_of("/models/one", model, request)
    start = state_of(space)
    link = start.link(set={"tokens[2]": "the"})
    assert link == "/models/one?tokens[2]=the"
    read_back = read(space, [("tokens[2]", "the")])
    assert read_back.request["inputs"]["tokens"][2] == "the"
    assert read_back.address == link
    (error,) = read(space, [("tokens[2]", "dragon")]).errors
    assert error.message.startswith("tokens₃ must be one of a, fluffy, blue")
    assert error.message.endswith("got “dragon”. Using blue.")
    with pytest.raises(ValueError, match="expected a number or a word of tokens; got 'dragon'"):
        start.link(set={"tokens[2]": "dragon"})
