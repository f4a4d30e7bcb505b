"""Executes MERGE: Spark joins the table with the source and finds the clause that applies to each row.

Matched pairs, and unmatched rows of either side, are a query each, since clauses for unmatched rows only see that side.
Each query returns the number of the clause, the old row and the new row. All deletions, replacements and insertions are
one epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from viewlet.errors import RejectedEpoch
from viewlet.plan.types import BIGINT, INT, Field, ddl
from viewlet.plan.words import quoted
from viewlet.sql.execute_dml import columns_named
from viewlet.sql.insert_values import written
from viewlet.sql.parameters import Parameters
from viewlet.sql.queries import collect, run_query
from viewlet.sql.statements import Merge, MergeClause
from viewlet.warehouse.declare.tables import Table

if TYPE_CHECKING:
    from viewlet.database import Database

_ROW, _CLAUSE, _SOURCE = "viewlet$row", "viewlet$clause", "viewlet$source"
"""Reserved column names."""
_FLAGS = (Field(_ROW, BIGINT), Field(_CLAUSE, INT))


def merge(db: Database, s: Merge, parameters: Parameters) -> int:
    """Run a MERGE; return its epoch."""
    table = db._warehouse.catalog.table(s.table)
    first, width = len(_FLAGS), len(table.fields)
    with db._warehouse.writing():  # so that the rows changed are those read
        found = collect(run_query(db, _Texts(table, s).all(), parameters), (*_FLAGS, *table.fields, *table.fields))
        _refuse_ambiguous(found, s)
        gone, changed, added = (_with_action(found, s, action) for action in ("delete", "update", "insert"))
        old, new = range(first, first + width), range(first + width, first + 2 * width)
        with db.epoch() as e:
            if gone.num_rows:
                e.delete(s.table, _one_of_each(gone).select(old))
            if changed.num_rows:
                e.replace(s.table, changed.select(old), changed.select(new))
            e.insert(s.table, added.select(new))
    return e.number


class _Texts:
    """Builds the query of a MERGE."""

    def __init__(self, table: Table, s: Merge) -> None:
        self.table, self.s = table, s
        self.target, self.source = quoted(s.alias or table.name), quoted(s.source_alias or _SOURCE)
        self.old = [f"{self.target}.{quoted(f.name)}" for f in table.fields]

    def all(self) -> str:
        """The query for all matched pairs, and for unmatched rows to which a clause applies."""
        nothing, row = [f"CAST(NULL AS {ddl(f.type)})" for f in self.table.fields], f"{self.target}.{quoted(_ROW)}"
        target, source = (
            f"{quoted(self.table.name)} AS {self.target}",
            f"(SELECT * FROM {self.s.source}) AS {self.source}",
        )
        numbered = f"(SELECT *, monotonically_increasing_id() AS {quoted(_ROW)} FROM {target}) AS {self.target}"
        parts = {
            "matched": self._select("matched", row, self.old, f"{numbered} JOIN {source}"),
            "not matched": self._wanted("not matched", nothing, f"{source} ANTI JOIN {target}"),
            "not matched by source": self._wanted("not matched by source", self.old, f"{target} ANTI JOIN {source}"),
        }
        return " UNION ALL ".join(text for rows, text in parts.items() if any(c.rows == rows for c in self.s.clauses))

    def _wanted(self, rows: str, old: list[str], joined: str) -> str:
        """The query for unmatched rows to which a clause applies."""
        found = self._select(rows, "CAST(NULL AS BIGINT)", old, joined)
        return f"SELECT * FROM ({found}) WHERE {quoted(_CLAUSE)} IS NOT NULL"

    def _select(self, rows: str, row: str, old: list[str], joined: str) -> str:
        """A query for the number of the row, the number of the clause, the old row and the new row."""
        clauses = {i: c for i, c in enumerate(self.s.clauses) if c.rows == rows}
        cases = [f"WHEN {c.condition or 'true'} THEN {i}" for i, c in clauses.items()]
        values = [self._new_value(f, clauses) for f in self.table.fields]
        names = [quoted(f"viewlet${i}") for i in range(2 * len(values))]
        columns = [f"{value} AS {name}" for value, name in zip([*old, *values], names, strict=True)]
        return (
            f"SELECT {row} AS {quoted(_ROW)}, CASE {' '.join(cases)} END AS {quoted(_CLAUSE)}, {', '.join(columns)}"
            f" FROM {joined} ON {self.s.on}"
        )

    def _new_value(self, field: Field, clauses: Mapping[int, MergeClause]) -> str:
        """The expression of a column's new value, by clause."""
        cases = [
            f"WHEN {i} THEN CAST({self._assigned(field, clause)} AS {ddl(field.type)})"
            for i, clause in clauses.items()
            if clause.action != "delete"
        ]
        return f"CASE {quoted(_CLAUSE)} {' '.join(cases)} END" if cases else f"CAST(NULL AS {ddl(field.type)})"

    def _assigned(self, field: Field, clause: MergeClause) -> str:
        if clause.assignments is None:
            return f"{self.source}.{quoted(field.name)}"
        columns_named(self.table, [column for column, _ in clause.assignments])
        values = {column.lower(): written(value, self.table, column) for column, value in clause.assignments}
        is_update = clause.action == "update"
        kept = f"{self.target}.{quoted(field.name)}" if is_update else self.table.default(field.name)
        return values.get(field.name.lower(), kept)


def _may_match_twice(s: Merge) -> bool:
    """Whether a row may match several source rows: only if its only clause is an unconditional DELETE."""
    matched = [c for c in s.clauses if c.rows == "matched"]
    return len(matched) == 1 and matched[0].action == "delete" and matched[0].condition is None


def _refuse_ambiguous(found: pa.Table, s: Merge) -> None:
    """Refuse, as Spark does, a row that matches several source rows."""
    rows = found[_ROW].drop_null()
    if not _may_match_twice(s) and len(pc.unique(rows)) < len(rows):
        raise RejectedEpoch(
            f"table {s.table}: MERGE_CARDINALITY_VIOLATION: a row of the table matches several rows of the source",
            hint="let the source have one row for each, by GROUP BY or a narrower ON",
        )


def _with_action(found: pa.Table, s: Merge, action: str) -> pa.Table:
    numbers = [i for i, clause in enumerate(s.clauses) if clause.action == action]
    return found.filter(pc.is_in(found[_CLAUSE], pa.array(numbers, pa.int32())))


def _one_of_each(old: pa.Table) -> pa.Table:
    """Each row of the table once; rows without a number are unmatched, and so occur once."""
    seen: set[int | None] = set()
    first: list[bool] = []
    for row in old[_ROW].to_pylist():
        first.append(row is None or row not in seen)
        seen.add(row)
    return old.filter(pa.array(first, pa.bool_()))
