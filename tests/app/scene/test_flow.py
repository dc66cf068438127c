"""A transformer's run as panels: which tensors, with whose names, the residual stream, and what the grid sums to."""

from __future__ import annotations

import pytest

from app.page import source
from app.scene import catalogue, flow
from engine.models import catalogue as models


def scene(query: str = ""):
    page = source.page("model", "one_attention_head", query, "http://localhost")
    return page.data["scene"], page.trace


def panel(picture, tensor):
    return next(one for one in picture["panels"] if one["tensor"] == tensor)


def test_runs_with_tokens_or_features_are_drawn_so():
    names = ("tiny_network", "one_attention_head", "softmax_temperature", "norm_and_residual", "where_facts_live")
    fits = {name: flow.fits(models()[name].trace({})) for name in names}
    assert [name for name, drawn in fits.items() if drawn] == list(names[1:4])
    assert list(catalogue()) == ["network", "image", "flow", "memory", "graph"]


def test_pattern_is_a_grid_named_by_its_words_whose_rows_sum_to_one():
    picture, trace = scene()
    found = panel(picture, "pattern")
    (block,) = found["blocks"]
    assert (found["kind"], found["sums"], block["corner"]) == ("grid", "key", "query \\ key")
    assert block["columns"] == [row["label"] for row in block["rows"]] == list(trace.request["inputs"]["tokens"])
    creature = next(row for row in block["rows"] if row["label"] == "creature")
    assert [cell["value"] for cell in creature["cells"][:4]] == pytest.approx([0.05, 0.6, 0.3, 0.05], abs=1e-6)
    for row in block["rows"]:
        assert sum(cell["value"] for cell in row["cells"]) == pytest.approx(1, abs=1e-6)


def test_flipped_grid_has_queries_in_columns_and_the_same_cells():
    upright, _ = scene()
    flipped, _ = scene("flip=1")
    one, two = (panel(picture, "pattern")["blocks"][0] for picture in (upright, flipped))
    assert two["corner"] == "key \\ query"
    assert two["rows"][1]["cells"][3] == one["rows"][3]["cells"][1]


def test_strength_is_the_share_of_the_tensor_s_largest_magnitude():
    picture, trace = scene()
    cells = [cell for row in panel(picture, "pattern")["blocks"][0]["rows"] for cell in row["cells"]]
    largest = float(trace["pattern"].max())
    assert max(cell["strength"] for cell in cells) == 1
    assert all(cell["strength"] == pytest.approx(cell["value"] / largest, abs=6e-4) for cell in cells)


def test_input_of_words_says_them():
    picture, trace = scene()
    (block,) = panel(picture, "tokens")["blocks"]
    words = [cell["word"] for cell in block["rows"][0]["cells"]]
    assert words == list(trace.request["inputs"]["tokens"])
    assert [cell["strength"] for cell in block["rows"][0]["cells"]] == [0] * len(words)


def test_residual_stream_runs_from_the_embedding_through_every_addition():
    picture, trace = scene()
    stream = {one["tensor"]: one["stream"] for one in picture["panels"] if one["stream"]}
    assert next(iter(stream.values())) == "start"
    assert set(list(stream.values())[1:]) == {"add"}
    last = list(stream)[-1]
    assert trace.maker(last).op == "add"


def test_backward_shows_gradients():
    _, trace = scene()
    step = next(one for one in trace.steps if one.phase == "backward")
    picture, _ = scene(f"step={step.index}")
    assert picture["gradient"]
    (block,) = panel(picture, "pattern")["blocks"]
    gradient = trace[trace.record("pattern").gradient]
    assert block["rows"][3]["cells"][1]["value"] == pytest.approx(float(gradient[3, 1]), rel=1e-6)
    assert block["rows"][3]["cells"][1]["cell"] == "pattern.grad[3,1]"


def test_of_a_long_run_only_the_stream_the_grids_and_what_is_near_are_unfolded():
    page = source.page("model", "one_block_one_step", "step=5", "http://localhost")
    panels = {one["tensor"]: one for one in page.data["scene"]["panels"]}
    assert len(panels) > flow.MANY
    unfolded = {name for name, one in panels.items() if not one["folded"]}
    near = {step.output for step in page.trace.steps[5 - flow.NEAR : 5 + flow.NEAR + 1]}
    stream = {name for name, one in panels.items() if one["stream"]}
    grids = {"scores", "scaled_scores", "masked_scores", "pattern"}
    assert unfolded == {"tokens", "target"} | near | stream | grids
    assert all(one["folded"] == (one["blocks"] == []) for one in panels.values())


def test_stream_of_vectors_without_positions_leaves_biases_out():
    page = source.page("model", "norm_and_residual", "", "http://localhost")
    stream = [one["tensor"] for one in page.data["scene"]["panels"] if one["stream"]]
    makers = [page.trace.maker(name) for name in stream]
    assert [None if step is None else step.op for step in makers] == [None, "add", "add", "add"]
