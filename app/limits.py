"""What stands before every route, as plain ASGI: hosts, body size, security headers, unexpected errors, strict JSON.

Bounds of single fields are in schemas.py; how much may run at once is in jobs.py.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import Problem, answer, invalid, shown

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
logger = logging.getLogger("longhand")


class SecurityHeaders:
    """Adds the security headers to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_with_headers)


class HeadAsGet:
    """Answers HEAD as GET, with the same headers and no body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def send_without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self.app({**scope, "method": "GET"}, receive, send_without_body)


class TrustedHosts:
    """Answers 400 where the Host header names none of ours: a page elsewhere cannot point a name of its own here."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "*" not in self.hosts:
            host = Headers(scope=scope).get("host", "")
            if _without_port(host) not in self.hosts:
                problem = Problem(400, f"Host must be a name this site answers to; got {shown(host)}")
                await problem.response()(scope, receive, send)
                return
        await self.app(scope, receive, send)


class BodyLimit:
    """413 for a body above the limit: by its stated length before anything is read, else while it is read.

    uploads: the limit of single paths, in bytes.
    """

    def __init__(self, app: ASGIApp, limit_bytes: int, uploads: Mapping[str, int]) -> None:
        self.app = app
        self.limit_bytes = limit_bytes
        self.uploads = uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.uploads.get(scope["path"], self.limit_bytes)
        refusal = _refused_length(Headers(scope=scope).get("content-length", "0"), limit)
        if refusal is not None:
            await answer(Request(scope), refusal)(scope, receive, send)
            return
        received = 0

        async def receive_limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise _too_large(limit, "more")
            return message

        await self.app(scope, receive_limited, send)


class UnexpectedErrors:
    """Turns an exception that nothing handled into a 500 of the usual shape, and logs it.

    Inside the header middleware, so that a 500 has the security headers too.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_noting_start(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, send_noting_start)
        except Exception:
            logger.exception("unexpected error in %s %s", scope["method"], scope["path"])
            if started:
                raise
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = Problem(500, "the server met an error of its own; it has been logged")
        try:
            response = answer(Request(scope), problem)
        except Exception:
            logger.exception("unexpected error in the error page")
            response = problem.response()
        await response(scope, receive, send)


def read_json(body: bytes) -> Any:
    """A JSON body, strictly: UTF-8, no NaN or Infinity, no number beyond float64, at most 1,000 levels deep, no key
    twice in one object. Raises json.JSONDecodeError (a ValueError) otherwise.
    """
    value = orjson.loads(body)
    try:
        json.loads(body, object_pairs_hook=_unique)
    except RecursionError:
        raise json.JSONDecodeError("nesting deeper than the limit", "", 0) from None
    return value


class StrictRequest(Request):
    """A request whose `json()` is `read_json`."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = read_json(await self.body())
        return self._json


class StrictRoute(APIRoute):
    """A route whose query has no unknown names, and whose body is strict JSON: 415 for another content type."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        takes_json = self.body_field is not None
        known = [field.alias for field in self.dependant.query_params]

        async def handle_strictly(request: Request) -> Response:
            for name in request.query_params:
                if name not in known:
                    expected = f"be one of {', '.join(known)}" if known else "be left out: this address takes none"
                    raise invalid("query", expected, name)
            if takes_json:
                request = StrictRequest(request.scope, request.receive)
                if await request.body():
                    _require_json(request.headers.get("content-type", ""))
            return await handle(request)

        return handle_strictly


def _require_json(content_type: str) -> None:
    subtype = content_type.partition(";")[0].strip().lower()
    if not (subtype == "application/json" or (subtype.startswith("application/") and subtype.endswith("+json"))):
        raise Problem(415, f"Content-Type must be application/json; got {shown(content_type)}")


def _unique(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise json.JSONDecodeError(f"the key {shown(key)} twice in one object", "", 0)
        seen.add(key)


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()


def _refused_length(stated: str, limit: int) -> Problem | None:
    if not (stated.isascii() and stated.isdigit()):
        return Problem(400, f"Content-Length must be a count of bytes; got {shown(stated)}")
    if len(stated) > 18 or int(stated) > limit:
        return _too_large(limit, f"{shown(int(stated[:18]))} bytes")
    return None


def _too_large(limit: int, got: str) -> Problem:
    expected = f"have at most {limit} bytes"
    message = f"body must {expected}; got {got}"
    return Problem(413, message, [{"field": "body", "message": message, "expected": expected, "got": got}])
