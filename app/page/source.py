"""Pages by address: what a lesson, a model or a stored trace is about, its run, and the page object.

All of it but a training is a pure function of the address (and, for traces, of the trace) and is kept: asking twice
costs nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from app import exercise, plane
from app.fields import FieldError
from app.lessons import Lesson, catalogue
from app.page import Recorded, Run, build, placed, training
from app.page.run import Data
from app.query import read
from app.runs import Runs
from app.space import Space
from app.spaces import space_of
from app.state import State
from engine import InputError
from engine.models import catalogue as models
from engine.models.model import Model
from engine.trace import Trace

KEPT_RUNS = 256
KEPT_PAGES = 64
MAX_FIELDS = 4_000


@dataclass(frozen=True)
class Subject:
    """What a page is about: a lesson, or a model by itself. heading: what the page object says of it."""

    model: Model
    space: Space
    heading: Mapping[str, Any]
    lesson: Lesson | None = None


@dataclass(frozen=True)
class Page:
    """A page object with the state that its links are made of."""

    data: Data
    state: State
    trace: Trace

    @property
    def status(self) -> int:
        return 422 if self.state.errors else 200


@functools.cache
def lesson(slug: str) -> Subject | None:
    """A lesson's subject; None for an unknown slug."""
    found = catalogue().get(slug)
    if found is None:
        return None
    place = list(catalogue()).index(slug) + 1
    heading = {
        "kind": "lesson", "slug": slug, "title": found.title, "part": found.part, "summary": found.summary,
        "model": found.model, "kicker": f"{found.part} · {place} of {len(catalogue())}",
    }  # fmt: skip
    return _subject(f"/lessons/{slug}", models()[found.model], heading, found)


@functools.cache
def model(name: str) -> Subject | None:
    """A model's subject; None for an unknown name."""
    found = models().get(name)
    if found is None:
        return None
    heading = {
        "kind": "model", "slug": name, "title": found.title, "part": "Models", "summary": found.summary,
        "model": name, "kicker": "Model",
    }  # fmt: skip
    return _subject(f"/models/{name}", found, heading, None)


def _subject(path: str, found: Model, heading: Mapping[str, Any], about: Lesson | None) -> Subject:
    asked = dict(about.request) if about else {}
    defaults = found.defaults
    inputs = {**defaults["inputs"], **asked.pop("inputs", {})}
    options = {**defaults["options"], **asked.pop("options", {})}
    request = {**defaults, **asked, "inputs": inputs, "options": options}
    request["update"] = {"rule": "sgd", "learning_rate": 0.1, "frozen": [], **(request.get("update") or {})}
    examples = about.examples if about else ()
    beside = about.beside if about else ()
    trains = about is not None and about.training is not None
    space = space_of(path, found, request, examples, beside, trains=trains)
    return Subject(found, space, heading, about)


@functools.lru_cache(maxsize=KEPT_PAGES)
def page(kind: str, name: str, query: str, origin: str) -> Page | None:
    """The page of a lesson or model ("lesson", "model") at a query; None for an unknown name."""
    subject = (lesson if kind == "lesson" else model)(name)
    if subject is None:
        return None
    state = read(subject.space, parse_qsl(query, keep_blank_values=True, max_num_fields=MAX_FIELDS))
    try:
        recorded = _recorded(kind, name, _run_query(state))
    except InputError as error:
        state = _refused(state, error)
        recorded = _recorded(kind, name, _run_query(state))
    state = placed(state, recorded.trace)
    data = build(Run(recorded, state), heading=subject.heading, origin=origin)
    about = subject.lesson
    if about is not None:
        values = {one.name: state.chosen[one.name] for one in about.settings}
        data |= _told(kind, name, _run_query(state))
        data |= {
            "exercises": _exercises(about, state),
            "lab": dict(about.lab(values)),
            "training": training.panel(about, state),
        }
    return Page(data, state, recorded.trace)


def with_training(found: Page, slug: str, runs: Runs, notice: Mapping[str, Any] | None = None) -> Page:
    """The page with its training as it is at this moment, which is nothing to keep."""
    about = catalogue()[slug]
    return replace(found, data={**found.data, "training": training.panel(about, found.state, runs, notice)})


def of_trace(trace: Trace, query: str, origin: str) -> Page:
    """The page of any trace: everything but fields."""
    path = f"/traces/{trace.id}"
    update = trace.request.get("update")
    rate = update.get("learning_rate") if isinstance(update, Mapping) else None
    rate = float(rate) if isinstance(rate, int | float) else 0.0
    space = Space(path, dict(trace.request), learning_rate=rate)
    state = placed(read(space, parse_qsl(query, keep_blank_values=True, max_num_fields=MAX_FIELDS)), trace)
    name = trace.model.get("name", "")
    title = str(trace.model.get("title") or name or "A trace")
    heading = {
        "kind": "trace", "slug": trace.id, "title": title, "part": "Trace", "kicker": "A recorded run",
        "summary": f"{len(trace.steps)} steps, {len(trace.tensors)} tensors.",
        "model": name if name in models() else "",
    }  # fmt: skip
    return Page(build(Run(Recorded(trace, None), state), heading=heading, origin=origin), state, trace)


@functools.lru_cache(maxsize=KEPT_RUNS)
def _recorded(kind: str, name: str, query: str) -> Recorded:
    """The run that the run part of a canonical query asks for. Raises InputError as the model does."""
    subject = (lesson if kind == "lesson" else model)(name)
    if subject is None:
        raise KeyError(name)
    state = read(subject.space, parse_qsl(query, keep_blank_values=True))
    trace = subject.model.trace(state.request)
    default = _run_query(state.baseline)
    return Recorded(trace, None if query == default else _recorded(kind, name, default))


@functools.lru_cache(maxsize=KEPT_RUNS)
def _told(kind: str, name: str, query: str) -> Data:
    """What a lesson tells of a run, whatever is looked at: the numbers of its text, and the plane."""
    subject = (lesson if kind == "lesson" else model)(name)
    if subject is None or subject.lesson is None:
        raise KeyError(name)
    recorded = _recorded(kind, name, query)
    told: Data = {
        "prose": dict(subject.lesson.prose(recorded.trace, recorded.baseline or recorded.trace)),
        "plane": None,
    }
    if subject.lesson.plane:
        state = read(subject.space, parse_qsl(query, keep_blank_values=True))
        told["plane"] = plane.draw(subject.model, state.request, state.baseline.request)
    return told


def _run_query(state: State) -> str:
    return urlencode(state.traced)


def _refused(state: State, error: InputError) -> State:
    """The state without its edits, where the model refuses them."""
    said = FieldError(error.field, error.field, error.expected, error.got, "the run without the edits")
    return replace(state.start, errors=(*state.errors, said), raw=state.raw)


def _exercises(about: Lesson, state: State) -> list[Data]:
    found = []
    for one in about.exercises(state.seed):
        given = state.answers.get(one.n, "")
        verdict = exercise.mark(one, given).data() if given.strip() else None
        found.append({**one.data(), "given": given, "verdict": verdict})
    return found
