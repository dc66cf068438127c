"""The selected cell: what is proved of it, and until when."""

from __future__ import annotations

import pytest

from app.page import source

LESSON = "accountable_network"


def page(query: str = "") -> dict:
    return source.page("lesson", LESSON, query, "http://127.0.0.1").data


@pytest.mark.parametrize("cell", ["hidden.weight[1,0]", "x[1]"])
def test_what_is_given_has_its_gradient_proved_and_another_cell_asks_anew(cell):
    prove = page(f"cell={cell}")["longhand"]["prove"]
    assert "of=gradient" in prove
    proof = page(f"cell={cell}&prove=1")["longhand"]["verification"]
    assert (proof["what"], proof["ok"]) == ("gradient", True)
    assert proof["finite_difference"] == pytest.approx(proof["captured"], rel=1e-6)
    state = source.page("lesson", LESSON, f"cell={cell}&prove=1", "").state
    assert "prove" not in state.link(cell="loss") and "prove" in state.link(view="graph")


def test_a_target_has_no_gradient_and_its_value_is_what_is_asked():
    assert "of=" not in page("cell=target[0]")["longhand"]["prove"]
