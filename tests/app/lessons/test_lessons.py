"""Lessons are found, named after their modules, have all their files, and their exercises are marked by the engine."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app import lessons
from app.exercise import check, exercises
from app.lessons import Lesson, catalogue, no_exercises, no_prose

if TYPE_CHECKING:
    from starlette.testclient import TestClient

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


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("slug", list(catalogue()))
def test_every_exercise_is_marked_by_what_the_engine_answers(slug: str, seed: int) -> None:
    found = exercises(slug, seed)
    assert len(found) >= 3
    for one in found:
        if one.kind != "thought":
            assert check(slug, one.n, one.answer if one.kind == "choice" else repr(one.answer), seed).status == "right"
        if one.kind == "number":
            wrong = one.answer + max(0.5, 2 * one.tolerance)
            assert check(slug, one.n, repr(wrong), seed).status == "wrong", one.title
            told_apart = itertools.combinations((one.answer, *(slip for slip, _ in one.slips)), 2)
            assert all(abs(a - b) > 2 * one.tolerance for a, b in told_apart), one.title


@pytest.mark.parametrize("slug", list(catalogue()))
def test_a_seed_has_its_own_exercises_numbered_from_1(slug: str) -> None:
    assert exercises(slug, 3) == exercises(slug, 3)
    assert len({tuple(one.prompt for one in exercises(slug, seed)) for seed in range(6)}) > 2
    assert [one.n for one in exercises(slug)] == list(range(1, len(exercises(slug)) + 1))


@pytest.mark.parametrize("slug", list(catalogue()))
def test_every_exercise_leads_to_the_run_it_is_about(client: TestClient, slug: str) -> None:
    for link in sorted({one.link for seed in range(2) for one in exercises(slug, seed)}):
        assert client.get(link, headers={"accept": "text/html"}).status_code == 200, link
