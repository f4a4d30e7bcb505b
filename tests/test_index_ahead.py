"""The index of a table that changes much is sorted and written beside the refresh: the same rows, whatever happens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import viewlet
from tests.storage.bags import TABLE, TINY, bag, make
from viewlet.columns.rows import Rows
from viewlet.store import Layout, Store, Transaction

INDEX = Layout(("k", "v"), ("k",), fingerprints=True)
AHEAD = replace(TINY, ahead_rows=4, recent_rows=1_000)
IN_FILES = replace(AHEAD, inline_bytes=0, inline_most=0)
PARQUET = replace(AHEAD, recent_rows=5)


def changed(*, twice: bool) -> Rows:
    """Rows put in and taken away, one of them twice if that is wanted, out of the order of their hashes."""
    weights = [1, -1, 1, 1, -1, 1, 2 if twice else 1]
    return make(weights, k=[7, 3, 9, 1, 4, 8, None], v=["a", "b", None, "", "a", "c", "d"])


def append(transaction: Transaction, rows: Rows) -> None:
    transaction.append("t", rows, TABLE)
    transaction.append_index("t.index", rows, INDEX)


@pytest.mark.parametrize("limits", [AHEAD, IN_FILES, PARQUET])
@pytest.mark.parametrize("twice", [False, True])
def test_a_table_and_its_index_hold_the_same(tmp_path: Path, limits: viewlet.store.Limits, twice: bool) -> None:
    rows = changed(twice=twice)
    with Store.open(tmp_path / "w", limits=limits) as store:
        transaction = store.begin()
        append(transaction, rows)
        assert bag(transaction.contents("t.index").consolidated()) == bag(rows)
        transaction.commit({})
        with store.begin() as transaction:  # and once more, on what is there
            append(transaction, rows)
            transaction.commit({})
        twofold = Counter({row: 2 * weight for row, weight in bag(rows).items()})
        for name in ("t", "t.index"):
            assert bag(store.snapshot().contents(name).consolidated()) == twofold
    with Store.open(tmp_path / "w", limits=limits) as store:
        for name in ("t", "t.index"):
            assert bag(store.snapshot().contents(name).consolidated()) == twofold
        index = store.snapshot().contents("t.index")
        found = [run.map.fingerprints for run in index.runs]
        known = [run.map.piece((0, len(run.map)), INDEX) for run in index.runs]
        own = [Rows(rows.columns, rows.weights).fingerprints(INDEX.plain) for rows in known]
        assert [f.tolist() for f in found] == [f.tolist() for f in own]


def test_the_two_share_their_bytes(tmp_path: Path) -> None:
    for limits in (AHEAD, IN_FILES):
        with Store.open(tmp_path / str(limits.inline_most), limits=limits) as store:
            transaction = store.begin()
            append(transaction, changed(twice=False))
            transaction.commit({})
            table, index = (store.snapshot().contents(name).refs() for name in ("t", "t.index"))
            assert [ref.place for ref in table] == [ref.place for ref in index]
            assert [ref.kind for ref in table] == ["shared"]


def give_up(transaction: Transaction) -> None:
    transaction.abort()


def withdraw_table(transaction: Transaction) -> None:
    transaction.withdraw("t")
    assert bag(transaction.contents("t.index").consolidated()) == bag(changed(twice=False))
    transaction.withdraw("t.index")
    transaction.commit({})


@pytest.mark.parametrize("end", [give_up, withdraw_table])
def test_nothing_is_left_of_what_is_not_committed(tmp_path: Path, end: Callable[[Transaction], None]) -> None:
    with Store.open(tmp_path / "w", limits=IN_FILES) as store:
        transaction = store.begin()
        append(transaction, changed(twice=False))
        end(transaction)
        store.settle()
        assert store.orphans() == []
        assert list((tmp_path / "w" / "data").iterdir()) == []


COUNT = 5_000


def rows_of(first: int, word: str) -> pa.Table:
    ids = np.random.default_rng(first).permutation(np.arange(first, first + COUNT))
    words = [None if i % 7 == 0 else f"{word} {i % 40}" for i in ids]
    return pa.table({"id": ids, "d": pa.array(ids % 97, pa.int64()).cast(pa.decimal128(38, 0)), "w": words})


@pytest.mark.parametrize("new", [COUNT, 0], ids=["others", "the same keys"])
def test_large_epochs_of_a_table_with_a_key(tmp_path: Path, new: int) -> None:
    with viewlet.connect(tmp_path / "w", engine="inproc") as db:
        db.sql("CREATE TABLE t (id BIGINT, d DECIMAL(38, 0), w STRING, PRIMARY KEY (id))")
        db.insert("t", rows_of(0, "old"))
        with db.epoch() as e:
            e.delete("t", rows_of(0, "old"))
            e.insert("t", rows_of(new, "new"))
            with pytest.raises(viewlet.RejectedEpoch, match="its key already exists"):
                e.insert("t", rows_of(new, "newer").slice(0, 1))
    with viewlet.connect(tmp_path / "w", engine="inproc") as db:
        found = db.table("t").arrow().sort_by("id")
        assert found.equals(rows_of(new, "new").sort_by("id").cast(found.schema))
        with pytest.raises(viewlet.RejectedEpoch, match="its key already exists"):
            db.insert("t", rows_of(new, "new").slice(COUNT - 1))
        with pytest.raises(viewlet.RejectedEpoch, match="it does not exist"):
            db.delete("t", rows_of(0, "old").drop_null().slice(0, 1))
        db.delete("t", rows_of(new, "new"))
        assert db.table("t").arrow().num_rows == 0
