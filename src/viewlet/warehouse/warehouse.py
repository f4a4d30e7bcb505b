"""What an open warehouse consists of: the store, the catalog, the Spark sessions, the engines.

`Database` is the face that users see; the modules behind it hand this around.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from viewlet import arguments
from viewlet.compile.rules import Rules
from viewlet.engine.choose import Choice, EngineName, choose_engine
from viewlet.errors import SqlError, StoreError, shortened
from viewlet.spark.fragments.spark_operators import OnSparkSession
from viewlet.spark.sessions import Sessions, Settings
from viewlet.store import Store
from viewlet.warehouse.catalog import Catalog, View
from viewlet.warehouse.relation import Relation
from viewlet.warehouse.spark_frames import Reading
from viewlet.warehouse.subscriptions import Subscriptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Durability = Literal["epoch"] | int
POLICIES = ("AUTO", "INCREMENTAL", "INCREMENTAL STRICT", "FULL")


class Warehouse:
    """An open warehouse, from inside."""

    def __init__(
        self,
        path: str | Path,
        spark: SparkSession | None,
        engine: EngineName,
        durability: Durability,
        read_only: bool,
        recover: bool,
        trust: bool,
    ) -> None:
        if not isinstance(engine, str) or engine not in ("auto", "inproc", "spark"):
            raise StoreError(f"there is no engine named {shortened(engine)}", hint="auto, inproc or spark")
        self.engine = engine
        self.read_only = read_only
        self._trust = trust
        self.sessions = Sessions(spark, lambda: self.catalog.names())
        self.store = Store.open(path, write=not read_only, durability=durability, recover=recover)
        self.path = self.store.root
        self.lock = threading.RLock()
        self.on_spark = OnSparkSession(self.sessions, lambda view: self.catalog.view(view))
        self.rules = Rules()
        """What the compiler may do with the views defined from now on."""
        self.epoch_is_open = False
        self.subscriptions = Subscriptions(lambda name: Relation(self, self.catalog.find(name)))
        self._catalog: tuple[Any, Catalog] = (None, Catalog({}))
        self._engines: dict[str, Any] = {}

    @property
    def catalog(self) -> Catalog:
        """The tables and views, as of the last commit that changed any."""
        documents = self.store.state.catalog
        known, catalog = self._catalog
        if known is not documents:
            catalog = Catalog(documents, trust=self._trust)
            self._catalog = documents, catalog
        return catalog

    @property
    def session(self) -> SparkSession:
        """The caller's Spark session, or the one that runs, or one that is started now. It is left as it is."""
        return self.sessions.caller

    @cached_property
    def reading(self) -> Reading:
        """Queries over the current rows."""
        return Reading(self)

    def define(
        self,
        name: str,
        definition: Any,
        *,
        policy: str = "AUTO",
        replaced: Collection[str] = (),
        settings: Settings | None = None,
        catalog: Catalog | None = None,
    ) -> View:
        """Analyse and compile a definition, in the place of some views, without creating anything.

        It means what it means under the caller's settings, or under recorded ones.
        """
        from viewlet.warehouse.define import compile_context, define_view

        arguments.definition(name, definition)
        if not isinstance(policy, str) or policy not in POLICIES:
            raise SqlError(f"there is no refresh policy {shortened(policy)}", hint=", ".join(POLICIES))
        catalog = catalog or self.catalog
        schemas = {n: f for n, f in catalog.schemas().items() if n != name}
        given = compile_context(self.store, catalog, self.rules, {name, *replaced}, settings)
        return define_view(self.sessions, name, definition, schemas, policy, self._next_position(), given)

    def _next_position(self) -> int:
        return max((v.position for v in self.catalog.views.values()), default=0) + 1

    def history(self, name: str | None = None) -> list[dict[str, Any]]:
        """The records that epochs left, newest last; those of one table or view, or all."""
        records = self.store.history()
        if name is None:
            return records
        known = self.catalog.find(name).name
        return [
            r for r in records if r.get("name") == known or known in r.get("tables", ()) or known in r.get("views", ())
        ]

    def choose(self, rows: int, steps: int, engine: EngineName | None = None) -> tuple[Any, Choice]:
        """The engine that an epoch of so many changed rows and steps runs on, and why."""
        choice = choose_engine(engine or self.engine, rows, steps, self.sessions.cores)
        if choice.engine not in self._engines:
            self._engines[choice.engine] = _make_engine(choice.engine, self)
        return self._engines[choice.engine], choice

    @contextmanager
    def writing(self) -> Iterator[None]:
        """The right to change the warehouse: one thread at a time, and one epoch."""
        if self.read_only:
            raise StoreError(f"{self.path} is open for reading only")
        with self.lock:
            if self.epoch_is_open:
                raise StoreError("an epoch is open", hint="make all changes through it, or wait until its block ends")
            before = self.store.epoch
            yield
            if self.store.epoch > before:
                self.subscriptions.notify()


def _make_engine(name: str, warehouse: Warehouse) -> Any:
    if name == "spark":
        from viewlet.engine.cluster.runner import SparkEngine

        return SparkEngine(lambda: warehouse.sessions.plain, warehouse.path)
    from viewlet.engine.inproc import InprocEngine

    return InprocEngine()
