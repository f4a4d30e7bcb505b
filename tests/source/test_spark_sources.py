"""What Spark reads feeds tables: batches by their difference, streams batch by batch."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.source.stream_reader import run_stream
from viewlet.errors import RejectedEpoch, SqlError, StoreError

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("key", ["id", None])
def test_a_batch_is_compared_with_what_is_there(key: str | None, spark: Any, tmp_path: Path) -> None:
    rng, data = random.Random(1), tmp_path / "orc"

    def write(rows: list[tuple[int, str | None]]) -> None:
        spark.createDataFrame(rows, "id BIGINT, x STRING").write.mode("overwrite").orc(str(data))

    rows = [(number, rng.choice([None, "a", "b"])) for number in range(6)]
    write(rows)
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        source = viewlet.spark_batch("orc", {"path": data})
        db.create_table("t", "id BIGINT, x STRING", primary_key=key, source=source)
        assert Counter(db.table("t").rows()) == Counter(rows)
        for number in range(2):
            rows = [*rows[1:4], (rows[4][0], "changed"), (10 + number, None)]
            write(rows)
            db.read_sources()
            assert Counter(db.table("t").rows()) == Counter(rows)
            assert db.read_sources() == []
        assert db.history()[-1]["tables"]["t"] == {"inserted": 2, "deleted": 2}, "rows that stay are no change"


def test_what_is_refused(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SqlError, match="password would be stored"):
        viewlet.spark_batch("jdbc", {"password": "x"})
    spark.createDataFrame([(1, "x"), (300, "y")], "id INT, x STRING").write.json(str(tmp_path / "data"))
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        place = f"FROM SPARK 'json' OPTIONS (path = '{tmp_path}/data')"
        with pytest.raises(RejectedEpoch, match="300 is out of the range of tinyint"):
            db.sql(f"CREATE TABLE t (id TINYINT) {place}")
        db.sql(f"CREATE TABLE u (id TINYINT) {place} ON BAD RECORD KEEP ASIDE")
        assert db.table("u").rows() == [(1,)]
        assert [reason for _, _, reason, _ in db.table("u_bad").rows()] == ["id: 300 is out of the range of tinyint"]
        named = viewlet.spark_batch("json", {"path": "$VIEWLET_TEST_PATH"})
        with pytest.raises(StoreError, match="no VIEWLET_TEST_PATH"):
            db.create_table("v", "id INT", source=named)
        monkeypatch.setenv("VIEWLET_TEST_PATH", str(tmp_path / "data"))
        db.read_sources("v")
        assert len(db.table("v")) == 2


def test_a_batch_of_a_stream_that_comes_again_is_left_out(spark: Any, tmp_path: Path) -> None:
    landing, checkpoint = tmp_path / "landing", tmp_path / "checkpoint"
    landing.mkdir()

    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.sql("CREATE TABLE t (id BIGINT, x STRING) APPEND ONLY")
        for number in range(2):
            (landing / f"{number}.json").write_text(f'{{"id": {number}, "x": "a"}}\n', encoding="utf-8")
            run_stream(spark, db, str(landing), str(checkpoint))
        assert Counter(db.table("t").rows()) == Counter([(0, "a"), (1, "a")])
        assert db.history()[-1]["stream"] == {"name": "files", "batch": 1}
        for file in (checkpoint / "commits").glob("*1*"):  # as if Spark had been killed before it noted the batch
            file.unlink()
        run_stream(spark, db, str(landing), str(checkpoint))
        assert Counter(db.table("t").rows()) == Counter([(0, "a"), (1, "a")])


def test_batches_may_replace_rows(spark: Any, tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.sql("CREATE TABLE t (id BIGINT, x STRING, PRIMARY KEY (id))")
        take = db.batch_writer("t", "s", upsert=True)
        for batch, rows in enumerate([[(1, "a"), (2, "b")], [(1, "c")]]):
            take(spark.createDataFrame(rows, "id BIGINT, x STRING"), batch)
        take(spark.createDataFrame([(1, "old")], "id BIGINT, x STRING"), 1)
        assert Counter(db.table("t").rows()) == Counter([(1, "c"), (2, "b")])


def _run_and_kill(seconds: float, module: str, *arguments: Path) -> None:
    """Let another process read, and kill it so long after it is ready."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    reader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None
    assert reader.stdout.readline() == "ready\n"
    time.sleep(seconds)
    os.kill(reader.pid, signal.SIGKILL)
    reader.stdout.close()
    assert reader.wait() == -signal.SIGKILL, "the reader ended by itself"


@pytest.mark.slow
def test_killed_while_it_takes_batches_of_a_stream(spark: Any, tmp_path: Path) -> None:
    rng, landing, checkpoint = random.Random(20), tmp_path / "landing", tmp_path / "checkpoint"
    landing.mkdir()
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.sql("CREATE TABLE t (id BIGINT, x STRING) APPEND ONLY")
    for number in range(100):
        if number % 5 == 0:
            _run_and_kill(rng.uniform(0, 8), "tests.source.stream_reader", tmp_path / "w", landing, checkpoint)
        (landing / f"{number}.json").write_text(f'{{"id": {number}, "x": "a"}}\n', encoding="utf-8")
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        came = len(db.table("t"))
        assert 0 < came < 100, "some batches were committed by processes that were killed"
        run_stream(spark, db, str(landing), str(checkpoint))
        assert sorted(db.table("t").rows()) == [(number, "a") for number in range(100)]


@pytest.mark.slow
def test_killed_while_it_compares_batches(spark: Any, tmp_path: Path) -> None:
    rng, data = random.Random(20), tmp_path / "json"
    data.mkdir()
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        source = viewlet.spark_batch("json", {"path": data})
        db.create_table("t", "id BIGINT, x STRING", primary_key="id", source=source, read=False)
    for number in range(20):
        lines = [f'{{"id": {i}, "x": "{rng.choice("abc")}"}}' for i in rng.sample(range(200), 100)]
        hidden = data / ".rows"
        hidden.write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.replace(hidden, data / "rows.json")
        _run_and_kill(rng.uniform(4, 14), "tests.source.folder_reader", tmp_path / "w")
        with viewlet.connect(tmp_path / "w", spark=spark) as db:
            db.read_sources()
            plain = spark.read.schema("id BIGINT, x STRING").json(str(data)).collect()
            assert Counter(db.table("t").rows()) == Counter(map(tuple, plain)), number
