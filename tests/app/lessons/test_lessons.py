"""Lessons are found, named after their modules, and have all their files."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path

import pytest

from app import lessons
from app.lessons import Lesson, catalogue, no_exercises, no_prose

ROOT = Path(lessons.__file__).parents[2]


@pytest.fixture
def _fresh_catalogue():
    catalogue.cache_clear()
    yield
    catalogue.cache_clear()


@pytest.mark.parametrize("slug", list(catalogue()))
def test_lesson_has_its_module_template_and_script(slug: str) -> None:
    lesson = catalogue()[slug]
    assert importlib.import_module(f"app.lessons.{slug}").LESSON is lesson
    assert (ROOT / "templates" / "lessons" / f"{slug}.html").is_file()
    assert lesson.script is None or (ROOT / "static" / "lessons" / lesson.script).is_file()


def test_lessons_stand_in_the_order_of_the_course() -> None:
    orders = [lesson.order for lesson in catalogue().values()]
    assert orders == sorted(set(orders))


@pytest.mark.usefixtures("_fresh_catalogue")
def test_slug_other_than_the_module_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("app.lessons.accountable_network")
    monkeypatch.setattr(module, "LESSON", dataclasses.replace(module.LESSON, slug="another"))
    with pytest.raises(ValueError, match=r"expected the slug 'accountable_network' in .*; got 'another'"):
        catalogue()


def test_lesson_needs_neither_numbers_nor_exercises() -> None:
    lesson = Lesson(slug="s", title="t", part="p", order=9, summary="", model="tiny_network")
    assert (lesson.prose, lesson.exercises) == (no_prose, no_exercises)
    assert lesson.exercises(3) == ()
