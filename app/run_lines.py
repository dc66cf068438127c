"""A training run as plain data: its record, and its curve as lines that come while it goes on."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from typing import Any

from app.errors import Problem
from app.live_run import LiveRun
from app.run_store import FAILED, Run
from app.runs import Runs
from app.wire import API, INLINE_VALUES, plain, values_data
from engine.models import catalogue


def run_data(run: Run) -> dict[str, Any]:
    """The record, with what can be asked of it."""
    own = f"{API}/runs/{run.id}"
    asks = {name: f"{own}/{name}" for name in ("progress", "parameters", "pause", "resume", "cancel", "fork")}
    return {**dataclasses.asdict(run), "links": {"self": own, **asks}}


class RunLines:
    """A run's lines: `open`, `progress` for each point of later steps than `after`, and `done` when it rests.

    pause_when_left: whether the run pauses when its reader hangs up. Iterating raises what ended the run from outside.
    """

    def __init__(self, runs: Runs, run: Run, live: LiveRun | None, *, after: int, pause_when_left: bool) -> None:
        self._runs = runs
        self._run = run
        self._live = live
        self._after = after
        self._pause_when_left = pause_when_left

    def cancel(self, reason: str = "cancelled") -> None:
        if self._live is not None and self._pause_when_left:
            self._live.ask("pause", reason)

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        run = self._run
        model = {"name": run.model, "title": catalogue()[run.model].title}
        yield {"type": "open", "run": run.id, "model": model, "steps": run.steps}
        last = self._after
        for point in await asyncio.to_thread(self._runs.store.points, run.id, last):
            last = point["step"]
            yield {"type": "progress", **point}
        if self._live is not None:
            async for point in _fresh(self._live):
                if point["step"] > last:
                    yield {"type": "progress", **point}
            if self._live.error is not None:
                raise self._live.error
        yield await asyncio.to_thread(self._ending)

    def _ending(self) -> dict[str, Any]:
        """The last line. Raises Problem where the run failed."""
        run = self._runs.find(self._run.id)
        if run.state == FAILED:
            raise Problem(422, run.note)
        kept = self._runs.checkpoint(run.id)
        nonfinite: list[dict[str, str]] = []
        parameters = {} if kept is None else kept["state"]["parameters"]
        done = {
            "type": "done",
            "run": run.id,
            "state": run.state,
            "note": run.note,
            "steps": run.step,
            "losses": [] if kept is None else plain(kept["losses"].tolist(), nonfinite, "losses"),
            "parameters": {
                name: values_data(value.numpy()) if value.numel() <= INLINE_VALUES else None
                for name, value in parameters.items()
            },
            "links": run_data(run)["links"],
        }
        return {**done, "nonfinite": nonfinite} if nonfinite else done


async def _fresh(live: LiveRun) -> AsyncIterator[dict[str, Any]]:
    """The points of a live run, as they come, until it ends."""
    loop = asyncio.get_running_loop()
    more = asyncio.Event()

    def wake() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(more.set)

    live.watch(wake)
    try:
        seen = 0
        while True:
            more.clear()
            ended = live.ended.is_set()
            for point in live.points[seen:]:
                seen += 1
                yield point
            if ended:
                return
            await more.wait()
    finally:
        live.unwatch(wake)
