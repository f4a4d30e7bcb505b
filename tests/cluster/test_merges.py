"""Large merges by tasks: the same contents in fewer runs, with nothing of them read at the driver."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

import viewlet
from tests.cluster.local_context import LocalContext
from viewlet.columns.rows import Rows
from viewlet.engine.cluster.merge_job import merge_by_task
from viewlet.errors import StoreError
from viewlet.store import Layout, Limits, Store
from viewlet.store.runs.merge_runs import Merge

MAP = Layout(columns=("k", "n"), key=("k",))
TABLE = Layout(columns=("k", "n"), key=("k", "n"), form="table", feed=True)
LIMITS = Limits(inline_bytes=0, inline_most=0, first_level_rows=4, commit_merge_rows=0, recent_rows=8, recent_runs=2)


def rows(first: int, count: int, weight: int = 1) -> Rows:
    keys = np.arange(first, first + count)
    return Rows({"k": pa.array(keys), "n": pa.array(keys * 3)}, np.full(count, weight))


def bag(store: Store, name: str) -> dict[tuple[Any, ...], int]:
    held = store.snapshot().contents(name).consolidated()
    return dict(zip(zip(*(held[n].to_pylist() for n in ("k", "n")), strict=True), held.weights.tolist(), strict=True))


@pytest.fixture
def merged() -> list[Merge]:
    return []


@pytest.fixture
def store(tmp_path: Path, merged: list[Merge], monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store whose merges of the background are jobs, and whose own would fail."""

    def job(merge: Merge, layout: Layout, types: Any) -> Any:
        merged.append(merge)
        return merge_by_task(cast(Any, LocalContext()), str(tmp_path / "w"), merge, layout, types)

    def fail(*_: Any) -> None:
        raise AssertionError("merged at the driver")

    monkeypatch.setattr("viewlet.store.log.writer.Writer._merged_here", fail)
    with Store.open(tmp_path / "w", limits=LIMITS) as opened:
        opened.merge_by(job)
        yield opened


@pytest.mark.parametrize(("name", "layout"), [("map", MAP), ("table", TABLE)])
def test_merges_are_jobs(store: Store, merged: list[Merge], name: str, layout: Layout) -> None:
    for epoch in range(12):
        with store.begin() as transaction:
            transaction.append(name, rows(20 * epoch, 20), layout)
            if epoch % 3 == 2:  # most of what an earlier epoch put in
                transaction.append(name, rows(20 * epoch - 20, 18, -1), layout)
            transaction.commit()
    store.settle()
    assert merged
    assert len(store.snapshot().contents(name).runs) < 12
    there = {k for k in range(240) if not (k // 20 % 3 == 1 and k % 20 < 18)}
    assert bag(store, name) == {(k, 3 * k): 1 for k in there}
    assert not store.verify()
    store.clean()
    assert not store.orphans()


def test_a_merge_that_fails_is_put_off(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from py4j.protocol import Py4JError

    def lost(*_: Any) -> None:
        raise Py4JError("the cluster is gone")

    monkeypatch.setattr(LocalContext, "parallelize", lost)
    for epoch in range(12):
        with store.begin() as transaction:
            transaction.append("map", rows(20 * epoch, 20), MAP)
            transaction.commit()
    with pytest.raises(StoreError, match="could not merge"):
        store.settle()
    assert len(bag(store, "map")) == 240
    monkeypatch.undo()
    store.settle()
    assert len(bag(store, "map")) == 240


@pytest.mark.spark
def test_large_merges_run_on_spark(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("merged at the driver")

    monkeypatch.setattr("viewlet.warehouse.warehouse._LARGE_MERGE", 0)
    monkeypatch.setattr("viewlet.store.log.writer.Writer._merged_here", fail)
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as db:
        db.sql("CREATE TABLE t (id BIGINT, g BIGINT, PRIMARY KEY (id))")
        db.create_view("v", "SELECT g, count(*) AS n FROM t GROUP BY g")
        db.engine = "auto"
        for epoch in range(18):
            db.insert("t", [(i, i % 5000) for i in range(9000 * epoch, 9000 * (epoch + 1))])
        store = db._warehouse.store
        store.settle()
        refs = store.snapshot().contents("t.index").refs()
        assert len(refs) < 18
        assert any(ref.file.startswith("data/task-") for ref in refs)
        assert sum(n for _, n in db.table("v").rows()) == 162_000
