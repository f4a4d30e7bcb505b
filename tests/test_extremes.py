"""The first rows of groups, against all rows of them."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import viewlet
from tests.few_hashes import few_hashes
from tests.marks import rounds
from viewlet.columns import hash as hashing
from viewlet.columns.hash import hash_rows
from viewlet.columns.rows import Rows
from viewlet.engine.choose import EngineName
from viewlet.store.contents import Contents
from viewlet.store.runs.layout import Layout
from viewlet.store.runs.write_runs import make_map_run

KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "bigint": (pa.int64(), [None, -(2**63), -1, 0, 1, 2**63 - 1, *range(2, 12)]),
    "double": (pa.float64(), [None, float("nan"), float("-inf"), -0.0, 0.0, 1.5, float("inf")]),
    "string": (pa.string(), [None, "", "a", "a\0", "alike for long enough: 1", "alike for long enough: 2", "ß", "zz"]),
    "boolean": (pa.bool_(), [None, False, True]),
    "decimal": (pa.decimal128(20, 0), [None, *map(Decimal, (-(10**19), -1, 0, 7, 10**19))]),
}


@st.composite
def histories(draw: st.DrawFn) -> tuple[pa.DataType, list[list[tuple[int, Any, int]]]]:
    """Batches of (key, value, weight) whose sum has no row less than zero times."""
    kind, values = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    there: list[tuple[int, Any]] = []
    batches = []
    for _ in range(draw(st.integers(1, 5))):
        gone = [there.pop() for _ in range(draw(st.integers(0, len(there))))] if there else []
        new = draw(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(values)), max_size=25))
        there = draw(st.permutations(there + new))
        batches.append([(*row, 1) for row in new] + [(*row, -1) for row in gone])
    return kind, batches


def made_of(kind: pa.DataType, batches: list[list[tuple[int, Any, int]]], layout: Layout) -> Contents:
    runs = []
    for batch in batches:
        columns = {"k": pa.array([k for k, _, _ in batch], pa.int64()), "v": pa.array([v for _, v, _ in batch], kind)}
        runs += make_map_run(Rows(columns, np.array([w for *_, w in batch], dtype=np.int64)), layout)
    return Contents(layout, runs, {"k": pa.int64(), "v": kind})


def told(value: Any) -> tuple[bool, Any]:
    """A value as Spark orders it: NaN is the greatest."""
    return (value != value, 0 if value != value else value)


def extremes(rows: Rows, at: np.ndarray[Any, Any], descending: bool) -> dict[int, Any]:
    """The first value of each group, or None where all are NULL."""
    found: dict[int, list[Any]] = {}
    for i, value, weight in zip(at.tolist(), rows["v"].to_pylist(), rows.weights.tolist(), strict=True):
        if weight > 0:
            found.setdefault(i, []).append(value)
    pick = max if descending else min
    return {
        i: pick(map(told, there), default=None)
        for i, vs in found.items()
        for there in [[v for v in vs if v is not None]]
    }


@pytest.mark.parametrize("layout", [Layout(("k", "v"), ("k",)), Layout(("k", "v"), ("v",), (("k",),))])
@given(history=histories(), descending=st.booleans(), different=st.sampled_from([1, 2, 1000]))
def test_the_first_of_a_group_is_the_first_of_all_its_rows(
    layout: Layout, history: tuple[pa.DataType, list[list[tuple[int, Any, int]]]], descending: bool, different: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        few_hashes(patch, different)
        whole = made_of(*history, layout)
        wanted = np.unique(hashing.hash_rows([pa.array([0, 1, 2, 9])], 4))
        at, rows = whole.first(("k",), wanted, "v", descending=descending)
        expected = grouped(whole, wanted, descending)
        found = Rows({"g": pa.array(at), **rows.columns}, rows.weights).consolidate()
        for key in expected:
            mine = found.filter(np.array([k == key[1] for k in found["k"].to_pylist()], dtype=np.bool_))
            assert extremes(mine, np.asarray(mine["g"]), descending) == {key[0]: expected[key]}


def grouped(whole: Contents, wanted: hashing.Hashes, descending: bool) -> dict[tuple[int, int], Any]:
    """The first value of each key, by brute force over all rows."""
    at, rows = whole.lookup(("k",), wanted)
    netted = Rows({"g": pa.array(at), **rows.columns}, rows.weights).consolidate()
    found = {}
    for pair in {*zip(netted["g"].to_pylist(), netted["k"].to_pylist(), strict=True)}:
        mine = netted.filter(np.array([k == pair[1] for k in netted["k"].to_pylist()], dtype=np.bool_))
        found[pair] = extremes(mine, np.asarray(mine["g"]), descending)[pair[0]]
    return found


def test_a_large_group_is_not_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Layout(("k", "v"), ("k",))
    rows = [(k, v, 1) for k in range(3) for v in range(10_000)]
    whole = made_of(pa.int64(), [rows, [(1, v, -1) for v in range(50)]], layout)
    at, found = whole.first(("k",), hash_rows([pa.array([0, 1])], 2), "v", descending=False)
    assert sorted(zip(at.tolist(), found["v"].to_pylist(), strict=True)) == [(0, 0), (1, 50)]


VIEWS = {
    "by_key": "SELECT k, min(i) a, max(i) b, min(f) c, max(f) x, max(d) e, min(day) g FROM t GROUP BY k",
    "of_all": "SELECT max(i) b, min(f) c, max(f) x FROM t",
    "having": "SELECT k, min(i) + 1 c FROM t GROUP BY k HAVING max(d) > 0",
}
SAMPLES: list[list[Any]] = [
    [None, 1, 2, 3],
    [None, *range(9)],
    [None, float("nan"), -0.0, 0.0, 1.5, float("inf")],
    [None, Decimal("1.50"), Decimal("-99999999999999.25")],
    [None, dt.date(2020, 1, 1), dt.date(1969, 1, 1)],
]


@pytest.mark.spark
@pytest.mark.parametrize("engine", ["inproc", pytest.param("spark", marks=pytest.mark.slow)])
def test_min_and_max_follow_what_comes_and_goes(engine: EngineName, tmp_path: Path, spark: Any) -> None:
    chosen, there, apart = random.Random(7), list[Any](), rounds(4, 1)
    with viewlet.connect(tmp_path / "w", spark=spark, engine=engine) as db:
        db.sql("CREATE TABLE t (k INT, i BIGINT, f DOUBLE, d DECIMAL(20,2), day DATE)")
        for name, text in VIEWS.items():
            db.create_view(name, text)
            assert "only the first rows" in db.explain(name)
        for number, share in enumerate(
            (0, 0.5, 0.3, 1, 0) if engine == "spark" else (0, 0.5, 0.3, 0.9, 0.5, 1, 0, 0.5)
        ):
            new = [tuple(map(chosen.choice, SAMPLES)) for _ in range(chosen.choice([2, 30]))]
            chosen.shuffle(there)
            gone = there[: round(share * len(there))]
            there = there[len(gone) :] + new
            with db.epoch() as e:
                e.delete("t", gone)
                e.insert("t", new)
            if number % apart == apart - 1:
                assert db.check().to_pylist() == []
