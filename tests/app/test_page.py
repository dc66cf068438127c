"""The page object of the tiny network's lesson: what it says is what the run gave."""

import math

import orjson
import pytest

from app.page import source

LESSON = "accountable_network"
NO_CELL = "cell must be a cell of this run, such as loss; got “{}”. Using the step's own."


def page(query=""):
    found = source.page("lesson", LESSON, query, "http://127.0.0.1")
    assert found is not None
    return found.data


def cells(figure):
    return [[cell["value"] for cell in row] for row in figure["rows"]]


def figures(data):
    return {figure["tensor"]: figure for figure in data["matrices"]["figures"] if "tensor" in figure}


def result(data, key):
    return next(card for card in data["results"]["cards"] if card["key"] == key)["cells"][0]


def test_the_unedited_page_shows_the_worked_values(facts):
    data, tiny = page(), facts["tiny_network"]
    tensors = data["trace"]["tensors"]
    first = tiny["forward"][0]
    assert tensors["hidden.preactivation"]["data"] == first["z"]
    assert tensors["hidden.activation"]["data"] == first["h"]
    assert result(data, "prediction")["value"] == first["prediction"]
    assert result(data, "loss")["value"] == tiny["loss"]["value"]
    for name in ("hidden.weight", "hidden.bias", "readout.weight", "readout.bias"):
        assert tensors[f"{name}.grad"]["data"] == tiny["gradients"][name]
    assert data["edits"] == []
    assert data["comparison"] is None
    assert data["baseline"] is None
    assert data["summary"] == "Two inputs, three hidden units, one output; the prediction is 5.5, the loss 1.125."


def test_a_page_is_plain_data():
    data = page("cell=hidden.weight[1,0]&prove=1&rows=2&view=matrices")
    assert orjson.loads(orjson.dumps(data))["schema"] == "longhand.page/1"


def test_the_longhand_of_a_sum_is_its_terms():
    longhand = page("cell=hidden.preactivation[1]")["longhand"]
    value = longhand["value"]
    assert longhand["label"] == "z₂"
    assert [[factor["label"] for factor in row["factors"]] for row in value["terms"]] == [
        ["W₂₁", "x₁"],
        ["W₂₂", "x₂"],
        ["b₂"],
    ]
    assert [factor["cell"] for factor in value["terms"][0]["factors"]] == [
        "hidden.weight[1,0]",
        "x[0]",
    ]
    assert [row["value"] for row in value["terms"]] == [1, -1, 1]
    assert [row["sign"] for row in value["terms"]] == ["pos", "neg", "pos"]
    assert [row["width"] for row in value["terms"]] == [50, 50, 50]
    assert (value["value"], value["captured"], value["residual"]) == (1, 1, 0)
    assert value["lines"] == []


def test_a_nested_expression_is_written_line_by_line():
    value = page("cell=squared_error")["longhand"]["value"]
    words = [
        "".join(str(part.get("text", part.get("label", part.get("number")))) for part in line["symbols"])
        for line in value["lines"]
    ]
    assert words[0] == "(ŷ − t)² / 1.0"
    assert [line["value"] for line in value["lines"]] == [2.25, 2.25, 1.5]
    assert [line["depth"] for line in value["lines"]] == [0, 1, 2]


def test_a_select_says_which_way_it_went():
    gradient = page("cell=hidden.preactivation[2]")["longhand"]["gradient"]
    lines = gradient["blocks"][0]["expression"]["lines"]
    condition = next(line for line in lines if line["kind"] == "compare")
    assert not condition["holds"]
    assert [line["taken"] for line in lines if line["words"] in ("if so", "if not")] == [False, True]
    assert gradient["total"]["value"] == 0


def test_the_gradient_is_a_block_a_consumer_and_a_sum_over_paths():
    longhand = page("cell=x[0]")["longhand"]
    assert longhand["value"] is None
    assert longhand["gradient"]["label"] == "∂L/∂x₁"
    assert [block["consumer"] for block in longhand["gradient"]["blocks"]] == ["hidden.preactivation"]
    assert longhand["gradient"]["total"]["value"] == 2.25
    paths = longhand["paths"]
    assert [line["value"] for line in paths["lines"]] == [3.0, -0.75, 0.0]
    assert sum(line["value"] for line in paths["lines"]) == paths["total"] == 2.25
    assert [hop["cell"] for hop in paths["lines"][1]["cells"]] == [
        "hidden.preactivation[1]", "hidden.activation[1]", "prediction[0]", "squared_error", "loss",
    ]  # fmt: skip
    assert paths["complete"]


def test_a_gradients_own_cell_opens_the_same_gradient():
    one = page("cell=hidden.weight[1,0]")["longhand"]["gradient"]
    other = page("cell=hidden.weight.grad[1,0]")["longhand"]
    assert other["gradient"]["total"] == one["total"] | {"cell": "hidden.weight.grad[1,0]"}
    assert other["gradient"]["total"]["value"] == -3
    assert other["value"] is None


def test_a_proof_has_the_float64_value_and_the_finite_difference():
    proof = page("cell=hidden.weight[1,0]&of=gradient&prove=1")["longhand"]["verification"]
    assert proof["ok"]
    assert proof["captured"] == proof["recomputed"] == -3
    assert math.isclose(proof["finite_difference"], -3, rel_tol=1e-6)
    assert proof["epsilon"] > 0
    value = page("cell=hidden.preactivation[1]&prove=1")["longhand"]["verification"]
    assert (value["ok"], value["difference"], value["finite_difference"]) == (True, 0, None)


def test_a_unit_switched_off_is_said_compared_and_undone(facts):
    data = page("do:hidden.activation[1]=off&step=1")
    assert result(data, "prediction") == {"cell": "prediction[0]", "label": "ŷ", "value": 6.5, "before": 5.5}
    assert [(edit["label"], edit["sign"], edit["after"]) for edit in data["edits"]] == [("h₂", "←", 0)]
    assert data["edits"][0]["undo"] == f"/lessons/{LESSON}?step=1"
    assert data["reset"] == f"/lessons/{LESSON}?step=1"
    comparison = data["comparison"]
    assert comparison["first_computed"] == {"tensor": "hidden.activation", "symbol": "h"}
    assert {one["cell"]: (one["before"], one["after"], one["delta"]) for one in comparison["cells"]}["loss"] == (
        1.125,
        3.125,
        2,
    )
    assert {one["kind"] for one in comparison["cells"]} == {"value", "gradient"}
    assert [mark["label"] for mark in data["timeline"] if mark["touched"]][:2] == ["h* = ReLU(z)", "h₂ ← 0"]
    assert data["announce"].startswith("Prediction ŷ 6.5, was 5.5. Loss L 3.125, was 1.125.")


def test_an_edit_without_effect_on_any_number_says_so():
    # Unit 3 is silent at (2, −1): its bias may fall without a trace in what is computed.
    data = page("hidden.bias[2]=0.25")
    assert result(data, "prediction") == {"cell": "prediction[0]", "label": "ŷ", "value": 5.5}
    assert [one["label"] for one in data["comparison"]["cells"]] == ["b₃", "z₃", "b′₃"]


def test_every_edit_has_its_own_way_back():
    data = page(
        "x[0]=1&hidden.weight[1,0]=0.25&do:prediction[0]=add&by:prediction[0]=2&activation=none&lr=0.05&frozen=hidden.weight"
    )
    undo = {edit["field"]: edit["undo"] for edit in data["edits"]}
    assert list(undo) == [
        "x[0]", "hidden.weight[1,0]", "prediction[0]", "activation", "lr", "frozen hidden.weight",
    ]  # fmt: skip
    assert "x[0]" not in undo["x[0]"] and "lr=0.05" in undo["x[0]"]
    assert "do:" not in undo["prediction[0]"] and "by:" not in undo["prediction[0]"]
    assert "frozen" not in undo["frozen hidden.weight"]
    assert data["reset"] == f"/lessons/{LESSON}"


def test_the_timeline_marks_what_is_done_now_and_later():
    data = page("step=2")
    assert [mark["state"] for mark in data["timeline"]][:4] == ["done", "done", "now", "later"]
    assert [group["phase"] for group in data["phases"]] == ["forward", "loss", "backward", "update"]
    assert data["step"]["links"]["back"] == f"/lessons/{LESSON}?step=1"
    assert data["step"]["links"]["end"] == f"/lessons/{LESSON}?step=13"
    assert page()["step"]["links"]["back"] is None
    assert page("step=13")["step"]["links"]["forward"] is None


def test_the_matrices_of_one_example_are_w_x_plus_b():
    drawn = page("view=matrices")["matrices"]["figures"]
    assert [figure.get("text", figure.get("symbol")) for figure in drawn] == ["W", "×", "x", "+", "b", "=", "z"]
    assert cells(drawn[0]) == [[1, -1], [0.5, 1], [-1, 2]]
    assert cells(drawn[-1]) == [[3], [1], [-3.5]]
    assert [axis["name"] for axis in drawn[0]["axes"]] == ["unit", "input"]


def test_the_matrices_of_a_batch_are_x_w_transposed_plus_ones_b(facts):
    data = page("rows=3&view=matrices")
    drawn = data["matrices"]["figures"]
    assert [figure.get("text", figure.get("symbol")) for figure in drawn] == ["X", "×", "Wᵀ", "+", "1bᵀ", "=", "Z"]
    assert cells(drawn[0]) == facts["tiny_network"]["batch"]["X"]
    assert cells(drawn[2]) == [[1, 0.5, -1], [-1, 1, 2]]
    assert drawn[2]["rows"][0][1]["cell"] == "hidden.weight[1,0]"
    assert cells(drawn[4]) == [[0, 1, 0.5]] * 3
    assert cells(drawn[-1]) == facts["tiny_network"]["batch"]["Z"]
    assert [cell["value"] for cell in data["results"]["cards"][0]["cells"]] == facts["tiny_network"]["batch"][
        "prediction"
    ]


def test_the_matrices_of_a_backward_step_show_what_arrives_and_what_is_sent():
    drawn = figures(page("step=9&view=matrices"))
    assert drawn["hidden.preactivation.grad"]["part"] == "arriving"
    assert drawn["x"]["part"] == "local"
    assert "hidden.bias" not in drawn
    assert cells(drawn["hidden.weight.grad@9"]) == [[6, -3], [-3, 1.5], [0, 0]]
    assert drawn["hidden.weight.grad@9"]["part"] == "sent"


def test_the_matrices_of_an_update_mark_what_is_frozen():
    drawn = page("step=12&view=matrices&frozen=readout.weight[0,1]")["matrices"]["figures"]
    assert [figure.get("text", figure["part"]) for figure in drawn] == [
        "parameter",
        "−",
        "rate",
        "×",
        "gradient",
        "=",
        "updated",
    ]
    assert [cell["value"] for cell in drawn[-1]["rows"][0]] == [1.55, -1, 1]
    marked = {figure["part"]: [bool(cell.get("frozen")) for cell in figure["rows"][0]] for figure in drawn[::2]}
    none = [False, False, False]
    assert marked == {"parameter": none, "rate": [False], "gradient": none, "updated": [False, True, False]}


def test_a_step_that_raises_the_loss_is_warned_of(facts):
    warning = page()["results"]["warning"]
    assert warning["before"] == 1.125
    assert math.isclose(warning["after"], facts["tiny_network"]["update_all_13"]["loss"], rel_tol=1e-6)
    only_v1 = page(
        "frozen=hidden.weight&frozen=hidden.bias&frozen=readout.bias&frozen=readout.weight[0,1]&frozen=readout.weight[0,2]"
    )
    assert only_v1["results"]["warning"] is None
    assert math.isclose(result(only_v1, "after_update")["value"], 0.01125, rel_tol=1e-5)
    assert (only_v1["forms"]["update"]["stored"], only_v1["forms"]["update"]["updatable"]) == (13, 1)


def test_the_page_says_what_each_cell_was_made_of():
    assert page()["made_of"]["hidden.preactivation[1]"] == [
        "hidden.weight[1,0]",
        "x[0]",
        "hidden.weight[1,1]",
        "x[1]",
        "hidden.bias[1]",
    ]


def test_a_field_that_cannot_be_read_keeps_its_text_and_says_what_is_used():
    data = page("hidden.weight[1,0]=abc&x[1]=5")
    assert data["errors"] == [
        {"field": "hidden.weight[1,0]", "message": "W₂₁ must be a number; got “abc”. Using 0.5.", "got": "“abc”"}
    ]
    group = next(one for one in data["forms"]["groups"] if one["name"] == "hidden.weight")
    assert (group["rows"][1][0]["value"], group["rows"][1][0]["number"]) == ("abc", 0.5)
    assert data["trace"]["tensors"]["x"]["data"] == [2, 5]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("step=99", "step must be from 0 to 13, as this run has 14 steps; got 99. Using 13."),
        ("cell=hidden.weight[9,9]", NO_CELL.format("hidden.weight[9,9]")),
        ("cell=hidden.weight", NO_CELL.format("hidden.weight")),
    ],
)  # fmt: skip
def test_a_step_or_cell_that_the_run_lacks_is_an_error_and_the_page_still_stands(query, message):
    data = page(query)
    assert [one["message"] for one in data["errors"]] == [message]
    assert data["longhand"]["label"]


def test_numbers_beyond_float32_do_not_break_the_page():
    data = page("x[0]=1e6&hidden.weight[0,0]=1e6&readout.weight[0,0]=1e6&lr=1e6&cell=hidden.weight.updated[0,0]")
    assert data["longhand"]["label"] == "W′₁₁"
    assert any("nonfinite" in tensor for tensor in data["trace"]["tensors"].values()) or math.isinf(
        result(data, "after_update")["value"]
    )


@pytest.mark.parametrize("query", ["activation=none", "rows=2&do:hidden.activation[0]=scale&by:hidden.activation[0]=2"])
def test_every_step_of_an_edited_run_has_a_page(query):
    views = ("network", "graph", "matrices")
    for step in range(len(page(query)["timeline"])):
        data = page(f"{query}&step={step}&view={views[step % 3]}")
        assert data["step"]["index"] == step
        assert data["longhand"]["cell"]
