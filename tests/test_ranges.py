"""Ranges: what an index with prefix sums finds and adds up is what a loop over all rows would."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.few_hashes import few_hashes
from viewlet.columns import hash as hashing
from viewlet.columns import rows as bags
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.plan.types import parse_type
from viewlet.store import Contents, Layout, Limits, Store
from viewlet.store.access.ranges import Bound
from viewlet.store.runs.layout import Names
from viewlet.store.runs.write_runs import make_map_run

COLUMNS = ("k", "j", "o", "s", "t")
SUMS = ("s", "t")
DAY, NOON = datetime.date(1969, 12, 31), datetime.datetime(2024, 2, 29, 12, 0, 0, 1)


def whole(bits: int) -> list[Any]:
    return [-(1 << (bits - 1)), -1, 0, 1, 2, (1 << (bits - 1)) - 1]


FLOATS = [-math.inf, -1.5, -0.0, 0.0, 5e-324, 1.5, math.inf, math.nan]
LONG = [Decimal(n).scaleb(-2) for n in (-(10**37), -(2**64), -1, 0, 255, 256, 2**63, 2**64, 2**64 + 1, 10**37)]
ORDERED: dict[str, list[Any]] = {
    "tinyint": whole(8),
    "smallint": whole(16),
    "int": whole(32),
    "bigint": whole(64),
    "float": [0.0 if f == 5e-324 else f for f in FLOATS],
    "double": FLOATS,
    "date": [DAY + datetime.timedelta(n) for n in range(-1, 4)],
    "timestamp_ntz": [NOON + datetime.timedelta(microseconds=n) for n in range(-1, 4)],
    "timestamp": [(NOON + datetime.timedelta(microseconds=n)).replace(tzinfo=datetime.UTC) for n in range(-1, 4)],
    "decimal(5,2)": [Decimal("-999.99"), Decimal("-0.01"), Decimal(0), Decimal("0.01"), Decimal("999.99")],
    "decimal(18,0)": [Decimal(n) for n in (-(10**17), -1, 0, 1, 10**18 - 1)],
    "decimal(38,2)": LONG,
}
KEYS: dict[str, list[Any]] = {
    "string": ["", "a", "b"],
    "double": [-0.0, 0.0, math.nan],
    "decimal(38,2)": LONG[2:5],
    "boolean": [True, False],
    "array<int>": [[], [1], [1, 2]],
}


def less(a: Any, b: Any) -> bool:
    """Spark's order of two values: NaN is the greatest."""
    nan = isinstance(a, float) and math.isnan(a), isinstance(b, float) and math.isnan(b)
    return nan < (nan[1], False) if any(nan) else a < b


def is_within(value: Any, low: tuple[Any, bool] | None, high: tuple[Any, bool] | None) -> bool:
    """Whether a value lies between two bounds, each with whether it belongs to the range."""
    if value is None:
        return False
    for bound, before in ((low, less), (high, lambda a, b: less(b, a))):
        if bound is not None and (bound[0] is None or before(value, bound[0])):
            return False
        if bound is not None and not bound[1] and not before(bound[0], value):
            return False
    return True


def told(value: Any) -> Any:
    """A value that equals another exactly if they are the same contents."""
    return str(value) if isinstance(value, float | list) else value


@dataclass
class Case:
    """Runs of rows (k, j, o, s, t, weight), and probes (k, j, low, high)."""

    layout: Layout
    kinds: dict[str, pa.DataType]
    runs: list[list[tuple[Any, ...]]]
    columns: Names
    probes: list[tuple[Any, ...]]
    low: bool | None
    high: bool | None

    def array(self, name: str, values: Sequence[Any]) -> pa.Array:
        return pa.array(list(values), self.kinds[name])

    def contents(self) -> Contents:
        made = []
        for run in self.runs:
            arrays = {name: self.array(name, [row[i] for row in run]) for i, name in enumerate(COLUMNS)}
            rows = Rows(arrays, np.array([row[5] for row in run], dtype=np.int64))
            made += make_map_run(rows, self.layout)
        return Contents(self.layout, made, self.kinds)

    def rows(self) -> list[tuple[Any, ...]]:
        return [row for run in self.runs for row in run]

    def keys(self) -> list[pa.Array]:
        return [self.array(name, [probe[COLUMNS.index(name)] for probe in self.probes]) for name in self.columns]

    def bounds(self) -> tuple[Bound | None, Bound | None]:
        low, high = (self.array("o", [probe[i] for probe in self.probes]) for i in (2, 3))
        return (
            None if self.low is None else Bound(low, self.low),
            None if self.high is None else Bound(high, self.high),
        )

    def meets(self, probe: tuple[Any, ...], row: tuple[Any, ...]) -> bool:
        if any(told(probe[COLUMNS.index(n)]) != told(row[COLUMNS.index(n)]) for n in self.columns):
            return False
        low = None if self.low is None else (probe[2], self.low)
        high = None if self.high is None else (probe[3], self.high)
        return is_within(row[2], low, high)

    def expected(self, rows: Sequence[tuple[Any, ...]]) -> list[tuple[int, ...]]:
        """For each probe: the weight and the sums."""
        met = [[row for row in rows if self.meets(probe, row)] for probe in self.probes]
        return [tuple(sum(row[i] for row in found) for i in (5, 3, 4)) for found in met]

    def added(self, contents: Contents) -> list[tuple[int, ...]]:
        found = contents.add_within(self.columns, "o", self.keys(), *self.bounds(), len(self.probes))
        assert found.names == SUMS
        assert len(found) == len(self.probes)
        return list(zip(found.weights.tolist(), *(found[name].to_pylist() for name in SUMS), strict=True))

    def added_by_lane(self, contents: Contents) -> dict[int, dict[int, tuple[int, ...]]]:
        """For each value of k: the probes that something was found for, with the weight and the sums."""
        probes = (self.columns, "o", self.keys(), *self.bounds(), len(self.probes))
        which, found = contents.add_within_lanes(*probes, ("k",))
        totals: dict[int, dict[int, tuple[int, ...]]] = {lane: {} for lane in range(3)}
        columns = (
            found["k"].to_pylist(),
            which.tolist(),
            found.weights.tolist(),
            *(found[n].to_pylist() for n in SUMS),
        )
        for lane, probe, *total in zip(*columns, strict=True):
            totals[lane][probe] = tuple(total)
        return totals

    def found(self, contents: Contents) -> list[tuple[int, ...]]:
        """The same by way of the rows, comparing the keys as a caller must."""
        keys = self.keys()
        at, rows = contents.within(self.columns, "o", hashing.hash_rows(keys, len(self.probes)), *self.bounds())
        own = bags.same(keys, at, [rows[name] for name in self.columns], np.arange(len(at)))
        totals = [Counter[int]() for _ in self.probes]
        for which, row in zip(at[own].tolist(), rows_of(rows.filter(own)), strict=True):
            totals[which].update({i: row[i] for i in (5, 3, 4)})
        return [tuple(total[i] for i in (5, 3, 4)) for total in totals]


def rows_of(rows: Rows) -> list[tuple[Any, ...]]:
    return list(zip(*(rows[name].to_pylist() for name in COLUMNS), rows.weights.tolist(), strict=True))


@st.composite
def cases(draw: st.DrawFn, ordered: str) -> Case:
    key_kind = draw(st.sampled_from(list(KEYS)))
    value = st.none() | st.sampled_from(ORDERED[ordered])
    k, j = st.none() | st.integers(0, 2), st.none() | st.sampled_from(KEYS[key_kind])
    number = st.integers(-3, 3)
    kinds = dict(zip(COLUMNS, map(parse_type, ("int", key_kind, ordered, "bigint", "bigint")), strict=True))
    names: list[Names] = [(), ("k",), ("j",), ("k", "j"), ("o",), ("k", "o")]
    layout = Layout(
        COLUMNS, draw(st.sampled_from(names)), tuple(draw(st.lists(st.sampled_from(names), max_size=2))), SUMS
    )
    return Case(
        layout,
        {name: arrow_type(kind) for name, kind in kinds.items()},
        draw(st.lists(st.lists(st.tuples(k, j, value, number, number, number), max_size=12), max_size=4)),
        draw(st.sampled_from([(), ("k",), ("j",), ("k", "j"), ("j", "k")])),
        draw(st.lists(st.tuples(k, j, value, value), max_size=6)),
        draw(st.sampled_from([None, True, False])),
        draw(st.sampled_from([None, True, False])),
    )


@given(st.sampled_from(list(ORDERED)).flatmap(cases))
def test_ranges_find_and_add_up_what_a_loop_does(case: Case) -> None:
    contents = case.contents()
    expected = case.expected(case.rows())
    for _ in range(2):  # the second time the index is there
        assert case.added(contents) == expected
        assert case.found(contents) == expected


@given(st.sampled_from(["int", "double", "decimal(38,2)"]).flatmap(cases))
def test_ranges_add_up_lane_by_lane(case: Case) -> None:
    runs = [[(row[0] or 0, *row[1:]) for row in run] for run in case.runs]
    case = replace(case, runs=runs, columns=tuple(n for n in case.columns if n != "k"))
    for _ in range(2):
        found = case.added_by_lane(case.contents())
        for lane in range(3):
            expected = case.expected([row for row in case.rows() if row[0] == lane])
            assert found[lane] == {i: total for i, total in enumerate(expected) if any(total)}


@pytest.mark.parametrize("ordered", list(ORDERED))
def test_every_value_compares_with_every_bound(ordered: str) -> None:
    values = [None, *ORDERED[ordered]]
    kinds = dict(zip(COLUMNS, map(parse_type, ("int", "int", ordered, "bigint", "bigint")), strict=True))
    runs = [[(0, 0, value, 1 << i, 0, 1) for i, value in enumerate(values) if i % 2 == odd] for odd in (0, 1)]
    probes = [(0, 0, low, high) for low in values for high in values]
    for low, high in product((None, True, False), repeat=2):
        types = {name: arrow_type(kind) for name, kind in kinds.items()}
        case = Case(Layout(COLUMNS, ("o",), sums=SUMS), types, runs, ("k",), probes, low, high)
        assert case.added(case.contents()) == case.found(case.contents()) == case.expected(case.rows())


@given(cases("bigint"), st.integers(1, 4))
def test_a_partition_answers_for_its_own_rows(case: Case, n: int) -> None:
    contents = case.contents()
    parts = [contents.partition(i, n) for i in range(n)]
    answers = [case.added(part) for part in parts]
    assert answers == [case.expected(rows_of(part.scan())) for part in parts]
    assert answers == [case.found(part) for part in parts]
    assert case.added(contents) == [tuple(map(sum, zip(*answer, strict=True))) for answer in zip(*answers, strict=True)]


@pytest.mark.parametrize("columns", [(), ("k",), ("j",), ("j", "k")])
@pytest.mark.parametrize("key", [("k",), ("j", "k"), ("o",)])
def test_partitions_of_many_rows(key: Names, columns: Names) -> None:
    """Enough rows for each partition to have some; the hashes are known from the key, from an index, or from neither."""
    draw = np.random.default_rng(7).integers
    rows = [tuple(map(int, (*draw(0, 5, 2), *draw(0, 50, 3), draw(-2, 3)))) for _ in range(600)]
    probes = [tuple(map(int, (*draw(0, 6, 2), *sorted(draw(0, 50, 2))))) for _ in range(20)]
    layout = Layout(COLUMNS, key, (("j",),), SUMS)
    case = Case(layout, dict.fromkeys(COLUMNS, pa.int64()), [rows[:500], rows[500:]], columns, probes, True, False)
    parts = [case.contents().partition(i, 3) for i in range(3)]
    answers = [case.added(part) for part in parts]
    assert answers == [case.found(part) for part in parts] == [case.expected(rows_of(part.scan())) for part in parts]
    assert case.expected(rows) == [tuple(map(sum, zip(*answer, strict=True))) for answer in zip(*answers, strict=True)]


@given(cases("double"), st.integers(1, 3))
def test_keys_that_share_a_hash_are_told_apart(case: Case, different: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        few_hashes(patch, different)
        made = case.contents()
        expected = case.expected(case.rows())
        assert case.added(made) == expected
        assert case.found(made) == expected


def test_a_probe_whose_hash_belongs_to_another_key_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run holds one key only, so that nothing in it is mixed up."""
    few_hashes(monkeypatch, 1)
    layout = Layout(("k", "o", "s"), ("k",), sums=("s",))
    runs = []
    for key in (1, 2, 3):
        columns = {"k": pa.array([key] * 2), "o": pa.array([1, 2]), "s": pa.array([key, 10 * key])}
        runs += make_map_run(Rows(columns, np.ones(2, np.int64)), layout)
    made = Contents(layout, runs, dict.fromkeys(layout.columns, pa.int64()))
    assert not any(index.is_mixed for index in made._ranges(("k",), "o", np.zeros(1, np.uint64)))
    found = made.add_within(("k",), "o", [pa.array([3, 4, 1])], Bound(pa.array([1, 0, 2]), False), None, 3)
    assert (found["s"].to_pylist(), found.weights.tolist()) == ([30, 0, 0], [1, 0, 0])


def test_zeros_that_share_a_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """As contents 0.0 and −0.0 differ, and NaN is NaN."""
    few_hashes(monkeypatch, 1)
    layout = Layout(("k", "o", "s"), ("k",), sums=("s",))
    kinds = {"k": pa.float64(), "o": pa.int64(), "s": pa.int64()}
    for key, other in product((0.0, -0.0, math.nan), repeat=2):
        rows = Rows({"k": pa.array([key]), "o": pa.array([1]), "s": pa.array([1])}, np.ones(1, np.int64))
        made = Contents(layout, make_map_run(rows, layout), kinds)
        found = made.add_within(("k",), "o", [pa.array([other])], None, None, 1)
        assert found["s"].to_pylist() == [int(told(key) == told(other))]


@pytest.mark.parametrize("indexes", [(), (("k",),)])
def test_few_of_many_rows_are_sorted_by_themselves(indexes: tuple[tuple[str, ...], ...]) -> None:
    """Nothing stays behind, and what is found is what an index of all rows finds."""
    layout = Layout(("k", "o", "s"), ("o",) if indexes else ("k",), indexes=indexes, sums=("s",))
    count = 1000
    columns = {"k": pa.array([i % 50 for i in range(count)]), "o": pa.array(range(count)), "s": pa.array(range(count))}
    runs = make_map_run(Rows(columns, np.ones(count, np.int64)), layout)
    made = Contents(layout, runs, dict.fromkeys(layout.columns, pa.int64()))
    some = made.add_within(("k",), "o", [pa.array([3, 77, 7])], Bound(pa.array([500] * 3), True), None, 3)
    assert not runs[0].map.ranges
    everything = made.add_within(("k",), "o", [pa.array(range(50))], Bound(pa.array([500] * 50), True), None, 50)
    assert runs[0].map.ranges
    sums, weights = everything["s"].to_pylist(), everything.weights.tolist()
    assert (some["s"].to_pylist(), some.weights.tolist()) == ([sums[3], 0, sums[7]], [weights[3], 0, weights[7]])
    assert (sums[3], weights[3]) == (sum(range(503, 1000, 50)), 10)


def test_prefix_sums_may_overflow() -> None:
    layout = Layout(("o", "s"), ("o",), sums=("s",))
    most = (1 << 63) - 1
    rows = Rows({"o": pa.array(range(6)), "s": pa.array([most, most, most, 5, -7, most])}, np.full(6, 1 << 62))
    made = Contents(layout, make_map_run(rows, layout), dict.fromkeys(layout.columns, pa.int64()))
    low, high = Bound(pa.array([3, 3, 1]), True), Bound(pa.array([4, 3, 1]), True)
    found = made.add_within((), "o", [], low, high, 3)
    assert found["s"].to_pylist() == [-2, 5, most]
    assert found.weights.tolist()[1:] == [1 << 62, 1 << 62]


def test_an_index_is_made_once_for_a_run(tmp_path: Path) -> None:
    """A run keeps it when the transaction that made it commits, and while others are added."""
    layout = Layout(("k", "o", "s"), ("k", "o"), sums=("s",))
    probe = (("k",), "o", [pa.array([1])], Bound(pa.array([3]), False), None, 1)
    made = []
    with Store.open(tmp_path / "w", limits=Limits(fan=100)) as store:
        for i in range(5):
            with store.begin() as transaction:
                rows = Rows(
                    {"k": pa.array([1, 2]), "o": pa.array([i, i]), "s": pa.array([i, -i])}, np.ones(2, np.int64)
                )
                transaction.append("m", rows, layout)
                transaction.contents("m").add_within(*probe)
                transaction.commit()
            made.append(store.snapshot().contents("m").runs[-1].map.ranges)
            assert all(len(kept) == 1 for kept in made)
        now = store.snapshot().contents("m")
        assert [run.map.ranges for run in now.runs] == made
        assert now.add_within(*probe)["s"].to_pylist() == [4]


def test_what_cannot_be_ordered_is_refused() -> None:
    assert all(parse_type(kind).is_ordered for kind in ORDERED)
    assert not any(parse_type(kind).is_ordered for kind in ("string", "binary", "boolean", "array<int>", "void"))
    layout = Layout(("k", "o", "s"), ("k",), sums=("s",))
    made = Contents(layout, [], {"k": pa.string(), "o": pa.int32(), "s": pa.int64()})
    bound = Bound(pa.array(["a"]), True)
    with pytest.raises(AssertionError, match="cannot be the ordered one"):
        made.within((), "k", hashing.hash_rows([], 1), bound, None)
    with pytest.raises(AssertionError, match="a bound of string"):
        made.within((), "o", hashing.hash_rows([], 1), bound, None)
    with pytest.raises(AssertionError, match="do not tell rows apart"):
        made.within(("s",), "o", hashing.hash_rows([], 1), None, None)


def test_nothing_is_found_where_nothing_is() -> None:
    layout = Layout(("k", "o", "s"), ("k",), sums=("s",))
    made = Contents(layout, [], {"k": pa.string(), "o": pa.int32(), "s": pa.int64()})
    at, rows = made.within((), "o", hashing.hash_rows([], 2), None, None)
    assert (len(at), rows["o"].type) == (0, pa.int32())
    found = made.add_within(("k",), "o", [pa.array(["a", None])], None, None, 2)
    assert (found["s"].to_pylist(), found.weights.tolist()) == ([0, 0], [0, 0])
