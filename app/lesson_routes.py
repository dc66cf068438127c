"""Lessons as data: the course, one lesson, its exercises, and the marking of an answer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from app import answer_schemas as answers
from app import responses
from app.errors import missing
from app.exercise import MAX_SEED, Exercise, exercises, mark
from app.lessons import Lesson, catalogue
from app.limits import StrictRoute
from app.schemas import CheckRequest, Name
from app.services import Services, Shared, run
from app.wire import API, dumps

router = APIRouter(prefix=API, tags=["lessons"], route_class=StrictRoute)

Slug = Annotated[Name, Path(description="A lesson's name in its address.", examples=["accountable_network"])]
Seed = Annotated[int, Query(ge=0, le=MAX_SEED, description="The variant of the exercises.", examples=[0])]
Number = Annotated[int, Path(ge=1, le=1000, description="An exercise's number, from 1.", examples=[1])]


@router.get("/lessons", operation_id="list_lessons", summary="The course", responses=responses.json(answers.Lessons))
async def list_lessons() -> Response:
    """Every lesson, in the order of the course."""
    lessons = [_summary(lesson) for lesson in catalogue().values()]
    return Response(dumps({"lessons": lessons}), media_type="application/json")


@router.get(
    "/lessons/{slug}",
    operation_id="get_lesson",
    summary="One lesson",
    responses=responses.json(answers.LessonDescription),
)
async def get_lesson(slug: Slug) -> Response:
    """One lesson with its default request. The page's own data, for any state of it, is at /lessons/{slug}.json."""
    lesson = _find(slug)
    data = {**_summary(lesson), "request": dict(lesson.request), "examples": [dict(one) for one in lesson.examples]}
    return Response(dumps(data), media_type="application/json")


@router.get(
    "/lessons/{slug}/exercises",
    operation_id="list_exercises",
    summary="A lesson's exercises",
    responses=responses.json(answers.Exercises),
)
async def list_exercises(slug: Slug, services: Shared, seed: Seed = 0) -> Response:
    """The questions of one variant, without their answers. The same seed gives the same questions."""
    found = await _exercises(services, slug, seed)
    data = {"seed": seed, "exercises": [exercise.data() for exercise in found]}
    return Response(dumps(data), media_type="application/json")


@router.post(
    "/lessons/{slug}/exercises/{n}/check",
    operation_id="check_exercise",
    summary="Mark an answer",
    responses=responses.json(answers.VerdictAnswer),
)
async def check_exercise(slug: Slug, n: Number, services: Shared, body: CheckRequest) -> Response:
    """Marks an answer against what the engine computes, and says why."""
    found = await _exercises(services, slug, body.seed)
    if n > len(found):
        raise missing("exercise", str(n), [str(exercise.n) for exercise in found])
    verdict = await run(services, lambda _: dumps(mark(found[n - 1], body.answer).data()))
    return Response(verdict, media_type="application/json")


def _find(slug: str) -> Lesson:
    lesson = catalogue().get(slug)
    if lesson is None:
        raise missing("lesson", slug, catalogue())
    return lesson


async def _exercises(services: Services, slug: str, seed: int) -> tuple[Exercise, ...]:
    _find(slug)
    return await run(services, lambda _: exercises(slug, seed))


def _summary(lesson: Lesson) -> dict[str, Any]:
    own = f"{API}/lessons/{lesson.slug}"
    return {
        "slug": lesson.slug,
        "title": lesson.title,
        "part": lesson.part,
        "order": lesson.order,
        "summary": lesson.summary,
        "model": lesson.model,
        "links": {"self": own, "exercises": f"{own}/exercises", "page": f"/lessons/{lesson.slug}"},
    }
