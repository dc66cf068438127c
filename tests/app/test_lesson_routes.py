"""Lessons as data, and answers marked by the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from app.exercise import exercises
from app.lessons import catalogue

if TYPE_CHECKING:
    from starlette.testclient import TestClient

LESSONS = "/api/v1/lessons"
SLUGS = list(catalogue())


def test_the_course_lists_every_lesson_in_order(client: TestClient) -> None:
    found = client.get(LESSONS).json()["lessons"]
    assert [one["slug"] for one in found] == SLUGS
    assert [one["order"] for one in found] == sorted(one["order"] for one in found)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_lesson_gives_a_request_that_its_model_runs(client: TestClient, slug: str) -> None:
    lesson = client.get(f"{LESSONS}/{slug}").json()
    assert lesson["title"] == catalogue()[slug].title
    response = client.post(f"/api/v1/models/{lesson['model']}/trace", json=lesson["request"])
    assert response.status_code == 200


@pytest.mark.parametrize("slug", SLUGS)
def test_questions_come_without_their_answers_and_one_seed_gives_one_variant(client: TestClient, slug: str) -> None:
    first = client.get(f"{LESSONS}/{slug}/exercises", params={"seed": 3}).json()
    assert first == client.get(f"{LESSONS}/{slug}/exercises", params={"seed": 3}).json()
    assert first["seed"] == 3
    for one in first["exercises"]:
        assert "answer" not in one
        assert "explanation" not in one


@pytest.mark.parametrize("slug", SLUGS)
def test_the_right_answer_is_right_and_others_are_told_why(client: TestClient, slug: str) -> None:
    for exercise in exercises(slug, 3):
        check = f"{LESSONS}/{slug}/exercises/{exercise.n}/check"
        answer = exercise.answer if exercise.answer is not None else "because"
        verdict = client.post(check, json={"answer": str(answer), "seed": 3}).json()
        assert verdict["status"] == ("right" if exercise.answer is not None else "open")
        unread = client.post(check, json={"answer": "", "seed": 3}).json()
        assert unread["status"] == "unread"
        assert "expected" in unread["message"]


@pytest.mark.parametrize("slug", SLUGS)
def test_an_exercise_that_is_not_there_is_404(client: TestClient, slug: str) -> None:
    response = client.post(f"{LESSONS}/{slug}/exercises/999/check", json={"answer": "1"})
    assert response.status_code == 404
    assert "; got '999'" in response.json()["detail"]


def test_an_unknown_lesson_is_404_and_says_which_there_are(client: TestClient) -> None:
    for path in ("none", "none/exercises"):
        response = client.get(f"{LESSONS}/{path}")
        assert response.status_code == 404
        assert response.json()["detail"].startswith("lesson must be one of " if SLUGS else "lesson must exist")


@pytest.mark.parametrize("seed", ["-1", str(2**31), "x", "1.5"])
def test_a_seed_out_of_range_is_422(client: TestClient, seed: str) -> None:
    slug = SLUGS[0] if SLUGS else "none"
    assert client.get(f"{LESSONS}/{slug}/exercises", params={"seed": seed}).status_code == 422
