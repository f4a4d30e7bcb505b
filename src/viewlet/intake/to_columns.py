"""Taking in users' data as Arrow rows of a table's schema.

The law: every value is taken in as given, or all data are refused with an error that names table, row (from 1), column,
value and reason. Columns are matched by name if the data have names; plain tuples and lists go by position. In pandas,
NaN means a missing value, so it becomes NULL, as in Spark; NaN as a number can come from Arrow or Python rows.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import columns_of
from viewlet.columns.arrow_types import arrow_type
from viewlet.errors import RejectedEpoch, kind_of, shortened
from viewlet.intake.from_arrow import checked, from_arrow, from_values, in_range
from viewlet.intake.named_rows import named_values
from viewlet.intake.refusal import place_columns, refuse_row
from viewlet.plan.types import INTEGRAL, Field, Type

_ROWS = "give a PySpark or pandas DataFrame, a pyarrow Table, or a list of dicts or tuples"


def to_arrow(table: str, fields: tuple[Field, ...], data: Any, *, columns: tuple[str, ...] | None = None) -> pa.Table:
    """The data as rows of a table, or of only some of its columns."""
    return pa.table(to_columns(table, fields, data, columns=columns))


def to_columns(
    table: str, fields: tuple[Field, ...], data: Any, *, columns: tuple[str, ...] | None = None
) -> dict[str, pa.Array]:
    """The same as arrays by name."""
    wanted = fields if columns is None else tuple(next(f for f in fields if f.name == c) for c in columns)
    return {f.name: array for f, array in zip(wanted, _arrays(table, wanted, data), strict=True)}


def _arrays(table: str, wanted: Sequence[Field], data: Any) -> list[pa.Array]:
    if isinstance(data, list | tuple):
        return _from_rows(table, wanted, data)
    if isinstance(data, pa.RecordBatchReader):
        return _from_tables(table, wanted, data.read_all())
    if isinstance(data, pa.Table | pa.RecordBatch):
        return _from_tables(table, wanted, data)
    origin = package_of(data)
    if origin == "pandas" and hasattr(data, "dtypes") and hasattr(data, "columns"):
        return _from_pandas(table, wanted, data)
    if origin == "pyspark" and hasattr(data, "toArrow"):
        return _from_tables(table, wanted, rows_of_spark(table, data))
    if hasattr(data, "__arrow_c_stream__") and (streamed := _streamed(data)) is not None:
        return _from_tables(table, wanted, streamed)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes | Mapping):
        return _from_rows(table, wanted, list(data))
    raise RejectedEpoch(
        f"table {table}: {shortened(data)}, {kind_of(data)}, holds no rows",
        hint="put a single row into a list" if is_dataclass(data) or isinstance(data, Mapping) else _ROWS,
    )


def package_of(data: Any) -> str:
    """The top-level package of a value's class: pandas 3 says `pandas`, earlier versions `pandas.core.frame`."""
    return type(data).__module__.partition(".")[0]


def _streamed(data: Any) -> pa.Table | None:
    """Another library's table; None for other Arrow data, such as a column."""
    try:
        return pa.table(data)
    except pa.ArrowInvalid:
        return None


def rows_of_spark(table: str, data: Any) -> pa.Table:
    """The rows of a DataFrame."""
    from viewlet.spark.session.arrow_frames import collected, without_months

    refuse_streaming(table, data)
    return collected(without_months(data)) if hasattr(data, "_collect_as_arrow") else data.toArrow()


def refuse_streaming(table: str, data: Any) -> None:
    """Refuses a streaming DataFrame."""
    if data.isStreaming:
        raise RejectedEpoch(
            f"table {table}: a streaming DataFrame has no end",
            hint=f"take its batches in: stream.writeStream.foreachBatch(db.batch_writer({table!r}, 'name'))",
        )


def _from_tables(table: str, wanted: Sequence[Field], data: pa.Table | pa.RecordBatch) -> list[pa.Array]:
    at = place_columns(f"table {table}", wanted, data.schema.names)
    columns = columns_of(data)
    return [from_arrow(table, field, columns[place]) for field, place in zip(wanted, at, strict=True)]


def _from_pandas(table: str, wanted: Sequence[Field], data: Any) -> list[pa.Array]:
    at = place_columns(f"table {table}", wanted, list(data.columns))
    return [_from_series(table, f, data.iloc[:, place]) for f, place in zip(wanted, at, strict=True)]


def _from_series(table: str, field: Field, series: Any) -> pa.Array:
    """A pandas column, with missing values as NULL."""
    if series.dtype == object:
        missing = series.isna().to_numpy()
        values = [None if gone else value for value, gone in zip(series, missing, strict=True)]
        return _from_column(table, field, values)
    return from_arrow(table, field, pa.Array.from_pandas(series))


def _from_rows(table: str, wanted: Sequence[Field], rows: Sequence[Any]) -> list[pa.Array]:
    """Rows with names, tuples and lists by position, or a list of tables."""
    if rows and not isinstance(rows[0], dict | tuple | list) and is_table(rows[0]):
        pieces = [_arrays(table, wanted, piece) for piece in rows]
        return [pa.concat_arrays(parts) for parts in zip(*pieces, strict=True)]
    values = _columns_fast(wanted, rows)
    if values is None:
        values = _columns(table, wanted, rows)
    return [_from_column(table, field, column) for field, column in zip(wanted, values, strict=True)]


def is_table(data: Any) -> bool:
    """Whether data hold rows, rather than being one."""
    return isinstance(data, pa.Table | pa.RecordBatch) or package_of(data) in ("pandas", "pyspark")


_ALIKE: tuple[set[type], ...] = ({tuple}, {list}, {dict})


def _columns_fast(wanted: Sequence[Field], rows: Sequence[Any]) -> list[Sequence[Any]] | None:
    """The values by column if all rows have the same shape and are complete; else None."""
    kinds = set(map(type, rows))
    if kinds not in _ALIKE or set(map(len, rows)) != {len(wanted)}:
        return None
    if kinds != {dict}:
        return list(zip(*rows, strict=True))
    try:
        return [[row[f.name] for row in rows] for f in wanted]
    except KeyError:
        return None


def _columns(table: str, wanted: Sequence[Field], rows: Sequence[Any]) -> list[Sequence[Any]]:
    """The values by column, with the shape of each row checked."""
    made = [_row(table, wanted, number, row) for number, row in enumerate(rows, 1)]
    return [list(column) for column in zip(*made, strict=True)] if made else [[] for _ in wanted]


def _row(table: str, wanted: Sequence[Field], number: int, row: Any) -> Sequence[Any]:
    if (named := named_values(row)) is not None:
        names, values = named
        return [values[at] for at in place_columns(f"table {table}, row {number}", wanted, names)]
    if isinstance(row, np.ndarray):
        row = row.tolist()
    if not isinstance(row, tuple | list):
        raise refuse_row(table, number, f"{shortened(row)}, {kind_of(row)}, is no row", _ROWS)
    if len(row) != len(wanted):
        few = "few" if len(row) < len(wanted) else "many"
        columns = ", ".join(f.name for f in wanted)
        raise refuse_row(
            table, number, f"too {few} values: {len(row)} for {len(wanted)} columns", f"columns: {columns}"
        )
    return row


_PLAIN: dict[str, frozenset[type]] = {
    **{name: frozenset({int}) for name in INTEGRAL},
    "double": frozenset({float}),
    "boolean": frozenset({bool}),
    "string": frozenset({str}),
    "binary": frozenset({bytes}),
    "date": frozenset({dt.date}),
    "decimal": frozenset({int, Decimal}),
    "timestamp": frozenset({dt.datetime}),
}
"""Python types whose values Arrow itself takes in exactly or refuses."""
_NONE = frozenset({type(None)})
_FAILURES = (pa.ArrowException, OverflowError, UnicodeError, ValueError, TypeError)


def _from_column(table: str, field: Field, values: Sequence[Any]) -> pa.Array:
    """Python values as an array: in bulk if they are plain, else one by one."""
    if _is_plain(field.type, values):
        try:
            array = pa.array(values, type=arrow_type(field.type))
        except _FAILURES:
            return from_values(table, field, list(values))
        if in_range(array):
            return checked(table, field, array)
    return from_values(table, field, list(values))


def _is_plain(kind: Type, values: Sequence[Any]) -> bool:
    plain = _PLAIN.get(kind.name)
    return plain is not None and set(map(type, values)) - _NONE <= plain
