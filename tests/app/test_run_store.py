"""Runs as rows: what is kept comes back, a curve and its step go together, and the SQL is anyone's."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateTable

from app.run_store import DONE, PAUSED, RUNNING, Run, RunStore, _metadata


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    one = RunStore(f"sqlite:///{tmp_path / 'new' / 'runs.sqlite'}")
    yield one
    one.close()


def run(number: int, **more: object) -> Run:
    given = {"id": f"{number:032x}", "model": "tiny_network", "request": {"target": 4.5}, "recipe": {}, "steps": 9}
    return Run(**{**given, "created": float(number), **more})  # type: ignore[arg-type]


def test_a_run_comes_back_as_it_was(store: RunStore) -> None:
    one = run(1, recipe={"batch": 8, "name": "ζ"}, note="why", parent="f" * 32, fork_step=3)
    store.add(one)
    assert store.find(one.id) == one
    assert store.find("none") is None


def test_runs_outlive_the_store_that_wrote_them(store: RunStore) -> None:
    store.add(run(1), [{"step": 0, "loss": 0.1}])
    store.close()
    again = RunStore(store.url)
    assert again.points(run(1).id) == [{"step": 0, "loss": 0.1}]
    again.close()


def test_a_checkpoint_takes_its_points_along(store: RunStore) -> None:
    store.add(run(1), [{"step": 0, "loss": 1.5}])
    points = [{"step": 2, "loss": 0.1 + 0.2, "accuracy": 0.5}, {"step": 4, "loss": None, "loss_nonfinite": "nan"}]
    store.advance(run(1).id, 4, points)
    found = store.find(run(1).id)
    assert found is not None
    assert (found.step, found.last) == (4, points[1])
    assert store.points(run(1).id) == [{"step": 0, "loss": 1.5}, *points]
    assert store.points(run(1).id, after=2) == points[1:]


def test_a_point_that_is_there_already_keeps_the_step_back_too(store: RunStore) -> None:
    store.add(run(1), [{"step": 3, "loss": 1.5}])
    with pytest.raises(IntegrityError):
        store.advance(run(1).id, 7, [{"step": 3, "loss": 1.5}])
    found = store.find(run(1).id)
    assert found is not None
    assert found.step == 0


def test_the_newest_run_comes_first(store: RunStore) -> None:
    for number in (2, 3, 1):
        store.add(run(number))
    assert [one.created for one in store.latest(2)] == [3, 2]


def test_runs_are_found_by_their_state(store: RunStore) -> None:
    store.add(run(1))
    store.add(run(2))
    store.set_state(run(1).id, PAUSED, "the server stopped")
    assert [(one.id, one.note) for one in store.in_state(PAUSED)] == [(run(1).id, "the server stopped")]
    assert [one.id for one in store.in_state(RUNNING)] == [run(2).id]


def test_the_oldest_go_with_their_curves_and_what_runs_stays(store: RunStore) -> None:
    for number in range(1, 6):
        store.add(run(number, state=RUNNING if number == 1 else DONE), [{"step": 0, "loss": 1.0}])
    assert sorted(store.drop_beyond(2)) == [run(2).id, run(3).id]
    assert [one.created for one in store.latest(9)] == [5, 4, 1]
    assert store.points(run(2).id) == []
    assert store.points(run(1).id) == [{"step": 0, "loss": 1.0}]
    assert store.drop_beyond(2) == []


def test_the_tables_are_valid_for_postgresql_too() -> None:
    for table in _metadata.sorted_tables:
        written = str(CreateTable(table).compile(dialect=postgresql.dialect()))
        assert written.split()[:3] == ["CREATE", "TABLE", table.name]
        assert "SERIAL" not in written


def test_every_field_of_a_run_is_a_column() -> None:
    columns = [column.name for column in _metadata.tables["training_runs"].columns]
    assert columns == [field.name for field in dataclasses.fields(Run)]
