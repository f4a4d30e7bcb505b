"""Which files of a folder a table takes in, what it takes of them, and how many in one epoch."""

from __future__ import annotations

import bz2
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewlet
from viewlet.errors import RejectedEpoch


def put(path: Path, ids: list[int], **more: list[Any]) -> int:
    """Write a file of rows; its size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": ids, **more}), path)
    return path.stat().st_size


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, {1, 2}), ({"pathGlobFilter": "a*"}, {1}), ({"recursiveFileLookup": True}, {1, 2, 3})],
)
def test_names_and_folders_decide(options: dict[str, Any], expected: set[int], tmp_path: Path) -> None:
    files = {"a.parquet": 1, "b.parquet": 2, "below/a.parquet": 3, "_c.parquet": 4, ".d.parquet": 5, "_e/a.parquet": 6}
    for name, number in files.items():
        put(tmp_path / "landing" / name, [number])
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "id BIGINT", source=viewlet.folder(tmp_path / "landing", "parquet", options))
        assert {number for (number,) in db.table("t").rows()} == expected


def test_columns_go_by_name(tmp_path: Path) -> None:
    put(tmp_path / "landing" / "a.parquet", [1], other=["ignored"])
    put(tmp_path / "landing" / "b.parquet", [2], name=["b"])
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "name STRING, id BIGINT", source=viewlet.folder(tmp_path / "landing", "parquet"))
        assert set(db.table("t").rows()) == {(None, 1), ("b", 2)}


def test_a_key_is_unique_across_files(tmp_path: Path) -> None:
    put(tmp_path / "landing" / "a.parquet", [1])
    with viewlet.connect(tmp_path / "w") as db:
        source = viewlet.folder(tmp_path / "landing", "parquet")
        db.create_table("t", "id BIGINT", primary_key="id", source=source)
        put(tmp_path / "landing" / "b.parquet", [2, 1])
        with pytest.raises(RejectedEpoch, match="1"):
            db.read_sources()
        assert db.table("t").rows() == [(1,)]


def test_an_epoch_takes_so_many_bytes_the_oldest_files_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    landing = tmp_path / "landing"
    size = put(landing / "small.parquet", [0])
    ages = {"c": [3], "a": [1], "b": [2], "large": list(range(1_000, 9_000)), "d": [4]}
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "id BIGINT", source=viewlet.folder(landing, "parquet"))
        for at, (name, ids) in enumerate(ages.items()):
            put(landing / name, ids)
            os.utime(landing / name, (1_000_000 + at, 1_000_000 + at))
        monkeypatch.setattr("viewlet.source.files.listing.MOST_BYTES", 2 * size)
        epochs = db.read_sources()
        changes = db.table("t").changes(since=epochs[0] - 1)
        by_epoch: dict[int, list[int]] = {}
        for row in changes.to_pylist():
            by_epoch.setdefault(row["_commit_version"], []).append(row["id"])
        assert [sorted(by_epoch[epoch])[:2] for epoch in epochs] == [[1, 3], [2], [1_000, 1_001], [4]]


@pytest.mark.spark
def test_texts_may_be_compressed_span_lines_and_have_another_header(spark: Any, tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    landing.mkdir()
    (landing / "a.csv.bz2").write_bytes(bz2.compress(b'other,names\n1,"two\nlines"\n2,x\n'))
    options = {"header": True, "multiLine": True, "enforceSchema": True}
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.create_table("t", "id BIGINT, name STRING", source=viewlet.folder(landing, "csv", options))
        assert set(db.table("t").rows()) == {(1, "two\nlines"), (2, "x")}
