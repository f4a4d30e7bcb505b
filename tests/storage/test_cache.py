"""Copies on the local disk are a help, not a need: they may be deleted, and their disk may be full, at any time."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.storage.bags import TABLE, commit, make
from tests.storage.server import Bucket
from tests.storage.test_s3 import TINY, forget_copies
from viewlet.errors import StoreError
from viewlet.store import Store
from viewlet.store.files import write_file
from viewlet.store.storage import objects
from viewlet.store.storage.s3 import S3Bucket

MANY = make(k=list(range(500)), v=["x"] * 500)


@pytest.fixture
def url(bucket: Bucket) -> str:
    return f"s3://{bucket.name}/w"


def fill(url: str, *names: str) -> None:
    """In a function of its own: what is open stays readable as long as anybody holds it."""
    with Store.open(url, limits=TINY) as store:
        for name in names:
            commit(store, name, MANY, TABLE)


def rows_in(url: str) -> int:
    with Store.open(url, write=False, limits=TINY) as store:
        return len(store.snapshot().contents("t").scan())


def no_room(path: Path, *_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def test_copies_that_are_deleted_while_they_are_written_are_written_again(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted: list[Any] = []

    def deleting(work: Any) -> Any:
        def call(*arguments: Any) -> Any:
            if len(deleted) < 2:
                shutil.rmtree(Path(os.environ["VIEWLET_CACHE"]))
                deleted.append(work)
            return work(*arguments)

        return call

    monkeypatch.setattr(objects, "write_file", deleting(write_file))
    fill(url, "t")
    assert len(deleted) == 2
    forget_copies(tmp_path, monkeypatch)
    deleted.clear()
    monkeypatch.setattr(S3Bucket, "fetch", deleting(S3Bucket.fetch))
    assert rows_in(url) == 500
    assert len(deleted) == 2


def test_other_copies_make_room(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(url, "t", "u")
    forget_copies(tmp_path, monkeypatch)
    cache, fetch = Path(os.environ["VIEWLET_CACHE"]), S3Bucket.fetch

    def fetched(bucket: S3Bucket, key: str, path: Path) -> None:
        if list(cache.glob("*/data/*.parquet")):
            no_room(path)
        fetch(bucket, key, path)

    monkeypatch.setattr(S3Bucket, "fetch", fetched)
    with Store.open(url, write=False, limits=TINY) as store:
        for name in ("t", "u"):
            assert len(store.snapshot().contents(name).scan()) == 500
            assert len(list(cache.glob("*/data/*.parquet"))) == 1


def test_a_full_disk_keeps_nobody_from_writing_and_is_named_to_who_reads(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_written(path: Path, pieces: Any) -> None:
        try:
            no_room(path)
        except OSError as reason:
            raise StoreError("could not be written") from reason

    with monkeypatch.context() as patch:
        patch.setattr(objects, "write_file", not_written)
        fill(url, "t")
    forget_copies(tmp_path, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(S3Bucket, "fetch", lambda bucket, key, path: no_room(path))
        with pytest.raises(StoreError, match=r"No space left on device.*make room on the disk of the cache"):
            rows_in(url)
    assert rows_in(url) == 500
