"""Changes of tables: what is refused, what comes of the others, and what an epoch writes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import viewlet
from tests.compiled import either_way as either_way
from tests.few_hashes import few_hashes
from viewlet.columns.hash import fingerprint_rows
from viewlet.columns.rows import Rows
from viewlet.plan.types import Field, parse_type
from viewlet.store import Layout, Limits, Store
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.epoch.table_changes import TableChanges

FIELDS = (
    Field("k", parse_type("int"), False),
    Field("s", parse_type("string"), False),
    Field("x", parse_type("double")),
)
KEYED, PLAIN = Table("t", FIELDS, ("k", "s")), Table("t", FIELDS)
TYPES = KEYED.types

row = st.tuples(st.integers(0, 2), st.sampled_from(["", "a", "longer than a word"]), st.sampled_from([None, 0.0, -0.0]))
action = st.tuples(st.sampled_from(["insert", "delete", "upsert", "delete_keys"]), st.lists(row, max_size=4))


def to_rows(values: list[Any], names: tuple[str, ...] = ("k", "s", "x")) -> Rows:
    columns = {n: pa.array([v[i] for v in values], TYPES[n]) for i, n in enumerate(names)}
    return Rows(columns, np.ones(len(values), dtype=np.int64))


def shown(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row such that 0.0 is not −0.0."""
    return *value[:2], repr(value[2])


def change(table: Table, there: Counter[Any], what: str, values: list[Any]) -> Counter[Any] | None:
    """What the table holds after a change, in the plainest way; None if it must be refused."""
    after, keys = there.copy(), [v[:2] for v in values]
    if what != "delete" and table.primary_key and len(set(keys)) < len(keys):
        return None
    if what == "delete":
        after.subtract(map(shown, values))
        return None if min(after.values(), default=0) < 0 else +after
    taken = {r: n for r, n in there.items() if r[:2] in keys}
    if (what == "insert" and table.primary_key and taken) or (what == "delete_keys" and len(taken) < len(keys)):
        return None
    if what != "insert":
        after.subtract(taken)
    if what != "delete_keys":
        after.update(map(shown, values))
    return +after


@pytest.mark.parametrize(("has_key", "collide"), [(True, False), (True, True), (False, False)])
@given(epochs=st.lists(st.lists(action, max_size=4), max_size=4))
@settings(max_examples=150, deadline=None)
def test_changes_are_those_of_a_plain_bag(has_key: bool, collide: bool, epochs: list[Any]) -> None:
    table = KEYED if has_key else PLAIN
    layout = table.index_layout
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            few_hashes(patch, 2)
        kept: list[Rows] = []
        there: Counter[Any] = Counter()
        for actions in epochs:
            changes = TableChanges(table, index_of(kept, layout))
            for what, values in actions:
                if not has_key and what in ("upsert", "delete_keys"):
                    continue
                after = change(table, there, what, values)
                given_rows = to_rows([v[:2] for v in values], ("k", "s")) if what == "delete_keys" else to_rows(values)
                if after is None:
                    with pytest.raises(viewlet.RejectedEpoch):
                        getattr(changes, what)(given_rows)
                    continue
                getattr(changes, what)(given_rows)
                there = after
            kept.append(changes.delta())
        assert contents(kept) == there


def index_of(deltas: list[Rows], layout: Layout) -> Any:
    """The index as the store would have it after some epochs."""
    from viewlet.store.open_contents import make_contents
    from viewlet.store.runs.write_runs import make_map_run

    types = TYPES if layout.columns == tuple(TYPES) else dict.fromkeys(layout.columns, pa.int64())
    table = KEYED if layout.columns == tuple(TYPES) else PLAIN
    runs = [run for delta in deltas for run in make_map_run(table.index_rows(delta), layout)]
    return make_contents(layout, runs, types)


def contents(deltas: list[Rows]) -> Counter[Any]:
    result: Counter[Any] = Counter()
    for delta in deltas:
        for values, weight in zip(
            zip(*(c.to_pylist() for c in delta.columns.values()), strict=True), delta.weights, strict=True
        ):
            result[shown(values)] += int(weight)
    assert min(result.values(), default=0) >= 0
    return +result


TABLE = Layout(("k", "s"), ("k", "s"), form="table", feed=True)
INDEX = Layout(("k", "s"), ("k",), fingerprints=True)


def keyed(count: int, start: int = 0, sign: int = 1) -> Rows:
    """Rows in the order of the hashes of `k`, as changes of a table with that key come."""
    columns = {
        "k": pa.array(range(start, start + count), pa.int64()),
        "s": pa.array([f"row {i}" for i in range(count)]),
    }
    rows = Rows(columns, np.full(count, sign, dtype=np.int64))
    return rows.take(np.argsort(rows.hashes(("k",))))


def append(store: Store, rows: Rows) -> None:
    with store.begin() as transaction:
        transaction.append("t", rows, TABLE)
        transaction.append("t.index", rows, INDEX)
        transaction.commit({})


def know_their_rows(store: Store) -> bool:
    """Whether the fingerprints of an index are those of its rows."""
    bodies = [run.map for run in store.state.bags["t.index"].runs]
    rows = [body.rows.slice(0, len(body)).columns[:2] for body in bodies]
    return all((b.fingerprints == fingerprint_rows(r, len(b))).all() for b, r in zip(bodies, rows, strict=True))


def places(store: Store, bag: str) -> list[tuple[str, int]]:
    return [run.ref.place for run in store.state.bags[bag].runs]


@pytest.mark.parametrize("limits", [Limits(), Limits(inline_bytes=0, inline_most=0), Limits(record_bytes=0)])
def test_a_table_and_its_index_share_the_bytes_of_new_rows(tmp_path: Path, limits: Limits) -> None:
    with Store.open(tmp_path / "w", limits=limits) as store:
        append(store, keyed(100))
        assert places(store, "t") == places(store, "t.index")
        assert len(list((store.root / "data").iterdir())) == (0 if limits == Limits() else 1)
    with Store.open(tmp_path / "w", limits=limits) as store:
        for bag in ("t", "t.index"):
            rows = store.snapshot().contents(bag).consolidated()
            assert sorted(rows["k"].to_pylist()) == list(range(100))
        assert know_their_rows(store)
        assert store.verify() == []
        assert store.orphans() == []


def test_shared_bytes_outlive_merges_and_new_segments(tmp_path: Path) -> None:
    limits = Limits(inline_bytes=9_000, segment_bytes=20_000, live_share=1.0, fan=2, first_level_rows=4)
    with Store.open(tmp_path / "w", limits=limits) as store:
        for number in range(30):
            append(store, keyed(20, 20 * number))
            if number % 3 == 2:
                append(store, keyed(20, 20 * number, sign=-1))
        store.settle()
        store.clean()
    with Store.open(tmp_path / "w", limits=limits) as store:
        left = [k for n in range(30) if n % 3 != 2 for k in range(20 * n, 20 * n + 20)]
        for bag in ("t", "t.index"):
            assert sorted(store.snapshot().contents(bag).consolidated()["k"].to_pylist()) == left
        assert [len(rows) for _, _, rows in store.feed("t", 0)] == [20] * 40
        assert know_their_rows(store)
        assert store.verify() == []


def test_what_one_bag_drops_another_may_still_share(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", limits=Limits(inline_bytes=0, inline_most=0)) as store:
        with store.begin() as transaction:
            rows = keyed(100)
            transaction.append("t", rows, TABLE)
            transaction.append("t.index", rows, INDEX)
            transaction.drop("t.index")
            transaction.commit({})
        assert store.verify() == []
        assert store.snapshot().contents("t").total() == 100
        with store.begin() as transaction:
            rows = keyed(100, 100)
            transaction.append("t", rows, TABLE)
            transaction.append("t.index", rows, INDEX)
        assert store.orphans() == []


def test_a_small_epoch_is_synced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with viewlet.connect(tmp_path / "w", engine="inproc") as db:
        db.sql("CREATE TABLE t (k BIGINT, s STRING, PRIMARY KEY (k))")
        db.insert("t", [(i, "x" * 100) for i in range(20_000)])
        db._warehouse.store.settle()
        synced: list[int] = []

        def noting(sync: Callable[[int], None]) -> Callable[[int], None]:
            def noted(descriptor: int) -> None:
                synced.append(descriptor)
                sync(descriptor)

            return noted

        for name in ("fsync", "fdatasync"):
            monkeypatch.setattr(os, name, noting(getattr(os, name)))
        with db.epoch() as epoch:
            epoch.delete("t", [(i, "x" * 100) for i in range(3_000)])
            epoch.insert("t", [(100_000 + i, "y" * 100) for i in range(3_000)])
        assert len(synced) == 1
        monkeypatch.undo()


def test_a_log_is_whole_however_the_system_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.writev
    monkeypatch.setattr(os, "writev", lambda descriptor, parts: real(descriptor, [parts[0][:7]]))
    with Store.open(tmp_path / "w") as store:
        for number in range(3):
            append(store, keyed(700, 700 * number))
    monkeypatch.undo()
    with Store.open(tmp_path / "w") as store:
        assert store.snapshot().contents("t").total() == 2_100
        assert store.verify() == []


def test_a_piece_of_something_large_does_not_hold_the_rest(tmp_path: Path) -> None:
    large = pa.table({"k": pa.array(range(100_000)), "s": pa.array(["x" * 50] * 100_000)})
    with viewlet.connect(tmp_path / "w", engine="inproc") as db:
        db.sql("CREATE TABLE t (k BIGINT, s STRING, PRIMARY KEY (k))")
        db.insert("t", large.slice(500, 1))
        (run,) = db._warehouse.store.state.bags["t.index"].runs
        assert run.map.batch.get_total_buffer_size() < 1_000
