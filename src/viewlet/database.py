"""The public surface of a warehouse: tables, views, epochs, and their inspection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace as with_values
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viewlet import arguments
from viewlet.aggregates import Aggregate, ColumnAggregate
from viewlet.engine.choose import EngineName
from viewlet.errors import SqlError, WrongArgument
from viewlet.flow.define.methods import FlowMethods
from viewlet.formatting import plural
from viewlet.inspect.html import epoch_html
from viewlet.inspect.methods import InspectMethods
from viewlet.progress import Wanted
from viewlet.project.methods import ProjectMethods
from viewlet.signal.view.methods import SignalMethods
from viewlet.sink.methods import SinkMethods
from viewlet.source.methods import SourceMethods
from viewlet.sql.schema import read_schema
from viewlet.store import Recovery
from viewlet.store.log.retention import SETTINGS, Retention, retention_of
from viewlet.ui.methods import UiMethods
from viewlet.warehouse.declare.ddl import drop, fill_table, make_table, with_asides
from viewlet.warehouse.declare.expectations import compiled, evaluator
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.declare.watermarks import read_watermark
from viewlet.warehouse.epoch.open_epoch import open_epoch
from viewlet.warehouse.epoch.user_epoch import Epoch
from viewlet.warehouse.fill import create, rebuild
from viewlet.warehouse.read.backup_methods import BackupMethods
from viewlet.warehouse.read.relation import Relation
from viewlet.warehouse.read.subscriptions import Callback, Subscription
from viewlet.warehouse.warehouse import Durability, Warehouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from viewlet.loops.maintained import Loop
    from viewlet.matrix import MatrixProgram
    from viewlet.matrix.tables.reading import MatrixReading
    from viewlet.views.view import View
    from viewlet.warehouse.maintained import Placement
    from viewlet.warehouse.source import Source


class Database(
    BackupMethods, FlowMethods, InspectMethods, ProjectMethods, SignalMethods, SinkMethods, SourceMethods, UiMethods
):
    """An open warehouse. Use it as a context manager, or `close()` it."""

    def __init__(
        self,
        path: str | Path,
        *,
        spark: SparkSession | None = None,
        engine: EngineName = "auto",
        durability: Durability = "epoch",
        read_only: bool = False,
        recover: bool = False,
        trust: bool = True,
        progress: Wanted = None,
    ) -> None:
        self._warehouse = Warehouse(
            path, arguments.session(spark), engine, durability, read_only, recover, trust, progress
        )

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._warehouse.is_closed:
            return f"<warehouse {self._warehouse.path}: closed>"
        counts = f"{plural(len(self.tables), 'table')}, {plural(len(self.views), 'view')}"
        return f"<warehouse {self._warehouse.store.address}: {counts}, epoch {self._warehouse.store.epoch}>"

    def close(self) -> None:
        """Finish pending work and release the warehouse, which refuses calls from then on; Spark keeps running."""
        self._warehouse.close()

    @property
    def path(self) -> Path:
        """The folder of the warehouse, or of its local cache."""
        return self._warehouse.path

    @property
    def address(self) -> str:
        """The address that opens the warehouse in another process: its folder, or `s3://…`."""
        return self._warehouse.store.address

    @property
    def read_only(self) -> bool:
        """Whether the warehouse was opened for reading only."""
        return self._warehouse.read_only

    @property
    def engine(self) -> EngineName:
        """The engine that epochs run on: "inproc", "spark", or "auto", by cost. It may be changed."""
        return self._warehouse.engine

    @engine.setter
    def engine(self, name: EngineName) -> None:
        self._warehouse.engine = name

    @property
    def spark(self) -> SparkSession:
        """A child of the caller's Spark session that knows every table and view of the warehouse by name.

        It starts with the settings, temporary views and functions of the caller's session, and may add its own.
        A DataFrame over `db.spark.table("orders")` can define a view; reading it returns the rows as of the time when
        `db.spark` was accessed. To read rows only, `db.table("orders").spark()` is faster.
        """
        from viewlet.spark.session.children import active

        self._warehouse.check_open()
        with active(self._warehouse.sessions.child) as spark:
            self._warehouse.reading.show(spark, self._warehouse.catalog.names())
        return spark

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of all tables."""
        return tuple(self._warehouse.catalog.tables)

    @property
    def views(self) -> tuple[str, ...]:
        """The names of all views, in dependency order."""
        return tuple(self._warehouse.catalog.views)

    def table(self, name: str) -> Relation:
        """Return a table or view for reading."""
        return Relation(self._warehouse, self._warehouse.catalog.find(name))

    def matrix(self, name: str) -> MatrixReading:
        """Return a matrix program for reading: its outputs as arrays, with the labels of their rows and columns."""
        from viewlet.matrix.tables.reading import MatrixReading

        return MatrixReading(self._warehouse, name)

    def sql(self, text: str, parameters: Mapping[str, Any] | Sequence[Any] | None = None, /, **named: Any) -> Any:
        """Run one statement: a query returns a `pyarrow.Table`, EXPLAIN text, a change the number of its epoch.

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
        source: Source | None = None,
        read: bool = True,
    ) -> None:
        """Create a table; the schema is DDL text, a Spark StructType, a pyarrow Schema or Viewlet fields.

        `watermark`: a column of times and a delay ("10 minutes", a timedelta); later rows are kept aside.
        `defaults`: by column, the SQL expressions for columns that a statement omits.
        `constraints`: conditions by name, alone or with the action for rows that violate them: "FAIL EPOCH" (the
        default), "DROP ROW" or "KEEP ASIDE".
        `rows`: its first rows, in the same commit. `source`: what feeds it, such as a `viewlet.folder(…)`; its current
        contents are read at once unless `read` is false; `read_sources` and `watch` read later changes.
        """
        from viewlet.sql.defaults import default_values

        arguments.text("the name of a table or view", name)
        key = arguments.texts(f"the primary key of table {name}", primary_key)
        declared = read_schema(name, schema, key, defaults, constraints)
        with self._warehouse.writing():
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
                    compiled(self._warehouse.sessions, name, declared.fields, c) for c in declared.constraints
                ),
                source=source,
            )
            with self._warehouse.store.begin() as transaction:
                make_table(self._warehouse.catalog, transaction, made)
                filled = (
                    {}
                    if rows is None
                    else fill_table(
                        self._warehouse.catalog,
                        transaction,
                        made,
                        rows,
                        evaluator(self._warehouse.sessions, made.fields),
                    )
                )
                transaction.commit({"kind": "create table", "name": name, **filled})
        if source is not None and read:
            self.read_sources(name)

    def add_columns(self, table: str, schema: Any, *, defaults: Mapping[str, str] | None = None) -> int:
        """Add columns to a table and return the epoch. Existing rows get the default, or NULL.

        Views do not change. The table's change feed starts over.
        """
        from viewlet.flow.define.create import follow_rewrite
        from viewlet.sql.defaults import default_values
        from viewlet.warehouse.declare.alter import add_columns

        with self._warehouse.writing(), self._warehouse.store.begin() as transaction:
            found = self._warehouse.catalog.table(table)
            self._warehouse.catalog.refuse_altered(found)
            new = read_schema(found.name, schema, (), defaults)
            values = default_values(self, found.name, new)
            for narrow in with_asides(found):
                follow_rewrite(self._warehouse, transaction, narrow.name)
                add_columns(self._warehouse, transaction, narrow, new, values)
            names = [f.name for f in new.fields]
            return transaction.commit({"kind": "add columns", "name": found.name, "columns": names})

    def drop_columns(self, table: str, columns: Sequence[str], *, if_exists: bool = False) -> int:
        """Drop columns of a table that no view reads and return the epoch.

        The same commit recomputes views that read the table's other columns. The table's change feed starts over.
        """
        from viewlet.warehouse.declare.alter import column_named, drop_columns

        with self._warehouse.writing(), self._warehouse.store.begin() as transaction:
            found = self._warehouse.catalog.table(table)
            self._warehouse.catalog.refuse_altered(found)
            given = arguments.texts("the columns to drop", columns)
            if not given:
                raise SqlError(f"table {table}: name at least one column to drop")
            there = [c for c in given if not if_exists or c.lower() in map(str.lower, found.names)]
            if not there:
                return self._warehouse.store.epoch
            names = [column_named(found, column) for column in there]
            drop_columns(self._warehouse, transaction, found, names)
            return transaction.commit({"kind": "drop columns", "name": found.name, "columns": names})

    def rename_column(self, table: str, column: str, to: str) -> int:
        """Rename a column of a table that no view reads and return the epoch."""
        from viewlet.warehouse.declare.alter import column_named, rename_column

        with self._warehouse.writing(), self._warehouse.store.begin() as transaction:
            found = self._warehouse.catalog.table(table)
            self._warehouse.catalog.refuse_altered(found)
            name = column_named(found, column)
            rename_column(self._warehouse.catalog, transaction, found, name, to)
            return transaction.commit({"kind": "rename column", "name": found.name, "column": name, "to": to})

    def rename(self, name: str, to: str) -> int:
        """Rename a table or view that no view reads and return the epoch.

        Its change feed starts over.
        """
        from viewlet.warehouse.declare.alter import rename_table, rename_view

        with self._warehouse.writing(), self._warehouse.store.begin() as transaction:
            found = self._warehouse.catalog.find(name)
            if isinstance(found, Table):
                self._warehouse.catalog.refuse_altered(found)
                rename_table(self._warehouse.catalog, transaction, found, to)
            else:
                rename_view(self._warehouse, transaction, found, to)
            return transaction.commit({"kind": "rename", "name": to, "was": found.name})

    def register_aggregate(self, name: str, aggregate: Aggregate | ColumnAggregate) -> Any:
        """Register a user-defined aggregate for views, under a name; return a function that calls it in DataFrames."""
        from viewlet.spark.session.user_functions import register_aggregate

        self._warehouse.check_open()
        return register_aggregate(self._warehouse.sessions.child, name, aggregate)

    def create_view(
        self,
        name: str,
        definition: Any,
        *,
        policy: str = "AUTO",
        replace: bool = False,
        progress: Wanted = None,
    ) -> None:
        """Create a view from SQL text or a PySpark DataFrame over `db.spark` tables, and fill it from the current rows.

        `replace`: replace the view of that name, unless the definition is the same. The same commit recomputes its
        readers; if it has any, its columns must stay the same. Change feeds continue with the difference; if a view's
        columns change, its feed starts over. `progress`: as in `connect`, for this call alone.
        """
        with self._warehouse.writing(progress):
            catalog = self._warehouse.catalog
            known = catalog.known(name) if replace else None
            if known not in catalog.views:
                catalog.refuse_taken(name)
            view = self._define(known or name, definition, policy)
            view = with_values(view, created=self._warehouse.store.epoch + 1)
            create(self._warehouse, view, replace=replace)

    def _define(self, name: str, definition: Any, policy: str = "AUTO") -> View | Loop:
        """Compile a definition into a loop or a view, without creating it."""
        from viewlet.loops.maintained import loop_of
        from viewlet.views.define import define

        return loop_of(self._warehouse, name, definition, policy) or define(
            self._warehouse, name, definition, policy=policy
        )

    def create_matrix(
        self,
        name: str,
        program: MatrixProgram,
        *,
        outputs: Sequence[str] | None = None,
        wide: bool = False,
        dtype: Any = None,
        tolerance: float | None = None,
        probes: int = 2,
        options: Mapping[str, Any] | None = None,
        resident: int | None = None,
        replace: bool = False,
        progress: Wanted = None,
        **inputs: Any,
    ) -> int:
        """Keep a matrix program fresh over tables and views; return the epoch that created it.

        Each input is a `matrix.Wide`, a `matrix.Long`, or a constant array. The outputs, or some of them, are a
        table of that name: long, or `wide`. Matrices of more than `resident` entries are kept in row blocks; on the
        Spark engine the default is 1 << 24. `replace` replaces the program of that name and recomputes the views that
        read it. The other arguments are those of `MatrixProgram.start`.
        """
        from viewlet.matrix.tables.create import create_matrix
        from viewlet.matrix.tables.define import ProgramDefinition
        from viewlet.matrix.tables.options import settings_of

        settings = settings_of(dtype, tolerance, probes, options, resident, self._warehouse.engine)
        wanted = ProgramDefinition(name, program, inputs, outputs, wide, settings)
        with self._warehouse.writing(progress):
            return create_matrix(self._warehouse, wanted, replace=replace)

    def rebuild(self, name: str, *, progress: Wanted = None) -> int:
        """Recompute a view from its inputs, from scratch, and return the epoch.

        Its change feed starts over.
        """
        with self._warehouse.writing(progress):
            return rebuild(self._warehouse, self._warehouse.catalog.view(name))

    def drop(self, name: str, *, cascade: bool = False, if_exists: bool = False) -> bool:
        """Drop a table or view, with `cascade` also the views that read it; return whether it existed."""
        with self._warehouse.writing():
            if if_exists and self._warehouse.catalog.known(name) is None:
                return False
            drop(self._warehouse, self._warehouse.catalog.find(name), cascade=cascade)
            return True

    @contextmanager
    def epoch(self) -> Iterator[Epoch]:
        """One atomic epoch: all changes inside the block are applied together, or none."""
        with open_epoch(self._warehouse) as opened:
            yield Epoch(opened, partial(epoch_html, self._warehouse))

    def insert(self, table: str, rows: Any) -> int:
        """Insert rows into a table, in one epoch, and return its number."""
        with self.epoch() as e:
            e.insert(table, rows)
        return e.number

    def delete(self, table: str, rows: Any) -> int:
        """Delete rows, or rows by key, from a table, in one epoch, and return its number."""
        with self.epoch() as e:
            e.delete(table, rows)
        return e.number

    def upsert(self, table: str, rows: Any) -> int:
        """Insert rows, each replacing the row with its key, in one epoch, and return its number."""
        with self.epoch() as e:
            e.upsert(table, rows)
        return e.number

    def set_retention(
        self, *, epochs: int | None = None, age: timedelta | None = None, bytes: int | None = None
    ) -> int:
        """Set how long changes are kept for `changes()`, by one or several limits, and return the epoch.

        `epochs`: the number of epochs; `age`: the age of changes; `bytes`: the bytes of each table and view.
        """
        kept = Retention.of(epochs, age, bytes)
        with self._warehouse.writing(), self._warehouse.store.begin() as transaction:
            transaction.put(SETTINGS, {"retention": kept.to_json()})
            return transaction.commit({"kind": "set retention"})

    def set_placement(self, view: str, placement: Placement) -> int:
        """Place some of a view's maps on a cluster, from the next epoch on, and return the epoch that set it.

        Each is placed on the `"driver"`, `"replicated"`, or partitioned by columns. The compiler places the others; an
        empty placement leaves all of them to it. Placement never changes results.
        """
        from viewlet.views.explain_distributed import facts_with_maps
        from viewlet.views.placement import set_placement
        from viewlet.views.view import View

        found = self._warehouse.catalog.find(view)
        if not isinstance(found, View):
            raise WrongArgument(f"{found.name} has no maps to place", hint="give the name of a SQL view")
        return set_placement(self._warehouse, found.program, facts_with_maps(self._warehouse), placement)

    @property
    def retention(self) -> Retention:
        """How long changes are kept."""
        return retention_of(self._warehouse.store.catalog)

    @property
    def recovery(self) -> Recovery | None:
        """What was discarded to open the warehouse, if it was damaged."""
        return self._warehouse.store.recovery

    def verify(self) -> list[str]:
        """Read every byte of the warehouse; return the files that are missing, cut short or altered."""
        return self._warehouse.store.verify()

    def refresh(self) -> None:
        """Move a reader to the last committed epoch."""
        self._warehouse.store.refresh()
        self._warehouse.subscriptions.notify()

    def subscribe(self, name: str, callback: Callback, *, since: int | None = None) -> Subscription:
        """Call a function with each epoch's changes to a table or view, from now on, or starting after epoch `since`.

        It receives what `changes` would return for that epoch alone, after the commit, in epoch order, on one thread
        that serves the subscriptions of this warehouse one at a time. It may read, change the warehouse, and
        `cancel` the returned subscription. If it raises, the subscription ends: the error is logged and kept
        as `error`, and `epoch` says after which epoch to resume. `close` waits for pending calls.
        """
        found = self._warehouse.catalog.find(name).name
        return self._warehouse.subscriptions.add(
            found, callback, self._warehouse.store.epoch if since is None else since
        )


def connect(
    path: str | Path,
    *,
    spark: SparkSession | None = None,
    engine: EngineName = "auto",
    durability: Durability = "epoch",
    read_only: bool = False,
    recover: bool = False,
    trust: bool = True,
    progress: Wanted = None,
) -> Database:
    """Open a warehouse, or create one in a new or empty folder; a folder with other contents is refused.

    It may be in an object store, too: `s3://bucket/path`, `gs://…`, `abfs://…` (docs/warehouse.md).

    `durability`: "epoch" syncs every epoch, a number groups them by milliseconds. `read_only` takes no lock and
    writes nothing: any number of readers can work next to one writer. `recover` continues from the last complete epoch
    of a warehouse whose log was damaged; `db.recovery` says what was discarded, and where it was moved. `trust=False`
    runs no code stored in the warehouse: views that need it can be read, but neither refreshed nor checked.
    `progress`: where fills, loads, checks and loops report their progress. True draws a bar, on a terminal or in
    a notebook; a function receives each report, whose `str` is a line; otherwise reports go to the log.
    """
    return Database(
        path,
        spark=spark,
        engine=engine,
        durability=durability,
        read_only=read_only,
        recover=recover,
        trust=trust,
        progress=progress,
    )
