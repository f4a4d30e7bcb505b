"""What the views of an epoch have in common is done once: hashes of a delta, contents of a map, look-ups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from viewlet.columns import rows as bags
from viewlet.columns.hash import hash_rows
from viewlet.columns.rows import Rows
from viewlet.store import Layout, Store
from viewlet.store.runs.map_run import MapBody

LAYOUT = Layout(("k", "v"), ("k",))


def delta(keys: list[int]) -> Rows:
    return Rows.of(pa.table({"k": keys, "v": [10 * k for k in keys], "s": [str(k) for k in keys]}))


def counted(monkeypatch: pytest.MonkeyPatch, holder: Any, name: str) -> list[Any]:
    """Calls of a function from now on, by their arguments."""
    calls: list[Any] = []
    function = getattr(holder, name)

    def call(*args: Any, **named: Any) -> Any:
        calls.append(args)
        return function(*args, **named)

    monkeypatch.setattr(holder, name, call)
    return calls


def test_who_reads_the_same_columns_hashes_them_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, rows = counted(monkeypatch, bags, "hash_rows"), delta([1, 2, 3])
    views = [rows.rename([f"k{i}", f"v{i}", f"s{i}"]) for i in range(5)]
    found = [view.hashes((f"k{i}", f"s{i}")) for i, view in enumerate(views)]
    computed = rows.replaced({"twice": pa.array([2, 4, 6]), "key": rows["k"], "text": rows["s"]})
    assert computed.filter(np.ones(3, dtype=np.bool_)).hashes(("key", "text")) is found[0]
    assert rows.negated().select(("s", "k")).hashes(("k", "s")) is found[0]
    assert len(calls) == 1
    assert computed.hashes(("twice",)) is not found[0]
    assert computed.hashes(("text", "key")) is not found[0]
    assert len(calls) == 3


@pytest.mark.parametrize("at", [[], [2], [0, 2], [2, 1, 0], [1, 1], [0, 1, 2]])
def test_known_hashes_follow_the_rows(at: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = delta([1, 2, 3])
    rows.hashes(("k", "s"))
    rows.rename(["s", "v", "k"]).hashes(("k", "v"), 7)  # under other names
    expected = hash_rows([rows["k"].take(pa.array(at, pa.int64())), rows["s"].take(pa.array(at, pa.int64()))], len(at))
    taken = rows.take(np.array(at, dtype=np.int64))
    assert taken["s"].to_pylist() == [str(i + 1) for i in at]
    calls = counted(monkeypatch, bags, "hash_rows")
    both = Rows.concat([taken, rows.copied()])
    assert taken.hashes(("k", "s")).tolist() == expected.tolist()
    assert both.hashes(("k", "s"))[: len(at)].tolist() == expected.tolist()
    assert len(calls) == (0 if at else 2)


def test_the_views_of_an_epoch_read_the_same_contents_and_look_the_same_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(tmp_path / "w", write=True) as store:
        for keys in ([1, 2, 2], [2, 3]):
            with store.begin() as transaction:
                transaction.append("m", delta(keys).select(LAYOUT.columns), LAYOUT)
                transaction.commit()
        with store.begin() as transaction:
            old = transaction.before("m")
            transaction.append("m", delta([2]).select(LAYOUT.columns), LAYOUT)
            new = transaction.contents("m")
            assert transaction.before("m") is old
            assert transaction.contents("m") is new
            calls, wanted = counted(monkeypatch, MapBody, "find"), delta([2]).hashes(("k",))
            for _ in range(5):
                assert new.count(("k",), wanted) == len(new.lookup(("k",), wanted.copy())[1]) == 3
            assert len(calls) == 3  # once in each run
            transaction.append("m", delta([2]).select(LAYOUT.columns), LAYOUT)
            assert transaction.contents("m").count(("k",), wanted) == 4
            assert transaction.before("m").count(("k",), wanted) == 2
            transaction.drop("m")
            transaction.append("m", delta([2]).select(LAYOUT.columns), LAYOUT)
            assert transaction.contents("m").count(("k",), wanted) == 1
