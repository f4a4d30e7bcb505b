"""From each source to a refreshed view: rows a second, beside the same rows from an Arrow table that the caller holds.

Every source gets the same orders, a portion at a time; what is measured is reading a portion, to the commit that has
it in the table and in a view over it. PostgreSQL and Kafka are a server and a simulated cluster of their own.

    python -m benchmarks.sources [--rows 20000] [--portions 5] [--only csv postgres] [--out docs/source-rates.md]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.kafka_cluster import cluster
from tests.postgres_server import new_database, server

import viewlet
from benchmarks.measure import grid, say

SCHEMA = "id BIGINT, cust INT, total DECIMAL(12,2)"
VIEW = "SELECT cust, count(*) AS n, sum(total) AS total FROM orders GROUP BY cust"
BASELINE = "insert"

Put = Callable[[int, pa.Table], None]
"""Puts a portion, by its number, where the source is."""
Take = Callable[[viewlet.Database, int, pa.Table], object]
"""Takes a portion into the table."""
Made = tuple[Put, Any, Take]
"""With the source itself, which is None where rows are handed over."""


def read(db: viewlet.Database, number: int, rows: pa.Table) -> None:
    db.read_sources("orders")


def orders(rows: int, portion: int) -> pa.Table:
    rng = np.random.default_rng(portion)
    totals = pa.array([Decimal(int(cents)) / 100 for cents in rng.integers(0, 1_000_000, rows)], pa.decimal128(12, 2))
    ids = pa.array(np.arange(rows) + portion * rows)
    return pa.table({"id": ids, "cust": pa.array(rng.integers(0, 1_000, rows).astype(np.int32)), "total": totals})


@contextmanager
def folder(format: str, place: Path) -> Iterator[Made]:
    options: dict[str, dict[str, str]] = {"csv": {"header": "true"}, "xml": {"rowTag": "order"}}

    def put(portion: int, rows: pa.Table) -> None:
        hidden = place / f".{portion}"
        if format == "parquet":
            pq.write_table(rows, hidden)
        else:
            hidden.write_text("\n".join(_lines(format, rows)) + "\n", encoding="utf-8")
        hidden.rename(place / f"{portion}.{format}")

    yield put, viewlet.folder(place, format, options.get(format, {})), read


def _lines(format: str, rows: pa.Table) -> Iterator[str]:
    listed = [{**row, "total": str(row["total"])} for row in rows.to_pylist()]
    match format:
        case "csv":
            yield "id,cust,total"
            yield from (",".join(map(str, row.values())) for row in listed)
        case "xml":
            yield from ("<order>" + "".join(f"<{k}>{v}</{k}>" for k, v in row.items()) + "</order>" for row in listed)
        case "debezium":
            yield from (json.dumps({"op": "c", "before": None, "after": row}) for row in listed)
        case _:
            yield from map(json.dumps, listed)


@contextmanager
def postgres(place: Path) -> Iterator[Made]:
    import psycopg

    with server() as running, new_database(running) as database, psycopg.connect(database, autocommit=True) as session:
        session.execute("CREATE TABLE orders (id bigint PRIMARY KEY, cust int, total numeric(12,2))")

        def put(portion: int, rows: pa.Table) -> None:
            with session.cursor().copy("COPY orders FROM STDIN") as copy:
                for row in rows.to_pylist():
                    copy.write_row(tuple(row.values()))

        yield put, viewlet.postgres(database, "public.orders"), read


@contextmanager
def kafka(place: Path) -> Iterator[Made]:
    with cluster() as running:

        def put(portion: int, rows: pa.Table) -> None:
            running.send("orders", *((None, line) for line in _lines("json", rows)))

        yield put, viewlet.kafka(running.servers, "orders"), read


@contextmanager
def delta(place: Path) -> Iterator[Made]:
    import deltalake

    settings: Any = {"delta.enableChangeDataFeed": "true"}
    deltalake.DeltaTable.create(str(place), orders(0, 0).schema, configuration=settings)
    yield lambda _, rows: deltalake.write_deltalake(str(place), rows, mode="append"), viewlet.delta(str(place)), read


@contextmanager
def iceberg(place: Path) -> Iterator[Made]:
    from pyiceberg.catalog import load_catalog

    properties = {"type": "sql", "uri": f"sqlite:///{place}/catalog.db", "warehouse": f"file://{place}"}
    catalog = load_catalog("bench", **properties)
    catalog.create_namespace("db")
    table = catalog.create_table("db.orders", orders(0, 0).schema)
    yield lambda _, rows: table.append(rows), viewlet.iceberg("bench", "db.orders", properties=properties), read


@contextmanager
def spark_batch(place: Path) -> Iterator[Made]:
    """All that is there is compared with the table, whatever is new."""
    put = lambda number, rows: pq.write_table(rows, place / f"{number}.parquet")  # noqa: E731
    yield put, viewlet.spark_batch("parquet", {"path": str(place)}), read


@contextmanager
def spark_stream(place: Path) -> Iterator[Made]:
    """A batch as `foreachBatch` hands it over."""
    take: Take = lambda db, number, rows: db.batch_writer("orders", "s")(db.spark.createDataFrame(rows), number)  # noqa: E731
    yield lambda *_: None, None, take


@contextmanager
def insert(place: Path) -> Iterator[Made]:
    yield lambda *_: None, None, lambda db, _, rows: db.insert("orders", rows)


SOURCES: dict[str, Callable[[Path], Any]] = {
    BASELINE: insert,
    **{name: partial(folder, name) for name in ("parquet", "csv", "json", "xml", "debezium")},
    "postgres": postgres,
    "kafka": kafka,
    "delta": delta,
    "iceberg": iceberg,
    "spark": spark_batch,
    "foreachBatch": spark_stream,
}


def rate(name: str, rows: int, portions: int) -> float:
    """Rows a second, the median over portions; the first one, which fills all that is prepared, does not count."""
    with tempfile.TemporaryDirectory() as made, ExitStack() as stack:
        place = Path(made) / "source"
        place.mkdir()
        put, source, take = stack.enter_context(SOURCES[name](place))
        db = stack.enter_context(viewlet.connect(Path(made) / "w"))
        key = "id" if name in (BASELINE, "postgres", "debezium", "spark", "foreachBatch") else None
        put(0, first := orders(rows, 0))
        db.create_table("orders", SCHEMA, primary_key=key, source=source, rows=first if source is None else None)
        db.create_view("spend", VIEW)
        spent = [_portion(db, put, take, orders(rows, number), number) for number in range(1, portions + 1)]
        assert sum(n for _, n, _ in db.table("spend").rows()) == rows * (portions + 1)
    return rows / statistics.median(spent)


def _portion(db: viewlet.Database, put: Put, take: Take, rows: pa.Table, number: int) -> float:
    put(number, rows)
    began = time.perf_counter()
    take(db, number, rows)
    return time.perf_counter() - began


def page(rows: int, found: dict[str, float]) -> str:
    lines = [[name, f"{rate:,.0f}", f"{found[BASELINE] / rate:.1f}"] for name, rate in found.items()]
    text = (
        f"`make bench-sources`: portions of {rows:,} orders, each to the commit with the table and a view that sums them by "
        "customer, on two cores; the median of five. What Spark reads as a batch is compared with the whole table each time; "
        "`foreachBatch` gets a DataFrame of rows that Python holds. Kafka is librdkafka's simulated cluster."
    )
    return f"# Rates of sources\n\n{text}\n\n{grid(['from', 'rows a second', 'times as long as insert'], lines)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--portions", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=list(SOURCES), default=list(SOURCES))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = {}
    for name in dict.fromkeys([BASELINE, *given.only]):
        found[name] = rate(name, given.rows, given.portions)
        say(f"{name}: {found[name]:,.0f} rows a second")
    text = page(given.rows, found)
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
