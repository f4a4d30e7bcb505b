"""Columns of runs in their stored form: as few bytes as hold them, and the same values when they are read."""

from __future__ import annotations

import gc
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import viewlet
from viewlet.columns.rows import Rows
from viewlet.store import Layout, Store
from viewlet.store.access.probe import Sorted
from viewlet.store.runs import narrow
from viewlet.store.runs.map_run import MapBody, build
from viewlet.store.runs.narrow import StoredColumns, narrowed_batch

LONG = st.integers(-(2**63), 2**63 - 1)
SHORT = st.integers(-40, 40)
VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int8(): st.integers(-128, 127),
    pa.int16(): st.integers(-(2**15), 2**15 - 1) | SHORT,
    pa.int32(): st.integers(-(2**31), 2**31 - 1) | SHORT,
    pa.int64(): LONG | SHORT | st.integers(2**32 - 300, 2**32) | st.integers(0, 50).map(lambda bits: 1 << bits),
    pa.date32(): st.dates(),
    pa.timestamp("us", tz="UTC"): SHORT.map(lambda n: datetime(2020, 1, 1) + timedelta(microseconds=n)),
    pa.decimal128(20, 2): st.decimals(-(10**17), 10**17, places=2) | SHORT.map(Decimal),
    pa.decimal128(38, 0): st.integers(-(10**37), 10**37).map(Decimal) | SHORT.map(Decimal),
    pa.string(): st.sampled_from(["", "a", "ä", "word"]) | st.text(max_size=3),
    pa.float64(): st.floats(),
    pa.bool_(): st.booleans(),
    pa.list_(pa.int64()): st.lists(SHORT, max_size=2),
}


@st.composite
def columns(draw: st.DrawFn) -> pa.Array:
    kind = draw(st.sampled_from(list(VALUES)))
    values = VALUES[kind] if draw(st.booleans()) else st.just(draw(VALUES[kind]))
    return pa.array(draw(st.lists(values | st.none() if draw(st.booleans()) else values, max_size=12)), type=kind)


@given(columns(), st.data())
def test_what_is_stored_is_read_as_what_it_was(column: pa.Array, data: st.DataObject) -> None:
    batch = pa.RecordBatch.from_arrays([column], names=["0"])
    stored = StoredColumns(narrowed_batch(batch), [column.type])
    start = data.draw(st.integers(0, len(column)))
    stop = data.draw(st.integers(start, len(column)))
    at = np.array(
        data.draw(st.lists(st.integers(0, len(column) - 1), max_size=5)) if len(column) else [], dtype=np.int64
    )
    for found, expected in (
        (stored.slice(0, len(column)), column),
        (stored.slice(start, stop), column.slice(start, stop - start)),
        (stored.take(at), column.take(pa.array(at))),
        (stored.take(at, [0]), column.take(pa.array(at))),
    ):
        assert found.column(0).type == column.type
        assert repr(found.column(0).to_pylist()) == repr(expected.to_pylist())
    assert repr(stored.column(0, start, stop).to_pylist()) == repr(column.slice(start, stop - start).to_pylist())


@pytest.mark.parametrize(
    ("column", "bits"),
    [
        (pa.array([7] * 100), 0),
        (pa.array(range(1_000, 1_100)), 8),
        (pa.array([5, 2**24 + 4]), 24),
        (pa.array([5, 2**24 + 5]), 32),
        (pa.array([0, 2**32 - 1]), 32),
        (pa.array([-1, None, 2**40 - 2]), 40),
        (pa.array([0, 2**48 - 1]), 48),
        (pa.array([0, 2**48]), 64),
        (pa.array([-(2**63), 2**63 - 1]), 64),
        (pa.array([Decimal("0.01"), Decimal("655.36")], type=pa.decimal128(26, 4)), 24),
        (pa.array([date(1992, 1, 1), None, date(1992, 9, 1)]), 8),
    ],
)
def test_few_bytes_hold_a_column(column: pa.Array, bits: int) -> None:
    (kind,) = narrowed_batch(pa.RecordBatch.from_arrays([column], names=["0"])).schema.types
    assert (0 if pa.types.is_null(kind) else kind.bit_width) == bits


@pytest.mark.parametrize("most", [2**24 - 1, 2**40 - 1])
def test_many_numbers_of_odd_widths(most: int) -> None:
    numbers = np.random.default_rng(1).integers(0, most, 5_000, endpoint=True)
    column = pa.array(np.append(numbers, [0, most]))
    stored = StoredColumns(narrowed_batch(pa.RecordBatch.from_arrays([column], names=["0"])), [column.type])
    for places in (np.arange(5_002), np.arange(5_001, 0, -3), np.array([7])):
        assert stored.take(places).column(0).equals(column.take(pa.array(places)))
        assert stored.last(places).tolist() == column.take(pa.array(places)).to_pylist()
    assert stored.column(0, 3, 4_500).equals(column.slice(3, 4_497))


@pytest.mark.parametrize(("rows", "bits"), [(256, 8), (257, 32)])
def test_places_take_few_bytes_where_those_hold_all(rows: int, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrow, "_PLACE", 1)
    places = pa.array(range(rows), pa.uint32())
    stored = narrow.narrowed_places(places)
    assert stored.type.bit_width == bits
    assert narrow.as_numbers(narrow.stored_numbers(stored)).tolist() == list(range(rows))


def test_strings_that_repeat_are_stored_once() -> None:
    few, all_different = pa.array(["low", "high"] * 500), pa.array([str(i) for i in range(1_000)])
    kinds = narrowed_batch(pa.RecordBatch.from_arrays([few, all_different], names=["0", "1"])).schema.types
    assert kinds == [pa.dictionary(pa.int8(), pa.string()), pa.string()]


def test_a_map_is_read_from_its_file_as_it_was_written(tmp_path: Path) -> None:
    count = 10_000
    layout = Layout(columns=("k", "s", "x"), key=("k",), indexes=(("s",),), sums=("x",))
    rows = Rows(
        {
            "k": pa.array(range(count)),
            "s": pa.array([f"kind {i % 3}" for i in range(count)]),
            "x": pa.array(np.arange(count) * 5),
        },
        np.ones(count, dtype=np.int64),
    )
    with Store.open(tmp_path / "w") as store:
        with store.begin() as transaction:
            transaction.append("bag", rows, layout)
            transaction.commit({})
        size = store.snapshot().contents("bag").bytes
    assert size < count * (4 + 2 + 1 + 2 + 0 + 4 + 3) + 4_000
    with Store.open(tmp_path / "w") as store:
        contents = store.snapshot().contents("bag")
        assert contents.total() == count
        found = contents.lookup(("s",), rows.hashes(("s",))[:1])[1]
        assert sorted(found["k"].to_pylist()) == list(range(0, count, 3))
        scanned = contents.consolidated()
        assert sorted(zip(*(scanned[name].to_pylist() for name in layout.columns), strict=True)) == sorted(
            zip(*(rows[name].to_pylist() for name in layout.columns), strict=True)
        )


def test_a_map_without_columns_holds_its_weight() -> None:
    layout = Layout(columns=(), key=())
    made = build(Rows({}, np.full(1, 7)), layout)
    assert made is not None
    assert MapBody(made.batch, layout, []).as_rows(layout).weights.tolist() == [7]


@pytest.fixture(scope="module")
def alike() -> tuple[int, int]:
    """Two whole numbers whose hashes begin alike."""
    numbers = Rows.each_once({"k": pa.array(range(300_000))})
    halves = numbers.hashes(("k",)) >> np.uint64(32)
    order = np.argsort(halves)
    first = int(np.flatnonzero(halves[order][1:] == halves[order][:-1])[0])
    return int(order[first]), int(order[first + 1])


def write(path: Path, rows: Rows, layout: Layout) -> None:
    """Write rows to a store; nothing holds the run as it was in memory."""
    with Store.open(path) as store, store.begin() as transaction:
        transaction.append("bag", rows, layout)
        transaction.commit({})
    del store, transaction
    gc.collect()


@pytest.mark.parametrize("lookup", ["k", "i"])
def test_rows_whose_hashes_begin_alike_are_told_apart(tmp_path: Path, alike: tuple[int, int], lookup: str) -> None:
    one, other = alike
    numbers = pa.array([one, *range(300_000, 310_000)])
    rows = Rows.each_once({"k": numbers, "i": numbers})
    write(tmp_path / "w", rows, Layout(columns=("k", "i"), key=("k",), indexes=(("i",),)))
    probes = Rows.each_once({lookup: pa.array([other, one, 300_007])})
    with Store.open(tmp_path / "w") as store:
        contents = store.snapshot().contents("bag")
        assert contents.runs[0].map.batch.schema.types[0] == pa.uint32()
        at, found = contents.lookup((lookup,), probes.hashes())
        assert sorted(zip(at.tolist(), found["k"].to_pylist(), strict=True)) == [(1, one), (2, 300_007)]
        at, found = contents.lookup((lookup,), probes.hashes(), loosely=True)
        assert sorted(zip(at.tolist(), found["k"].to_pylist(), strict=True)) == [(0, one), (1, one), (2, 300_007)]
        assert contents.count((lookup,), probes.hashes()) == 2
        weights = Sorted.by(("k",), probes.rename(["k"])).weigh(contents, ())
        assert weights.tolist() == [0, 1, 1]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64])
def test_partitions_are_ranges_of_whole_hashes(tmp_path: Path, count: int) -> None:
    rows = Rows.each_once({"k": pa.array(range(20_000))})
    write(tmp_path / "w", rows, Layout(columns=("k",), key=("k",)))
    with Store.open(tmp_path / "w") as store:
        contents = store.snapshot().contents("bag")
        part_of = (rows.hashes().astype(object) * count) >> 64
        for i in range(count):
            part = contents.partition(i, count)
            assert sorted(part.scan()["k"].to_pylist()) == np.flatnonzero(part_of == i).tolist()
            assert part.hashes().tolist() == part.scan().hashes().tolist()


def test_a_key_whose_hash_begins_as_another_does_is_free(tmp_path: Path, alike: tuple[int, int]) -> None:
    one, other = alike
    many = pa.table({"k": pa.array([one, *range(300_000, 310_000)])})
    with viewlet.connect(tmp_path / "w", engine="inproc") as db:
        db.sql("CREATE TABLE t (k BIGINT, PRIMARY KEY (k))")
        db.insert("t", many)
    del db
    gc.collect()
    with viewlet.connect(tmp_path / "w", engine="inproc") as db:
        db.insert("t", [(other,)])
        with pytest.raises(viewlet.RejectedEpoch, match="already exists"):
            db.insert("t", [(one,)])
        db.delete("t", [(one,)])
        assert len(db.table("t")) == 10_001


def test_keys_of_many_rows_that_begin_alike_are_loaded(
    tmp_path: Path, alike: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viewlet.intake.pieces.PIECE", 4_000)
    many = pa.table({"k": pa.array([*alike, *range(300_000, 320_000)])})
    with viewlet.connect(tmp_path / "w", engine="inproc") as db:
        db.sql("CREATE TABLE t (k BIGINT, PRIMARY KEY (k))")
        with pytest.raises(viewlet.RejectedEpoch, match=f"several of the rows given have the key k={alike[1]}"):
            db.insert("t", pa.concat_tables([many, many.slice(1, 1)]))
        db.insert("t", many)
        assert len(db.table("t")) == 20_002
