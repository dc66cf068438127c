"""Answers in JSON lines: one object a line, sent as it is computed, always ended by `done` or `error`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Protocol

from fastapi import Depends, Request
from starlette.responses import Response, StreamingResponse

from app.errors import Problem, from_input_error
from app.jobs import Cancelled, Job, LaneFull, TooLarge
from app.services import Services, Shared, as_problem
from app.wire import line
from engine.errors import InputError, RunError

MEDIA_TYPES = ("application/jsonl", "application/x-ndjson")  # the same lines under either name
Work = Callable[[Job, Callable[[dict[str, Any]], None]], None]


class Lines(Protocol):
    """Lines in order, each sent as it comes."""

    def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        """Raises, at the end, what ended them early."""

    def cancel(self, reason: str = "cancelled") -> None:
        """Nobody reads on."""


class Streams:
    """The streams of one request. Leaving the request, however it ends, stops their workers at their next step."""

    def __init__(self, services: Services, media_type: str) -> None:
        self._services = services
        self._media_type = media_type
        self._open: list[Lines] = []

    async def respond(self, work: Work, *, estimate_flops: int = 0) -> Response:
        """Runs work(job, emit), where emit sends one line.

        What fails before the first line is an ordinary error answer: raises Problem and InputError.
        """
        try:
            stream = self._services.lane.stream(work, estimate_flops=estimate_flops)
        except (LaneFull, TooLarge) as error:
            raise as_problem(error) from error
        return await self.send(stream)

    async def send(self, stream: Lines) -> Response:
        """Sends lines that something else makes. Raises as `respond` does."""
        self._open.append(stream)
        self._services.counters.stream_opened()
        lines = aiter(stream)
        try:
            first = await anext(lines)
        except (Cancelled, RunError) as error:
            raise as_problem(error) from error
        except StopAsyncIteration:
            raise RuntimeError("the work ended without a line") from None
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(_bytes(first, lines), media_type=self._media_type, headers=headers)

    def close(self) -> None:
        for stream in self._open:
            stream.cancel("the client left")
            self._services.counters.stream_closed()


async def streams_of(request: Request, services: Shared) -> AsyncIterator[Streams]:
    """Cleanup stands here and not in a generator's `finally`, which does not run when a stalled reader leaves."""
    streams = Streams(services, wanted_lines(request) or MEDIA_TYPES[0])
    try:
        yield streams
    finally:
        streams.close()


RequestStreams = Annotated[Streams, Depends(streams_of)]


def wanted_lines(request: Request) -> str | None:
    """The name under which the Accept header asks for JSON lines; None where it does not."""
    kinds = (part.partition(";")[0].strip().lower() for part in request.headers.get("accept", "").split(","))
    return next((kind for kind in kinds if kind in MEDIA_TYPES), None)


async def _bytes(first: dict[str, Any], rest: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    yield line(first)
    try:
        async for item in rest:
            yield line(item)
    except InputError as error:
        yield _error_line(from_input_error(error))
    except Problem as problem:
        yield _error_line(problem)
    except (Cancelled, RunError) as error:
        yield _error_line(as_problem(error))
    except Exception:
        yield _error_line(Problem(500, "the server met an error of its own; it has been logged"))
        raise


def _error_line(problem: Problem) -> bytes:
    return line({"type": "error", "problem": problem.data()})
