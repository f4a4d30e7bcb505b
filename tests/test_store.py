"""The store's parts: layouts, runs, lookups, transactions, snapshots, feeds, the lock."""

from __future__ import annotations

import decimal
import gc
import pickle
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from viewlet.columns.hash import hash_rows
from viewlet.columns.rows import Rows
from viewlet.errors import StoreError, WarehouseBusy
from viewlet.store import Layout, Limits, Store, TableContents, open_contents, write_run, write_runs
from viewlet.store.log.background import Flusher

TYPES = {"k": pa.int64(), "v": pa.string()}
MAP = Layout(("k", "v"), ("k",), indexes=(("v",),))
SUMS = Layout(("k", "s"), ("k",), sums=("s",))
TABLE = Layout(("k", "v"), (), form="table")
FEED = Layout(("k", "v"), ("k",), feed=True)
TINY = Limits(inline_bytes=3_000, segment_bytes=8_000, first_level_rows=4, commit_merge_rows=40, recent_rows=30)


def make(weights: list[int] | None = None, **columns: Any) -> Rows:
    """Rows of some Python values, of weight one unless weights are given."""
    arrays = {n: v if isinstance(v, pa.Array) else pa.array(v) for n, v in columns.items()}
    size = len(next(iter(arrays.values())))
    return Rows(arrays, np.array([1] * size if weights is None else weights, dtype=np.int64))


def bag(rows: Rows) -> Counter[Any]:
    """Rows as a dictionary from contents to weight."""
    result: Counter[Any] = Counter()
    for row, weight in zip(
        zip(*(c.to_pylist() for c in rows.columns.values()), strict=True), rows.weights, strict=True
    ):
        result[row] += int(weight)
    return Counter({row: weight for row, weight in result.items() if weight})


def commit(store: Store, name: str, rows: Rows, layout: Layout) -> int:
    transaction = store.begin()
    transaction.append(name, rows, layout)
    return transaction.commit({})


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


def test_snapshot_stays_as_it_was(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", limits=TINY) as store:
        commit(store, "m", make(k=list(range(2000)), v=["x"] * 2000), MAP)
        snapshot = store.snapshot()
        with store.begin() as transaction:
            transaction.drop("m")
            transaction.commit()
        assert store.clean() == []
        assert snapshot.contents("m").scan()["k"].to_numpy().sum() == 1999 * 1000
        del snapshot
        assert len(store.clean()) == 1


def test_a_closed_store_holds_no_files(tmp_path: Path) -> None:
    gc.disable()
    try:
        with Store.open(tmp_path / "w", limits=TINY) as store:
            commit(store, "m", make(k=list(range(2000)), v=["x"] * 2000), MAP)
        with Store.open(tmp_path / "w", limits=TINY) as store:
            with store.begin() as transaction:
                transaction.drop("m")
                transaction.commit()
            assert len(store.clean()) == 1
    finally:
        gc.enable()


def test_merges_keep_runs_few(store: Store) -> None:
    for i in range(300):
        commit(store, "m", make(k=[i, i + 1], v=["a", "b"]), MAP)
    store.settle()
    contents = store.snapshot().contents("m")
    assert len(contents.runs) <= 8
    assert len(contents.consolidated()) == 600


def test_the_log_stays_bounded(tmp_path: Path) -> None:
    """After four hundred epochs it is about as large as after one hundred."""
    limits, sizes = replace(TINY, segment_records=20, history_epochs=10, grace_seconds=0.0), []
    with Store.open(tmp_path / "w", limits=limits) as store:
        for i in range(400):
            commit(store, "m", make([1, -1], k=[i % 9, (i - 1) % 9], v=["a", "a"]), MAP)
            if i % 100 == 99:
                store.settle()
                sizes.append(sum(file.stat().st_size for file in (tmp_path / "w" / "log").iterdir()))
    assert max(sizes) < 2 * sizes[0], sizes


def test_epochs_go_on_while_the_background_merges(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", limits=TINY) as store:
        expected: Counter[Any] = Counter()
        for i in range(150):
            rows = make([1, 1, -1], k=[i, i % 7, (i + 3) % 7], v=["a", "b", "b"])
            expected.update(bag(rows))
            commit(store, "m", rows, MAP)
            commit(store, "t", rows, TABLE)
        store.settle()
        for name in ("m", "t"):
            assert bag(store.snapshot().contents(name).scan()) == {r: w for r, w in expected.items() if w}
        store.clean()
        assert store.verify() == []
        assert store.orphans() == []
    with Store.open(tmp_path / "w") as store:
        assert store.epoch == 300
        assert bag(store.snapshot().contents("m").consolidated()) == {r: w for r, w in expected.items() if w}


def test_feed(store: Store) -> None:
    with store.begin() as transaction:
        transaction.put("settings", {"retention": {"epochs": 10}})
        transaction.commit()
    for i in range(30):
        commit(store, "f", make([1, -1], k=[i, i - 1], v=["a", "a"]), FEED)
    changes = store.feed("f", 28)
    assert [(epoch, bag(rows)) for epoch, _, rows in changes] == [
        (29, {(27, "a"): 1, (26, "a"): -1}),
        (30, {(28, "a"): 1, (27, "a"): -1}),
        (31, {(29, "a"): 1, (28, "a"): -1}),
    ]
    assert len(store.feed("f", 21)) == 10
    with pytest.raises(StoreError, match="from epoch 21 on"):
        store.feed("f", 20)
    with pytest.raises(StoreError, match="epoch 99 is yet to come"):
        store.feed("f", 99)


def test_feed_of_a_bag_made_anew_begins_there(store: Store) -> None:
    commit(store, "f", make(k=[1], v=["a"]), FEED)
    assert len(store.feed("f", 0)) == 1
    with store.begin() as transaction:
        transaction.drop("f")
        transaction.commit()
    commit(store, "f", make(k=[2], v=["a"]), FEED)
    with pytest.raises(StoreError, match="from epoch 2 on"):
        store.feed("f", 1)
    assert len(store.feed("f", 2)) == 1
    commit(store, "m", make(k=[2], v=["a"]), MAP)
    with pytest.raises(StoreError, match="keeps no changes"):
        store.feed("m", 0)


def test_feed_survives_merges_and_segments(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", limits=TINY) as store:
        for i in range(60):
            commit(store, "f", make(k=[i], v=["x" * 50]), FEED)
    with Store.open(tmp_path / "w", limits=TINY) as store:
        assert [bag(rows) for _, _, rows in store.feed("f", 0)] == [{(i, "x" * 50): 1} for i in range(60)]
        assert store.verify() == []


def test_one_writer(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w"), pytest.raises(WarehouseBusy, match=r"process \d+ is writing"):
        Store.open(tmp_path / "w")
    Store.open(tmp_path / "w").close()


def test_readers_follow(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no warehouse"):
        Store.open(tmp_path / "w", write=False)
    with Store.open(tmp_path / "w", limits=TINY) as store:
        reader = Store.open(tmp_path / "w", write=False)
        with pytest.raises(StoreError, match="reading only"):
            reader.begin()
        for i in range(1, 60):
            commit(store, "m", make(k=[i], v=["x" * 50]), MAP)
            if i % 7 == 0:
                assert reader.refresh() == i
                assert len(reader.snapshot().contents("m").consolidated()) == i
        assert reader.refresh() == 59
    assert reader.refresh() == 59


def test_reader_whose_files_are_gone_reads_on_a_newer_snapshot(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", limits=TINY) as store:
        commit(store, "m", make(k=list(range(2000)), v=["x"] * 2000), MAP)
        reader = Store.open(tmp_path / "w", write=False)
        reader._handles = type(reader._handles)(reader.storage)  # as in another process: nothing holds its files here
        reader._tail = None
        reader.refresh()
        with store.begin() as transaction:
            transaction.drop("m")
            transaction.append("m", make(k=[1], v=["y"]), MAP)
            transaction.commit()
        assert len(store.clean()) == 1
        assert bag(reader.read(lambda snapshot: snapshot.contents("m").scan())) == {(1, "y"): 1}


def test_grouped_durability(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", durability=5) as store:
        for i in range(100):
            commit(store, "m", make(k=[i], v=["a"]), MAP)
    with Store.open(tmp_path / "w") as store:
        assert store.epoch == 100


def test_the_flusher_ends_when_it_is_stopped_just_before_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    flusher = Flusher(lambda: None, 0)
    clear = flusher._dirty.clear

    def clear_after_a_stop() -> None:
        flusher._stopped.set()
        flusher._dirty.set()
        clear()

    monkeypatch.setattr(flusher._dirty, "clear", clear_after_a_stop)
    flusher.wake()
    flusher._thread.join(10)
    assert not flusher._thread.is_alive()


def test_readers_in_threads_see_whole_epochs(tmp_path: Path) -> None:
    """Each epoch moves one unit between two bags, so that their sum is always 100."""
    wrong: list[int] = []
    done = threading.Event()

    def look(store: Store) -> None:
        while not done.is_set():
            snapshot = store.snapshot()
            total = sum(int(snapshot.contents(name).scan().weights.sum()) for name in ("a", "b"))
            if total != 100:
                wrong.append(total)
            time.sleep(0.001)

    with Store.open(tmp_path / "w", limits=TINY) as store:
        with store.begin() as transaction:
            transaction.append("a", make([100], k=[1], v=["x"]), MAP)
            transaction.append("b", make([0], k=[1], v=["x"]), MAP)
            transaction.commit()
        thread = threading.Thread(target=look, args=(store,))
        thread.start()
        for i in range(150):
            with store.begin() as transaction:
                transaction.append("a", make([-1, 1, -1], k=[1, i, i], v=["x", "y", "y"]), MAP)
                transaction.append("b", make([1], k=[i % 5], v=["x"]), MAP)
                transaction.commit()
        done.set()
        thread.join()
    assert wrong == []
