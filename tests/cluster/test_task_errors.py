"""What goes wrong in tasks is one clear error of ours, and nothing is applied; what the caller's DataFrame raises is theirs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import viewlet
from viewlet.engine.cluster.runner import tasks_errors
from viewlet.errors import CorruptFile, SparkFailed, StoreError, ViewletError

CASES: list[tuple[str, type[ViewletError], str]] = [
    ("Traceback …\nviewlet.errors.StoreError: s3://b/w/data/x could not be read", StoreError, "^s3://b/w/data/x could"),
    ("Traceback …\nviewlet.store.files.GoneFile: data/x is missing", CorruptFile, "^data/x is missing"),
    (
        "Job aborted due to stage failure: Task 1 failed 4 times: No space left\n\tat …",
        SparkFailed,
        "No space left .hint",
    ),
]


@pytest.mark.parametrize(("text", "kind", "said"), CASES)
def test_errors_have_names(text: str, kind: type[ViewletError], said: str) -> None:
    with pytest.raises(kind, match=said) as caught, tasks_errors():
        raise PySparkException(text)
    assert type(caught.value) is kind


def test_what_a_dataframe_raises_is_the_callers() -> None:
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"), tasks_errors():
        raise PySparkException("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012")


def crash(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    os._exit(1)


@pytest.mark.spark
def test_a_worker_that_ends_is_one_error_and_nothing_is_applied(spark: Any, tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        db.sql("CREATE TABLE t (a BIGINT, PRIMARY KEY (a))")
        db.insert("t", spark.range(10).toDF("a"))
        with pytest.raises(SparkFailed, match=r"Spark did not finish a job: .*\(hint: nothing was applied"):
            db.insert("t", spark.range(10, 20).mapInArrow(crash, "a bigint"))
        db.insert("t", spark.range(10, 12).toDF("a"))
        assert sorted(db.table("t").rows()) == [(i,) for i in range(12)]
        assert db.status()["epoch"] == 3
