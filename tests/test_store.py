"""The parts of a store: layouts, runs, look-ups, transactions."""

from __future__ import annotations

import decimal
import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.storage.bags import MAP, SUMS, TABLE, TINY, TYPES, bag, commit, make
from viewlet.columns.hash import hash_rows
from viewlet.columns.rows import Rows
from viewlet.errors import StoreError
from viewlet.store import Layout, Limits, Store, TableContents, open_contents, write_run, write_runs


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(tmp_path / "w") as opened:
        yield opened


def test_layout_survives_json_and_pickle() -> None:
    layout = Layout(("a", "b", "c"), ("a",), (("b",), ("a", "b")), ("c",), feed=True)
    assert Layout.from_json(layout.to_json()) == layout
    assert pickle.loads(pickle.dumps(layout)) == layout


def test_layout_refuses_what_makes_no_sense() -> None:
    with pytest.raises(AssertionError, match="no columns"):
        Layout(("a",), ("b",))
    with pytest.raises(AssertionError, match="add up"):
        Layout(("a", "b"), ("a",), sums=("a",))


def test_lookup_by_key_and_index(store: Store) -> None:
    for start in range(0, 40, 4):
        commit(store, "m", make(k=list(range(start, start + 4)), v=["a", "b", "a", "b"]), MAP)
    contents = store.snapshot().contents("m")
    which, found = contents.lookup(("k",), make(k=[7, 100, 3, 7]).hashes())
    assert sorted(zip(which.tolist(), found["k"].to_pylist(), strict=True)) == [(0, 7), (2, 3), (3, 7)]
    which, found = contents.lookup(("v",), make(v=["b"]).hashes())
    assert sorted(found["k"].to_pylist()) == [k for k in range(40) if k % 2]
    assert set(which.tolist()) == {0}
    assert contents.count(("v",), make(v=["b"]).hashes()) == 20


def test_lookup_of_nothing_has_typed_columns(store: Store) -> None:
    commit(store, "m", make(k=pa.array([], pa.int64()), v=pa.array([], pa.string())), MAP)
    which, found = store.snapshot().contents("m").lookup(("k",), make(k=[1]).hashes())
    assert len(which) == 0
    assert found["v"].type == pa.string()
    assert len(store.snapshot().contents("m").scan()) == len(store.snapshot().contents("m").consolidated()) == 0


def test_limbs_that_come_to_nothing_are_nothing(store: Store) -> None:
    layout = Layout(("k", "x_0", "x_1", "x_n"), ("k",), sums=("x_0", "x_1", "x_n"))
    assert layout.numbers == (("x_0", "x_1"), ("x_n",))
    commit(store, "m", make(k=[1, 2, 3], x_0=[5, 5, 1 << 32], x_1=[0, 0, 0], x_n=[1, 1, 1]), layout)
    less = make(k=[1, 2, 3], x_0=[(1 << 32) - 5, -5, 0], x_1=[-1, 0, -1], x_n=[-1, -1, 0])
    commit(store, "m", less.negated(), layout)
    left = store.snapshot().contents("m").consolidated()
    assert left["k"].to_pylist() == [3]  # 5 + (2³² − 5) − 2³² = 0; of the third key, one value of zero is left


def test_many_probes_keep_their_positions(store: Store) -> None:
    keys = np.random.default_rng(5).permutation(1000)
    commit(store, "m", make(k=keys, v=[str(k) for k in keys]), MAP)
    probes = np.random.default_rng(6).permutation(2000)
    which, found = store.snapshot().contents("m").lookup(("k",), make(k=probes).hashes())
    assert probes[which].tolist() == found["k"].to_pylist()
    assert len(which) == 1000


def test_rows_that_share_a_hash_are_told_apart(store: Store) -> None:
    """An empty key: every row has the same hash."""
    layout = Layout(("k", "v"), ())
    commit(store, "m", make([1, 2, -1, 1], k=[1, 2, 1, 1], v=["a", "b", "a", None]), layout)
    commit(store, "m", make([1, -2], k=[1, 2], v=[None, "b"]), layout)
    contents = store.snapshot().contents("m")
    assert bag(contents.consolidated()) == {(1, None): 2}
    assert len(contents.lookup((), hash_rows([], 1))[0]) == contents.rows


def test_sums_add_up_and_vanish_with_the_weight(store: Store) -> None:
    commit(store, "m", make([1, 1, 0], k=[1, 2, 3], s=[10, 20, 5]), SUMS)
    commit(store, "m", make([1, -1, 0], k=[1, 2, 3], s=[-3, -20, -5]), SUMS)
    rows = store.snapshot().contents("m").consolidated()
    assert (rows["k"].to_pylist(), rows["s"].to_pylist(), rows.weights.tolist()) == ([1], [7], [2])
    commit(store, "m", make([-2], k=[1], s=[0]), SUMS)
    rows = store.snapshot().contents("m").consolidated()
    assert (rows["s"].to_pylist(), rows.weights.tolist()) == ([7], [0])  # a sum without weight is still there


@pytest.mark.parametrize("n", [1, 2, 3, 7, 64])
def test_partitions_divide_the_rows(store: Store, n: int) -> None:
    for start in (0, 500):
        commit(store, "m", make(k=list(range(start, start + 500)), v=["x"] * 500), MAP)
        commit(store, "t", make(k=list(range(start, start + 500)), v=["x"] * 500), TABLE)
    for name in ("m", "t"):
        contents = store.snapshot().contents(name)
        parts = [contents.partition(i, n) for i in range(n)]
        assert sorted(k for p in parts for k in p.scan()["k"].to_pylist()) == list(range(1000))
        assert sum(len(part.consolidated()) for part in parts) == 1000
    by_index = [
        p.lookup(("v",), make(v=["x"]).hashes())[1]
        for p in map(store.snapshot().contents("m").partition, range(n), [n] * n)
    ]
    assert sorted(k for rows in by_index for k in rows["k"].to_pylist()) == list(range(1000))


def test_all_types_survive(tmp_path: Path) -> None:
    columns = {
        "i": pa.array([1, None], pa.int8()),
        "d": pa.array([decimal.Decimal("9" * 38), None], pa.decimal128(38, 0)),
        "s": pa.array(["ß🎈", None]),
        "b": pa.array([b"\x00\xff", None]),
        "f": pa.array([float("nan"), -0.0]),
        "o": pa.array([True, None]),
        "t": pa.array([0, None], pa.timestamp("us", tz="UTC")),
        "n": pa.array([0, None], pa.timestamp("us")),
        "e": pa.array([-719162, None], pa.date32()),
        "l": pa.array([[1, None], None], pa.list_(pa.int64())),
        "m": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
        "r": pa.array([{"x": 1, "y": [None, "z"]}, None], pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))])),
        "u": pa.array([5, None], pa.duration("us")),
        "_weight": pa.array([7, 8]),
    }
    rows = Rows(columns, np.array([1, 1]))
    with Store.open(tmp_path / "w", limits=Limits(recent_rows=0)) as store:
        commit(store, "m", rows, Layout(tuple(columns), ("s", "d"), (("b",),)))
        commit(store, "t", rows, Layout(tuple(columns), (), form="table"))
        store.settle()
        table = store.snapshot().contents("t")
        assert isinstance(table, TableContents)
        assert len(table.positive_files()) == 1
    with Store.open(tmp_path / "w") as store:
        for name in ("m", "t"):
            read = store.snapshot().contents(name).consolidated()
            again = Rows.concat([rows, read.negated()])
            assert len(again.consolidate()) == 0
            assert {n: c.type for n, c in read.columns.items()} == {n: c.type for n, c in columns.items()}


def test_tables_repeat_rows_and_keep_those_taken_away_apart(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", limits=TINY) as store:
        commit(store, "t", make([2, 1], k=[1, 2], v=["a", "b"]), TABLE)
        contents = store.snapshot().contents("t")
        assert isinstance(contents, TableContents)
        assert contents.recent().weights.tolist() == [1, 1, 1]
        commit(store, "t", make(k=list(range(1000)), v=["x" * 40] * 1000), TABLE)
        commit(store, "t", make([-1] * 100, k=list(range(100)), v=["x" * 40] * 100), TABLE)
        store.settle()
        contents = store.snapshot().contents("t")
        assert isinstance(contents, TableContents)
        assert contents.positive_files()
        expected = Counter({(k, "x" * 40): 1 for k in range(100, 1000)}) + Counter({(1, "a"): 2, (2, "b"): 1})
        assert bag(contents.scan()) == expected


def test_much_taken_away_rewrites_the_files(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", limits=TINY) as store:
        commit(store, "t", make(k=list(range(1000)), v=["x" * 40] * 1000), TABLE)
        commit(store, "t", make([-1] * 600, k=list(range(600)), v=["x" * 40] * 600), TABLE)
        store.settle()
        contents = store.snapshot().contents("t")
        assert isinstance(contents, TableContents)
        assert contents.negative_files() == []
        assert contents.rows == 400
        assert sorted(contents.scan()["k"].to_pylist()) == list(range(600, 1000))


def test_rows_taken_away_that_were_never_there_do_not_keep_the_store_busy(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", limits=TINY) as store:
        commit(store, "t", make([-1] * 600, k=list(range(600)), v=["x" * 40] * 600), TABLE)
        commit(store, "t", make(k=list(range(500, 510)), v=["x" * 40] * 10), TABLE)
        store.settle()
        assert sum(bag(store.snapshot().contents("t").scan()).values()) == -590


def test_transaction_sees_itself_and_what_was_before(store: Store) -> None:
    commit(store, "m", make(k=[1], v=["a"]), MAP)
    with store.begin() as transaction:
        transaction.append("m", make(k=[2], v=["b"]), MAP)
        transaction.append("new", make(k=[2], v=["b"]), MAP)
        assert bag(transaction.before("m").scan()) == {(1, "a"): 1}
        assert bag(transaction.contents("m").scan()) == {(1, "a"): 1, (2, "b"): 1}
        assert transaction.before("new").rows == 0
        assert len(transaction.contents("m").lookup(("k",), make(k=[2]).hashes())[0]) == 1
        sent = pickle.loads(pickle.dumps(transaction.contents("m").refs()))
        assert bag(open_contents(store.root, sent, MAP, TYPES).scan()) == {(1, "a"): 1, (2, "b"): 1}
        transaction.drop("m")
        assert not transaction.has("m")
    assert bag(store.snapshot().contents("m").scan()) == {(1, "a"): 1}
    assert not store.snapshot().has("new")


def test_aborted_transaction_leaves_nothing(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", limits=replace(TINY, inline_most=0, ahead_bytes=0)) as store:
        transaction = store.begin()
        transaction.append("m", make(k=list(range(5000)), v=["x"] * 5000), MAP)
        assert len(list((store.root / "data").iterdir())) == 1
        transaction.append("t", make(k=[1, 2]), Layout(("k",), ("k",), form="table"))
        transaction.write_ahead()
        transaction.abort()
        assert store.epoch == 0
        assert store.orphans() == []
        assert list((store.root / "data").iterdir()) == []


def test_a_second_transaction_is_refused(store: Store) -> None:
    transaction = store.begin()
    with pytest.raises(StoreError, match="another epoch"):
        store.begin()
    with pytest.raises(StoreError, match="while an epoch"):
        store.clean()
    transaction.abort()
    store.begin().abort()


def test_other_types_and_layouts_are_refused(store: Store) -> None:
    commit(store, "m", make(k=[1], v=["a"]), MAP)
    with store.begin() as transaction:
        with pytest.raises(AssertionError, match="other types"):
            transaction.append("m", make(k=[1.5], v=["a"]), MAP)
        with pytest.raises(AssertionError, match="another layout"):
            transaction.append("m", make(k=[1], v=["a"]), Layout(("k", "v"), ("v",)))
        transaction.drop("m")
        transaction.append("m", make(k=[1.5], v=["a"]), Layout(("k", "v"), ("v",)))
        transaction.commit()
    assert bag(store.snapshot().contents("m").scan()) == {(1.5, "a"): 1}


def test_documents(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w") as store:
        with store.begin() as transaction:
            transaction.put("a", {"x": [1, None, "é"]})
            transaction.put("b", 2)
            transaction.commit()
        with store.begin() as transaction:
            transaction.remove("b")
            transaction.commit({"note": (1, 2)})
        assert dict(store.catalog) == {"a": {"x": [1, None, "é"]}}
        history = store.history()
    with Store.open(tmp_path / "w") as store:
        assert dict(store.catalog) == {"a": {"x": [1, None, "é"]}}
        assert store.history() == history
        assert store.history(1)[0]["note"] == [1, 2]
        assert store.history(0) == []


def test_adopted_files(store: Store) -> None:
    refs = write_runs(store.address, make([1, -1], k=[1, 2], v=["a", "b"]), TABLE, name="stage-1-attempt-0")
    ref = write_run(store.address, make([2, 3], k=[1, 2], v=["a", "b"]), MAP, name="stage-1-attempt-1")
    with store.begin() as transaction:
        transaction.adopt("t", pickle.loads(pickle.dumps(refs)), TABLE, TYPES)
        transaction.adopt("m", [ref], MAP, TYPES)
        transaction.commit()
    store.clean()
    assert bag(store.snapshot().contents("t").scan()) == {(1, "a"): 1, (2, "b"): -1}
    sent = store.snapshot().contents("m").refs()
    assert bag(open_contents(store.root, sent, MAP, TYPES).partition(0, 1).scan()) == {(1, "a"): 2, (2, "b"): 3}


def test_open_contents_reads_inline_runs(store: Store) -> None:
    commit(store, "m", make(k=[1], v=["a"]), MAP)
    refs = store.snapshot().contents("m").refs()
    assert refs[0].file.startswith("log/")
    assert bag(open_contents(str(store.root), refs, MAP, TYPES).scan()) == {(1, "a"): 1}
    assert len(open_contents(store.root, [], MAP, TYPES).scan()) == 0
