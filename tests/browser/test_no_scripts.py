"""With scripts off everything of the lesson is there: each change is a form that submits or a link that leads on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Locator, Page, expect

from app.exercise import exercises
from tests.browser.reading import drawn, exact, passage, result, tensor

LESSON = "/lessons/accountable_network"
LONGHAND = "#longhand-title"


@pytest.fixture
def lesson(no_script_page: Page) -> Page:
    """The lesson as it comes, scripts off."""
    no_script_page.goto(LESSON)
    return no_script_page


def run(page: Page) -> None:
    """Sends the stage's form by its visible button."""
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_load_state("domcontentloaded")


def edit(page: Page, name: str, value: str) -> None:
    page.fill(f'#forms input:not([type=hidden])[name="{name}"]', value)
    run(page)


def answer(exercise: Locator, text: str) -> None:
    """Answers one exercise and has it checked."""
    exercise.locator("input[type=text], textarea").fill(text)
    exercise.get_by_role("button", name="Check").click()


def switch(page: Page, unit: int, kind: str, number: str = "") -> None:
    page.select_option(f'select[name="do:hidden.activation[{unit}]"]', label=kind)
    if number:
        page.fill(f'#forms input:not([type=hidden])[name="by:hidden.activation[{unit}]"]', number)
    run(page)


def edits(page: Page) -> list[str]:
    """What the page says was changed."""
    page.wait_for_load_state("domcontentloaded")
    return [text.replace("\u00a0", " ").strip() for text in page.locator("#compare li code").all_inner_texts()]


def test_the_timeline_is_walked_by_its_links_in_every_view(lesson: Page) -> None:
    count = lesson.locator("[data-step]:not(#scene *)").count()
    for step in range(1, count):
        lesson.locator('.transport [data-action="forward"]').click()
        expect(lesson.locator("[aria-current=step][data-step]:not(#scene *)")).to_have_attribute("data-step", str(step))
    assert lesson.locator('.transport [data-action="forward"][href]').count() == 0
    lesson.locator('.transport [data-action="start"]').click()
    lesson.locator('.transport [data-action="end"]').click()
    lesson.locator('.transport [data-action="back"]').click()
    assert f"step={count - 2}" in lesson.url
    lesson.locator('.timeline [data-step="8"]').click()
    for view, shown in (("graph", "#scene svg"), ("matrices", "#scene table"), ("network", "#scene svg")):
        lesson.locator(f'.views [data-view="{view}"]').click()
        expect(lesson.locator(f'#scene[data-view="{view}"]')).to_be_visible()
        assert lesson.locator(f"{shown}:visible").count() > 0
        assert "step=8" in lesson.url


def test_a_cell_opens_its_leaves_lead_on_and_it_is_proved(lesson: Page) -> None:
    lesson.locator('#scene [data-cell="hidden.preactivation[1]"]:visible').first.click()
    expect(lesson.locator(LONGHAND)).to_have_text("z₂")
    assert exact(lesson.locator("#longhand .sum").first.locator(".total")) == [1]
    lesson.locator("#longhand").get_by_role("link", name="Prove it").click()
    expect(lesson.locator("#longhand .proof.ok")).to_contain_text("z₂ recomputed in float64, difference 0")
    lesson.locator("#longhand").get_by_role("link", name="Close the proof").click()
    lesson.locator("#longhand .sum a", has_text="W₂₁").first.click()
    expect(lesson.locator(LONGHAND)).to_have_text("W₂₁")
    assert exact(lesson.locator("#longhand .chain > .total")) == [-3]
    lesson.locator("#longhand .chain > .total .cell").click()
    expect(lesson.locator(LONGHAND)).to_have_text("∂L/∂W₂₁")
    lesson.locator("#longhand").get_by_role("link", name="Prove it").click()
    proof = lesson.locator("#longhand .proof.ok")
    expect(proof).to_contain_text("finite difference")
    assert exact(proof.locator("dt:has-text('captured') + dd")) == [-3]
    assert exact(proof.locator("dt:has-text('finite difference') + dd"))[0] == pytest.approx(-3, rel=1e-6)


def test_each_kind_of_number_is_edited_compared_and_undone(lesson: Page) -> None:
    for field, value, said, prediction in (
        ("x[0]", "3", "x₁ 2 → 3", 7),
        ("hidden.weight[1,0]", "0.25", "W₂₁ 0.5 → 0.25", 6),
        ("hidden.bias[1]", "2", "b₂ 1 → 2", 4.5),
        ("readout.weight[0,0]", "1/2", "v₁ 2 → 0.5", 1),
        ("readout.bias[0]", "-1,5", "c 0.5 → −1.5", 3.5),
        ("target[0]", "5", "t 4 → 5", 5.5),
        ("lr", "0.02", "learning rate 0.1 → 0.02", 5.5),
    ):
        edit(lesson, field, value)
        assert edits(lesson) == [said]
        assert result(lesson, "prediction") == [prediction]
        lesson.locator("#compare .differences > summary").click()
        rows = exact(lesson.locator("#compare .differences tbody"))
        assert len(rows) >= 3
        for before, after, change in zip(rows[::3], rows[1::3], rows[2::3], strict=True):
            assert after - before == pytest.approx(change, rel=1e-6, abs=1e-6)
        lesson.locator("#compare [data-action=undo]").click()
        assert edits(lesson) == []
        assert "?" not in lesson.url


def test_a_unit_is_switched_off_set_scaled_and_added_to(lesson: Page) -> None:
    for kind, number, said, sent in (
        ("off", "", "h₂ ← 0", 0),
        ("set to", "4", "h₂ ← 4", 4),
        ("scale by", "0.5", "h₂ × 0.5", 0.5),
        ("add", "2", "h₂ + 2", 3),
    ):
        switch(lesson, 1, kind, number)
        assert edits(lesson) == [said]
        assert drawn(lesson, "hidden.activation", 3)[1] == sent
        assert result(lesson, "prediction") == [6.5 - sent]
        expect(lesson.locator("#compare .first")).to_contain_text("First")


def test_several_changes_are_undone_one_by_one_and_reset_at_once(lesson: Page) -> None:
    edit(lesson, "x[1]", "1")
    switch(lesson, 0, "off")
    lesson.get_by_label("none", exact=True).check()
    run(lesson)
    assert len(edits(lesson)) == 3
    lesson.get_by_role("link", name="Undo x₂").click()
    assert len(edits(lesson)) == 2 and not any("x₂" in one for one in edits(lesson))
    lesson.locator("#compare").get_by_role("link", name="Reset all").click()
    assert edits(lesson) == []
    assert result(lesson, "prediction") == [5.5]


def test_examples_are_added_drawn_and_removed(lesson: Page) -> None:
    lesson.get_by_role("button", name="Add an example").click()
    lesson.get_by_role("button", name="Add an example").click()
    assert len(result(lesson, "prediction")) == 3
    edit(lesson, "x[2,1]", "2")
    lesson.locator(".rows-pick").get_by_role("link", name="3", exact=True).click()
    assert "example=2" in lesson.url
    lesson.get_by_role("button", name="Remove the last").click()
    assert len(result(lesson, "prediction")) == 2


def test_activation_and_freezing_are_set_by_radio_and_box(lesson: Page) -> None:
    lesson.get_by_label("none", exact=True).check()
    run(lesson)
    assert result(lesson, "prediction") == [2]
    lesson.get_by_label("W", exact=True).check()
    lesson.locator(".cells-frozen > summary").click()
    lesson.get_by_label("b₁", exact=True).check()
    run(lesson)
    assert exact(lesson.locator("#forms .count")) == [13, 6]
    assert tensor(lesson, "hidden.bias.updated")[0] == 0
    lesson.get_by_label("W", exact=True).uncheck()
    run(lesson)
    assert exact(lesson.locator("#forms .count")) == [13, 12]


def test_a_field_that_cannot_be_read_says_so_and_keeps_its_text(lesson: Page, expected_errors: list[str]) -> None:
    expected_errors.append("status 422")
    edit(lesson, "hidden.weight[1,0]", "half")
    field = lesson.locator('#forms input:not([type=hidden])[name="hidden.weight[1,0]"]')
    assert field.input_value() == "half"
    expect(field).to_have_accessible_description("W₂₁ must be a number; got “half”. Using 0.5.")
    assert result(lesson, "prediction") == [5.5]
    edit(lesson, "hidden.weight[1,0]", "0.25")
    expect(lesson.locator("main[data-errors], #forms .error, .notice.error")).to_have_count(0)


def test_the_check_marks_wrong_right_and_unreadable_answers(lesson: Page) -> None:
    numeric = lesson.locator("#check .exercise:has(input[type=text])")
    assert numeric.count() >= 4
    for at in range(numeric.count()):
        answer(numeric.nth(at), "123456")
        worked = numeric.nth(at).locator("details.explanation")
        expect(numeric.nth(at).locator(".hint")).to_have_count(1)
        expect(worked.locator("p").first).to_be_hidden()
        worked.locator("summary").click()
        expect(worked.locator("p").first).to_be_visible()
        asked = int(numeric.nth(at).get_attribute("data-exercise") or 0)
        answer(numeric.nth(at), str(exercises("accountable_network", 0)[asked - 1].answer))
    thought = lesson.locator("#check .exercise:has(textarea)")
    answer(thought, "It speaks of this input only.")
    choice = lesson.locator("#check .exercise:has(input[type=radio])").first
    choices = choice.locator("input[type=radio]")
    expect(lesson.locator("#check .exercise.right:has(input[type=text])")).to_have_count(numeric.count())
    expect(lesson.locator("#check .exercise.open .explanation")).to_have_count(1)
    for at in range(choices.count()):
        choices.nth(at).check()
        sent = f"{choices.nth(at).get_attribute('name')}={choices.nth(at).get_attribute('value')}"
        choice.get_by_role("button", name="Check").click()
        lesson.wait_for_url(re.compile(rf"[?&]{sent}(&|#|$)"))
        if lesson.locator("#check .exercise.right:has(input[type=radio])").count():
            break
    expect(lesson.locator("#check .exercise.right:has(input[type=radio])")).to_have_count(1)
    answer(numeric.first, "about four")
    expect(numeric.first.locator(".verdict.unread")).to_contain_text("expected a number such as 2, −1.5 or 9/2; got")
    assert numeric.first.locator("input[type=text]").input_value() == "about four"
    lesson.locator("#check").get_by_role("link", name="Other numbers").click()
    assert "seed=1" in lesson.url
    expect(lesson.locator("#check .verdict")).to_have_count(0)


def test_predict_first_hides_asks_and_says(lesson: Page) -> None:
    follow = passage(lesson, "Switch a unit off").get_by_role("link", name="Let me predict it")
    follow.click()
    expect(lesson.locator("#stage[data-predict=asking]")).to_have_count(1)
    assert result(lesson, "prediction") == []
    lesson.locator(".predict input[name=guess]").fill("4.5")
    lesson.locator(".predict").get_by_role("button", name="Check").click()
    verdict = lesson.locator("#results .verdict")
    assert exact(verdict) == [4.5, 6.5]
    verdict.get_by_role("link", name="Ask again").click()
    lesson.locator(".predict input[name=guess]").fill("13/2")
    lesson.locator(".predict").get_by_role("button", name="Check").click()
    expect(lesson.locator("#results .verdict.right")).to_have_count(1)
    lesson.locator('.tools [data-action="predict"]').click()
    assert "predict" not in lesson.url
    assert result(lesson, "prediction") == [6.5]


def test_a_run_is_taken_away_as_a_link_as_requests_and_as_a_file_that_opens_again(
    lesson: Page, server: str, tmp_path: Path
) -> None:
    switch(lesson, 1, "off")
    link = lesson.locator('[data-action="copy-link"]').get_attribute("href")
    assert unquote(link or "") == f"{LESSON}?do:hidden.activation[1]=off"
    recipe = lesson.locator('[data-recipe="json"]')
    recipe.locator("summary").click()
    request = json.loads(recipe.locator("code").inner_text())
    answer = lesson.request.post(f"{server}/api/v1/models/tiny_network/trace", data=request)
    assert answer.json()["result"]["prediction"] == 6.5
    with lesson.expect_download() as download:
        lesson.locator('[data-action="file"]').click()
    file = tmp_path / "run.safetensors"
    download.value.save_as(file)
    lesson.goto("/open")
    lesson.set_input_files("input[type=file]", file)
    lesson.get_by_role("button", name="Open", exact=True).click()
    assert "/traces/" in lesson.url
    assert result(lesson, "prediction") == [6.5]
    assert drawn(lesson, "hidden.activation", 3) == [3, 0, 0]
    lesson.locator('#scene [data-cell="prediction[0]"]:visible').first.click()
    expect(lesson.locator(LONGHAND)).to_have_text("ŷ")
