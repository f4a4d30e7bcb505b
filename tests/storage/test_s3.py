"""A warehouse on S3: epochs, readers, tasks, damage, faults of the server."""

from __future__ import annotations

import gc
import os
import random
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.storage.bags import FEED, MAP, TABLE, TYPES, bag, commit, make
from tests.storage.server import DENIED, LOST, UNAVAILABLE, Bucket, failing, slow
from viewlet.cli.main import main
from viewlet.errors import CorruptFile, StoreError
from viewlet.store import Limits, Store, open_contents, restore, write_runs

TINY = Limits(
    inline_bytes=3_000,
    segment_records=10,
    segment_bytes=20_000,
    fan=2,
    first_level_rows=4,
    commit_merge_rows=40,
    recent_rows=30,
)

LONG = replace(TINY, segment_records=1_000, segment_bytes=1 << 20, closing_share=1.0)
"""The log does not begin anew."""


@pytest.fixture
def url(bucket: Bucket) -> str:
    return f"s3://{bucket.name}/some/warehouse"


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewlet.store.storage.bucket._FIRST_PAUSE", 0.001)


def forget_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on another machine: nothing is cached, and nothing is open."""
    gc.collect()
    monkeypatch.setenv("VIEWLET_CACHE", str(tmp_path / f"cache-{time.monotonic_ns()}"))


def test_epochs_are_read_elsewhere(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [(i, "x" * 100) for i in range(5_000)]
    with Store.open(url) as store:
        commit(store, "m", make(k=[1, 2], v=["a", "b"]), MAP)
        commit(store, "t", make(k=[k for k, _ in many], v=[v for _, v in many]), TABLE)
        commit(store, "m", make([-1, 1], k=[1, 3], v=["a", "c"]), MAP)
    forget_copies(tmp_path, monkeypatch)
    for write in (False, True):
        with Store.open(url, write=write) as store:
            assert store.epoch == 3
            assert bag(store.snapshot().contents("m").scan()) == {(2, "b"): 1, (3, "c"): 1}
            assert bag(store.snapshot().contents("t").scan()) == Counter(many)
            assert store.verify() == []


def test_a_small_epoch_is_one_request(url: str, bucket: Bucket) -> None:
    with Store.open(url) as store:
        commit(store, "m", make(k=[1], v=["a"]), MAP)
        before = len(bucket.server.requests)
        commit(store, "m", make(k=[2], v=["b"]), MAP)
        assert [method for method, _ in bucket.server.requests[before:]] == ["PUT"]


def test_any_epochs_merges_and_openings_keep_what_was_committed(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random changes against a dictionary: segments begin anew, runs are merged, files removed, caches lost."""
    chance, model = random.Random(5), {"m": Counter[Any](), "t": Counter[Any]()}
    reader: Store | None = None
    epochs = 0
    for _ in range(2):
        forget_copies(tmp_path, monkeypatch)
        with Store.open(url, limits=TINY) as store:
            assert store.epoch == epochs
            for _ in range(8):
                with store.begin() as transaction:
                    for name, layout in (("m", FEED), ("t", TABLE)):
                        gone = chance.sample(sorted(model[name]), min(len(model[name]), chance.choice([0, 1, 3])))
                        new = [
                            (chance.randrange(10**9), "v" * chance.randrange(60))
                            for _ in range(chance.choice([1, 2, 50]))
                        ]
                        keys, values = zip(*gone, *new, strict=True)
                        weights = [-1] * len(gone) + [1] * len(new)
                        transaction.append(name, make(weights, k=list(keys), v=list(values)), layout)
                        model[name] = Counter([row for row in model[name] if row not in gone] + new)
                    epochs = transaction.commit({})
            store.settle()
            reader = reader or Store.open(url, write=False, limits=TINY)
            assert reader.refresh() == epochs
            for opened in (store, reader):
                for name, rows in model.items():
                    assert bag(opened.snapshot().contents(name).scan()) == rows
            assert [epoch for epoch, _, _ in store.feed("m", 0)] == list(range(1, epochs + 1))
            assert store.verify() == []


def test_what_is_superseded_is_removed(url: str, bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewlet.store.log.objects.lease._CLOCKS", -2.0)  # so that no file is too new to be removed
    with Store.open(url, limits=TINY) as store:
        for i in range(25):
            commit(store, "m", make(k=[i], v=["a"]), MAP)
        store.settle()
        with store.begin() as transaction:
            transaction.drop("m")
            transaction.commit({})
        before = len(bucket.names())
        assert before > 20
        assert store.clean()
        assert len(bucket.names("some/warehouse/log")) < 20
        assert not bucket.names("some/warehouse/data")
        assert store.orphans() == []
        commit(store, "m", make(k=[1], v=["a"]), MAP)
    with Store.open(url, write=False) as store:
        assert bag(store.snapshot().contents("m").scan()) == {(1, "a"): 1}


def test_tasks_open_and_write_runs_by_address(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(url, limits=TINY) as store:
        commit(store, "m", make(k=[1], v=["a"]), MAP)
        refs = write_runs(store.address, make(k=list(range(500)), v=["x"] * 500), MAP, name="task-1")
        with store.begin() as transaction:
            transaction.adopt("m", refs, MAP, TYPES)
            transaction.commit({})
        sent = store.snapshot().contents("m").refs()
        forget_copies(tmp_path, monkeypatch)
        found = open_contents(store.address, sent, MAP, TYPES)
        assert bag(found.scan())[1, "a"] == 1
        assert found.rows == 501


@pytest.mark.parametrize("answer", [pytest.param(UNAVAILABLE, marks=pytest.mark.slow), LOST])
def test_failures_that_pass_are_not_noticed(url: str, bucket: Bucket, no_pauses: None, answer: Any) -> None:
    """An answer that was lost is an error though the request was carried out: the record must not come twice."""
    with Store.open(url, limits=TINY) as store:
        for i in range(5):
            bucket.server.fault = failing(answer, 3)
            commit(store, "m", make(k=[i], v=["a"]), MAP)
            bucket.server.fault = failing(answer, 3, "PUT", "/data/")
            commit(store, "m", make(k=list(range(500)), v=["x"] * 500), MAP)
        assert store.epoch == 10
        bucket.server.fault = failing(answer, 3)
    bucket.server.fault = failing(answer, 3, "GET")
    with Store.open(url, write=False) as store:
        assert store.epoch == 10
        assert bag(store.snapshot().contents("m").scan())[3, "x"] == 5


def test_a_slow_server_is_waited_for(url: str, bucket: Bucket) -> None:
    bucket.server.fault = slow(0.05)
    with Store.open(url) as store:
        assert commit(store, "m", make(k=[1], v=["a"]), MAP) == 1


def test_a_server_that_stays_away_is_named_and_nothing_is_half_done(url: str, bucket: Bucket, no_pauses: None) -> None:
    store = Store.open(url)
    commit(store, "m", make(k=[1], v=["a"]), MAP)
    bucket.server.fault = lambda environ: UNAVAILABLE
    before = len(bucket.server.requests)
    with pytest.raises(StoreError, match=rf"{url}/log/\d+\.log could not be written: .*SlowDown"):
        commit(store, "m", make(k=[2], v=["b"]), MAP)
    assert len(bucket.server.requests) < before + 20
    bucket.server.fault = lambda environ: None
    with pytest.raises(StoreError, match="open the warehouse again"):
        store.begin()
    store.close()
    with Store.open(url) as again:
        assert again.epoch == 1
        commit(again, "m", make(k=[2], v=["b"]), MAP)


@pytest.mark.parametrize("read_only", [False, True])
def test_wrong_credentials_are_one_clear_error(url: str, bucket: Bucket, read_only: bool) -> None:
    bucket.server.fault = lambda environ: DENIED
    before = len(bucket.server.requests)
    with pytest.raises(StoreError, match=f"{url}/.* access is denied: .*InvalidAccessKeyId.*credentials"):
        viewlet.connect(url, read_only=read_only)
    assert len(bucket.server.requests) == before + 1


def test_no_credentials_and_no_bucket_are_clear_errors(
    url: str, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoreError, match="no such bucket"):
        viewlet.connect("s3://there-is-none/w")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    with pytest.raises(StoreError, match="denied"):
        viewlet.connect(url)


def fill(url: str) -> None:
    with Store.open(url, limits=LONG) as store:
        commit(store, "m", make(k=[1], v=["a"]), MAP)
        commit(store, "t", make(k=list(range(500)), v=["x"] * 500), TABLE)
        commit(store, "m", make(k=[2], v=["b"]), MAP)


def test_a_damaged_file_is_named_and_the_rest_can_be_read(
    url: str, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(url)
    (key,) = bucket.names("some/warehouse/data/")
    bucket.flip(key, 40)
    forget_copies(tmp_path, monkeypatch)
    with Store.open(url, write=False) as store:
        assert bag(store.snapshot().contents("m").scan()) == {(1, "a"): 1, (2, "b"): 1}
        with pytest.raises(CorruptFile, match=f"s3://{bucket.name}/{key} was altered"):
            store.snapshot().contents("t").scan()
        assert store.verify() == [f"s3://{bucket.name}/{key}"]
    bucket.put(key, bucket.get(key)[:-1])
    with Store.open(url, write=False) as store, pytest.raises(CorruptFile, match=f"{key} has .* bytes where"):
        store.snapshot().contents("t").scan()
    bucket.remove(key)
    with Store.open(url, write=False) as store, pytest.raises(CorruptFile, match=f"{key} is missing"):
        store.snapshot().contents("t").scan()


def test_a_damaged_copy_is_fetched_again(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_copies(tmp_path, monkeypatch)
    fill(url)
    (copy,) = tmp_path.glob("cache*/*/data/*.parquet")
    copy.write_bytes(b"\0" * copy.stat().st_size)
    with Store.open(url, write=False) as store:
        assert len(store.snapshot().contents("t").scan()) == 500


@pytest.mark.parametrize(
    ("how", "which"),
    [
        pytest.param(how, n, marks=() if (how, n) == ("remove", -1) else pytest.mark.slow)
        for how in ("flip", "cut", "remove")
        for n in (-3, -2, -1)
    ],
)
def test_a_damaged_record_is_named_and_can_be_given_up(
    url: str, bucket: Bucket, how: str, which: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log is cut anywhere: readers and writers refuse it, `recover` continues from the last whole epoch."""
    fill(url)
    key = bucket.names("some/warehouse/log/")[which]
    {
        "flip": lambda: bucket.flip(key, 30),
        "cut": lambda: bucket.put(key, bucket.get(key)[:-9]),
        "remove": lambda: bucket.remove(key),
    }[how]()
    for write in (False, True):
        with pytest.raises(CorruptFile, match=key):
            Store.open(url, write=write)
    assert main(["recover", "--warehouse", url]) == 0
    assert key in capsys.readouterr().out
    with Store.open(url) as store:
        assert store.epoch == 3 + which
        assert bucket.names("some/warehouse/lost/") or which == -1
        commit(store, "m", make(k=[3], v=["c"]), MAP)
        assert store.verify() == []
    assert Store.open(url, write=False).epoch == 4 + which


def test_other_things_are_left_alone(url: str, bucket: Bucket) -> None:
    bucket.put("some/warehouse/notes.txt", b"mine")
    with pytest.raises(StoreError, match="other things in it: notes"):
        viewlet.connect(url)
    with pytest.raises(StoreError, match="there is no warehouse"):
        viewlet.connect(url, read_only=True)
    assert bucket.names() == ["some/warehouse/notes.txt"]


def test_tables_and_commands_take_addresses(url: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with viewlet.connect(url) as db:
        db.sql("CREATE TABLE items (id BIGINT, name STRING, PRIMARY KEY (id))")
        db.insert("items", [(1, "one"), (2, "two")])
        db.delete("items", [(1,)])
        assert url in repr(db)
    with viewlet.connect(url + "/", read_only=True) as db:
        assert db.table("items").rows() == [(2, "two")]
        assert db.table("items").changes(since=2).num_rows == 1
    assert main(["status", "--warehouse", url]) == 0
    assert "items" in capsys.readouterr().out


def test_nothing_that_is_secret_is_written_down(url: str, bucket: Bucket, tmp_path: Path) -> None:
    fill(url)
    stored = [bucket.get(key) for key in bucket.names()]
    cached = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(stored) > 4
    assert len(cached) > 3
    assert not any(b"something" in data or b"somebody" in data for data in (*stored, *cached))


def test_the_cache_stays_small(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIEWLET_CACHE_BYTES", "100000")
    with Store.open(url, limits=TINY) as store:
        for i in range(20):
            commit(store, f"t{i}", make(k=list(range(2_000)), v=[str(i)] * 2_000), TABLE)
        assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 120_000
        for i in range(20):
            assert set(store.snapshot().contents(f"t{i}").scan()["v"].to_pylist()) == {str(i)}


def test_copies_of_what_was_removed_go(url: str, bucket: Bucket, tmp_path: Path) -> None:
    fill(url)
    (copy,) = tmp_path.glob("cache/*/data/*.parquet")
    (key,) = bucket.names("some/warehouse/data/")
    bucket.remove(key)
    Store.open(url, write=False).close()
    assert copy.exists()  # it may be on its way to the store
    os.utime(copy, (0, 0))
    Store.open(url, write=False).close()
    assert not copy.exists()


def test_backups_go_to_and_come_from_object_stores(
    url: str, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From S3 to S3, from there to a folder, and back."""
    fill(url)
    Store.open(url, write=False).back_up(f"s3://{bucket.name}/backups/of/it")
    for key in bucket.names("some/"):
        bucket.remove(key)
    forget_copies(tmp_path, monkeypatch)
    restore(f"s3://{bucket.name}/backups/of/it", tmp_path / "w")
    with Store.open(tmp_path / "w") as store:
        assert commit(store, "m", make(k=[3], v=["c"]), MAP) == 4
        store.back_up(tmp_path / "b")
    assert restore(tmp_path / "b", url).epoch == 4
    with Store.open(url) as store:
        assert bag(store.snapshot().contents("m").scan()) == {(1, "a"): 1, (2, "b"): 1, (3, "c"): 1}
        assert len(store.snapshot().contents("t").scan()) == 500
        assert commit(store, "m", make(k=[4], v=["d"]), MAP) == 5
        assert store.verify() == []
