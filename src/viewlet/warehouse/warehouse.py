"""An open warehouse: the store, the catalog, the Spark sessions, the engines.

`Database` is its public face; internal modules pass the `Warehouse` around.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from viewlet.compile.options import Rules
from viewlet.engine.choose import Choice, Chosen, EngineCosts, EngineName, Work, choose_engine
from viewlet.engine.engine import Engine
from viewlet.errors import StoreError, shortened
from viewlet.progress import Wanted, reporting
from viewlet.spark.sessions import Sessions
from viewlet.store import Layout, Store, Transaction
from viewlet.store.location import split_url
from viewlet.store.runs.merge_runs import Merge
from viewlet.store.runs.runs import Types
from viewlet.warehouse.declare.catalog import Catalog
from viewlet.warehouse.epoch.failures import CAUSED_BY_ROWS, note_failure
from viewlet.warehouse.read.relation import Relation
from viewlet.warehouse.read.spark_frames import Reading
from viewlet.warehouse.read.subscriptions import Subscriptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from viewlet.engine.cluster.merge_job import Swap

_IDENTITY, _COSTS = "identity", "engine costs"
_MATTERS = 10_000.0
"""Estimated milliseconds from which on measuring the engines, which takes a second or two, pays off."""
_LARGE_MERGE = 64 << 20
"""Bytes of runs from which on tasks merge them."""
Durability = Literal["epoch"] | int


class Warehouse:
    """An open warehouse, as internal modules see it."""

    def __init__(
        self,
        path: str | Path,
        spark: SparkSession | None,
        engine: EngineName,
        durability: Durability,
        read_only: bool,
        recover: bool,
        trust: bool,
        progress: Wanted = None,
    ) -> None:
        if not isinstance(engine, str) or engine not in ("auto", "inproc", "spark"):
            raise StoreError(f"there is no engine named {shortened(engine)}", hint="auto, inproc or spark")
        self.engine = engine
        self.read_only = read_only
        self.trusts_code = trust
        self.progress = progress
        self.sessions = Sessions(spark, lambda: self.catalog.names())
        self.is_closed = False
        settings = None if spark is None else _store_settings(path, spark)
        self._store = Store.open(path, write=not read_only, durability=durability, recover=recover, settings=settings)
        if not read_only:
            self.store.merge_by(self._merge_by_tasks)
        self.path = self.store.root
        self.lock = threading.RLock()
        self.rules = Rules()
        """The compiler's rules for views defined from now on."""
        self.epoch_is_open = False
        self.subscriptions = Subscriptions(lambda name: Relation(self, self.catalog.find(name)))
        self._catalog: tuple[Any, Catalog] = (None, Catalog({}))
        self._engines: dict[str, Engine] = {}
        self.memory: dict[str, Any] = {}
        """State that refreshes keep in memory, by view: a refresh takes it out, its commit puts it back."""
        self.looked_at: dict[str, Any] = {}
        """By view, what was known of the data when its program was last checked against them."""

    @property
    def store(self) -> Store:
        """The store; raises once the warehouse is closed."""
        self.check_open()
        return self._store

    def check_open(self) -> None:
        if self.is_closed:
            hint = "viewlet.connect opens it again"
            raise StoreError(f"the warehouse at {self._store.address} was closed", hint=hint)

    def close(self) -> None:
        """Finish pending work and release the warehouse."""
        if self.is_closed:
            return
        self.subscriptions.close()
        with self.lock:
            self._store.close()
            self.is_closed = True

    @property
    def catalog(self) -> Catalog:
        """The tables and views, decoded again after each commit that changed any."""
        documents = self.store.state.catalog
        known, catalog = self._catalog
        if known is not documents:
            catalog = Catalog(documents, trust=self.trusts_code)
            self._catalog = documents, catalog
            self.memory.clear()
        return catalog

    def remember(self, values: Mapping[str, Any]) -> None:
        """Keep the state of committed refreshes or fills in memory."""
        _ = self.catalog  # clears the memory if definitions have changed
        self.memory.update(values)

    @property
    def session(self) -> SparkSession:
        """The caller's Spark session, else the active one, else a new one. Viewlet never changes its settings."""
        self.check_open()
        return self.sessions.caller

    @cached_property
    def reading(self) -> Reading:
        """Runs queries over the current rows."""
        return Reading(self)

    def next_position(self) -> int:
        """The position of a new view: after all others."""
        return max((v.position for v in self.catalog.views.values()), default=0) + 1

    def history(self, name: str | None = None, since: int | None = None) -> list[dict[str, Any]]:
        """The records of epochs, newest last: all, or those of one table or view, or those after an epoch."""
        records = self.store.history(None if since is None else max(0, self.store.epoch - since))
        if name is None:
            return records
        known = self.catalog.find(name).name
        return [
            r for r in records if r.get("name") == known or known in r.get("tables", ()) or known in r.get("views", ())
        ]

    def choose(
        self,
        rows: int,
        steps: int,
        engine: EngineName | None = None,
        *,
        work: Work = "epoch",
        transaction: Transaction | None = None,
    ) -> tuple[Engine, Choice]:
        """Choose the engine for an epoch or fill by its rows and steps; return it with the reasons.

        The engines' costs are measured when they first matter, if there is a transaction to store them in.
        """
        wanted, cores = engine or self.engine, self.sessions.cores
        choice = choose_engine(wanted, rows, steps, cores, self.costs or EngineCosts(), work)
        if wanted == "auto" and transaction is not None and self.costs is None and choice.inproc_ms > _MATTERS:
            measured = self._engine("spark").cluster
            assert measured is not None
            self.costs = measured.measure()
            transaction.put(_COSTS, self.costs.document())
            choice = choose_engine(wanted, rows, steps, cores, self.costs, work)
        return self._engine(choice.engine), choice

    @cached_property
    def costs(self) -> EngineCosts | None:
        """The engines' costs, if measured for this warehouse."""
        known = self.store.catalog.get(_COSTS)
        return None if known is None else EngineCosts(**known)

    def _merge_by_tasks(self, merge: Merge, layout: Layout, types: Types) -> Swap | None:
        """Merge large runs by tasks if Spark is running; None if this process should merge."""
        context = None if self.engine == "inproc" or merge.bytes < _LARGE_MERGE else self.sessions.context
        if context is None:
            return None
        from viewlet.engine.cluster.merge_job import merge_by_task

        return merge_by_task(context, self.store.address, merge, layout, types)

    def _engine(self, name: Chosen) -> Engine:
        if name not in self._engines:
            self._engines[name] = _make_engine(name, self)
        return self._engines[name]

    def identity(self) -> str:
        """The unique identifier of the warehouse, which sinks also use; created on first use."""
        known = self.store.catalog.get(_IDENTITY)
        if known is None:
            known = uuid.uuid4().hex
            with self.writing(), self.store.begin() as transaction:
                transaction.put(_IDENTITY, known)
                transaction.commit({"kind": "identity"})
        return str(known)

    @contextmanager
    def writing(self, progress: Wanted = None) -> Iterator[None]:
        """The exclusive right to change the warehouse, for one thread and one epoch. `progress`: where reports go."""
        self.check_open()
        if self.read_only:
            raise StoreError(f"{self.path} is open for reading only", hint="connect without read_only=True")
        with self.lock, reporting(progress, self.progress):
            if self.epoch_is_open:
                raise StoreError("an epoch is open", hint="make all changes through it, or wait until its block ends")
            before = self.store.epoch
            try:
                yield
            except CAUSED_BY_ROWS as error:
                note_failure(self.path, before + 1, error)
                raise
            if self.store.epoch > before:
                self.subscriptions.notify()


def _store_settings(path: str | Path, spark: SparkSession) -> dict[str, str]:
    """The settings of the caller's session for the warehouse's object store."""
    url = split_url(path)
    if url is None or not url[0].startswith("s3"):
        return {}
    from viewlet.spark.session.object_store import s3_settings

    return s3_settings(spark)


def _make_engine(name: str, warehouse: Warehouse) -> Engine:
    if name == "spark":
        from viewlet.engine.cluster.runner import SparkEngine

        return SparkEngine(lambda: warehouse.sessions.plain, warehouse.store.address)
    from viewlet.engine.inproc import InprocEngine

    return InprocEngine()
