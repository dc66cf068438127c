"""The plane's page data: what the figures hold, what the words say, which square is drawn."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import orjson
import pytest

from app.plane import draw
from engine.models import catalogue

MODEL = catalogue()["tiny_network"]
V3 = {"edits": [{"parameter": "readout.weight", "index": [0, 2], "value": 101}]}


def plane(request: dict[str, Any] | None = None) -> dict[str, Any]:
    return draw(MODEL, request or {}, {})


def heat(found: dict[str, Any], figure: str = "prediction") -> dict[tuple[float, float], float | None]:
    data = found["figures"][figure]["data"][0]
    return {(x, y): data["z"][row][column] for row, y in enumerate(data["y"]) for column, x in enumerate(data["x"])}


def test_unedited_plane_shows_the_worked_predictions_and_no_effect() -> None:
    found = plane()
    values = heat(found)
    assert (values[2, -1], values[0, 1], values[1, 0]) == (5.5, 1, 1)
    assert len(values) == 33 * 33
    assert found["effect"] is None
    assert "effect" not in found["figures"]
    assert found["inputs"][0] == {
        "label": "(x₁, x₂) = (2, −1)",
        "at": [2.0, -1.0],
        "inside": True,
        "value": 5.5,
        "before": 5.5,
        "changed": False,
    }


def test_edit_without_effect_here_has_one_elsewhere() -> None:
    found = plane(V3)
    assert found["inputs"][0]["changed"] is False
    assert found["effect"] == {"points": 569, "unchanged": 520, "total": 1089, "percent": 52.2, "here": False}
    change = heat(found, "effect")
    assert change[0, 1] == 250
    assert change[2, -1] is None
    assert sum(value is not None for value in change.values()) == 569


def test_edit_at_another_input_says_before_and_after() -> None:
    found = plane({**V3, "inputs": {"x": [0, 1]}})
    assert found["effect"]["here"] is True
    assert (found["inputs"][0]["before"], found["inputs"][0]["value"]) == (1, 251)


def test_hatch_lies_only_where_nothing_changes() -> None:
    found = plane(V3)
    change = heat(found, "effect")
    hatch = next(one for one in found["figures"]["effect"]["data"] if one.get("marker", {}).get("symbol") == "line-ne")
    places = list(zip(hatch["x"], hatch["y"], strict=True))
    assert len(places) > 100
    assert all(change[place] is None for place in places)


def test_boundaries_are_drawn_and_named() -> None:
    figure = plane()["figures"]["prediction"]
    lines = {one["name"]: (one["x"], one["y"]) for one in figure["data"] if one.get("mode") == "lines"}
    assert lines == {
        "z₁ = 0": ([-4, 4], [-4, 4]),
        "z₂ = 0": ([-4, 4], [1, -3]),
        "z₃ = 0": ([-4, 4], [-2.25, 1.75]),
    }
    assert len({one["line"]["dash"] for one in figure["data"] if one.get("mode") == "lines"}) == 3
    assert [one["text"] for one in figure["layout"]["annotations"]] == list(lines)


def test_zero_has_the_middle_of_the_colour_scale() -> None:
    data = plane(V3)["figures"]["prediction"]["data"][0]
    assert data["zmin"] == -data["zmax"] == -1260
    assert data["colorscale"] == [[0, "var(--neg)"], [0.5, "var(--raised)"], [1, "var(--pos)"]]


def test_signs_are_written_as_well_as_coloured() -> None:
    found = plane()
    values = heat(found)
    signs = next(one for one in found["figures"]["prediction"]["data"] if one.get("mode") == "text")
    for x, y, sign in zip(signs["x"], signs["y"], signs["text"], strict=True):
        assert sign == ("+" if values[x, y] > 0 else "−" if values[x, y] < 0 else "0")


def test_axes_and_colours_are_labelled_with_round_numbers_of_the_figure() -> None:
    figure = plane()["figures"]["prediction"]
    heat = figure["data"][0]
    assert figure["layout"]["xaxis"]["tickvals"] == figure["layout"]["yaxis"]["tickvals"]
    assert figure["layout"]["xaxis"]["ticktext"] == ["−4", "−3", "−2", "−1", "0", "1", "2", "3", "4"]
    ticks = heat["colorbar"]["tickvals"]
    assert heat["zmin"] <= ticks[0] and ticks[-1] <= heat["zmax"] and 0 in ticks and 3 <= len(ticks) <= 7
    assert len({round(after - before, 9) for before, after in pairwise(ticks)}) == 1


def test_square_grows_until_every_input_fits() -> None:
    assert plane({"inputs": {"x": [[1, 1], [-5, 3]]}, "target": [0, 0]})["upper"] == 8
    far = plane({"inputs": {"x": [1e5, 0]}})
    assert (far["upper"], far["inputs"][0]["inside"]) == (1024, False)
    assert not any("text" in one and one["mode"] == "markers" for one in far["figures"]["prediction"]["data"])


def test_lattice_is_the_table_of_the_picture() -> None:
    found = plane(V3)
    values = heat(found)
    lattice = found["lattice"]
    assert lattice["across"] == [-4, -3, -2, -1, 0, 1, 2, 3, 4]
    assert [row["at"] for row in lattice["rows"]] == [4, 3, 2, 1, 0, -1, -2, -3, -4]
    for row in lattice["rows"]:
        assert [cell["value"] for cell in row["cells"]] == [values[x, row["at"]] for x in lattice["across"]]
    middle = lattice["rows"][3]["cells"][4]
    assert middle == {"value": 251, "before": 1}
    assert lattice["rows"][5]["cells"][6] == {"value": 5.5, "before": None}


@pytest.mark.parametrize(("value", "on"), [(2, True), (-2, False)])
def test_unit_that_ignores_the_inputs_is_constant(value: float, on: bool) -> None:
    edits = [{"parameter": "hidden.weight", "index": [0, column], "value": 0} for column in (0, 1)]
    edits.append({"parameter": "hidden.bias", "index": [0], "value": value})
    first = plane({"edits": edits})["boundaries"][0]
    assert (first["kind"], first["on"]) == ("constant", on)


def test_pieces_give_the_collapsed_formula_without_relu() -> None:
    found = plane({"options": {"activation": "none"}})
    assert found["boundaries"] == []
    assert found["regions"] == [{"on": [], "slope": [0.5, -1], "offset": 0, "points": 1089, "percent": 100}]


def test_plane_is_plain_json_data_and_small() -> None:
    assert len(orjson.dumps(plane(V3))) < 40_000


def test_share_is_never_rounded_to_all_or_nothing() -> None:
    nearly = {"edits": [{"parameter": "hidden.bias", "index": [2], "value": 13.1}]}
    found = plane(nearly)["effect"]
    assert 0 < found["percent"] < 100 or found["points"] in (0, found["total"])
