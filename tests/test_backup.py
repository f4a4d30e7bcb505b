"""Backups: an epoch, whole, somewhere else; what is restored goes on as the warehouse did."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewlet
from tests.storage.bags import FEED, TABLE, TINY, bag, commit, make
from tests.test_store_files import flip
from viewlet.cli.main import main
from viewlet.errors import CorruptFile, StoreError, WarehouseBusy
from viewlet.store import RunRef, Store, backup, backups, restore
from viewlet.store.log.folder.folder_log import FolderLog
from viewlet.store.storage.storage import Storage
from viewlet.warehouse.read.earlier import with_names_of_epochs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def fill(root: Path | str) -> Store:
    """Epoch 1 has a small run, which the log holds, epoch 2 a file."""
    store = Store.open(root, limits=TINY)
    commit(store, "m", make(k=[1], v=["a"]), FEED)
    commit(store, "t", make(k=list(range(500)), v=["x"] * 500), TABLE)
    return store


def contents(store: Store) -> list[object]:
    snapshot = store.snapshot()
    feed = [(epoch, bag(rows)) for epoch, _, rows in store.feed("m", 0)]
    return [store.epoch, {name: bag(snapshot.contents(name).scan()) for name in snapshot.bags}, feed, store.history()]


def test_each_backup_is_an_epoch_and_copies_what_is_new(tmp_path: Path) -> None:
    then = {}
    with fill(tmp_path / "w") as store:
        first = store.back_up(tmp_path / "b")
        then[2] = contents(store)
        commit(store, "m", make([-1, 1], k=[1, 2], v=["a", "b"]), FEED)
        commit(store, "u", make(k=list(range(700)), v=["y"] * 700), TABLE)
        then[4] = contents(store)
        second = store.back_up(tmp_path / "b")
        store.settle()
        again = store.back_up(tmp_path / "b")
    shutil.rmtree(tmp_path / "w")
    assert (first.epoch, first.files, first.copied) == (2, 1, 1)
    assert (second.epoch, second.files, second.copied) == (4, 2, 1)
    assert (again.epoch, again.copied) == (4, again.files - 2 if again.files > 2 else 0)
    assert backups(tmp_path / "b") == [2, 4]
    for epoch, expected in then.items():
        assert restore(tmp_path / "b", tmp_path / str(epoch), epoch).epoch == epoch
        with Store.open(tmp_path / str(epoch), limits=TINY) as store:
            assert contents(store) == expected
            assert store.verify() == []
            assert store.orphans() == []
            assert commit(store, "m", make(k=[9], v=["z"]), FEED) == epoch + 1
        assert Store.open(tmp_path / str(epoch), write=False).epoch == epoch + 1
    assert restore(tmp_path / "b", tmp_path / "last").epoch == 4


def test_epochs_go_on_while_a_backup_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the backup names is superseded, and swept, while it is copied: its files stay until it is done."""
    with fill(tmp_path / "w") as store:
        before = contents(store)
        original = backup._copy

        def meddle(source: Storage, target: Storage, ref: RunRef) -> None:
            with store.begin() as transaction:
                transaction.drop("t")
                transaction.drop("m")
                transaction.commit({})
            store.clean()
            original(source, target, ref)

        monkeypatch.setattr(backup, "_copy", meddle)
        assert store.back_up(tmp_path / "b").epoch == 2
        assert store.epoch == 3
    monkeypatch.undo()
    restore(tmp_path / "b", tmp_path / "r")
    with Store.open(tmp_path / "r", write=False) as store:
        assert contents(store) == before


def test_readers_make_backups_too(tmp_path: Path) -> None:
    with fill(tmp_path / "w") as store, Store.open(tmp_path / "w", write=False) as reader:
        expected = contents(store)
        reader.back_up(tmp_path / "b")
    restore(tmp_path / "b", tmp_path / "r")
    assert contents(Store.open(tmp_path / "r", write=False)) == expected


def test_damaged_files_are_not_backed_up(tmp_path: Path) -> None:
    fill(tmp_path / "w").close()
    (file,) = (tmp_path / "w" / "data").iterdir()
    flip(file, 50)
    with pytest.raises(CorruptFile, match=file.name):
        Store.open(tmp_path / "w", write=False).back_up(tmp_path / "b")
    assert backups(tmp_path / "b") == []
    flip(file, 50)
    Store.open(tmp_path / "w", write=False).back_up(tmp_path / "b")
    assert backups(tmp_path / "b") == [2]


def test_damaged_backups_are_not_restored(tmp_path: Path) -> None:
    with fill(tmp_path / "w") as store:
        store.back_up(tmp_path / "b")
        (file,) = (tmp_path / "b" / "data").iterdir()
        flip(file, 50)
        with pytest.raises(CorruptFile, match=f"b/data/{file.name}"):
            restore(tmp_path / "b", tmp_path / "r")
        with pytest.raises(StoreError):
            Store.open(tmp_path / "r", write=False)
        file.write_bytes(b"cut")
        store.back_up(tmp_path / "b")  # its size tells that it is another
        (frame,) = (tmp_path / "b" / "backups").iterdir()
        os.truncate(frame, frame.stat().st_size - 5)
        with pytest.raises(CorruptFile, match=f"{frame.name} is no whole backup"):
            restore(tmp_path / "b", tmp_path / "r")
        store.back_up(tmp_path / "b")
        expected = contents(store)
    assert restore(tmp_path / "b", tmp_path / "r").epoch == 2
    assert contents(Store.open(tmp_path / "r", write=False)) == expected


def test_a_restore_that_was_cut_short_is_no_warehouse_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fill(tmp_path / "w") as store:
        store.back_up(tmp_path / "b")

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(FolderLog, "begin", fail)
    with pytest.raises(KeyboardInterrupt):
        restore(tmp_path / "b", tmp_path / "r")
    monkeypatch.undo()
    with pytest.raises(CorruptFile, match="missing, though there are data"):
        Store.open(tmp_path / "r")
    assert restore(tmp_path / "b", tmp_path / "r").copied == 0
    assert Store.open(tmp_path / "r", write=False).epoch == 2


def test_nothing_that_is_there_is_overwritten(tmp_path: Path) -> None:
    with fill(tmp_path / "w") as store:
        with pytest.raises(StoreError, match="holds no backups, but other things: lock, log, mark"):
            store.back_up(tmp_path / "w")
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes" / "mine.txt").touch()
        with pytest.raises(StoreError, match=r"other things: mine.txt"):
            store.back_up(tmp_path / "notes")
        store.back_up(tmp_path / "b")
        with pytest.raises(StoreError, match=r"a warehouse .* already"):
            restore(tmp_path / "b", tmp_path / "w")
        with pytest.raises(StoreError, match="other things in it: mine"):
            restore(tmp_path / "b", tmp_path / "notes")
        with pytest.raises(StoreError, match=r"no backup of epoch 7 .*the last ones there: 2"):
            restore(tmp_path / "b", tmp_path / "r", 7)
        with pytest.raises(StoreError, match=r"no backup in .*there: none"):
            restore(tmp_path / "nowhere", tmp_path / "r")
        with pytest.raises(WarehouseBusy):
            Store.open(tmp_path / "w")
    assert not (tmp_path / "r").exists()


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with viewlet.connect(tmp_path / "w") as db:
        db.sql("CREATE TABLE items (id BIGINT, name STRING, PRIMARY KEY (id))")
        db.insert("items", [(1, "one")])
        assert str(db.backup(tmp_path / "b")).startswith("epoch 2 is in ")
        db.delete("items", [(1,)])
    assert main(["backup", str(tmp_path / "b"), "--warehouse", str(tmp_path / "w")]) == 0
    assert "epoch 3 is in" in capsys.readouterr().out
    assert main(["restore", str(tmp_path / "b"), "--epoch", "2", "--warehouse", str(tmp_path / "r")]) == 0
    assert main(["restore", str(tmp_path / "b"), "--epoch", "9", "--warehouse", str(tmp_path / "s")]) == 1
    assert "no backup of epoch 9" in capsys.readouterr().err
    with viewlet.connect(tmp_path / "r") as db:
        assert db.table("items").rows() == [(1, "one")]
        assert db.table("items").changes(since=1).num_rows == 1
        db.insert("items", [(2, "two")])


@pytest.mark.spark
def test_a_restored_source_reads_again_what_came_since(tmp_path: Path) -> None:
    def land(number: int) -> None:
        pq.write_table(pa.table({"id": [number]}), tmp_path / "landing" / f"{number}.parquet")

    (tmp_path / "landing").mkdir()
    land(1)
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "id BIGINT", source=viewlet.folder(tmp_path / "landing", "parquet"))
        db.backup(tmp_path / "b")
        land(2)
        db.read_sources()
    land(3)
    viewlet.restore(tmp_path / "b", tmp_path / "again")
    with viewlet.connect(tmp_path / "again") as db:
        assert db.table("t").rows() == [(1,)]
        db.read_sources()
        assert sorted(db.table("t").rows()) == [(1,), (2,), (3,)]
        assert db.read_sources() == []


@pytest.mark.spark
def test_views_that_were_restored_are_kept_fresh(tmp_path: Path, spark: SparkSession) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.sql("CREATE TABLE items (id BIGINT, kind BIGINT, n BIGINT, PRIMARY KEY (id))")
        db.sql("CREATE MATERIALIZED VIEW totals AS SELECT kind, sum(n) AS n FROM items GROUP BY kind")
        db.insert("items", [(i, i % 3, i) for i in range(100)])
        db.backup(tmp_path / "b")
    viewlet.restore(tmp_path / "b", tmp_path / "r")
    with viewlet.connect(tmp_path / "r", spark=spark) as db:
        db.delete("items", [(0,), (4,)])
        assert sorted(db.table("totals").rows()) == [
            (kind, sum(i for i in range(100) if i % 3 == kind and i != 4)) for kind in range(3)
        ]
        assert db.check("totals").num_rows == 0


def test_backups_in_sql_and_earlier_epochs(tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "id BIGINT, v STRING", primary_key="id")
        first = db.insert("t", [(1, "a"), (2, "b")])
        db.sql(f"BACKUP TO '{tmp_path / 'b'}'")
        second = db.upsert("t", [(2, "c"), (3, "d")])
        third = db.delete("t", [(1,)])
        assert f"epoch {third} is in" in db.sql(f"BACKUP TO '{tmp_path / 'b'}'")
        assert sorted(db.table("t").as_of(first)) == [(1, "a"), (2, "b")]
        assert sorted(db.table("t").as_of(second)) == [(1, "a"), (2, "c"), (3, "d")]
        assert sorted(db.table("t").as_of(third)) == sorted(db.table("t")) == [(2, "c"), (3, "d")]
        earlier = db.table("t").as_of(first)
        assert (len(earlier), earlier.epoch, earlier.changes(since=first).num_rows) == (2, first, 0)
        with pytest.raises(StoreError, match="yet to come"):
            db.table("t").as_of(third + 1)
        db.set_retention(epochs=1)
        db.insert("t", [(4, "e")])
        with pytest.raises(StoreError, match="is known as it was from epoch"):
            db.table("t").as_of(first)
        db.sql(f"RESTORE FROM '{tmp_path / 'b'}' EPOCH {first} TO '{tmp_path / 'old'}'")
    with viewlet.connect(tmp_path / "old") as db:
        assert sorted(db.table("t")) == [(1, "a"), (2, "b")]


def test_names_of_earlier_epochs() -> None:
    text = "SELECT * FROM `a b` FOR VERSION AS OF 3 JOIN t VERSION AS OF 12 x USING (id) -- t VERSION AS OF 1"
    assert with_names_of_epochs(text) == (
        "SELECT * FROM `a b as of 3` JOIN `t as of 12` x USING (id) -- t VERSION AS OF 1",
        {"a b as of 3": ("a b", 3), "t as of 12": ("t", 12)},
    )
    plain = "SELECT version FROM t WHERE version = 'AS OF'"
    assert with_names_of_epochs(plain) == (plain, {})
