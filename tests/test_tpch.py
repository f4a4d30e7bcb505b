"""TPC-H: all 22 queries stay equal to Spark SQL while all eight tables change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from workloads.tpch import TABLES, columns, narrowed, queries, reads, schema
from workloads.tpch.changes import Changes, Edit
from workloads.tpch.data import Stream, tables

import viewlet
from tests.marks import STRING_VIEWS, quickly, rounds
from viewlet.program.program import operators
from viewlet.views.view import sql_view

QUERIES = queries()
GROUPS = [
    ["q01", "q02", "q03", "q04", "q05", "q06"],
    ["q13", "q14", "q15_revenue", "q15", "q16", "q17"],
    ["q18", "q19", "q20", "q21", "q22"],
    ["q07", "q08", "q09", "q10", "q11", "q12"],
]
SEED = 55
"""With it, every query finds something within the first two epochs."""
SEED_WITH_NULLS = 87
"""With it, every query finds something within the first four epochs in spite of NULLs."""


class Warehouse:
    """The eight tables, some of the queries as views, and what is to happen to them."""

    def __init__(self, path: Path, spark: Any, names: list[str], seed: int = SEED, nulls: float = 0.0) -> None:
        self.db = viewlet.connect(path, spark=spark, engine="inproc")
        self.changes = Changes(seed, nulls)
        for statement in schema().values():
            self.db.sql(statement.replace(" NOT NULL", "") if nulls else statement)
        self.apply(self.changes.initial())
        self.names = names
        self.seen: set[str] = set()

    def create_views(self) -> None:
        for name in self.names:
            self.db.create_view(name, QUERIES[name])

    def apply(self, edits: list[Edit]) -> None:
        with self.db.epoch() as e:
            for edit in edits:
                getattr(e, edit.kind)(edit.table, edit.rows)

    def check(self) -> None:
        """Every view equals its definition."""
        for name in self.names:
            assert self.db.check(name).num_rows == 0, name
        self.look()

    def look(self) -> None:
        """Remember which views show something."""
        for name in self.names:
            if any(value is not None for row in self.db.table(name).rows() for value in row):
                self.seen.add(name)

    def live(self, epochs: int, every: int = 1) -> None:
        """Some epochs, everything checked after every so many of them; if after each, then before the first too."""
        self.check() if every == 1 else self.look()
        for number in range(1, epochs + 1):
            self.apply(self.changes.epoch())
            self.look() if number % every else self.check()


@pytest.fixture(scope="module", params=quickly(2, GROUPS), ids=lambda group: f"{group[0]}-{group[-1]}")
def warehouse(
    request: pytest.FixtureRequest, spark: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Warehouse]:
    """A group of the queries, created over small tables."""
    made = Warehouse(tmp_path_factory.mktemp("tpch"), spark, request.param)
    made.create_views()
    yield made
    made.db.close()


@pytest.mark.spark
def test_every_query_stays_fresh(warehouse: Warehouse) -> None:
    warehouse.live(epochs=2, every=rounds(2, 1))
    assert warehouse.seen == set(warehouse.names), "a query that never finds anything tests nothing"


@pytest.mark.spark
def test_nothing_is_recomputed(warehouse: Warehouse) -> None:
    for name in warehouse.names:
        notes = sql_view(warehouse.db._warehouse.catalog, name).program.notes
        assert [note.label for _, note in operators(notes) if note.tier == "recompute"] == [], name


@pytest.mark.slow
@pytest.mark.spark
def test_the_spark_engine_keeps_them_fresh(spark: Any, tmp_path: Path) -> None:
    some = Warehouse(tmp_path, spark, ["q04", "q12"])
    with some.db:
        some.create_views()
        some.db.engine = "spark"
        some.live(epochs=1)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"{group[0]}-{group[-1]}")
def test_everything_runs_on_the_spark_engine(group: list[str], spark: Any, tmp_path: Path) -> None:
    some = Warehouse(tmp_path, spark, group)
    with some.db:
        some.db.engine = "spark"
        some.create_views()
        some.live(epochs=2)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("seed", [1, 2, SEED])
def test_many_epochs(seed: int, spark: Any, tmp_path: Path) -> None:
    everything = Warehouse(tmp_path, spark, list(QUERIES), seed)
    with everything.db:
        everything.create_views()
        everything.live(epochs=15)


@pytest.mark.slow
@pytest.mark.spark
def test_columns_with_nulls(spark: Any, tmp_path: Path) -> None:
    everything = Warehouse(tmp_path, spark, list(QUERIES), SEED_WITH_NULLS, nulls=0.04)
    with everything.db:
        everything.create_views()
        everything.live(epochs=8)
        assert everything.seen == set(QUERIES)


@pytest.mark.slow
@pytest.mark.spark
def test_generated_data(generated: dict[str, pa.Table], spark: Any, tmp_path: Path) -> None:
    stream = Stream(generated["orders"], generated["lineitem"])
    with viewlet.connect(tmp_path, spark=spark, engine="inproc") as db:
        load(db, generated, stream)
        for name, text in QUERIES.items():
            db.create_view(name, text)
        for size in (1, 20, 200):
            play(db, stream, size)
            assert db.check().num_rows == 0


def load(db: viewlet.Database, data: dict[str, pa.Table], stream: Stream) -> None:
    """The generated tables, without the orders that are still to come."""
    data = data | dict(zip(("orders", "lineitem"), stream.initial, strict=True))
    for name, statement in schema().items():
        db.sql(statement)
        db.insert(name, data[name])


def play(db: viewlet.Database, stream: Stream, size: int) -> None:
    """One epoch of orders that come and go."""
    change = stream.epoch(size)
    with db.epoch() as e:
        e.insert("orders", change.orders_in)
        e.insert("lineitem", change.lines_in)
        e.delete("orders", change.orders_out)
        e.delete("lineitem", change.lines_out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the generated data are."""
    return tmp_path_factory.mktemp("generated")


@pytest.fixture(scope="module")
def generated(folder: Path) -> dict[str, pa.Table]:
    return tables(0.01, folder)


@STRING_VIEWS
def test_the_generator_runs_once(folder: Path, generated: dict[str, pa.Table]) -> None:
    written = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert {path.stem for path in written if path.suffix == ".parquet"} == set(TABLES)
    assert tables(0.01, folder) == generated
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == written


@STRING_VIEWS
def test_generated_tables_are_as_declared(generated: dict[str, pa.Table], tmp_path: Path) -> None:
    with viewlet.connect(tmp_path) as db:
        stream = Stream(generated["orders"], generated["lineitem"], share=0.3)
        load(db, generated, stream)
        for name in TABLES:
            assert db.table(name).arrow().schema.types == generated[name].schema.types
        for size in (1, 100, 1_000):
            play(db, stream, size)
        assert db.table("orders").arrow().num_rows == stream.initial[0].num_rows


@STRING_VIEWS
def test_a_stream_keeps_orders_whole(generated: dict[str, pa.Table]) -> None:
    stream = Stream(generated["orders"], generated["lineitem"])
    live = {*stream.initial[0]["o_orderkey"].to_pylist()}
    waiting = {*stream.waiting.to_pylist()}
    assert live | waiting == {*generated["orders"]["o_orderkey"].to_pylist()}
    for size in (1, 20, 150):
        change = stream.epoch(size)
        coming, going = ({*orders["o_orderkey"].to_pylist()} for orders in (change.orders_in, change.orders_out))
        assert coming <= waiting
        assert going <= live
        assert len(coming) == len(going) == size
        assert {*change.lines_in["l_orderkey"].to_pylist()} == coming
        assert {*change.lines_out["l_orderkey"].to_pylist()} == going
        live, waiting = live - going | coming, waiting - coming | going
    assert {*stream.initial[1]["l_orderkey"].to_pylist()} == live
    with pytest.raises(ValueError, match="asked for"):
        stream.epoch(len(waiting) + 1)


@STRING_VIEWS
def test_a_stream_is_the_same_every_time(generated: dict[str, pa.Table]) -> None:
    one, other = (Stream(generated["orders"], generated["lineitem"], seed=7) for _ in range(2))
    assert all(one.epoch(n) == other.epoch(n) for n in (1, 5, 50))


def test_what_queries_read() -> None:
    assert len(QUERIES) == 23
    assert reads("q15") == ("supplier", "lineitem")
    untouched = [name for name in QUERIES if not {"orders", "lineitem"} & set(reads(name))]
    assert untouched == ["q02", "q11", "q16"]


def test_narrow_tables_have_what_a_query_names() -> None:
    statements = narrowed("q18")
    assert {table: columns(statement) for table, statement in statements.items()} == {
        "customer": ["c_custkey", "c_name"],
        "orders": ["o_orderkey", "o_custkey", "o_totalprice", "o_orderdate"],
        "lineitem": ["l_orderkey", "l_linenumber", "l_quantity"],
    }
