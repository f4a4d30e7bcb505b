"""Warehouses by fsspec: its file system in memory stands for gs:// and abfs://, whose libraries need an account."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from tests.storage.bags import MAP, TABLE, bag, commit, make
from tests.storage.test_s3 import TINY
from viewlet.errors import WarehouseBusy
from viewlet.store import Store
from viewlet.store.storage.fsspec_bucket import FsspecBucket


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("VIEWLET_CACHE", str(tmp_path / "cache"))
    return f"memory://{uuid4().hex}/w"


def test_epochs_are_committed_read_and_removed(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewlet.store.log.objects.lease._CLOCKS", -2.0)  # so that no file is too new to be removed
    with Store.open(url, limits=TINY) as store:
        for i in range(30):
            commit(store, "m", make(k=[i], v=["a"]), MAP)
        commit(store, "t", make(k=list(range(500)), v=["x"] * 500), TABLE)
        with pytest.raises(WarehouseBusy):
            Store.open(url)
        store.settle()
        store.clean()
    monkeypatch.setenv("VIEWLET_CACHE", str(tmp_path / "another"))
    with Store.open(url, limits=TINY) as store:
        assert bag(store.snapshot().contents("m").scan()) == {(i, "a"): 1 for i in range(30)}
        assert len(store.snapshot().contents("t").scan()) == 500
        assert store.verify() == []


def test_what_a_bucket_does(url: str, tmp_path: Path) -> None:
    bucket = FsspecBucket("memory", url.removeprefix("memory://"), {})
    bucket.create("log/2", b"two")
    bucket.put("log/10", b"ten")
    bucket.put("data/x", b"x")
    with pytest.raises(FileExistsError):
        bucket.create("log/2", b"other")
    assert bucket.get("log/2") == b"two"
    assert {key: entry.size for key, entry in bucket.list("log/").items()} == {"log/10": 3, "log/2": 3}
    assert list(bucket.list("log/", "log/10")) == ["log/2"]
    assert list(bucket.list("nothing/")) == []
    bucket.fetch("data/x", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == b"x"
    bucket.remove(["data/x", "data/y"])
    with pytest.raises(FileNotFoundError):
        bucket.get("data/x")
