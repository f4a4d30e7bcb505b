"""A store over time: snapshots, merges, the log, feeds, one writer and its readers."""

from __future__ import annotations

import gc
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.storage.bags import FEED, MAP, TABLE, TINY, bag, commit, make
from viewlet.errors import StoreError, WarehouseBusy
from viewlet.store import Store
from viewlet.store.log.background import Flusher


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(tmp_path / "w") as opened:
        yield opened


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
