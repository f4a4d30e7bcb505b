"""A loop without a warehouse: compiled once, run in a store of its own, beside tables that the test keeps itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.compile import Facts
from viewlet.loops.definition.define import LoopCompiler
from viewlet.loops.definition.queries import LoopQueries
from viewlet.loops.language.read_loop import read_loop
from viewlet.loops.rounds.task_rounds import TaskRounds
from viewlet.loops.run.prepared_loop import Graph, PreparedLoop
from viewlet.loops.run.run_loop import run_loop
from viewlet.plan.types import Field, parse_type
from viewlet.spark.sessions import Sessions
from viewlet.store import Store

Row = tuple[Any, ...]
Tables = dict[str, list[Row]]
SCHEMAS = {
    "edges": "src bigint, dst bigint, w bigint",
    "r": "a bigint, b bigint",
    "s": "a bigint, c bigint",
}


def fields_of(schema: str) -> tuple[Field, ...]:
    parts = [part.strip().split(" ", 1) for part in schema.split(",")]
    return tuple(Field(name, parse_type(kind)) for name, kind in parts)


FIELDS = {name: fields_of(schema) for name, schema in SCHEMAS.items()}


def compiled(spark: Any, view: str, text: str, *, relaxes: bool = True) -> PreparedLoop:
    """A loop over the tables of SCHEMAS; `relaxes`: along the edges of a graph, where it can be."""
    loop = read_loop(text)
    assert loop is not None
    found = LoopCompiler(LoopQueries(view, loop, Sessions(spark, tuple), FIELDS), Facts(), relaxes).compile()
    return PreparedLoop(view, found, loop)


class LoopStore:
    """Some loops in a store, and the rows of their tables."""

    def __init__(self, store: Store, loops: Sequence[PreparedLoop]) -> None:
        self.store, self.loops = store, loops
        self.tasks: Callable[[PreparedLoop], TaskRounds | None] = lambda loop: None
        """What runs the rounds of a loop, if it is not this process."""
        self.tables: Tables = {name: [] for name in SCHEMAS}
        self._is_filled = False
        self._graphs: dict[str, Graph | None] = {}

    def forget(self) -> None:
        """What a process loses when it ends."""
        self._graphs = {}

    def change(self, deleted: Mapping[str, Iterable[Row]], inserted: Mapping[str, Iterable[Row]]) -> None:
        """One epoch."""
        deltas: dict[str, Rows] = {}
        before = {name: as_rows(name, rows, 1).consolidate() for name, rows in self.tables.items()}
        for name in SCHEMAS:
            gone, new = list(deleted.get(name, ())), list(inserted.get(name, ()))
            for row in gone:
                self.tables[name].remove(row)
            self.tables[name] += new
            delta = Rows.concat([as_rows(name, gone, -1), as_rows(name, new, 1)]).consolidate()
            if len(delta):
                deltas[name] = delta
        with self.store.begin() as transaction:
            for loop in self.loops:
                how = {"initial": not self._is_filled, "graph": self._graphs.get(loop.view), "tasks": self.tasks(loop)}
                outcome = run_loop(loop, transaction, deltas, before=before.__getitem__, **how)  # type: ignore[arg-type]
                self._graphs[loop.view] = outcome.graph
                transaction.append(loop.view, outcome.delta, loop.result.steps[-1].layout)
            transaction.commit({})
        self._is_filled = True

    def rows(self, view: str) -> Counter[Row]:
        """The rows of a loop's result, each with how often it occurs."""
        loop = next(loop for loop in self.loops if loop.view == view)
        found = self.store.snapshot().contents(view).consolidated().select(loop.compiled.result.stored)
        values = zip(*(column.to_pylist() for column in found.columns.values()), strict=True)
        return Counter(dict(zip(values, found.weights.tolist(), strict=True)))


def as_rows(table: str, rows: Sequence[Row], weight: int) -> Rows:
    arrays = {f.name: pa.array([r[i] for r in rows], type=arrow_type(f.type)) for i, f in enumerate(FIELDS[table])}
    return Rows(arrays, np.full(len(rows), weight, dtype=np.int64))


@contextmanager
def stored(path: Path, loops: Sequence[PreparedLoop]) -> Iterator[LoopStore]:
    with Store.open(path) as store:
        yield LoopStore(store, loops)
