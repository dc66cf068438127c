"""How an expression reads on a page."""

from __future__ import annotations

import pytest

from app.page import source

LESSON = "accountable_network"


def words(parts: list[dict]) -> str:
    return "".join(str(part.get("text") or part.get("label") or part["number"]) for part in parts)


def lines(query: str) -> list[str]:
    written = source.page("lesson", LESSON, query, "http://127.0.0.1").data["longhand"]["value"]
    return [f"{line['words']} {words(line['symbols'])}".strip() for line in written["lines"]]


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("do:hidden.activation[1]=off&cell=hidden.activation[1]", ["held at 0.0, in place of h*₂", "computed h*₂"]),
        ("do:hidden.activation[1]=off&cell=hidden.activation[0]", []),
        (
            "frozen=hidden.weight[0,0]&cell=hidden.weight.updated[0,0]",
            ["frozen at W₁₁, in place of W₁₁ − η · ∂L/∂W₁₁", "computed W₁₁ − η · ∂L/∂W₁₁"],
        ),
    ],
)
def test_cell_that_was_decided_says_so_in_words(query: str, read: list[str]):
    assert lines(query) == read
