"""What is spared to the tasks of a worker: reading archives that have not changed, collecting what stays."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile
from zipimport import zipimporter

import pyarrow as pa
import pytest

import viewlet
from viewlet.spark.session import reused_worker
from viewlet.spark.session.reused_worker import settle


def packed(archive: Path, **modules: str) -> None:
    with ZipFile(archive, "w") as out:
        for name, text in modules.items():
            out.writestr(f"{name}.py", text)


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An archive on the path of a worker."""
    path = tmp_path / "some.zip"
    packed(path, of_archive_a="x = 1")
    monkeypatch.setenv("SPARK_REUSE_WORKER", "1")
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.syspath_prepend(str(path))
    yield path
    for name in [name for name in sys.modules if name.startswith("of_archive_")]:
        del sys.modules[name]
    sys.path_importer_cache.pop(str(path))


def test_an_archive_is_read_again_only_if_it_has_changed(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    whole = zipimporter.invalidate_caches

    def counted(importer: zipimporter) -> None:
        read.append(importer.archive)
        whole(importer)

    monkeypatch.setattr(zipimporter, "invalidate_caches", counted)
    assert importlib.import_module("of_archive_a").x == 1
    importlib.invalidate_caches()
    assert str(archive) in read, "as it is without us"
    settle()
    read.clear()
    importlib.invalidate_caches()
    settle()
    assert str(archive) not in read
    archive.unlink()
    packed(archive, of_archive_a="x = 1", of_archive_b="x = 'two'")
    importlib.invalidate_caches()
    assert read.count(str(archive)) == 1
    assert importlib.import_module("of_archive_b").x == "two"


def test_what_is_loaded_is_set_apart_once(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[int] = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(len(sys.modules)))
    monkeypatch.setattr(reused_worker, "_modules", 0)
    settle()
    settle()
    assert len(frozen) == 1
    importlib.import_module("of_archive_a")
    settle()
    assert len(frozen) == 2


def test_a_process_that_is_no_worker_stays_as_it_is(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_REUSE_WORKER")
    monkeypatch.setattr(gc, "freeze", lambda: pytest.fail("it is no worker"))
    importlib.import_module("of_archive_a")
    settle()
    importer = sys.path_importer_cache[str(archive)]
    assert "invalidate_caches" not in vars(importer)


@pytest.mark.spark
def test_workers_have_settled_after_an_epoch(spark: Any, tmp_path: Path) -> None:
    def settled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        importers = [one for one in sys.path_importer_cache.values() if isinstance(one, zipimporter)]
        known = ["invalidate_caches" in vars(one) for one in importers]
        for _ in batches:
            pass
        yield pa.RecordBatch.from_pydict({"frozen": [gc.get_freeze_count()], "known": [sum(known)], "n": [len(known)]})

    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.sql("CREATE TABLE t (id BIGINT, PRIMARY KEY (id))")
        for first in range(0, 400, 100):
            db.insert("t", spark.range(first, first + 100))
    found = spark.range(2).repartition(2).mapInArrow(settled, "frozen long, known long, n long").collect()
    assert any(row.frozen > 10_000 and row.known == row.n for row in found)
