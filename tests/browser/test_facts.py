"""The worked values of the 2-3-1 network, read off its lesson by somebody who types and follows links.

The values stand in tests/facts.json. Numbers are read exactly, from the elements that show them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.reading import drawn, exact, passage, result, tensor

LESSON = "/lessons/accountable_network"
PARAMETERS = ("hidden.weight", "hidden.bias", "readout.weight", "readout.bias")


@pytest.fixture
def tiny(facts: dict[str, Any]) -> dict[str, Any]:
    """The worked values."""
    return facts["tiny_network"]


@pytest.fixture
def lesson(page: Page) -> Page:
    """The lesson as it comes."""
    page.goto(LESSON)
    return page


def close(value: Any) -> Any:
    """A worked value, or lists of them, to float32's precision."""
    return pytest.approx(flat(value), rel=1e-6, abs=1e-7)


def flat(value: Any) -> list[float]:
    if not isinstance(value, list):
        return [value]
    return [number for part in value for number in flat(part)]


def settled(page: Page) -> None:
    """The answer to the last change is on the page."""
    expect(page.locator("main[data-stale]")).to_have_count(0)


def write(page: Page, values: dict[str, float]) -> None:
    """Types into fields, one after the other."""
    for name, value in values.items():
        page.fill(f'#forms input:not([type=hidden])[name="{name}"]', f"{value:g}")
        settled(page)


def place(page: Page, x: Sequence[float], row: int | None = None) -> None:
    write(page, {f"x[{at}]" if row is None else f"x[{row},{at}]": value for at, value in enumerate(x)})


def switch(page: Page, unit: int, kind: str, number: float | None = None) -> None:
    """What becomes of a hidden unit's output: computed, off, set to, scale by, add."""
    page.select_option(f'select[name="do:hidden.activation[{unit}]"]', label=kind)
    settled(page)
    if number is not None:
        write(page, {f"by:hidden.activation[{unit}]": number})


def follow(link: Locator) -> None:
    link.click()
    settled(link.page)


def test_the_thirteen_parameters_stand_in_their_fields(lesson: Page, tiny: dict[str, Any]) -> None:
    for name, values in tiny["parameters"].items():
        fields = lesson.locator(f'#forms fieldset[data-tensor="{name}"] input')
        assert [float(value) for value in fields.evaluate_all("(all) => all.map((one) => one.value)")] == flat(values)
        expect(lesson.locator(f'#forms fieldset[data-tensor="{name}"] .symbol')).to_have_text(tiny["symbols"][name])
    for name, symbol in tiny["symbols"].items():
        expect(lesson.locator(f'#numbers table[data-tensor="{name}"] caption a')).to_have_text(symbol)
    counted = lesson.locator(".prose p", has_text="parameters in all")
    assert exact(counted)[-1] == tiny["parameter_count"] == sum(exact(counted)[:-1])
    lesson.goto("/")
    assert exact(lesson.locator(".hero .start")) == [tiny["parameter_count"]]


def test_each_input_goes_forward_as_worked(lesson: Page, tiny: dict[str, Any]) -> None:
    for worked in tiny["forward"]:
        place(lesson, worked["x"])
        assert drawn(lesson, "hidden.preactivation", 3) == worked["z"] == tensor(lesson, "hidden.preactivation")
        assert drawn(lesson, "hidden.activation", 3) == worked["h"] == tensor(lesson, "hidden.activation")
        assert result(lesson, "prediction") == [worked["prediction"]] == drawn(lesson, "prediction", 1)
        sums = passage(lesson, "Three weighted sums").locator("li .live")
        assert [exact(sums.nth(unit))[-1] for unit in range(3)] == worked["z"]


def test_three_examples_are_rows_of_one_product(lesson: Page, tiny: dict[str, Any]) -> None:
    batch = tiny["batch"]
    for _ in batch["X"][1:]:
        follow(lesson.get_by_role("button", name="Add an example"))
    for row, x in enumerate(batch["X"]):
        place(lesson, x, row)
    follow(lesson.locator('.views [data-view="matrices"]'))
    assert exact(lesson.locator('.matrices [data-tensor="x"] tbody')) == flat(batch["X"])
    assert exact(lesson.locator(".matrices .result tbody")) == flat(batch["Z"])
    rows = lesson.locator(".matrices .result tbody tr")
    assert [exact(rows.nth(row)) for row in range(3)] == batch["Z"]
    assert result(lesson, "prediction") == batch["prediction"]
    expect(lesson.locator('.matrices [data-tensor="x"] .ax').first).to_have_text("example 3")
    formula = passage(lesson, "Many examples, one product").locator("annotation")
    assert re.sub(r"\s|\\mathbf", "", formula.text_content() or "") == r"Z=XW^{\top}+{1}b^{\top}"


def test_switching_unit_two_off_raises_the_prediction(
    lesson: Page, tiny: dict[str, Any], expected_errors: list[str]
) -> None:
    expected_errors.append("status 422")  # between "set to" and the number
    off = tiny["interventions"][0]
    place(lesson, off["x"])
    switch(lesson, 1, "off")
    assert result(lesson, "prediction") == [off["prediction"]]
    assert drawn(lesson, "hidden.activation", 3)[1] == off["set h2"]
    switch(lesson, 1, "set to", 0)
    assert result(lesson, "prediction") == [off["prediction"]]
    switch(lesson, 1, "computed")
    assert result(lesson, "prediction") == [tiny["forward"][0]["prediction"]]
    follow(passage(lesson, "Switch a unit off").get_by_role("link", name="Show me"))
    assert result(lesson, "prediction") == [off["prediction"]]


def test_a_weight_of_101_does_nothing_here_and_much_there(lesson: Page, tiny: dict[str, Any]) -> None:
    here, there = tiny["interventions"][1:]
    write(lesson, {"readout.weight[0,2]": here["v3"]})
    place(lesson, here["x"])
    assert result(lesson, "prediction") == [here["prediction"]]
    expect(lesson.locator("#plane .effect")).to_contain_text("No effect here is not no effect.")
    place(lesson, there["x"])
    assert result(lesson, "prediction") == [there["prediction"]]
    links = passage(lesson, "No effect here is not no effect").get_by_role("link", name="Show me")
    follow(links.first)
    assert result(lesson, "prediction") == [here["prediction"]]
    follow(links.last)
    assert result(lesson, "prediction") == [there["prediction"]]


def test_without_relu_the_network_is_one_equation_derived_from_the_runs_numbers(
    lesson: Page, tiny: dict[str, Any]
) -> None:
    worked = tiny["without_relu"]
    first, sign, second, constant = re.fullmatch(
        r"([\d.]+) x1 ([+-]) ([\d.]*) ?x2 \+ ([\d.]+)", worked["equation"]
    ).groups()  # type: ignore[union-attr]
    equation = [float(first), float(f"{sign}{second or 1}"), float(constant)]
    lesson.get_by_label("none", exact=True).check()
    settled(lesson)
    place(lesson, worked["at"])
    assert result(lesson, "prediction") == [worked["prediction"]]
    said = passage(lesson, "Take the ReLU out")
    sentence = said.filter(has_text="so without its ReLU")
    assert exact(sentence) == [*equation, *worked["at"], worked["prediction"]]
    expect(sentence).to_contain_text("ŷ = 0.5 x₁ + (−1) x₂ + 0")
    derived = said.locator("li .live")
    assert [exact(derived.nth(line))[-1] for line in range(3)] == equation
    cells = derived.nth(0).locator("[data-cell]")
    names = cells.evaluate_all("(all) => all.map((one) => one.getAttribute('data-cell'))")
    assert names == [
        f"{name}" for unit in range(3) for name in (f"readout.weight[0,{unit}]", f"hidden.weight[{unit},0]")
    ]
    follow(cells.nth(1))
    expect(lesson.locator("#longhand .path")).to_have_text("hidden.weight[0,0]")


def test_the_loss_is_half_the_squared_distance(lesson: Page, tiny: dict[str, Any]) -> None:
    worked = tiny["loss"]
    place(lesson, worked["x"])
    write(lesson, {"target[0]": worked["target"]})
    assert result(lesson, "loss") == [worked["value"]]
    follow(lesson.locator('[data-result="loss"] .cell'))
    assert exact(lesson.locator("#longhand .sum .total")) == [worked["value"]]
    (prediction,) = result(lesson, "prediction")
    assert tensor(lesson, "squared_error") == [(prediction - worked["target"]) ** 2] == [2 * worked["value"]]


def test_every_gradient_is_as_worked(lesson: Page, tiny: dict[str, Any]) -> None:
    worked = tiny["gradients"]
    place(lesson, worked["x"])
    write(lesson, {"target[0]": worked["target"]})
    follow(lesson.locator('.views [data-view="matrices"]'))
    for name in ("prediction", *PARAMETERS):
        assert tensor(lesson, f"{name}.grad") == flat(worked[name])
    sent = {"∂L/∂h, ∂L/∂v, ∂L/∂c": PARAMETERS[2:], "∂L/∂x, ∂L/∂W, ∂L/∂b": PARAMETERS[:2]}
    for step, names in sent.items():
        follow(lesson.locator(".timeline [data-step]", has_text=step))
        for name in names:
            assert exact(lesson.locator(f'.matrices [data-tensor^="{name}.grad@"] tbody')) == flat(worked[name])


def test_a_gradient_is_the_sum_of_its_paths(lesson: Page, tiny: dict[str, Any]) -> None:
    for row, values in enumerate(tiny["gradients"]["hidden.weight"]):
        for column, value in enumerate(values):
            follow(lesson.locator(f'#scene [data-cell="hidden.weight[{row},{column}]"]:visible').first)
            paths = lesson.locator("#longhand .paths .product")
            assert sum(exact(paths.nth(at))[-1] for at in range(paths.count())) == value
            assert exact(lesson.locator("#longhand .chain > .total")) == [value]


def test_moving_one_weight_alone_lowers_the_loss(lesson: Page, tiny: dict[str, Any]) -> None:
    worked = tiny["update_v1_only"]
    lesson.locator(".cells-frozen > summary").click()
    for name in ("hidden.weight", "hidden.bias", "readout.bias", "readout.weight[0,1]", "readout.weight[0,2]"):
        lesson.check(f'#forms input[name="frozen"][value="{name}"]')
        settled(lesson)
    write(lesson, {"lr": worked["learning_rate"]})
    assert tensor(lesson, "readout.weight.updated")[0] == pytest.approx(worked["v1"])
    assert tensor(lesson, "readout.weight.updated")[1:] == flat(tiny["parameters"]["readout.weight"])[1:]
    assert result(lesson, "after_update") == close(worked["loss"])
    expect(lesson.locator("#results .rises")).to_have_count(0)
    # The prediction after it: the moved weight typed in.
    write(lesson, {"readout.weight[0,0]": worked["v1"]})
    assert result(lesson, "prediction") == close(worked["prediction"])
    assert result(lesson, "loss") == close(worked["loss"])


def test_moving_all_thirteen_overshoots(lesson: Page, tiny: dict[str, Any]) -> None:
    worked = tiny["update_all_13"]
    write(lesson, {"lr": worked["learning_rate"]})
    for name in PARAMETERS:
        assert tensor(lesson, f"{name}.updated") == close(worked[name])
    assert result(lesson, "after_update") == close(worked["loss"])
    lesson.locator("#results .rises").get_by_role("link", name="See it").click()
    warning = lesson.locator("#results .rises")
    expect(warning.locator("a")).to_have_count(0)
    assert exact(warning) == close([worked["learning_rate"], tiny["loss"]["value"], worked["loss"]])
    expect(warning).to_contain_text("raises the loss, from 1.125 to 7.9")
    said = passage(lesson, "One step downhill").filter(has_text="No gradient was wrong")
    assert exact(said) == close([tiny["forward"][0]["prediction"], worked["prediction"]])
    # What the page says comes after the step is so: the moved parameters typed in.
    write(lesson, {
        f"{name}[{','.join(map(str, index))}]": value for name in PARAMETERS for index, value in cells(worked[name])
    })  # fmt: skip
    assert result(lesson, "prediction") == pytest.approx([worked["prediction"]], abs=1e-6)
    assert result(lesson, "loss") == close(worked["loss"])


def cells(values: Any, index: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], float]]:
    """Each number of nested lists with its index."""
    if not isinstance(values, list):
        return [(index, values)]
    return [cell for at, part in enumerate(values) for cell in cells(part, (*index, at))]


def test_frozen_parameters_take_part_and_do_not_move(lesson: Page, tiny: dict[str, Any]) -> None:
    stored, updated = map(int, re.findall(r"\d+", tiny["frozen"]))
    for symbol in ("W", "b"):
        lesson.get_by_label(symbol, exact=True).check()
        settled(lesson)
    assert exact(lesson.locator("#forms .update .count")) == [stored, updated] == [13, 4]
    assert result(lesson, "prediction") == [tiny["forward"][0]["prediction"]]
    assert tensor(lesson, "hidden.weight.grad") == flat(tiny["gradients"]["hidden.weight"])
    moved = [
        name for name in PARAMETERS if tensor(lesson, f"{name}.updated") not in ([], flat(tiny["parameters"][name]))
    ]
    assert moved == ["readout.weight", "readout.bias"]
    said = passage(lesson, "Frozen is not absent")
    assert exact(said) == [stored, updated]


def test_the_loss_after_one_step_at_each_rate(lesson: Page, tiny: dict[str, Any]) -> None:
    worked = tiny["update_all_13_by_learning_rate"]
    rows = passage(lesson, "One step downhill").locator("tbody tr")
    assert [exact(rows.nth(at))[:2] for at in range(rows.count())] == [
        pytest.approx([one["learning_rate"], one["loss"]], rel=1e-6) for one in worked
    ]
    for one in worked:
        write(lesson, {"lr": one["learning_rate"]})
        assert result(lesson, "after_update") == close(one["loss"])
