"""Counters of this process in Prometheus' text form: requests by route and status, their seconds, traces, streams."""

from __future__ import annotations

import threading
import time
from collections import defaultdict

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Counters:
    """Counts only go up, but for `open_streams`. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self._seconds: dict[tuple[str, str], float] = defaultdict(float)
        self._traces: dict[str, int] = defaultdict(int)
        self._streams = 0
        self._open_streams = 0

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[method, route, status] += 1
            self._seconds[method, route] += seconds

    def trace(self, model: str) -> None:
        with self._lock:
            self._traces[model] += 1

    def stream_opened(self) -> None:
        with self._lock:
            self._streams += 1
            self._open_streams += 1

    def stream_closed(self) -> None:
        with self._lock:
            self._open_streams -= 1

    def text(self, **gauges: float) -> str:
        """The whole page; gauges are further values of the moment, by name."""
        with self._lock:
            counts: list[tuple[str, str, str, list[tuple[str, float]]]] = [
                ("requests_total", "Requests answered.", "counter", [
                    (f'method="{method}",route="{_escaped(route)}",status="{status}"', count)
                    for (method, route, status), count in sorted(self._requests.items())
                ]),
                ("request_seconds_total", "Seconds spent on requests, until the last byte.", "counter", [
                    (f'method="{method}",route="{_escaped(route)}"', round(seconds, 6))
                    for (method, route), seconds in sorted(self._seconds.items())
                ]),
                ("traces_total", "Traces computed.", "counter", [
                    (f'model="{_escaped(model)}"', count) for model, count in sorted(self._traces.items())
                ]),
                ("streams_total", "Streams opened.", "counter", [("", self._streams)]),
                ("open_streams", "Streams open now.", "gauge", [("", self._open_streams)]),
            ]  # fmt: skip
        counts += [
            (name, name.replace("_", " ").capitalize() + ".", "gauge", [("", value)]) for name, value in gauges.items()
        ]
        lines = []
        for name, meaning, kind, samples in counts:
            lines += [f"# HELP longhand_{name} {meaning}", f"# TYPE longhand_{name} {kind}"]
            lines += [f"longhand_{name}{'{' + labels + '}' if labels else ''} {value}" for labels, value in samples]
        return "\n".join(lines) + "\n"


class Metrics:
    """Counts each request under its route's pattern; what matched none is one entry, so that nobody can grow them."""

    def __init__(self, app: ASGIApp, counters: Counters) -> None:
        self.app = app
        self.counters = counters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500

        async def send_noting_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_noting_status)
        finally:
            method = scope["method"] if scope["method"] in _METHODS else "other"
            route = getattr(scope.get("route"), "path", "/static" if scope["path"].startswith("/static/") else "none")
            self.counters.request(method, route, status, time.perf_counter() - started)


_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
