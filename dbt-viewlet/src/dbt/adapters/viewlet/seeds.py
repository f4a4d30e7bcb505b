"""Seeds: the rows of a CSV file as a query, so that a table is made or replaced by them as by any other."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import agate

    import viewlet

_NAME = "__dbt_seed"


@contextmanager
def seed_query(db: viewlet.Database, rows: agate.Table, types: Mapping[str, str]) -> Iterator[str]:
    """A query that gives the rows of a seed, for as long as the block runs; Spark casts the texts to their types."""
    columns = {
        name: pa.array([_text(v) for v in rows.columns[name].values()], pa.string()) for name in rows.column_names
    }
    spark = db.spark
    spark.createDataFrame(pa.table(columns)).createOrReplaceTempView(_NAME)
    casts = [f"CAST({_quoted(name)} AS {type}) AS {_quoted(name)}" for name, type in types.items()]
    try:
        yield f"SELECT {', '.join(casts)} FROM {_NAME}"
    finally:
        spark.catalog.dropTempView(_NAME)


def _text(value: Any) -> str | None:
    """A value of a seed as Spark reads it."""
    match value:
        case None | str():
            return value
        case bool():
            return str(value).lower()
        case Decimal():
            return format(value, "f")  # which knows no exponent
        case dt.date():  # and times of day
            return value.isoformat()
    return str(value)


def key_clause(primary_key: Iterable[str] | str | None) -> str:
    """`(PRIMARY KEY (…))` for a table that has one."""
    names = [primary_key] if isinstance(primary_key, str) else list(primary_key or ())
    return f" (PRIMARY KEY ({', '.join(map(_quoted, names))}))" if names else ""


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
