"""Training runs as rows: what was asked, how far it came, its curve. Any database that SQLAlchemy has a driver for.

Checkpoints are files, not here. Every method is one transaction and may be called from any thread.
"""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Column,
    Engine,
    Float,
    ForeignKey,
    Integer,
    MetaData,
    Row,
    String,
    Table,
    Text,
    create_engine,
    delete,
    event,
    insert,
    select,
    update,
)

RUNNING, PAUSED, DONE, CANCELLED, FAILED = "running", "paused", "done", "cancelled", "failed"
Point = dict[str, Any]

_metadata = MetaData()
_runs = Table(
    "training_runs",
    _metadata,
    Column("id", String(32), primary_key=True),
    Column("model", String(200), nullable=False),
    Column("request", Text, nullable=False),
    Column("recipe", Text, nullable=False),
    Column("steps", Integer, nullable=False),
    Column("state", String(16), nullable=False, index=True),
    Column("step", Integer, nullable=False),
    Column("last", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("parent", String(32), nullable=True),
    Column("fork_step", Integer, nullable=True),
    Column("created", Float, nullable=False, index=True),
    Column("updated", Float, nullable=False),
)
_points = Table(
    "training_points",
    _metadata,
    Column("run", String(32), ForeignKey("training_runs.id", ondelete="CASCADE"), primary_key=True),
    Column("step", Integer, primary_key=True, autoincrement=False),
    Column("data", Text, nullable=False),
)
_AS_JSON = ("request", "recipe", "last")


@dataclass(frozen=True)
class Run:
    """One training run. step: of its last checkpoint, where it can be gone on with. last: the curve's point there.

    note: why it is in its state, where that is not plain from the state. parent, fork_step: where it branched off.
    created, updated: seconds since 1970.
    """

    id: str
    model: str
    request: Mapping[str, Any]
    recipe: Mapping[str, Any]
    steps: int
    state: str = RUNNING
    step: int = 0
    last: Point | None = None
    note: str = ""
    parent: str | None = None
    fork_step: int | None = None
    created: float = dataclasses.field(default_factory=time.time)
    updated: float = dataclasses.field(default_factory=time.time)


class RunStore:
    """url: of the database; it is opened, and its tables made, when first asked."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def add(self, run: Run, points: Iterable[Point] = ()) -> None:
        """Keeps a new run with the curve that it starts from."""
        with self._open().begin() as connection:
            connection.execute(insert(_runs).values(**_row(run)))
            if rows := [_point_row(run.id, point) for point in points]:
                connection.execute(insert(_points), rows)

    def find(self, run_id: str) -> Run | None:
        with self._open().begin() as connection:
            row = connection.execute(select(_runs).where(_runs.c.id == run_id)).first()
        return None if row is None else _run(row)

    def latest(self, limit: int) -> list[Run]:
        """The newest first."""
        with self._open().begin() as connection:
            rows = connection.execute(select(_runs).order_by(_runs.c.created.desc(), _runs.c.id).limit(limit))
            return [_run(row) for row in rows]

    def in_state(self, state: str) -> list[Run]:
        with self._open().begin() as connection:
            return [_run(row) for row in connection.execute(select(_runs).where(_runs.c.state == state))]

    def points(self, run_id: str, after: int = -1) -> list[Point]:
        """The curve's points of later steps than `after`, in order."""
        wanted = select(_points.c.data).where(_points.c.run == run_id, _points.c.step > after).order_by(_points.c.step)
        with self._open().begin() as connection:
            return [json.loads(data) for (data,) in connection.execute(wanted)]

    def set_state(self, run_id: str, state: str, note: str = "") -> None:
        with self._open().begin() as connection:
            changes = {"state": state, "note": note, "updated": time.time()}
            connection.execute(update(_runs).where(_runs.c.id == run_id).values(**changes))

    def advance(self, run_id: str, step: int, points: Iterable[Point]) -> None:
        """A run has a checkpoint at `step`, and these further points before or at it: both are kept, or neither."""
        changes: dict[str, Any] = {"step": step, "updated": time.time()}
        rows = [_point_row(run_id, point) for point in points]
        if rows:
            changes["last"] = rows[-1]["data"]
        with self._open().begin() as connection:
            connection.execute(update(_runs).where(_runs.c.id == run_id).values(**changes))
            if rows:
                connection.execute(insert(_points), rows)

    def drop_beyond(self, kept: int) -> list[str]:
        """Removes all but the newest `kept` of the runs that do not run; their ids."""
        resting = select(_runs.c.id).where(_runs.c.state != RUNNING)
        with self._open().begin() as connection:
            old = resting.order_by(_runs.c.created.desc(), _runs.c.id).offset(kept)
            gone = list(connection.execute(old).scalars())
            if gone:
                connection.execute(delete(_points).where(_points.c.run.in_(gone)))
                connection.execute(delete(_runs).where(_runs.c.id.in_(gone)))
        return gone

    def close(self) -> None:
        """Lets go of the database; the next call opens it again."""
        with self._lock:
            if self._engine is not None:
                self._engine.dispose()
            self._engine = None

    def _open(self) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine = create_engine(self.url)
                if self._engine.dialect.name == "sqlite":
                    Path(self._engine.url.database or "").parent.mkdir(parents=True, exist_ok=True)
                    event.listen(self._engine, "connect", _prepare_sqlite)
                _metadata.create_all(self._engine)
            return self._engine


def _prepare_sqlite(connection: Any, _: Any) -> None:
    """Readers do not wait for a writer, and a commit is on disk at the latest with the next checkpoint of the log."""
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=10000"):
        connection.execute(f"PRAGMA {pragma}")


def _row(run: Run) -> dict[str, Any]:
    row = {field.name: getattr(run, field.name) for field in dataclasses.fields(run)}
    return {**row, **{name: json.dumps(row[name]) for name in _AS_JSON}}


def _run(row: Row[Any]) -> Run:
    data = dict(row._mapping)
    return Run(**{**data, **{name: json.loads(data[name]) for name in _AS_JSON}})


def _point_row(run_id: str, point: Point) -> dict[str, Any]:
    return {"run": run_id, "step": point["step"], "data": json.dumps(point)}
