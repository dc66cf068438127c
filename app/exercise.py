"""Exercises and their marking: a number within a stated tolerance, a choice, or a thought with a worked answer.

The right answers are computed elsewhere by running a model; nothing here knows one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from app import lessons
from app.numbers import text as written

MAX_ANSWER_LENGTH = 2000
MAX_NUMBER_LENGTH = 40
MAX_SEED = 2**31 - 1

Kind = Literal["number", "choice", "thought"]
Status = Literal["right", "wrong", "unread", "open"]


@dataclass(frozen=True)
class Choice:
    """One answer to choose: its key (a, b, ...), its words, and what is said to who chooses it."""

    key: str
    text: str
    reply: str


@dataclass(frozen=True)
class Exercise:
    """One question.

    kind:        number (marked within `tolerance` of `answer`), choice (marked against the key in `answer`) or thought
                 (not marked: the worked answer is shown once something is written).
    prompt:      the question in plain text.
    explanation: the worked answer in plain text; comes with every verdict on a readable answer.
    link, link_text: the state of the lesson's page that shows why, and the words of the link to it.
    hint:        what helps on after a wrong answer, without giving the right one.
    slips:       wrong answers with a known cause -> what is said about them instead.
    values:      every number that the question and its answer show, exact.
    """

    n: int
    kind: Kind
    title: str
    prompt: str
    answer: float | str | None
    explanation: str
    link: str
    link_text: str
    hint: str = ""
    tolerance: float = 0.001
    choices: tuple[Choice, ...] = ()
    slips: tuple[tuple[float, str], ...] = ()
    values: tuple[float, ...] = ()

    @property
    def expects(self) -> str:
        """What an answer must look like, for the reader."""
        if self.kind == "number":
            return f"a number such as 2, −1.5 or 9/2; within {written(self.tolerance)} is right"
        if self.kind == "choice":
            return "one of " + ", ".join(choice.key for choice in self.choices)
        return "a sentence or two in your own words; it is not marked"

    def data(self) -> dict[str, Any]:
        """The question as plain JSON data, without its answer."""
        return {
            "n": self.n,
            "kind": self.kind,
            "title": self.title,
            "prompt": self.prompt,
            "expects": self.expects,
            "tolerance": self.tolerance if self.kind == "number" else None,
            "choices": [{"key": choice.key, "text": choice.text} for choice in self.choices],
            "answer_field": f"a{self.n}",
        }


@dataclass(frozen=True)
class Verdict:
    """What the marking says.

    status:  right, wrong, unread (the answer could not be read), or open (a thought: nothing to mark).
    message: one or two sentences; for an unreadable answer, what was expected and what was got.
    hint:    after a wrong number, what helps on; it and the message keep the right answer to themselves.
    answer:  what the engine got (number or key); None while the answer is unreadable, and for thoughts.
    """

    n: int
    status: Status
    message: str
    given: str
    hint: str = ""
    answer: float | str | None = None
    explanation: str = ""
    link: str = ""
    link_text: str = ""
    values: tuple[float, ...] = ()

    def data(self) -> dict[str, Any]:
        """The verdict as plain JSON data."""
        return {
            "n": self.n,
            "status": self.status,
            "message": self.message,
            "given": self.given,
            "hint": self.hint,
            "answer": self.answer,
            "explanation": self.explanation,
            "link": self.link,
            "link_text": self.link_text,
            "values": list(self.values),
        }


def exercises(slug: str, seed: int = 0) -> tuple[Exercise, ...]:
    """A lesson's exercises in the seed's variant. Raises ValueError for an unknown lesson or a bad seed."""
    lesson = lessons.catalogue().get(slug)
    if lesson is None:
        raise ValueError(f"expected a lesson, one of {', '.join(lessons.catalogue())}; got {shorten(slug)!r}")
    if not 0 <= seed <= MAX_SEED:
        raise ValueError(f"expected a seed from 0 to {MAX_SEED}; got {seed}")
    return lesson.exercises(seed)


def check(slug: str, n: int, answer: str, seed: int = 0) -> Verdict:
    """The verdict on an answer to exercise n of a lesson. Raises ValueError where there is no such exercise."""
    found = exercises(slug, seed)
    if not 1 <= n <= len(found):
        raise ValueError(f"expected an exercise from 1 to {len(found)}; got {n}")
    return mark(found[n - 1], answer)


def mark(exercise: Exercise, answer: str) -> Verdict:
    """The verdict on what a reader typed or chose; never raises on any text."""
    given = answer.strip()
    if len(given) > MAX_ANSWER_LENGTH:
        return _unread(exercise, shorten(given), f"expected at most {MAX_ANSWER_LENGTH} characters; got {len(given)}")
    return _MARKERS[exercise.kind](exercise, given)


def read_number(text: str) -> Fraction:
    """A number as people type it: 4.5, 4,5, 9/2, −3, +1, 1e-3; an equals sign in front is forgiven.

    A single comma is a decimal comma: 1,125 is one and an eighth. Raises ValueError that says expected and got.
    """
    plain = re.sub(r"\s+", "", text).translate(_VARIANTS).removeprefix("=")
    shown = shorten(text)
    if not plain:
        raise ValueError("expected a number; got nothing")
    if len(plain) > MAX_NUMBER_LENGTH:
        raise ValueError(f"expected a number of at most {MAX_NUMBER_LENGTH} characters; got {shown!r}")
    match = _NUMBER.fullmatch(plain)
    if match is None:
        raise ValueError(f"expected a number such as 2, −1.5 or 9/2; got {shown!r}")
    top, bottom = (Fraction(part.replace(",", ".")) for part in (match["top"], match["bottom"] or "1"))
    if bottom == 0:
        raise ValueError(f"expected a fraction with a bottom other than 0; got {shown!r}")
    return top / bottom


_MINUSES = "\u2212\u2010\u2011\u2012\u2013\u2014\ufe63\uff0d"
_SLASHES = "\u2044\u2215\u00f7"
_VARIANTS = str.maketrans(dict.fromkeys(_MINUSES, "-") | dict.fromkeys(_SLASHES, "/"))
_DECIMAL = r"(?:\d+[.,]?\d*|[.,]\d+)"
_NUMBER = re.compile(
    rf"(?P<top>[+-]?{_DECIMAL}(?:e[+-]?\d{{1,2}})?)(?:/(?P<bottom>[+-]?{_DECIMAL}))?", re.ASCII | re.IGNORECASE
)


def _mark_number(exercise: Exercise, given: str) -> Verdict:
    try:
        value = read_number(given)
    except ValueError as error:
        return _unread(exercise, given, str(error))
    answer = float(exercise.answer)  # type: ignore[arg-type]
    if abs(value - Fraction(answer)) <= Fraction(exercise.tolerance):
        return _readable(exercise, given, "right", f"Right: the engine gets {written(answer)}.")
    slips = (words for wrong, words in exercise.slips if abs(value - Fraction(wrong)) <= exercise.tolerance)
    return _readable(exercise, given, "wrong", f"Not {shorten(given)}.", next(slips, exercise.hint))


def _mark_choice(exercise: Exercise, given: str) -> Verdict:
    chosen = next((choice for choice in exercise.choices if choice.key == given.casefold()), None)
    if chosen is None:
        return _unread(exercise, given, f"expected {exercise.expects}; got {shorten(given)!r}")
    if chosen.key == exercise.answer:
        return _readable(exercise, given, "right", f"Right. {chosen.reply}")
    return _readable(exercise, given, "wrong", f"Not quite. {chosen.reply}")


def _read_thought(exercise: Exercise, given: str) -> Verdict:
    if not given:
        return _unread(exercise, given, f"expected {exercise.expects}; got nothing")
    return _readable(exercise, given, "open", "Compare your answer with the one worked out below.")


def _readable(exercise: Exercise, given: str, status: Status, message: str, hint: str = "") -> Verdict:
    return Verdict(
        n=exercise.n,
        status=status,
        message=message,
        given=given,
        hint=hint,
        answer=exercise.answer,
        explanation=exercise.explanation,
        link=exercise.link,
        link_text=exercise.link_text,
        values=exercise.values,
    )


def _unread(exercise: Exercise, given: str, problem: str) -> Verdict:
    return Verdict(exercise.n, "unread", f"This answer can't be read: {problem}.", given)


def shorten(text: str) -> str:
    """A reader's own text, cut to what fits in a sentence."""
    return text if len(text) <= MAX_NUMBER_LENGTH else text[:MAX_NUMBER_LENGTH] + "…"


_MARKERS: Mapping[Kind, Callable[[Exercise, str], Verdict]] = {
    "number": _mark_number,
    "choice": _mark_choice,
    "thought": _read_thought,
}
