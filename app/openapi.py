"""The description of the API: what FastAPI finds, with every error answer in its one shape."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from app import examples
from app.answer_schemas import ProblemAnswer
from app.errors import MEDIA_TYPE, Problem, conflict

TITLE = "Longhand"
VERSION = "1"
_DESCRIPTION = """Runs PyTorch models and accounts for every number in the run.

A request to `POST /api/v1/models/{{model}}/trace` gives a trace: every tensor, every gradient, every step, forward and
backward. A trace has an id, by which its cells can be explained, verified, compared and followed to the loss. Errors
are `application/problem+json` and say what was expected and what came.

    import httpx
    url = "{origin}/api/v1/models/tiny_network/trace"
    trace = httpx.post(url, json={{"inputs": {{"x": [2, -1]}}, "target": 4}}).json()
    print(trace["result"]["prediction"])                          # 5.5
    print(trace["tensors"]["hidden.weight.grad"]["data"])         # every gradient is a tensor too
"""
_TAGS = [
    {"name": "models", "description": "What can be run, and running it."},
    {"name": "traces", "description": "What a run was, and questions about it."},
    {"name": "runs", "description": "Training that goes on by itself: watched, paused, gone on with, branched."},
    {"name": "lessons", "description": "The course as data."},
]
_PROBLEM = "Problem"
_ALWAYS = {
    "400": "The Host header names another site, or the body is not strict JSON.",
    "500": "An error of the server's own.",
}
_WITH_BODY = {
    "413": "The body is larger than the limit.",
    "415": "The body is of another media type.",
}
_ASKED = {"422": "A field is not as it must be; `errors` says for each what was expected and what came."}
_NAMED = {"404": "A name or id in the path names nothing."}
_RUNNING = {"503": "Every place in the queue is taken, or the server is stopping; Retry-After says when to try again."}


def install(app: FastAPI) -> None:
    """Makes `app.openapi()` give the completed description, built once."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _description(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def description(origin: str = "http://127.0.0.1:8000") -> str:
    """What the API is, with an example that asks the site at `origin`."""
    return _DESCRIPTION.format(origin=origin)


def operations(app: FastAPI) -> list[dict[str, str]]:
    """Every operation in short: {method, path, summary}."""
    return [
        {"method": method.upper(), "path": path, "summary": one["summary"]}
        for path, methods in app.openapi()["paths"].items()
        for method, one in methods.items()
    ]


def _description(app: FastAPI) -> dict[str, Any]:
    found = get_openapi(
        title=TITLE, version=VERSION, description=description(), routes=app.routes, tags=_TAGS, summary=app.summary
    )
    schemas = found.setdefault("components", {}).setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    problem = ProblemAnswer.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= problem.pop("$defs", {})
    schemas[_PROBLEM] = problem
    shown = examples.answers()
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            _complete(path, method, operation)
            _show(operation, shown.get(operation["operationId"]))
    return found


def _show(operation: dict[str, Any], answer: Any) -> None:
    """Examples where readers of the description look for them: beside each parameter, in the answer."""
    for parameter in operation.get("parameters", []):
        if "examples" in parameter["schema"]:
            parameter["example"] = parameter["schema"]["examples"][0]
    if answer is not None:
        operation["responses"]["200"]["content"]["application/json"]["example"] = answer


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    statuses = {**_ALWAYS, **_ASKED, **_RUNNING}
    if "{" in path:
        statuses |= _NAMED
    if method == "post":
        statuses |= _WITH_BODY
    if refused := operation["responses"].get("409"):
        statuses["409"] = refused["description"]
    for status, meaning in statuses.items():
        operation["responses"][status] = {"description": meaning, "content": {MEDIA_TYPE: _problem_content(status)}}


def _problem_content(status: str) -> dict[str, Any]:
    return {"schema": {"$ref": f"#/components/schemas/{_PROBLEM}"}, "example": _EXAMPLES[status]}


def _example(status: int, detail: str, *errors: dict[str, str]) -> dict[str, Any]:
    return Problem(status, detail, errors).data()


_EXAMPLES = {
    "400": _example(400, "body must be JSON; got unexpected end of data: line 1 column 2 (char 1)"),
    "404": _example(404, "model must be one of tiny_network; got 'gpt'"),
    "409": conflict("run", "be paused to be gone on with", "done").data(),
    "413": _example(413, "body must have at most 1048576 bytes; got 52428800 bytes"),
    "415": _example(415, "Content-Type must be application/json; got 'text/plain'"),
    "422": _example(
        422,
        "inputs.x must have 2 numbers; got 3",
        {
            "field": "inputs.x",
            "message": "inputs.x must have 2 numbers; got 3",
            "expected": "have 2 numbers",
            "got": "3",
        },
    ),
    "500": _example(500, "the server met an error of its own; it has been logged"),
    "503": _example(503, "every place in the queue is taken; try again"),
}
