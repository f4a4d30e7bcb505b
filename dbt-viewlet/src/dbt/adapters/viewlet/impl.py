"""The adapter: what dbt asks a warehouse for, and how models come into it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import available
from dbt.adapters.base.impl import ConstraintSupport
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.sql import SQLAdapter
from dbt.adapters.viewlet import warehouses
from dbt.adapters.viewlet.catalog import catalog_table, last_modified
from dbt.adapters.viewlet.column import ViewletColumn
from dbt.adapters.viewlet.connections import ViewletConnectionManager
from dbt.adapters.viewlet.readers import all_readers, refuse_other_readers
from dbt.adapters.viewlet.relation import MAIN, ViewletRelation, split_name
from dbt.adapters.viewlet.seeds import key_clause, seed_query
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.exceptions import DbtDatabaseError

import viewlet

if TYPE_CHECKING:
    import agate

_FULL = CapabilitySupport(support=Support.Full)


class ViewletAdapter(SQLAdapter):
    """dbt on a Viewlet warehouse, in dbt's own process."""

    ConnectionManager = ViewletConnectionManager
    Relation = ViewletRelation
    Column = ViewletColumn
    CONSTRAINT_SUPPORT = dict.fromkeys(ConstraintType, ConstraintSupport.NOT_SUPPORTED)
    _capabilities = CapabilityDict({Capability.TableLastModifiedMetadata: _FULL})

    @property
    def _database(self) -> str:
        return str(self.config.credentials.database)

    @contextmanager
    def _opened(self) -> Iterator[viewlet.Database]:
        with self.connections.exception_handler(""), warehouses.opened(self.config.credentials) as db:
            yield db

    # ——— what dbt needs to know of the dialect

    @classmethod
    def date_function(cls) -> str:
        return "current_timestamp()"

    @classmethod
    def is_cancelable(cls) -> bool:
        return False

    @classmethod
    def quote(cls, identifier: str) -> str:
        return "`" + identifier.replace("`", "``") + "`"

    @classmethod
    def convert_text_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        return "string"

    @classmethod
    def convert_number_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        import agate

        return "double" if agate_table.aggregate(agate.MaxPrecision(col_idx)) else "bigint"

    @classmethod
    def convert_integer_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        return "bigint"

    @classmethod
    def convert_datetime_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        return "timestamp"

    @classmethod
    def convert_time_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        return "string"

    # ——— schemas, which are the first parts of names

    def list_schemas(self, database: str) -> list[str]:
        with self._opened() as db:
            return sorted({MAIN, *(split_name(name)[0] for name in (*db.tables, *db.views))})

    def check_schema_exists(self, database: str, schema: str) -> bool:
        return True

    def create_schema(self, relation: ViewletRelation) -> None:
        """A schema is there as soon as a name begins with it."""

    def drop_schema(self, relation: ViewletRelation) -> None:
        with self._opened() as db:
            for name in (*reversed(db.views), *db.tables):  # each before what it reads
                if split_name(name)[0].lower() == (relation.schema or MAIN).lower():
                    db.drop(name, if_exists=True)
        self.cache.drop_schema(relation.database, relation.schema)

    # ——— tables and views

    def list_relations_without_caching(self, schema_relation: ViewletRelation) -> list[ViewletRelation]:
        with self._opened() as db:
            kinds = {**dict.fromkeys(db.tables, "table"), **dict.fromkeys(db.views, "materialized_view")}
        wanted = (schema_relation.schema or MAIN).lower()
        return [self._relation(name, kind) for name, kind in kinds.items() if split_name(name)[0].lower() == wanted]

    def _relation(self, name: str, kind: str) -> ViewletRelation:
        schema, identifier = split_name(name)
        found: ViewletRelation = self.Relation.create(
            database=self._database, schema=schema, identifier=identifier, type=RelationType(kind)
        )
        return found

    def get_columns_in_relation(self, relation: ViewletRelation) -> list[ViewletColumn]:
        """The columns of a relation; none if it is not there, as dbt expects."""
        with self._opened() as db:
            try:
                return [ViewletColumn(f.name, str(f.type)) for f in db.table(relation.stored_name).fields]
            except viewlet.UnknownName:
                return []

    def get_column_schema_from_query(self, sql: str) -> list[ViewletColumn]:
        _, described = self.execute(f"DESCRIBE QUERY {sql}", fetch=True)
        return [ViewletColumn(row["col_name"], row["data_type"]) for row in described.rows]

    def expand_column_types(self, goal: ViewletRelation, current: ViewletRelation) -> None:
        """Strings have no size that could be too small."""

    def drop_relation(self, relation: ViewletRelation) -> None:
        with self._opened() as db:
            db.drop(relation.stored_name, if_exists=True)
        self.cache_dropped(relation)

    def rename_relation(self, from_relation: ViewletRelation, to_relation: ViewletRelation) -> None:
        with self._opened() as db:
            db.rename(from_relation.stored_name, to_relation.stored_name)
        self.cache_renamed(from_relation, to_relation)

    def truncate_relation(self, relation: ViewletRelation) -> None:
        self.execute(f"DELETE FROM {relation.render()}")

    # ——— making models

    @available.parse(lambda *a, **k: AdapterResponse(""))
    def replace(self, relation: ViewletRelation, statement: str, remade: Iterable[str] = ()) -> AdapterResponse:
        """Run CREATE OR REPLACE. Where readers prevent it, those that this run makes again are dropped first."""
        response: AdapterResponse
        with self._opened() as db:
            self._make_way(db, relation, statement, remade)
            try:
                response, _ = self.execute(statement)
            except DbtDatabaseError as error:
                if not isinstance(error.__cause__, viewlet.InUse):
                    raise
                self._drop_with_readers(db, relation, remade)
                response, _ = self.execute(statement)
        return response

    def _make_way(self, db: viewlet.Database, relation: ViewletRelation, statement: str, remade: Iterable[str]) -> None:
        """Drop a table where a view is wanted that can be made, or a view where a table is."""
        others = db.tables if relation.is_materialized_view else db.views
        if relation.stored_name.lower() not in map(str.lower, others):
            return
        if relation.is_materialized_view:
            self.execute(f"EXPLAIN {statement}")
        self._drop_with_readers(db, relation, remade)

    def _drop_with_readers(self, db: viewlet.Database, relation: ViewletRelation, remade: Iterable[str]) -> None:
        readers = all_readers(db, relation.stored_name)
        refuse_other_readers(relation, readers, remade)
        db.drop(relation.stored_name, cascade=True)
        for name in (relation.stored_name, *readers):
            self.cache_dropped(self._relation(name, "materialized_view"))

    @available.parse(lambda *a, **k: AdapterResponse(""))
    def load_seed(
        self,
        relation: ViewletRelation,
        rows: agate.Table,
        column_types: Mapping[str, str],
        primary_key: Iterable[str] | str | None,
        remade: Iterable[str] = (),
    ) -> AdapterResponse:
        """Make a table of a seed, or bring it to what the seed says now: only the difference is a change."""
        types = {
            name: column_types.get(name) or self.convert_type(rows, at) for at, name in enumerate(rows.column_names)
        }
        with self._opened() as db, seed_query(db, rows, types) as query:
            statement = f"CREATE OR REPLACE TABLE {relation}{key_clause(primary_key)} AS {query}"
            response: AdapterResponse = self.replace(relation, statement, remade)
        return response

    @available.parse(lambda *a, **k: "")
    def key_clause(self, primary_key: Iterable[str] | str | None) -> str:
        """What declares the key of a table, if it has one."""
        return key_clause(primary_key)

    @available.parse_none
    def refresh_policy(self, relation: ViewletRelation) -> str | None:
        """How a view is kept, as the warehouse knows it."""
        with self._opened() as db:
            rows = db.sql(f"DESCRIBE EXTENDED {relation.render()}").to_pylist()
        return next((row["data_type"] for row in rows if row["col_name"] == "Refresh Policy"), None)

    # ——— asking

    def _get_one_catalog(self, information_schema: Any, schemas: Any, used_schemas: Any) -> agate.Table:
        with self._opened() as db:
            table = catalog_table(db, self._database, {str(schema).lower() for schema in schemas})
        return self._catalog_filter_table(table, used_schemas)

    def calculate_freshness_from_metadata_batch(
        self, sources: list[ViewletRelation], macro_resolver: Any = None
    ) -> tuple[list[AdapterResponse | None], dict[ViewletRelation, Any]]:
        """When each source last changed, from the warehouse's own records."""
        with self._opened() as db:
            times = {source: last_modified(db, source.stored_name) for source in sources}
        return [], {source: self._create_freshness_response(*pair) for source, pair in times.items()}

    def valid_incremental_strategies(self) -> list[str]:
        return ["append", "merge"]

    def debug_query(self) -> None:
        with self._opened():
            """It can be opened; a query would start Spark."""
