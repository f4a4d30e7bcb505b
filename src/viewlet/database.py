"""The public face of a warehouse: tables, views, epochs, and everything one can ask about them."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace as replaced
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from viewlet.catalog import Catalog, View, table_document, view_document
from viewlet.engine.choose import Choice, EngineName, choose_engine
from viewlet.engine.frames import ReadingSession
from viewlet.engine.onspark import OnSparkSession
from viewlet.epochs import Epoch, apply_epoch, backfill
from viewlet.errors import StoreError, UnknownName, ViewletError
from viewlet.plan.types import Field
from viewlet.reading import Relation
from viewlet.source.schema import fields_of
from viewlet.store import Store, Transaction
from viewlet.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("viewlet")
Durability = Literal["epoch"] | int


class Database:
    """A warehouse, opened. Use it as a context manager, or `close()` it."""

    def __init__(
        self,
        path: str | Path,
        *,
        spark: SparkSession | None = None,
        engine: EngineName = "auto",
        durability: Durability = "epoch",
        read_only: bool = False,
    ) -> None:
        if engine not in ("auto", "inproc", "spark"):
            raise StoreError(f"there is no engine named {engine!r}", hint="auto, inproc or spark")
        self.path = Path(path)
        self.engine = engine
        self.read_only = read_only
        self._spark = spark
        self._store = Store.open(self.path, write=not read_only, durability=durability)
        self._lock = threading.RLock()
        self._on_spark = OnSparkSession(lambda: self.session, lambda view: self.catalog.view(view).fragments)
        self._catalog: Catalog | None = None
        self._engines: dict[str, Any] = {}

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish what is under way and let go of the warehouse; Spark goes on if the caller brought it."""
        self._store.close()

    # ——— what there is

    @property
    def catalog(self) -> Catalog:
        """The tables and views."""
        if self._catalog is None:
            self._catalog = Catalog(self._store.catalog)
        return self._catalog

    @property
    def session(self) -> SparkSession:
        """The Spark session: the caller's, or one that is started now."""
        if self._spark is None:
            from viewlet.catalyst.session import start_spark

            self._spark = start_spark()
        return self._spark

    @property
    def spark(self) -> SparkSession:
        """The Spark session in which every table and view of the warehouse has its name.

        A DataFrame over `db.spark.table("orders")` can define a view; read, it gives the rows that were there
        when `db.spark` was asked for. `db.table("orders").spark()` is quicker where only the rows are wanted.
        """
        from viewlet.engine.frames import show_in_session

        show_in_session(self)
        return self.session

    @cached_property
    def reading(self) -> ReadingSession:
        """Where queries over the current rows run."""
        return ReadingSession(self)

    def table(self, name: str) -> Relation:
        """A table or view, to be read."""
        return Relation(self, self.catalog.find(name))

    # ——— defining

    def sql(self, text: str) -> Any:
        """Run one statement; a query gives a `pyarrow.Table`, EXPLAIN a text, changes the epoch's number."""
        from viewlet.sql.execute import execute

        return execute(self, text)

    def create_table(
        self,
        name: str,
        schema: Any,
        *,
        primary_key: Sequence[str] | str | None = None,
        append_only: bool = False,
        trusted: bool = False,
    ) -> None:
        """Create a table; the schema is a DDL text, a Spark StructType, a pyarrow Schema or Viewlet fields."""
        key = (primary_key,) if isinstance(primary_key, str) else tuple(primary_key or ())
        fields = fields_of(name, schema, key)
        with self._writing():
            self.catalog.refuse_taken(name)
            made = Table(name, fields, key, append_only, trusted)
            with self._redefining() as transaction:
                transaction.put(f"table/{name}", table_document(made))
                for bag, layout, types in made.bags():
                    transaction.create(bag, layout, types)
                transaction.commit({"kind": "create table", "name": name})

    def create_view(
        self,
        name: str,
        definition: Any,
        *,
        policy: str = "AUTO",
        replace: bool = False,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        """Create a view from SQL text or a PySpark DataFrame over `db.spark` tables, filled from what is there."""
        with self._writing():
            if not (replace and name in self.catalog.views):
                self.catalog.refuse_taken(name)
            view = self.define(name, definition, policy=policy)
            with self._redefining() as transaction:
                position = self._next_position()
                if name in self.catalog.views:
                    position = self._replace(transaction, name, view)
                record = backfill(self, transaction, view, progress or log.info)
                transaction.put(
                    f"view/{name}", view_document(replaced(view, position=position, created=self._store.epoch + 1))
                )
                transaction.commit(record)

    def define(self, name: str, definition: Any, *, policy: str = "AUTO") -> View:
        """Analyse and compile a definition, without creating anything."""
        from viewlet.views import define_view

        schemas = {n: f for n, f in self.catalog.schemas().items() if n != name}
        return define_view(self.session, name, definition, schemas, policy, self._next_position())

    def _next_position(self) -> int:
        return max((v.position for v in self.catalog.views.values()), default=0) + 1

    def _replace(self, transaction: Transaction, name: str, new: View) -> int:
        """Clear the way for another definition of a view; the views that read it must not break."""
        old = self.catalog.view(name)
        readers = self.catalog.readers(name)
        if readers and [(f.name, f.type) for f in old.fields] != [(f.name, f.type) for f in new.fields]:
            raise UnknownName(f"{', '.join(readers)} read {name}, whose columns would change", hint="drop them first")
        if readers:
            raise UnknownName(f"{', '.join(readers)} read {name}", hint="drop them first, then replace it")
        for kept in old.program.maps:
            transaction.drop(kept.name)
        return old.position

    def rebuild(self, name: str) -> int:
        """Recompute a view from its inputs, from nothing; the number of the epoch that did it."""
        with self._writing(), self._redefining() as transaction:
            view = self.catalog.view(name)
            for kept in view.program.maps:
                transaction.drop(kept.name)
            record = backfill(self, transaction, view, log.info)
            return transaction.commit({**record, "kind": "rebuild"})

    def drop(self, name: str, *, cascade: bool = False, if_exists: bool = False) -> None:
        """Drop a table or view; `cascade`: and the views that read it."""
        with self._writing():
            try:
                found = self.catalog.find(name)
            except UnknownName:
                if if_exists:
                    return
                raise
            readers = self.catalog.readers(found.name)
            if readers and not cascade:
                raise UnknownName(f"{', '.join(readers)} read {found.name}", hint="drop them first, or DROP … CASCADE")
            with self._redefining() as transaction:
                for reader in reversed(readers):
                    self._drop_one(transaction, self.catalog.find(reader))
                self._drop_one(transaction, found)
                transaction.commit({"kind": "drop", "name": found.name})

    @staticmethod
    def _drop_one(transaction: Transaction, found: Table | View) -> None:
        if isinstance(found, Table):
            bags = [found.name] + ([found.index] if found.index else [])
            transaction.remove(f"table/{found.name}")
        else:
            bags = [kept.name for kept in found.program.maps]
            transaction.remove(f"view/{found.name}")
        for bag in bags:
            transaction.drop(bag)

    # ——— changing

    @contextmanager
    def epoch(self) -> Iterator[Epoch]:
        """One atomic epoch: everything that is changed inside is applied together, or nothing is."""
        with self._writing():
            opened = Epoch(self.catalog, self._store.snapshot())
            yield opened
            opened.number = self._apply(opened)

    def insert(self, table: str, rows: Any) -> int:
        """Put rows into a table, in an epoch of its own; its number."""
        with self.epoch() as e:
            e.insert(table, rows)
        return e.number

    def delete(self, table: str, rows: Any) -> int:
        """Take rows, or the rows with some keys, out of a table, in an epoch of its own; its number."""
        with self.epoch() as e:
            e.delete(table, rows)
        return e.number

    def upsert(self, table: str, rows: Any) -> int:
        """Put rows in, each instead of the one with its key, in an epoch of its own; its number."""
        with self.epoch() as e:
            e.upsert(table, rows)
        return e.number

    def _apply(self, epoch: Epoch) -> int:
        changed = epoch.deltas()
        if not changed:
            return self._store.epoch
        with self._transaction() as transaction:
            record = apply_epoch(self, transaction, changed)
            number = transaction.commit(record)
        log.info("epoch %d: %s", number, _summary(record))
        return number

    def choose(self, rows: int, steps: int) -> tuple[Any, Choice]:
        """The engine that an epoch of so many changed rows and steps runs on, and why."""
        cores = self._spark.sparkContext.defaultParallelism if self._spark is not None else os.cpu_count() or 1
        choice = choose_engine(self.engine, rows, steps, cores)
        if choice.engine not in self._engines:
            self._engines[choice.engine] = _make_engine(choice.engine, self)
        return self._engines[choice.engine], choice

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if self.read_only:
            raise StoreError(f"{self.path} is open for reading only")
        with self._lock:
            yield

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        transaction = self._store.begin()
        try:
            yield transaction
        except BaseException:
            transaction.abort()
            raise

    @contextmanager
    def _redefining(self) -> Iterator[Transaction]:
        """A transaction that changes the catalog."""
        try:
            with self._transaction() as transaction:
                yield transaction
        finally:
            self._catalog = None

    # ——— asking

    def explain(self, name: str) -> str:
        """How a view is kept fresh: operators with tiers, maps, statements, sizes, and the reasons."""
        from viewlet.explain import explain

        return explain(self, self.catalog.view(name))

    def check(self, name: str | None = None) -> pa.Table:
        """Recompute a view (or all) with Spark SQL and compare: the rows that differ, none if all is well."""
        from viewlet.check import check

        names = [self.catalog.view(name).name] if name else list(self.catalog.views)
        return check(self, names)

    def status(self) -> dict[str, Any]:
        """Epochs, sizes, timings, and the engine used."""
        from viewlet.explain import status

        return status(self)

    def history(self, name: str | None = None) -> list[dict[str, Any]]:
        """The records that epochs left, newest last; those of one table or view, or all."""
        records = self._store.history()
        if name is None:
            return records
        known = self.catalog.find(name).name
        return [
            r for r in records if r.get("name") == known or known in r.get("tables", ()) or known in r.get("views", ())
        ]

    def refresh(self) -> None:
        """For a reader: move on to the last committed epoch."""
        self._store.refresh()
        self._catalog = None


def connect(
    path: str | Path,
    *,
    spark: SparkSession | None = None,
    engine: EngineName = "auto",
    durability: Durability = "epoch",
    read_only: bool = False,
) -> Database:
    """Open a warehouse, or make one. `durability`: "epoch" syncs every epoch, a number groups them by milliseconds."""
    return Database(path, spark=spark, engine=engine, durability=durability, read_only=read_only)


def _make_engine(name: str, database: Database) -> Any:
    if name == "spark":
        from viewlet.engine.spark import SparkEngine

        return SparkEngine(lambda: database.session, database.path)
    from viewlet.engine.inproc import InprocEngine

    return InprocEngine()


def _summary(record: dict[str, Any]) -> str:
    tables = ", ".join(f"{t} +{n['inserted']} −{n['deleted']}" for t, n in record["tables"].items())
    return f"{tables}; {len(record['views'])} views in {record['ms']:.1f} ms on {record['engine']}"


__all__ = ["Database", "Field", "ViewletError", "connect"]
