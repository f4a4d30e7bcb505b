"""The public face of a warehouse: tables, views, epochs, and everything one can ask about them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace as with_values
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewlet.aggregates import Aggregate, ColumnAggregate
from viewlet.engine.choose import EngineName
from viewlet.errors import SqlError
from viewlet.formatting import plural
from viewlet.source.schema import read_schema
from viewlet.store import Recovery, Transaction
from viewlet.store.log.retention import SETTINGS, Retention, retention_of
from viewlet.warehouse import arguments
from viewlet.warehouse.apply import Epoch, apply_epoch, backfill, summary
from viewlet.warehouse.blame import blaming_changes, blaming_contents
from viewlet.warehouse.ddl import drop, fill_table, make_table, with_asides
from viewlet.warehouse.expectations import compiled, evaluator
from viewlet.warehouse.relation import Relation
from viewlet.warehouse.replace_view import drop_maps, fill_views, readers_after
from viewlet.warehouse.subscriptions import Callback, Subscription
from viewlet.warehouse.tables import Table
from viewlet.warehouse.warehouse import Durability, Warehouse
from viewlet.warehouse.watermarks import read_watermark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("viewlet")


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
        recover: bool = False,
    ) -> None:
        self._core = Warehouse(path, arguments.session(spark), engine, durability, read_only, recover)

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        counts = f"{plural(len(self.tables), 'table')}, {plural(len(self.views), 'view')}"
        return f"<warehouse {self.path}: {counts}, epoch {self._core.store.epoch}>"

    def close(self) -> None:
        """Finish what is under way and let go of the warehouse; Spark goes on."""
        self._core.subscriptions.close()
        with self._core.lock:
            self._core.store.close()

    # ——— what there is

    @property
    def path(self) -> Path:
        """The folder of the warehouse."""
        return self._core.path

    @property
    def read_only(self) -> bool:
        return self._core.read_only

    @property
    def engine(self) -> EngineName:
        """What epochs run on: "inproc", "spark", or "auto", by cost. It may be changed."""
        return self._core.engine

    @engine.setter
    def engine(self, name: EngineName) -> None:
        self._core.engine = name

    @property
    def spark(self) -> SparkSession:
        """A child of the caller's Spark session, in which every table and view of the warehouse has its name.

        It has the settings, temporary views and functions of the caller's session, and those that it is given itself.
        A DataFrame over `db.spark.table("orders")` can define a view; read, it gives the rows that were there
        when `db.spark` was asked for. `db.table("orders").spark()` is quicker where only the rows are wanted.
        """
        from viewlet.spark.session.children import active

        with active(self._core.sessions.child) as spark:
            self._core.reading.show(spark, self._core.catalog.names())
        return spark

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of all tables."""
        return tuple(self._core.catalog.tables)

    @property
    def views(self) -> tuple[str, ...]:
        """The names of all views, each after those that it reads."""
        return tuple(self._core.catalog.views)

    def table(self, name: str) -> Relation:
        """A table or view, to be read."""
        return Relation(self._core, self._core.catalog.find(name))

    # ——— defining

    def sql(self, text: str, parameters: Mapping[str, Any] | Sequence[Any] | None = None, /, **named: Any) -> Any:
        """Run one statement; a query gives a `pyarrow.Table`, EXPLAIN a text, changes the epoch's number.

        Markers `:name` take their values from a dict or from keywords, markers `?` from a list.
        """
        from viewlet.sql.execute import execute
        from viewlet.sql.parameters import name_markers

        return execute(self, *name_markers(text, parameters, named))

    def create_table(
        self,
        name: str,
        schema: Any,
        *,
        primary_key: Sequence[str] | str | None = None,
        append_only: bool = False,
        trusted: bool = False,
        static: bool = False,
        watermark: tuple[str, Any] | None = None,
        defaults: Mapping[str, str] | None = None,
        constraints: Mapping[str, str | tuple[str, str]] | None = None,
        rows: Any = None,
    ) -> None:
        """Create a table; the schema is a DDL text, a Spark StructType, a pyarrow Schema or Viewlet fields.

        `watermark`: a column of times and a delay ("10 minutes", a timedelta); rows that come later are kept aside.
        `defaults`: for columns, the SQL expressions that stand in where a statement gives them no value.
        `constraints`: conditions by name; alone, or with what becomes of rows that break them: "FAIL EPOCH" (unless
        said otherwise), "DROP ROW" or "KEEP ASIDE".
        `rows`: its first rows, in the same commit.
        """
        from viewlet.sql.defaults import default_values

        arguments.text("the name of a table or view", name)
        key = arguments.texts(f"the primary key of table {name}", primary_key)
        declared = read_schema(name, schema, key, defaults, constraints)
        with self._core.writing():
            default_values(self, name, declared)
            mark = read_watermark(name, declared.fields, watermark)
            made = Table(
                name,
                declared.fields,
                declared.primary_key,
                append_only,
                trusted,
                static,
                mark,
                defaults=declared.defaults,
                constraints=tuple(
                    compiled(self._core.sessions, name, declared.fields, c) for c in declared.constraints
                ),
            )
            with self._core.store.begin() as transaction:
                make_table(self._core.catalog, transaction, made)
                filled = (
                    {}
                    if rows is None
                    else fill_table(
                        self._core.catalog, transaction, made, rows, evaluator(self._core.sessions, made.fields)
                    )
                )
                transaction.commit({"kind": "create table", "name": name, **filled})

    def add_columns(self, table: str, schema: Any, *, defaults: Mapping[str, str] | None = None) -> int:
        """Add columns to a table; the number of the epoch that did it. The rows that are there get the default, or NULL.

        Views stay as they are. The table's change feed begins anew there.
        """
        from viewlet.sql.defaults import default_values
        from viewlet.warehouse.alter import add_columns

        with self._core.writing(), self._core.store.begin() as transaction:
            found = self._core.catalog.table(table)
            new = read_schema(found.name, schema, (), defaults)
            values = default_values(self, found.name, new)
            for narrow in with_asides(found):
                add_columns(self._core, transaction, narrow, new, values)
            names = [f.name for f in new.fields]
            return transaction.commit({"kind": "add columns", "name": found.name, "columns": names})

    def drop_columns(self, table: str, columns: Sequence[str], *, if_exists: bool = False) -> int:
        """Drop columns of a table that no view reads; the number of the epoch that did it.

        Views that read the table's other columns are filled again, in the same commit. Change feeds begin anew there.
        """
        from viewlet.warehouse.alter import column_named, drop_columns

        with self._core.writing(), self._core.store.begin() as transaction:
            found = self._core.catalog.table(table)
            given = arguments.texts("the columns to drop", columns)
            if not given:
                raise SqlError(f"table {table}: no column to drop is named")
            there = [c for c in given if not if_exists or c.lower() in map(str.lower, found.names)]
            if not there:
                return self._core.store.epoch
            names = [column_named(found, column) for column in there]
            drop_columns(self._core, transaction, found, names)
            return transaction.commit({"kind": "drop columns", "name": found.name, "columns": names})

    def rename_column(self, table: str, column: str, to: str) -> int:
        """Give a column of a table that no view reads another name; the number of the epoch that did it."""
        from viewlet.warehouse.alter import column_named, rename_column

        with self._core.writing(), self._core.store.begin() as transaction:
            found = self._core.catalog.table(table)
            name = column_named(found, column)
            rename_column(self._core.catalog, transaction, found, name, to)
            return transaction.commit({"kind": "rename column", "name": found.name, "column": name, "to": to})

    def rename(self, name: str, to: str) -> int:
        """Give a table or view that no view reads another name; the number of the epoch that did it.

        Its change feed begins anew there.
        """
        from viewlet.warehouse.alter import rename_table, rename_view

        with self._core.writing(), self._core.store.begin() as transaction:
            found = self._core.catalog.find(name)
            if isinstance(found, Table):
                rename_table(self._core.catalog, transaction, found, to)
            else:
                rename_view(self._core, transaction, found, to)
            return transaction.commit({"kind": "rename", "name": to, "was": found.name})

    def register_aggregate(self, name: str, aggregate: Aggregate | ColumnAggregate) -> Any:
        """Let views call an aggregate of yours by its name; what is returned calls it in DataFrames."""
        from viewlet.spark.session.user_functions import register_aggregate

        return register_aggregate(self._core.sessions.child, name, aggregate)

    def create_view(
        self,
        name: str,
        definition: Any,
        *,
        policy: str = "AUTO",
        replace: bool = False,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        """Create a view from SQL text or a PySpark DataFrame over `db.spark` tables, filled from what is there.

        `replace`: in the place of another. Views that read it are filled again, in the same commit; its columns must
        stay the same for them. Change feeds begin anew there.
        """
        with self._core.writing():
            old = self._core.catalog.views.get(self._core.catalog.known(name) or "") if replace else None
            if old is None:
                self._core.catalog.refuse_taken(name)
            name = name if old is None else old.name
            view = self._core.define(name, definition, policy=policy)
            view = with_values(view, created=self._core.store.epoch + 1)
            readers = [] if old is None else readers_after(self._core.catalog, old, view)

            def fill(transaction: Transaction, **trial: Any) -> dict[str, Any]:
                drop_maps(self._core.catalog, transaction, [*readers, *([old] if old else [])])
                return fill_views(self._core, transaction, [view, *readers], {}, progress or log.info, **trial)

            with blaming_contents(self._core, view, fill), self._core.store.begin() as transaction:
                record = fill(transaction)
                transaction.commit(record)

    def rebuild(self, name: str) -> int:
        """Recompute a view from its inputs, from nothing; the number of the epoch that did it.

        Its change feed begins anew there.
        """
        with self._core.writing():
            view = self._core.catalog.view(name)

            def fill(transaction: Transaction, **trial: Any) -> dict[str, Any]:
                for bag in self._core.catalog.own_maps(view):
                    transaction.drop(bag)
                return backfill(self._core, transaction, view, log.info, **trial)

            with blaming_contents(self._core, view, fill), self._core.store.begin() as transaction:
                return transaction.commit({**fill(transaction), "kind": "rebuild"})

    def drop(self, name: str, *, cascade: bool = False, if_exists: bool = False) -> bool:
        """Drop a table or view; `cascade`: and the views that read it. Whether there was one, if that is asked."""
        with self._core.writing():
            if if_exists and self._core.catalog.known(name) is None:
                return False
            drop(self._core, self._core.catalog.find(name), cascade=cascade)
            return True

    # ——— changing

    @contextmanager
    def epoch(self) -> Iterator[Epoch]:
        """One atomic epoch: everything that is changed inside is applied together, or nothing is."""
        with self._core.writing():
            opened = Epoch(self._core.catalog, self._core.store.snapshot(), self._core.sessions)
            self._core.epoch_is_open = True
            try:
                yield opened
            finally:
                self._core.epoch_is_open = False
                opened.close()
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
            return self._core.store.epoch
        with blaming_changes(self._core, changed), self._core.store.begin() as transaction:
            record = apply_epoch(self._core, transaction, changed)
            number = transaction.commit(record)
        log.info("epoch %d: %s", number, summary(record))
        return number

    def set_retention(
        self, *, epochs: int | None = None, age: timedelta | None = None, bytes: int | None = None
    ) -> int:
        """Keep changes, for `changes()`, until any of some limits is exceeded; the number of the epoch that set it.

        `epochs`: of so many epochs; `age`: made so long ago; `bytes`: so many for each table and view.
        """
        kept = Retention.of(epochs, age, bytes)
        with self._core.writing(), self._core.store.begin() as transaction:
            transaction.put(SETTINGS, {"retention": kept.to_json()})
            return transaction.commit({"kind": "set retention"})

    @property
    def retention(self) -> Retention:
        """How long changes are kept."""
        return retention_of(self._core.store.catalog)

    @property
    def recovery(self) -> Recovery | None:
        """What was given up to open the warehouse, if it was damaged."""
        return self._core.store.recovery

    # ——— asking

    def explain(self, name: str, *, verbose: bool = False) -> str:
        """How a view is maintained: operators with tiers, maps, statements, sizes, and the reasons.

        `verbose`: the statements in full, with every column and weight.
        """
        from viewlet.inspect.explain import explain

        return explain(self._core, self._core.catalog.view(name), verbose=verbose)

    def check(self, name: str | None = None) -> pa.Table:
        """Recompute a view (or all) with Spark SQL and compare: the rows that differ, none if all is well."""
        from viewlet.inspect.check import check

        names = list(self._core.catalog.views) if name is None else [self._core.catalog.view(name).name]
        return check(self._core, names)

    def status(self) -> dict[str, Any]:
        """Epochs, sizes, timings, and the engine used."""
        from viewlet.inspect.explain import status

        return status(self._core)

    def history(self, name: str | None = None) -> list[dict[str, Any]]:
        """The records that epochs left, newest last; those of one table or view, or all."""
        return self._core.history(name)

    def refresh(self) -> None:
        """For a reader: move on to the last committed epoch."""
        self._core.store.refresh()
        self._core.subscriptions.notify()

    def subscribe(self, name: str, callback: Callback, *, since: int | None = None) -> Subscription:
        """Have a callback told what each epoch changes in a table or view, from now on or from after an epoch.

        It gets what `changes` would give for that epoch alone, after the commit, in the order of epochs, on a thread
        that serves the subscriptions of this warehouse one after the other. It may read, change the warehouse, and
        `cancel` the subscription that is returned. If it raises, the subscription ends: the error is logged and kept
        as `error`, and `epoch` says after which epoch to go on. `close` waits for the calls that are due.
        """
        found = self._core.catalog.find(name).name
        return self._core.subscriptions.add(found, callback, self._core.store.epoch if since is None else since)


def connect(
    path: str | Path,
    *,
    spark: SparkSession | None = None,
    engine: EngineName = "auto",
    durability: Durability = "epoch",
    read_only: bool = False,
    recover: bool = False,
) -> Database:
    """Open a warehouse, or make one of a new or empty folder; a folder with other things in it is refused.

    `durability`: "epoch" syncs every epoch, a number groups them by milliseconds. `read_only` takes no lock and
    writes nothing: any number of readers go along with one writer. `recover` goes on from the last whole epoch of a
    warehouse whose log was damaged; `db.recovery` says what was given up, and where it was moved.
    """
    return Database(path, spark=spark, engine=engine, durability=durability, read_only=read_only, recover=recover)
