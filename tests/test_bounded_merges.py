"""What a merge holds is bounded by the size of the largest runs, however many it takes; and merging comes to its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from viewlet.columns.rows import Rows
from viewlet.store import Layout, Limits, Store
from viewlet.store.runs import merge_runs
from viewlet.store.runs.runs import ParquetPieces
from viewlet.store.runs.write_runs import make_map_run

MAP = Layout(columns=("k", "n"), key=("k",), indexes=(("n",),))
TABLE = Layout(columns=("k", "n"), key=("k", "n"), form="table", feed=True)
LARGEST = 32 << 10
LIMITS = Limits(
    inline_bytes=0, inline_most=0, first_level_rows=64, commit_merge_rows=0, recent_rows=16, largest_run=LARGEST
)
EPOCHS, EACH = 120, 200


def rows(first: int, weight: int = 1) -> Rows:
    keys = np.arange(first, first + EACH) * 2_654_435_761 % (1 << 40)
    return Rows({"k": pa.array(keys), "n": pa.array(keys % 977)}, np.full(EACH, weight))


def fill(store: Store, layout: Layout) -> set[int]:
    """Epochs, merged as they come, the first of which are taken back; the keys that are left."""
    for epoch in range(EPOCHS):
        with store.begin() as transaction:
            transaction.append("bag", rows(epoch * EACH), layout)
            if epoch >= EPOCHS - 3:
                transaction.append("bag", rows((epoch - EPOCHS + 3) * EACH, -1), layout)
            transaction.commit()
        store.settle()
    held = store.snapshot().contents("bag").consolidated()
    assert (held.weights == 1).all()
    assert len(held) == (EPOCHS - 3) * EACH
    return set(held["k"].to_pylist())


def test_maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []

    def watched(part: Rows, *more: Any) -> Any:
        built.append(sum(array.nbytes for array in part.columns.values()))
        return make_map_run(part, *more)

    monkeypatch.setattr(merge_runs, "make_map_run", watched)
    with Store.open(tmp_path / "w", limits=LIMITS) as store:
        keys = fill(store, MAP)
        runs = store.snapshot().contents("bag").runs
        assert keys == {k for epoch in range(3, EPOCHS) for k in rows(epoch * EACH)["k"].to_pylist()}
        assert sum(run.ref.size for run in runs) > 6 * LARGEST
        assert len(runs) < EPOCHS // 3
        assert max(built) < 3 * LARGEST, "rows in memory are a little larger than in files"
        assert not store.verify()


def test_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    end = ParquetPieces.end

    def watched(self: ParquetPieces) -> list[Any]:
        made = end(self)
        sizes.append(self.size)
        return made

    monkeypatch.setattr(ParquetPieces, "end", watched)
    monkeypatch.setattr("viewlet.store.runs.table_run.ROW_GROUP", 100)
    with Store.open(tmp_path / "w", limits=LIMITS) as store:
        fill(store, TABLE)
        put = [run.ref for run in store.snapshot().contents("bag").runs if run.ref.sign > 0]
        assert sum(ref.size for ref in put) > 6 * LARGEST
        assert len(put) < EPOCHS // 3
        assert max(sizes) < 1.5 * LARGEST
        assert not store.verify()
