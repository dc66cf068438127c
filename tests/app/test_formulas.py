"""Formulas are set at build time: pages have MathML with scripts off, and each keeps its LaTeX."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest

from app.formulas import formulas
from app.templating import TEMPLATES

LESSON = "/lessons/accountable_network"


def _built() -> dict[str, str]:
    return json.loads((TEMPLATES / "maths.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found() -> list[str]:
    return formulas()


def test_formulas_come_from_templates_and_from_runs(found: list[str]) -> None:
    assert r"h_i = \max(0, z_i)" in found
    assert "z = W x + b" in found
    assert r"Z = X W^{\top} + \mathbf{1} b^{\top}" in found
    assert r"W' = W - \eta \frac{\partial L}{\partial W}" in found
    assert found == sorted(set(found))


def test_every_formula_is_built(found: list[str]) -> None:
    assert sorted(_built()) == found, "run `make maths`"


def test_every_built_formula_keeps_its_latex_in_an_annotation() -> None:
    for tex, mathml in _built().items():
        assert mathml.startswith("<math")
        annotation = re.search(r'<annotation encoding="application/x-tex">(.*?)</annotation>', mathml, re.DOTALL)
        assert annotation is not None
        assert html.unescape(annotation[1]) == tex


@pytest.mark.parametrize("step", range(14))
@pytest.mark.parametrize("rows", [1, 3])
def test_no_formula_of_the_lesson_waits_for_a_script(client: Any, step: int, rows: int) -> None:
    page = client.get(f"{LESSON}?view=matrices&step={step}&rows={rows}").text
    assert "<math" in page
    assert "data-tex" not in page
