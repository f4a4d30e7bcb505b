"""LIMIT over everything, kept as the first rows with a reserve: the laws of the map, and the views against Spark SQL."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import viewlet
from tests.local_epoch import LocalEpoch
from tests.marks import rounds, some
from viewlet import EvaluationError
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.compile import compile_view
from viewlet.engine.groups import compile_plan
from viewlet.engine.terms.top_k import compile_top_k
from viewlet.plan.expr import Call, Column, Named, Order, columns_of
from viewlet.plan.nodes import Filter, Input, Plan, Project, Scan, Top
from viewlet.plan.types import BOOLEAN, DOUBLE, INT, STRING, Field
from viewlet.program.codec import from_json, to_json
from viewlet.program.program import Program, operators
from viewlet.program.show import show_term
from viewlet.program.terms import Regroup, TopK
from viewlet.store.contents import Contents
from viewlet.store.runs.layout import Layout
from viewlet.store.runs.write_runs import make_map_run
from viewlet.views.define import ABILITIES

Row = tuple[Any, ...]

FIELDS = (Field("x", INT), Field("d", DOUBLE), Field("s", STRING))
NAMES = tuple(f.name for f in FIELDS)
X, D, S = (Column(f.name, f.type) for f in FIELDS)
MARK = Field("_first", BOOLEAN, False)

ROW = st.tuples(
    st.sampled_from([None, 0, 1, 2, 3]),
    st.sampled_from([None, 0.0, -0.0, 1.5, -2.0, math.nan, math.inf]),
    st.sampled_from([None, "", "a", "b", "ä"]),
)
ORDERS = st.permutations([X, D, S]).flatmap(
    lambda keys: st.tuples(*(st.builds(Order, st.just(k), st.booleans(), st.booleans()) for k in keys))
)
EPOCH = st.tuples(st.lists(ROW, max_size=12), st.lists(st.floats(0, 0.999), max_size=12), st.integers(0, 8))
"""Rows put in, rows taken away by their place in order, and how many of the very first are taken away besides."""


# The laws of the map, without a store and without Spark.


@dataclass
class Bag:
    """The contents of a map, as far as the term asks for them."""

    rows: Rows
    reads: int = 0

    layout = Layout(NAMES, NAMES)
    is_sorted = True

    def consolidated(self) -> Rows:
        self.reads += 1
        return self.rows.consolidate()

    def leading(self, *args: Any, **options: Any) -> Any:
        self.reads += 1
        types = {f.name: arrow_type(f.type) for f in FIELDS}
        return Contents(self.layout, make_map_run(self.rows, self.layout), types).leading(*args, **options)


@dataclass
class Memory(LocalEpoch):
    """An epoch over bags in memory."""

    q: Bag
    r: Bag
    changes: dict[str, Rows] = field(default_factory=dict)

    def change(self, bag: str) -> Rows | None:
        return self.changes.get(bag)

    def old(self, bag: str) -> Any:
        assert bag == "r"
        return self.r

    def new(self, bag: str) -> Any:
        assert bag == "q"
        return self.q


def bag_of(rows: Sequence[Row], fields: Sequence[Field] = FIELDS) -> Rows:
    columns = {f.name: pa.array([r[i] for r in rows], type=arrow_type(f.type)) for i, f in enumerate(fields)}
    return Rows(columns, np.ones(len(rows), dtype=np.int64))


def counted(rows: Rows) -> Counter[str]:
    """How often each row is there, as text: NaN equals NaN, and 0.0 is not −0.0."""
    found: Counter[str] = Counter()
    for *row, weight in zip(*(c.to_pylist() for c in rows.columns.values()), rows.weights.tolist(), strict=True):
        found[repr(tuple(row))] += weight
    return found


class Kept:
    """The first rows of a changing bag, as the term keeps them."""

    def __init__(self, order: tuple[Order, ...], limit: int, offset: int, kept: int) -> None:
        self.term = TopK("q", Top(Input(0, FIELDS), order, limit, offset), kept, "r", (*FIELDS, MARK))
        self.run = compile_top_k(self.term)
        self.rows: list[Row] = []
        self.epoch = Memory(Bag(bag_of([])), Bag(bag_of([], self.term.columns)))

    def change(self, new: Sequence[Row], gone: Sequence[Row]) -> None:
        delta = Rows.concat([bag_of(new), bag_of(gone).negated()]).consolidate()
        self.epoch.q = Bag(Rows.concat([self.epoch.q.rows, delta]).consolidate())
        self.epoch.changes = {"q": delta}
        found = self.run(self.epoch)
        if found is not None:
            self.epoch.r = Bag(Rows.concat([self.epoch.r.rows, found]).consolidate())

    def check(self) -> None:
        """The map is all that does not sort after its last row, and enough, and what it lets through is the LIMIT."""
        r = self.epoch.r.rows
        kept, size = counted(r.select(NAMES)), int(r.weights.sum())
        ordered = sorted(self.rows, key=self.sort_key)
        last = self.sort_key(ordered[size - 1]) if size else ()
        assert kept == Counter(repr(row) for row in ordered if size and not last < self.sort_key(row))
        assert size >= self.term.needed or size == len(self.rows)
        let_through = r.filter(np.array(r[MARK.name], dtype=bool)).select(NAMES)
        assert counted(let_through) == counted(compile_plan(self.term.limit, keyed=False)([self.epoch.q.rows]))

    def sort_key(self, row: Row) -> tuple[Any, ...]:
        """What Python compares rows by, as Spark would."""
        values = dict(zip(NAMES, row, strict=True))
        order = self.term.limit.order
        keys = [(o, k) for o in order for name in columns_of(o.key) for k in _keys(o, values[name])]
        return tuple(Descending(k) if o.descending else k for o, k in keys)


def _keys(order: Order, value: Any) -> tuple[Any, ...]:
    place = (value is not None) if order.nulls_first != order.descending else (value is None)
    if isinstance(value, float):
        return (place, math.isnan(value), 0.0 if math.isnan(value) else value)
    return (place, value.encode() if isinstance(value, str) else value or 0)


@dataclass
class Descending:
    """A key that compares the other way round."""

    value: Any

    def __lt__(self, other: Descending) -> bool:
        return bool(other.value < self.value)


@given(
    order=ORDERS, limit=st.integers(1, 4), offset=st.integers(0, 3), reserve=st.integers(0, 5), epochs=st.lists(EPOCH)
)
@example(  # a row that occurs twice counts twice, lest one without a value be taken for one that was not read
    order=(Order(X, False, False), Order(D, False, False), Order(S, False, False)),
    limit=1,
    offset=2,
    reserve=0,
    epochs=[
        ([*((x, None, None) for x in (None, 0, 0, 1, 2)), (None, None, ""), (0, None, ""), (0, 0.0, None)], [], 0),
        ([], [0.0], 0),
        ([], [0.0], 0),
    ],
)
def test_the_laws_of_the_map(
    order: tuple[Order, ...], limit: int, offset: int, reserve: int, epochs: list[tuple[list[Row], list[float], int]]
) -> None:
    bag = Kept(order, limit, offset, limit + offset + reserve)
    for new, places, first in epochs:
        live = sorted(bag.rows, key=bag.sort_key)
        at = {int(p * len(live)) for p in places if live} | set(range(min(first, len(live))))
        bag.change(new, [live[i] for i in sorted(at)])
        bag.rows = [row for i, row in enumerate(live) if i not in at] + new
        bag.check()


def numbered(numbers: Sequence[int]) -> list[Row]:
    return [(n, None, None) for n in numbers]


def test_the_input_is_read_only_when_the_reserve_runs_out() -> None:
    bag = Kept((Order(X), Order(D), Order(S)), 3, 0, 10)
    live = list(range(1000))
    bag.change(numbered(live), [])
    reads = []
    for _ in range(30):  # the first row goes, every time: the worst that can happen
        gone, live = live[:1], live[1:]
        bag.change([], numbered(gone))
        reads.append(bag.epoch.q.reads)
        bag.rows = numbered(live)
        bag.check()
    assert [i for i, n in enumerate(reads, 1) if n] == [8, 16, 24]
    bag.change(numbered([5000, 6000]), numbered([700]))
    assert bag.epoch.q.reads == 0


def test_what_changes_behind_the_last_row_is_nothing() -> None:
    bag = Kept((Order(X), Order(D), Order(S)), 3, 0, 10)
    bag.change(numbered(range(100)), [])
    bag.epoch.changes = {"q": bag_of(numbered([200, 300]))}
    assert bag.run(bag.epoch) is None
    bag.epoch.changes = {"q": bag_of(numbered([5]))}
    found = bag.run(bag.epoch)
    assert found is not None
    assert counted(found) == Counter(["(5, None, None, False)"])


def test_the_map_begins_with_so_many_rows() -> None:
    bag = Kept((Order(X), Order(D), Order(S)), 3, 0, 10)
    bag.rows = [(int(i > 3), None, f"{i:03}") for i in range(100)]
    bag.change(bag.rows, [])
    assert len(bag.epoch.r.rows) == 10
    bag.check()


@pytest.mark.parametrize("numbers", [range(200, 0, -1), range(1, 200)], ids=["in front", "behind"])
@pytest.mark.parametrize("descending", [False, True])
def test_the_map_does_not_grow_with_its_input(numbers: Sequence[int], descending: bool) -> None:
    bag = Kept((Order(X, descending), Order(D), Order(S)), 3, 1, 10)
    ends = numbered([-1, -2, -3, -4, 1000, 1001, 1002, 1003])  # between these, what is new is not let through
    bag.change(ends, [])
    bag.rows += ends
    for n in numbers:
        bag.change(numbered([n]), [])
        bag.rows += numbered([n])
        assert len(bag.epoch.r.rows) <= 2 * bag.term.kept + 2  # a row may be there twice, let through in part
        bag.check()


# What the compiler makes of a LIMIT.


def compiled(plan: Plan) -> Program:
    return compile_view("v", plan, plan.columns, ABILITIES)


def top(limit: int | None, offset: int = 0) -> Top:
    return Top(Scan("t", FIELDS), (Order(D, True, False), Order(X), Order(S)), limit, offset)


def terms_of(program: Program) -> list[Any]:
    return [term for step in program.steps for term in step.terms]


@pytest.mark.parametrize(("limit", "offset"), [(None, 3), (0, 2), (100_001, 0), (1, 100_000)])
def test_what_is_not_kept_as_first_rows(limit: int | None, offset: int) -> None:
    program = compiled(top(limit, offset))
    assert not any(isinstance(t, TopK) for t in terms_of(program))
    assert any(isinstance(t, Regroup) for t in terms_of(program))


def test_filters_and_projections_above_a_limit_follow_it() -> None:
    condition = Call("not", (Call("is_null", (S,), BOOLEAN),), BOOLEAN)
    plan = Project(Filter(top(5, 2), condition), (Named("y", X),), (Field("y", INT),))
    program = compiled(plan)
    (leading,) = [t for t in terms_of(program) if isinstance(t, TopK)]
    assert (leading.needed, leading.kept) == (7, 78)
    assert show_term(leading) == "top-k[d DESC, x, s](Δt, 7 + 71)"
    notes = [note for _, note in operators(program.notes)]
    assert [n.tier for n in notes] == ["ring", "ring", "recompute", ""]
    assert "first 7 rows with 71 in reserve" in notes[2].reason
    assert not any(isinstance(t, Regroup) for t in terms_of(program))
    assert from_json(to_json(program)) == program


# Views, against Spark SQL.

VIEWS = {
    "one": "SELECT * FROM t ORDER BY x LIMIT 1",
    "three": "SELECT id, x, s FROM t ORDER BY x DESC NULLS FIRST, s LIMIT 3",
    "later": "SELECT s, d FROM t WHERE id % 5 <> 0 ORDER BY d DESC, s NULLS LAST LIMIT 4 OFFSET 2",
    "none": "SELECT * FROM t ORDER BY x LIMIT 0",
    "unordered": "SELECT x, s FROM t LIMIT 3",
    "above": "SELECT id + 1 AS i, upper(s) AS u FROM (SELECT * FROM t ORDER BY s, id DESC LIMIT 5) WHERE x IS NOT NULL",
    "sums": "SELECT x, sum(n) AS n, count(*) AS c FROM t GROUP BY x ORDER BY n DESC, x LIMIT 2",
    "copies": "SELECT s FROM t ORDER BY s DESC LIMIT 7",
    "both": "SELECT * FROM (SELECT x, s FROM t ORDER BY x, s LIMIT 6) ORDER BY s DESC LIMIT 2",
    "joined": "SELECT a.id, b.s FROM (SELECT id, x FROM t ORDER BY n LIMIT 3) a JOIN t b ON a.x = b.x",
    "computed": "SELECT id, n FROM t ORDER BY abs(n - 5), id LIMIT 3",
    "chained": "SELECT i FROM above ORDER BY i LIMIT 2",
}
TABLE = "CREATE TABLE t (id BIGINT, x INT, d DOUBLE, s STRING, n DECIMAL(10,2), PRIMARY KEY (id))"


def some_rows(rng: random.Random, ids: Sequence[int]) -> list[Row]:
    doubles = [None, 0.0, -0.0, 1.5, -2.25, math.nan, math.inf]
    strings = [None, "", "a", "b", "ab", "B", "ä"]
    return [
        (i, rng.choice([None, 0, 1, 2, 3, 7]), rng.choice(doubles), rng.choice(strings), rng.randrange(-40, 40))
        for i in ids
    ]


class Table:
    """A table's rows by key, and the epochs that change them."""

    def __init__(self, db: viewlet.Database, seed: int) -> None:
        self.db, self.rng, self.live = db, random.Random(seed), set[int]()
        self.next = 0

    def change(self, new: int, gone: int, changed: int = 0) -> None:
        ids = range(self.next, self.next + new)
        self.next += new
        picked = self.rng.sample(sorted(self.live), min(gone + changed, len(self.live)))
        with self.db.epoch() as epoch:
            if new:
                epoch.insert("t", some_rows(self.rng, ids))
            if picked[:gone]:
                epoch.delete("t", [(i,) for i in picked[:gone]])
            if picked[gone:]:
                epoch.upsert("t", some_rows(self.rng, picked[gone:]))
        self.live = self.live - set(picked[:gone]) | set(ids)

    def delete_first(self, view: str) -> None:
        """All rows that a view of whole rows shows."""
        gone = [row[0] for row in self.db.table(view).rows()]
        if gone:
            self.db.delete("t", [(i,) for i in gone])
        self.live -= set(gone)


@pytest.fixture
def db(request: Any, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[viewlet.Database]:
    monkeypatch.setattr("viewlet.compile.keyed.regroup.RESERVE", 1)
    with viewlet.connect(tmp_path / "w", spark=spark, engine=request.param) as db:
        db.sql(TABLE)
        yield db


def check(db: viewlet.Database) -> None:
    for name in db._warehouse.catalog.views:
        wrong = db.check(name)
        assert wrong.num_rows == 0, f"{name}: {wrong.to_pylist()}\n{db.explain(name)}"


def create(db: viewlet.Database, names: Sequence[str]) -> None:
    for name in names:
        db.create_view(name, VIEWS[name])


@pytest.mark.spark
@pytest.mark.parametrize("db", ["inproc"], indirect=True)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_views_equal_spark_sql(db: viewlet.Database, seed: int) -> None:
    table = Table(db, seed)
    create(db, list(VIEWS)[::2])
    table.change(6 * seed, 0)
    check(db)
    create(db, some(2, [n for n in VIEWS if n not in db._warehouse.catalog.views and n != "chained"]))
    create(db, ["chained"])
    for new, gone, changed in [(12, 0, 0), (1, 1, 1), (0, 5, 2), (15, 2, 4), (2, 9, 0)][:: rounds(4, 1)]:
        table.change(new, gone, changed)
        check(db)
    for _ in range(rounds(1, 3)):
        table.delete_first("one")
        table.delete_first("three")
        check(db)
    table.change(0, len(table.live))
    check(db)
    table.change(4, 0)
    check(db)
    for new, gone in [(2800, 0), (3, 2750)]:  # an epoch that changes most of the table computes the views anew
        table.change(new, gone)
        check(db)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("db", ["spark"], indirect=True)
def test_views_equal_spark_sql_on_spark(db: viewlet.Database) -> None:
    table = Table(db, 5)
    table.change(25, 0)
    create(db, ["three", "above"])
    for new, gone, changed in [(3, 4, 2), (0, 14, 0)]:
        table.change(new, gone, changed)
        check(db)
    table.delete_first("three")
    check(db)


@pytest.mark.spark
def test_a_warehouse_that_is_opened_again_goes_on(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewlet.compile.keyed.regroup.RESERVE", 1)
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as db:
        db.sql(TABLE)
        create(db, ["three", "later"])
        Table(db, 1).change(30, 0)
    for i in range(4):
        with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as db:
            table = Table(db, i)
            table.next, table.live = 30 + 5 * i, {row[0] for row in db.table("t").rows()}
            table.change(5, 3, 2)
            table.delete_first("three")
            check(db)


@pytest.mark.spark
@pytest.mark.parametrize("db", ["inproc"], indirect=True)
def test_an_order_that_fails_on_a_row_fails_wherever_the_row_sorts(db: viewlet.Database) -> None:
    db.insert("t", [(i, i, None, "a", 1) for i in range(1, 20)])
    db.create_view("v", "SELECT id, x FROM t ORDER BY x, 1 div (id - 100) LIMIT 2")
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO"):
        db.insert("t", [(100, 50, None, "z", 1)])
    db.insert("t", [(0, 0, None, "a", 1)])
    assert sorted(db.table("v").rows()) == [(0, 0), (1, 1)]
