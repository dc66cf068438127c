"""Marking: what counts as right, what can't be read, and what is said."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import exercise, lessons
from app.exercise import MAX_SEED, Choice, Exercise, check, exercises, mark, read_number

NUMBER = Exercise(
    n=1,
    kind="number",
    title="A number",
    prompt="What is nine halves?",
    answer=4.5,
    explanation="Nine divided by two.",
    link="/lessons/x?cell=prediction",
    link_text="the cell",
    hint="Divide.",
    slips=((-4.5, "The sign is lost."),),
    values=(4.5,),
)
CHOICE = Exercise(
    n=2,
    kind="choice",
    title="A choice",
    prompt="Why?",
    answer="b",
    explanation="Because.",
    link="",
    link_text="",
    choices=(Choice("a", "No.", "It is not that."), Choice("b", "Yes.", "It is that.")),
)
THOUGHT = Exercise(
    n=3, kind="thought", title="A thought", prompt="And?", answer=None, explanation="Worked.", link="", link_text=""
)


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("9/2", Fraction(9, 2)),
        ("4.5", Fraction(9, 2)),
        ("4,5", Fraction(9, 2)),
        ("1,125", Fraction(9, 8)),
        ("−4.5", Fraction(-9, 2)),
        ("–9/2", Fraction(-9, 2)),
        ("- 9 / 2", Fraction(-9, 2)),
        ("−9⁄−2", Fraction(9, 2)),
        ("= 3", Fraction(3)),
        ("+.5", Fraction(1, 2)),
        ("1e-3", Fraction(1, 1000)),
        ("1E−3", Fraction(1, 1000)),
    ],
)
def test_numbers_are_read_as_people_type_them(typed: str, value: Fraction) -> None:
    assert read_number(typed) == value


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("", "expected a number; got nothing"),
        ("four", "expected a number such as 2, −1.5 or 9/2; got 'four'"),
        ("1,000.5", "expected a number such as 2, −1.5 or 9/2; got '1,000.5'"),
        ("nan", "expected a number such as 2, −1.5 or 9/2; got 'nan'"),
        ("1e999999999", "expected a number such as 2, −1.5 or 9/2; got '1e999999999'"),
        ("1/0", "expected a fraction with a bottom other than 0; got '1/0'"),
        ("1" * 50, "expected a number of at most 40 characters; got '" + "1" * 40 + "…'"),
    ],
)
def test_what_is_no_number_says_expected_and_got(typed: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        read_number(typed)
    assert str(caught.value) == message


@pytest.mark.parametrize("typed", ["4.5", "9/2", "4.501", "4.499"])
def test_answer_within_the_tolerance_is_right(typed: str) -> None:
    verdict = mark(NUMBER, typed)
    assert (verdict.status, verdict.answer, verdict.message) == ("right", 4.5, "Right: the engine gets 4.5.")


@pytest.mark.parametrize("typed", ["4.4989", "4.5011", "45"])
def test_answer_outside_the_tolerance_is_wrong_and_links_to_the_cell(typed: str) -> None:
    verdict = mark(NUMBER, typed)
    assert verdict.status == "wrong"
    assert (verdict.message, verdict.hint) == (f"Not {typed}.", "Divide.")
    assert verdict.link == "/lessons/x?cell=prediction"
    assert verdict.explanation == "Nine divided by two."


def test_known_slip_is_named_instead_of_the_hint() -> None:
    verdict = mark(NUMBER, "−9/2")
    assert (verdict.message, verdict.hint) == ("Not −9/2.", "The sign is lost.")


def test_right_answer_needs_no_hint() -> None:
    assert mark(NUMBER, "4.5").hint == ""


def test_unreadable_answer_keeps_the_answer_to_itself() -> None:
    verdict = mark(NUMBER, "four and a half")
    assert (verdict.status, verdict.answer, verdict.explanation, verdict.values) == ("unread", None, "", ())
    assert verdict.message == (
        "This answer can't be read: expected a number such as 2, −1.5 or 9/2; got 'four and a half'."
    )


def test_choice_is_marked_and_every_choice_has_a_reply() -> None:
    assert mark(CHOICE, "b").message == "Right. It is that."
    assert mark(CHOICE, " A ").message == "Not quite. It is not that."
    assert mark(CHOICE, "c").message == "This answer can't be read: expected one of a, b; got 'c'."


def test_thought_is_not_marked_and_shows_the_worked_answer() -> None:
    verdict = mark(THOUGHT, "It depends.")
    assert (verdict.status, verdict.explanation) == ("open", "Worked.")
    assert mark(THOUGHT, "  ").status == "unread"


def test_overlong_answer_is_refused() -> None:
    verdict = mark(THOUGHT, "a" * 2001)
    assert verdict.status == "unread"
    assert verdict.message == "This answer can't be read: expected at most 2000 characters; got 2001."


@given(st.text(max_size=60))
def test_no_text_breaks_the_marking(typed: str) -> None:
    for question in (NUMBER, CHOICE, THOUGHT):
        assert mark(question, typed).status in ("right", "wrong", "unread", "open")


@given(st.fractions(min_value=-1000, max_value=1000, max_denominator=1000))
def test_a_fraction_reads_back_as_itself(value: Fraction) -> None:
    assert read_number(f"{value.numerator}/{value.denominator}") == value


def test_question_does_not_give_its_answer_away() -> None:
    assert "4.5" not in str(NUMBER.data())
    assert NUMBER.data()["expects"] == "a number such as 2, −1.5 or 9/2; within 0.001 is right"


def test_unknown_lesson_exercise_and_seed_say_expected_and_got() -> None:
    with pytest.raises(ValueError, match=r"expected a lesson, one of .*; got 'nowhere'"):
        exercises("nowhere")
    slug = next(iter(lessons.catalogue()))
    with pytest.raises(ValueError, match="expected an exercise from 1 to 6; got 7"):
        check(slug, 7, "1")
    with pytest.raises(ValueError, match=f"expected a seed from 0 to {MAX_SEED}; got -1"):
        exercise.exercises(slug, -1)
