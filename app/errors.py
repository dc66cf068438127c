"""Every error answer: RFC 9457 `application/problem+json`, one shape, saying what was expected and what came.

{type, title, status, detail, errors: [{field, message, expected?, got?}]}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from engine.errors import InputError

MEDIA_TYPE = "application/problem+json"
RETRY = {"retry-after": "1"}
_SHOWN_CHARACTERS = 80
_EXPECTED_CHARACTERS = 2000


class Problem(Exception):
    """An error answer on its way out. errors: dicts of field, message and, where known, expected and got."""

    def __init__(
        self,
        status: int,
        detail: str,
        errors: Iterable[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.errors = list(errors)
        self.headers = dict(headers or {})

    def data(self) -> dict[str, Any]:
        """The problem as plain JSON data."""
        title = HTTPStatus(self.status).phrase
        return {
            "type": "about:blank",
            "title": title,
            "status": self.status,
            "detail": self.detail,
            "errors": self.errors,
        }

    def response(self) -> Response:
        return Response(orjson.dumps(self.data()), self.status, self.headers, MEDIA_TYPE)


def invalid(field: str, expected: str, got: Any) -> Problem:
    """422 for one field: "index must be ...; got ..."."""
    return Problem(422, *_one(field, expected, shown(got)))


def missing(what: str, got: str, known: Iterable[str] = ()) -> Problem:
    """404 for a name in the path that names nothing; says some of what there is."""
    names = list(known)
    listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    expected = f"be one of {listed}" if names else "exist"
    return Problem(404, *_one(what, expected, shown(got)))


def conflict(what: str, expected: str, got: str) -> Problem:
    """409 for what is not in a state that allows it."""
    return Problem(409, *_one(what, expected, got))


def shown(value: Any) -> str:
    """A value as it came, short enough to read; text in quotes, structures by their kind and size."""
    if isinstance(value, dict):
        return f"an object with {len(value)} members"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value) if isinstance(value, str) else str(value)
    return clipped(text, _SHOWN_CHARACTERS)


def path(parts: Sequence[Any]) -> str:
    """("edits", 0, "value") -> "edits[0].value"."""
    written = ""
    for part in parts:
        name = clipped(str(part), _SHOWN_CHARACTERS)
        written += f"[{name}]" if isinstance(part, int) else f".{name}" if written else name
    return written


def clipped(text: str, length: int) -> str:
    """The text, or its beginning and an ellipsis, in at most `length` characters."""
    return text if len(text) <= length else text[: length - 1] + "…"


def from_input_error(error: InputError) -> Problem:
    """422 for what the engine refused."""
    field, got = clipped(error.field, _SHOWN_CHARACTERS), clipped(str(error.got), _SHOWN_CHARACTERS)
    expected = clipped(error.expected, _EXPECTED_CHARACTERS)
    message = f"{field} must {expected}; got {got}"
    return Problem(422, message, [{"field": field, "message": message, "expected": expected, "got": got}])


def from_validation(error: RequestValidationError) -> Problem:
    """422 for a request that is not of its schema, 400 for a body that is not JSON."""
    found = error.errors()
    if found and found[0]["type"] == "json_invalid":
        reason = f"body must be JSON; got {found[0].get('ctx', {}).get('error', 'something else')}"
        return Problem(400, reason, [{"field": "body", "message": reason}])
    errors = [_validation_entry(entry) for entry in found[:20]]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return Problem(422, errors[0]["message"] + more if errors else "the request is not valid", errors)


def from_http(error: HTTPException, request: Request) -> Problem:
    """The framework's own refusals: 404, 405, 413 and the like."""
    detail = str(error.detail)
    if detail == HTTPStatus(error.status_code).phrase:
        detail = f"{request.method} {shown(request.url.path)}: {detail.lower()}"
    return Problem(error.status_code, detail, headers=error.headers)


def install(app: FastAPI) -> None:
    """Registers the handlers. `app.state.error_page(request, problem) -> Response | None`, where set, may answer
    browsers that ask for HTML outside /api/ in its own form.
    """

    async def on_problem(request: Request, error: Exception) -> Response:
        return answer(request, error if isinstance(error, Problem) else Problem(500, "unexpected error"))

    async def on_input_error(request: Request, error: Exception) -> Response:
        if not isinstance(error, InputError):
            raise error
        return answer(request, from_input_error(error))

    async def on_validation(request: Request, error: Exception) -> Response:
        if not isinstance(error, RequestValidationError):
            raise error
        return answer(request, from_validation(error))

    async def on_http(request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):
            raise error
        return answer(request, from_http(error, request))

    app.add_exception_handler(Problem, on_problem)
    app.add_exception_handler(InputError, on_input_error)
    app.add_exception_handler(RequestValidationError, on_validation)
    app.add_exception_handler(HTTPException, on_http)


def answer(request: Request, problem: Problem) -> Response:
    """The problem as a page for a browser outside /api/, as problem+json for everyone else."""
    page = getattr(request.app.state, "error_page", None)
    if page and not request.url.path.startswith("/api/") and "text/html" in request.headers.get("accept", ""):
        response = page(request, problem)
        if response is not None:
            return response
    return problem.response()


def _one(field: str, expected: str, got: str) -> tuple[str, list[dict[str, str]]]:
    message = f"{field} must {expected}; got {got}"
    return message, [{"field": field, "message": message, "expected": expected, "got": got}]


# pydantic's kinds of error -> what was expected, with the error's own numbers filled in
_EXPECTED = {
    "missing": "be given",
    "string_type": "be text",
    "bool_type": "be true or false",
    "int_type": "be a whole number",
    "int_parsing": "be a whole number",
    "int_from_float": "be a whole number",
    "float_type": "be a number",
    "finite_number": "be a finite number",
    "dict_type": "be an object",
    "model_type": "be an object",
    "model_attributes_type": "be an object",
    "list_type": "be a list",
    "literal_error": "be {expected}",
    "enum": "be {expected}",
    "greater_than": "be above {gt}",
    "greater_than_equal": "be at least {ge}",
    "less_than": "be below {lt}",
    "less_than_equal": "be at most {le}",
    "too_long": "have at most {max_length} members",
    "too_short": "have at least {min_length} members",
    "string_too_long": "have at most {max_length} characters",
    "string_too_short": "have at least {min_length} characters",
    "string_pattern_mismatch": "match {pattern}",
}


def _validation_entry(entry: Mapping[str, Any]) -> dict[str, str]:
    place = [part for part in entry["loc"] if part not in ("body", "query", "path", "header")]
    context = entry.get("ctx") or {}
    field = path([*place, *context.get("at", ())]) or "body"
    if entry["type"] == "expected_got":
        expected, got = context["expected"], context["got"]
    else:
        expected = _EXPECTED.get(entry["type"], "be valid: " + entry["msg"]).format_map(context)
        got = "nothing" if entry["type"] == "missing" else shown(entry.get("input"))
    message = f"{field} must {expected}; got {got}"
    return {"field": field, "message": message, "expected": expected, "got": got}
