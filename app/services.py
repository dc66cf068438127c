"""What routes share for the life of an app: settings, the lane, the store, the counters; and how they ask for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from app.errors import RETRY, Problem, missing
from app.jobs import Cancelled, Job, JobRunner, LaneFull, TooLarge
from app.metrics import Counters
from app.runs import Runs
from app.settings import Settings
from app.store import TraceStore
from engine.errors import RunError
from engine.models import catalogue
from engine.models.model import Model
from engine.trace import Trace

T = TypeVar("T")


@dataclass(frozen=True)
class Services:
    """At `app.state.services`; `lane` is for what is short, `runs` has processes of its own.

    Routes take it as an argument `services: Shared`.
    """

    settings: Settings
    lane: JobRunner
    store: TraceStore
    counters: Counters
    runs: Runs


async def services_of(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Shared = Annotated[Services, Depends(services_of)]


def find_model(name: str) -> Model:
    """A model by name. Raises Problem 404 that lists the names."""
    found = catalogue().get(name)
    if found is None:
        raise missing("model", name, catalogue())
    return found


async def find_trace(services: Services, trace_id: str) -> Trace:
    """A trace by id, run again if it was let go. Raises Problem 404."""
    trace = services.store.peek(trace_id) or await run(services, lambda _: services.store.get(trace_id))
    if trace is None:
        raise unknown_trace(trace_id)
    return trace


def unknown_trace(trace_id: str) -> Problem:
    """404 that says what to do."""
    problem = missing("trace", trace_id)
    problem.detail += "; post its request to /api/v1/models/{model}/trace to make it again"
    return problem


def recompute(model: str, request: Mapping[str, Any]) -> Trace:
    """Runs a kept request. Raises KeyError for a model that is gone."""
    return catalogue()[model].trace(request)


async def run(services: Services, work: Callable[[Job], T], *, estimate_flops: int = 0) -> T:
    """Work in the lane; the lane's refusals and a model's failure as problems."""
    try:
        return await services.lane.run(work, estimate_flops=estimate_flops)
    except (LaneFull, TooLarge, Cancelled, RunError) as error:
        raise as_problem(error) from error


def as_problem(error: Exception) -> Problem:
    """How the lane's and the engine's refusals are answered."""
    if isinstance(error, LaneFull):
        return Problem(503, "every place in the queue is taken; try again", headers=RETRY)
    if isinstance(error, Cancelled):
        return Problem(503, f"the run was stopped: {error}", headers=RETRY)
    if isinstance(error, TooLarge):
        expected = f"need at most {error.limit_flops:,} floating-point operations"
        got = f"about {error.estimate_flops:,}"
        message = f"the run must {expected}; got {got}"
        return Problem(422, message, [{"field": "body", "message": message, "expected": expected, "got": got}])
    if isinstance(error, RunError):
        return Problem(422, f"the model could not run this: {error}")
    raise error


def estimate_flops(model: Model, wanted: Mapping[str, Any], *, passes: int = 1) -> int:
    """Before anything runs: 2 operations a parameter and row forward, 4 backward, times the passes.

    Source: the usual count of 6 for training (Kaplan et al. 2020, section 2.1).
    """
    inputs = wanted.get("inputs") or {}
    rows = max((len(value) for value in inputs.values() if isinstance(value, list) and _nested(value)), default=1)
    return 6 * parameter_count(model) * rows * passes


def parameter_count(model: Model) -> int:
    """How many numbers the model stores."""
    return sum(parameter.numel() for parameter in model.module().parameters())


def _nested(value: list[Any]) -> bool:
    return bool(value) and isinstance(value[0], list)
