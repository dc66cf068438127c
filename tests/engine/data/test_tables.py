"""Tables by number: by their bytes, in a folder that does not grow without bound."""

from __future__ import annotations

import os

import pytest

from engine.data import moons, tables
from engine.errors import InputError

SMALL = b"a,b\n" + b"1,2\n3,5\n" * 4


def test_the_shipped_table_is_number_0_and_is_made_by_its_command():
    assert tables.content_of(0) == moons.table()
    found = tables.find(0)
    assert found.rows == 200 and [one.name for one in found.columns] == ["across", "up", "moon"]
    assert tables.number_of(moons.table()) == 0


def test_a_kept_table_is_found_by_its_number(tmp_path):
    number = tables.keep(SMALL, tmp_path)
    assert 0 < number < 2**52 and number == tables.number_of(SMALL)
    assert tables.keep(SMALL, tmp_path) == number
    assert tables.find(number).columns[1].values.tolist() == [2, 5] * 4
    assert tables.content_of(number) == SMALL
    assert len(list((tmp_path / "tables").iterdir())) == 1


def test_what_is_no_table_is_not_kept(tmp_path):
    with pytest.raises(InputError, match="table must have 2 to 20 columns"):
        tables.keep(b"no table", tmp_path)
    assert not (tmp_path / "tables").exists()


def test_an_unknown_number_raises():
    with pytest.raises(InputError, match="data must be the number of a table that is kept here; got 5"):
        tables.find(5)


def test_the_oldest_go_where_there_are_too_many(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_TABLES", 2)
    numbers = [tables.keep(SMALL + b"%d,1\n" % at, tmp_path) for at in range(2)]
    for age, number in enumerate(numbers):
        os.utime(tmp_path / "tables" / f"{number}.csv", (age, age))
    newest = tables.keep(SMALL + b"7,7\n", tmp_path)
    kept = {path.stem for path in (tmp_path / "tables").iterdir()}
    assert kept == {str(numbers[1]), str(newest)}
