"""Two runs side by side."""

from __future__ import annotations

import engine
from engine.models import catalogue


def tiny(request=None) -> engine.Trace:
    return catalogue()["tiny_network"].trace(request or {})


def test_equal_runs_are_the_same():
    found = engine.compare(tiny(), tiny())
    assert (found.same, found.first, found.cells, found.count) == (True, None, (), 0)


def test_edit_is_named_first_and_changes_come_in_the_timeline_s_order():
    edited = tiny({"edits": [{"parameter": "readout.weight", "index": [0, 1], "value": 1}]})
    found = engine.compare(edited, tiny())
    assert found.first == "readout.weight"
    forward = [name for name in found.tensors if not name.endswith(".grad")]
    assert forward == ["readout.weight", "prediction", "squared_error", "loss"]
    change = found.cells[0]
    assert (change.label, change.before, change.after, change.delta) == ("v₂", -1.0, 1.0, 2.0)


def test_edit_without_effect_here_changes_only_itself_and_the_gradients_that_read_it(facts):
    case = facts["tiny_network"]["interventions"][1]
    edited = tiny({"edits": [{"parameter": "readout.weight", "index": [0, 2], "value": case["v3"]}]})
    found = engine.compare(edited, tiny())
    assert edited.result["prediction"] == case["prediction"] == 5.5
    assert found.tensors == {"readout.weight": 1, "hidden.activation.grad": 1}


def test_other_shapes_are_named_and_not_compared():
    found = engine.compare(tiny({"inputs": {"x": [[2, -1], [0, 1]]}}), tiny())
    assert "x" in found.only_here and "x" in found.only_there
    assert not found.same
    assert "hidden.weight" not in found.tensors


def test_limit_cuts_cells_and_keeps_the_count():
    edited = tiny({"inputs": {"x": [3, 3]}})
    whole, cut = engine.compare(edited, tiny()), engine.compare(edited, tiny(), limit=2)
    assert len(cut.cells) == 2 and cut.count == whole.count == len(whole.cells)
