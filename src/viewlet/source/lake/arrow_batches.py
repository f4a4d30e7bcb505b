"""Converts changes in Arrow tables, from versioned tables, to batches."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from viewlet.errors import RejectedEpoch
from viewlet.intake.to_columns import to_arrow
from viewlet.source.bad_records import Placed
from viewlet.source.feed import Batch, Position
from viewlet.source.net_changes import Place, readable
from viewlet.warehouse.declare.tables import Table


def arrow_batch(
    table: Table, position: Position, come: pa.Table, gone: pa.Table, place: Place, oldest: float | None = None
) -> Batch:
    """A batch of inserted and deleted rows. Unreadable insertions are bad records; unreadable deletions have no row."""
    new, bad = readable_rows(table, come, place)
    old, _ = readable_rows(table, gone, place)
    if table.primary_key:
        keys = [_keys(table, gone), _keys(table, come)] if bad else [_keys(table, gone)]
        old = pa.concat_tables(keys).group_by(list(table.primary_key)).aggregate([]).select(list(table.primary_key))
    return Batch(position, new, old, come.num_rows + gone.num_rows, oldest=oldest, bad=bad)


def _keys(table: Table, rows: pa.Table) -> pa.Table:
    """The keys of rows, without unreadable ones, which no row of the table has."""
    picked = pick_columns(table, rows, "the source", table.primary_key)
    try:
        return to_arrow(table.name, table.fields, picked, columns=table.primary_key)
    except RejectedEpoch:
        one_by_one = [_keys(table, rows.slice(at, 1)) for at in range(len(rows))] if len(rows) > 1 else []
        return pa.concat_tables([_keys(table, rows.slice(0, 0)), *one_by_one])


def readable_rows(table: Table, rows: pa.Table, place: Place) -> tuple[pa.Table, list[Placed]]:
    """The rows that fit the table's columns, and the others as bad records."""
    picked = pick_columns(table, rows, place.file)
    try:
        return to_arrow(table.name, table.fields, picked), []
    except RejectedEpoch:
        values = list(zip(*(column.to_pylist() for column in picked.columns), strict=True))
        good, wrong = readable(table, values)
        return good, [Place(place.file, place.line, str(values[at])).bad(reason) for at, reason in wrong.items()]


def pick_columns(table: Table, rows: pa.Table, place: str, names: Sequence[str] | None = None) -> pa.Table:
    """The table's columns, by name; raise if one is missing."""
    there = {name.lower(): at for at, name in enumerate(rows.column_names)}
    wanted = table.names if names is None else names
    if missing := [name for name in wanted if name.lower() not in there]:
        listed = ", ".join(rows.column_names)
        raise RejectedEpoch(f"table {table.name}: {place} has no column {missing[0]}", hint=f"there are: {listed}")
    return pa.table([rows.column(there[name.lower()]) for name in wanted], names=list(wanted))


def without_views(rows: pa.Table) -> pa.Table:
    """Convert string and binary views to plain types, since not all Arrow functions support views."""
    plain = {"string_view": pa.string(), "binary_view": pa.binary()}
    return rows.cast(pa.schema([f.with_type(plain.get(str(f.type), f.type)) for f in rows.schema]))
