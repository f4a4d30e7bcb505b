"""What an epoch does beside its views: counted in calls, which, unlike times, are the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import viewlet
from viewlet.columns import arrays
from viewlet.columns.rows import Rows
from viewlet.store import transaction
from viewlet.store.access import probe, search
from viewlet.store.runs import map_run
from viewlet.store.runs.narrow import StoredColumns

ROWS = 400


def calls(work: Callable[[], Any]) -> int:
    """How many functions some work calls, Python's and others."""
    count = 0

    def note(frame: Any, event: str, _: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def orders(first: int, chunks: int = 1) -> pa.Table:
    ids = np.arange(first, first + ROWS)
    columns = {f"c{i}": pa.array(ids % (i + 2)) for i in range(10)}
    table = pa.table({"id": ids, "name": [f"order {i}" for i in ids], **columns})
    pieces = np.array_split(np.arange(ROWS), chunks)
    return pa.concat_tables([table.take(pa.array(piece)) for piece in pieces])


@pytest.fixture(params=["", " TRUSTED"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    columns = ", ".join(f"c{i} BIGINT" for i in range(10))
    with viewlet.connect(tmp_path / "w", engine="inproc") as db:
        db.sql(f"CREATE TABLE t (id BIGINT, name STRING, {columns}, PRIMARY KEY (id)){request.param}")
        yield db


def test_chunks_are_put_together_at_once(db: viewlet.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    given = orders(0, chunks=53)
    assert given["id"].num_chunks == 53

    def combine(column: Any) -> Any:
        assert not isinstance(column, pa.ChunkedArray) or column.num_chunks < 2, "a column is combined by itself"
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    monkeypatch.setattr(arrays, "combine", combine)
    db.insert("t", given)
    assert db.table("t").arrow().sort_by("id").equals(given.combine_chunks())


def test_a_commit_does_not_go_through_all_recent_runs(db: viewlet.Database) -> None:
    spent = [calls(partial(db.insert, "t", orders(at * 1_000))) for at in range(48)]
    early, late = (min(spent[at : at + 8]) for at in (8, 40))
    assert late < early + 500, "each of 32 more runs costs more than fifteen calls"


def test_a_row_is_found_to_be_there_without_being_read(db: viewlet.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for first in (0, 1_000, 10_000):
        db.insert("t", orders(first))
    db._warehouse.store.settle()

    def take(*_: Any) -> Any:
        raise AssertionError("rows of the index are read")

    monkeypatch.setattr(StoredColumns, "take", take)
    db.delete("t", pa.concat_tables([orders(0), orders(1_000)]))
    monkeypatch.undo()
    assert db.table("t").arrow().num_rows == ROWS


def test_a_key_is_found_free_without_reading_rows(db: viewlet.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = orders(1_000)
    db.insert("t", orders(0))
    db.insert("t", gone)
    db.delete("t", gone)

    def take(*_: Any) -> Any:
        raise AssertionError("rows of the index are read")

    monkeypatch.setattr(StoredColumns, "take", take)
    db.insert("t", gone)
    monkeypatch.undo()
    assert db.table("t").arrow().num_rows == 2 * ROWS


def test_the_bytes_of_few_rows_are_not_counted(db: viewlet.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def size(_: Any) -> int:
        raise AssertionError("each column is asked how many bytes its rows take")

    monkeypatch.setattr(transaction, "_size", size)
    db.insert("t", orders(0))
    assert db.table("t").arrow().num_rows == ROWS


def test_a_piece_of_large_columns_is_as_large_as_its_rows() -> None:
    rows = Rows.of(pa.table({"a": np.arange(1_000)}))
    assert transaction._is_larger([rows], 7_999)
    assert not transaction._is_larger([rows], 8_000)
    assert not transaction._is_larger([rows.slice(0, 10)], 80)
    assert transaction._is_larger([rows.slice(0, 10), rows.slice(10, 10)], 159)


def test_small_runs_of_an_index_are_searched_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searches = 0

    def find(*given: Any) -> Any:
        nonlocal searches
        searches += 1
        return search.find(*given)

    with viewlet.connect(tmp_path / "w", engine="inproc") as db:
        db.sql("CREATE TABLE t (id BIGINT, name STRING, PRIMARY KEY (id))")
        for first in range(0, 12 * ROWS, ROWS):
            db.insert("t", orders(first).select(["id", "name"]))
        assert len(db._warehouse.store.snapshot().contents("t.index").runs) == 12, "runs were merged early"
        for module in (probe, map_run):
            monkeypatch.setattr(module, "find", find)
        db.insert("t", orders(100_000).select(["id", "name"]))
        db.delete("t", orders(0).select(["id", "name"]))
        assert searches <= 4, "each small run is searched by itself"
        db.upsert("t", [(ROWS, "new"), (2 * ROWS, "new"), (5, "back")])
        db.delete("t", pa.table({"id": [3 * ROWS, 100_000]}))
        monkeypatch.undo()
        for bad in ([(ROWS, "again")], [(5, "again")], [(100_001, "again")]):
            with pytest.raises(viewlet.RejectedEpoch, match="its key already exists"):
                db.insert("t", bad)
        for gone in ([(0, "order 0")], [(ROWS, f"order {ROWS}")], [(100_000, "order 100000")], [(5, "order 5")]):
            with pytest.raises(viewlet.RejectedEpoch, match="does not exist"):
                db.delete("t", gone)
        assert db.table("t").arrow().num_rows == 12 * ROWS - 1


def test_an_index_is_searched_as_it_was_before_later_epochs(tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w", engine="inproc") as db:
        db.sql("CREATE TABLE t (id BIGINT, name STRING, PRIMARY KEY (id))")
        for first in (0, 1_000):
            db.insert("t", [(first, "a"), (first + 1, "b")])
        early = db._warehouse.store.snapshot().contents("t.index")
        for first in (2_000, 3_000):
            db.insert("t", [(first, "a"), (first + 1, "b")])
            db.delete("t", [(first - 1_000, "a")])
        late = db._warehouse.store.snapshot().contents("t.index")
        wanted = Rows.of(pa.table({"id": [0, 1_000, 2_000, 3_000, 4_000]}))
        given = probe.Sorted.by(("id",), wanted)
        for contents, there in ((late, [1, 0, 0, 1, 0]), (early, [1, 1, 0, 0, 0]), (late, [1, 0, 0, 1, 0])):
            assert given.weigh(contents, []).tolist() == there
