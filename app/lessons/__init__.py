"""What a lesson is, and how lessons are found: every module of this package that holds a LESSON is one.

A lesson's slug is its module's name, its template (templates/lessons/<slug>.html), its script, where it has one
(static/lessons/<slug>.js), and its address (/lessons/<slug>).
"""

from __future__ import annotations

import functools
import importlib
import itertools
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from app.fields import Setting as Setting

if TYPE_CHECKING:
    from app.exercise import Exercise
    from engine.trace import Trace


def no_prose(trace: Trace, baseline: Trace) -> Mapping[str, Any]:  # noqa: ARG001
    """For a lesson whose text shows no numbers."""
    return {}


def no_exercises(seed: int) -> tuple[Exercise, ...]:  # noqa: ARG001
    """For a lesson without a check."""
    return ()


def no_lab(values: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG001
    """For a lesson whose settings, if it has any, are its training's."""
    return {}


def always(run: Mapping[str, Any]) -> bool:  # noqa: ARG001
    """For a training whose every run is the stage's model."""
    return True


def nothing_more(
    run: Mapping[str, Any],  # noqa: ARG001
    points: Sequence[Mapping[str, Any]],  # noqa: ARG001
    parameters: Mapping[str, Any],  # noqa: ARG001
) -> Mapping[str, Any]:
    """For a training that shows its curves and no more."""
    return {}


@dataclass(frozen=True)
class Training:
    """What a lesson lets its reader train, in the panel of its page (templates/stage/training.html).

    model:    a name in engine.models.catalogue().
    settings: what is chosen before a run; they stand in the page's address beside the lesson's own.
    body:     values of all the page's settings, by name -> the body of POST /api/v1/models/{model}/train: steps,
              recipe, update, inputs, edits, options, seed.
    show:     (run, points, parameters) -> plain JSON data for templates/lessons/<slug>_training.html, where there is
              one: `page.training.shown`. run: its record; points: its curve as the panel draws it; parameters: arrays
              by name as of step run["checkpoint"], at most a second old, none before the first.
    on_stage: run, its record -> whether the page's stage can show its parameters, where their shapes are the stage's.
    """

    model: str
    settings: tuple[Setting, ...]
    body: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    show: Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]], Mapping[str, Any]], Mapping[str, Any]] = (
        nothing_more
    )
    on_stage: Callable[[Mapping[str, Any]], bool] = always


@dataclass(frozen=True)
class Lesson:
    """One lesson: its place in the course, the model it runs, the numbers of its text and its exercises.

    title, part, order: the heading; the part of the course; the place within the course, from 1.
    summary:   one or two sentences for lists.
    model:     a name in engine.models.catalogue().
    request:   the lesson's default request in the API's form, over the model's defaults; it is the baseline.
    examples:  further default rows, each {"x": [...], "target": number}, taken in order as the reader adds rows.
    script:    the name of a script of its own in static/lessons, or None.
    prose:     (trace of the run shown, baseline trace) -> plain JSON data with the numbers of the text: `page.prose`.
    exercises: seed -> the exercises, numbered from 1; the same seed gives the same ones (app.exercise marks answers).
    plane:     whether the page draws the prediction over the plane of the two inputs.
    settings:  what a reader may choose that is no part of the traced run.
    lab:       values of the settings, by name -> plain JSON data: `page.lab`.
    training:  what can be trained on the page.
    """

    slug: str
    title: str
    part: str
    order: int
    summary: str
    model: str
    request: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[Mapping[str, Any], ...] = ()
    script: str | None = None
    prose: Callable[[Trace, Trace], Mapping[str, Any]] = no_prose
    exercises: Callable[[int], tuple[Exercise, ...]] = no_exercises
    plane: bool = False
    settings: tuple[Setting, ...] = ()
    lab: Callable[[Mapping[str, Any]], Mapping[str, Any]] = no_lab
    training: Training | None = None

    @property
    def beside(self) -> tuple[Setting, ...]:
        """All settings of the page, the training's too; one that both name counts once."""
        return tuple(dict.fromkeys((*self.settings, *(self.training.settings if self.training else ()))))


@functools.cache
def catalogue() -> Mapping[str, Lesson]:
    """Every lesson by slug, in the order of the course.

    Raises ValueError where a lesson's slug is not its module's name or two lessons claim one place.
    """
    found = []
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        lesson = getattr(importlib.import_module(module.name), "LESSON", None)
        if lesson is None:
            continue
        expected = module.name.rpartition(".")[2]
        if lesson.slug != expected:
            raise ValueError(f"expected the slug {expected!r} in {module.name}; got {lesson.slug!r}")
        found.append(lesson)
    found.sort(key=lambda lesson: lesson.order)
    for earlier, later in itertools.pairwise(found):
        if earlier.order == later.order:
            raise ValueError(f"expected one lesson at place {later.order}; got {earlier.slug!r} and {later.slug!r}")
    return {lesson.slug: lesson for lesson in found}
