"""Rows brought together by tasks, without a JVM: each slice holds all rows of its hashes, whatever they came with."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from viewlet.columns.rows import Rows
from viewlet.engine.cluster import slices as slices_module
from viewlet.engine.cluster.exchange import cut
from viewlet.engine.cluster.slices import CutTask, Slice, SliceTask, ToDriver, ToSlices, slices_for
from viewlet.plan.types import BIGINT, STRING, Field
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.epoch.intake_tasks import ReadRows, WriteRows


def by_k(tables: Iterator[pa.Table]) -> Iterator[ToSlices | ToDriver]:
    for rows in map(Rows.of, tables):
        unlucky = 13 in rows["k"].to_pylist()
        yield ToDriver("unlucky") if unlucky else ToSlices(rows, rows.hashes(("k",)))


def keys_of(slices: Iterator[Slice]) -> Iterator[list[int]]:
    for found in slices:
        yield [k for rows in found.values() for k in rows["k"].to_pylist()]


def notes_of(batches: list[pa.RecordBatch]) -> list[Any]:
    """What the tasks of one partition say, after the exchange has sorted what the others sent."""
    pieces = list(chain.from_iterable(CutTask(by_k, 8)(iter([batch])) for batch in batches))
    ordered = pa.Table.from_batches(pieces).sort_by("slice").to_batches(max_chunksize=3)
    return [pickle.loads(n.as_py()) for batch in SliceTask(keys_of)(iter(ordered)) for n in batch["note"]]


def batches(*keys: list[int]) -> list[pa.RecordBatch]:
    return [pa.RecordBatch.from_pydict({"k": own, "v": [str(k) for k in own]}) for own in keys]


def test_all_rows_of_a_key_are_in_one_slice() -> None:
    slices = notes_of(batches(list(range(20, 120)), list(range(20, 220, 2)), [20, 20]))
    assert 2 <= len(slices) <= 8
    assert sorted(chain.from_iterable(slices)) == sorted([*range(20, 120), *range(20, 220, 2), 20, 20])
    assert all(not set(a) & set(b) for i, a in enumerate(slices) for b in slices[:i])


def test_frames_meet_in_the_slices_that_they_share() -> None:
    """Two frames of one table, in the order of their numbers, and one of another table, whose slices come after."""
    given = [CutTask(by_k, 2, 0, 1), CutTask(by_k, 2, 0, 0), CutTask(by_k, 2, 2, 2)]
    pieces = [p for cut_ in given for p in cut_(iter(batches([1, 2, 3, 4])))]
    ordered = pa.Table.from_batches(pieces).sort_by("slice").to_batches(max_chunksize=2)

    def shown(slices: Iterator[Slice]) -> Iterator[dict[int, list[int]]]:
        for found in slices:
            yield {number: rows["k"].to_pylist() for number, rows in found.items()}

    slices = [pickle.loads(n.as_py()) for batch in SliceTask(shown)(iter(ordered)) for n in batch["note"]]
    of_one, of_other = [s for s in slices if 2 not in s], [s for s in slices if 2 in s]
    assert all(list(s) == [0, 1] and s[0] == s[1] for s in of_one)
    assert all(list(s) == [2] for s in of_other)
    for found in (of_one, of_other):
        assert sorted(k for s in found for k in next(iter(s.values()))) == [1, 2, 3, 4]


def test_what_is_not_taken_is_noted_once_and_the_rest_goes_on() -> None:
    *slices, note = notes_of(batches([1, 2, 3], [12, 13, 14], [4]))
    assert note == "unlucky"
    assert sorted(chain.from_iterable(slices)) == [1, 2, 3, 4]


def test_batches_are_cut_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices_module, "_ROWS", 10)
    given = batches(*([i, i + 100] for i in range(20, 30)))
    cuts = list(CutTask(by_k, 1)(iter(given)))
    assert [piece.num_rows for piece in cuts] == [1, 1]


def test_cutting_keeps_the_order_of_rows() -> None:
    rows = Rows.of(pa.table({"k": [5, 3, 5, 1, 3], "at": [0, 1, 2, 3, 4]}), np.array([1, -1, 2, 1, 1]))
    found = {n: (r["at"].to_pylist(), r.weights.tolist()) for n, r in cut(rows, np.array([5, 3, 5, 1, 3]))}
    assert found == {1: ([3], [1]), 3: ([1, 4], [-1, 1]), 5: ([0, 2], [1, 2])}
    assert not list(cut(rows.slice(0, 0), np.zeros(0, dtype=np.int64)))


def test_slices_follow_the_size() -> None:
    assert slices_for(0, 4) == 4
    assert slices_for(10 << 30, 4) == 512
    assert slices_for(1 << 60, 4) == 4096, "estimates of joins are not taken at their word"


@pytest.mark.parametrize("trusted", [True, False])
def test_of_rows_that_are_written_where_they_are_read_only_hashes_go_on(tmp_path: Path, trusted: bool) -> None:
    fields = (Field("k", BIGINT), Field("v", STRING))
    table = Table("t", fields, trusted=trusted)
    (tmp_path / "data").mkdir()
    write = WriteRows(ReadRows(table, ("k", "v"), (), 0), str(tmp_path))
    given = [pa.table({"c0": [i, i + 1], "c1": ["x" * 3000, "y"]}) for i in range(3)]
    found = list(write(iter(given)))
    notes = [sent.note for sent in found if isinstance(sent, ToDriver)]
    kept = [sent.rows for sent in found if isinstance(sent, ToSlices)]
    assert [(note.bag, note.inserted) for note in notes] == [("t", 6)]
    assert (tmp_path / notes[0].ref.file).is_file()
    assert [rows.names for rows in kept] == ([] if trusted else [table.hashes] * 3)
