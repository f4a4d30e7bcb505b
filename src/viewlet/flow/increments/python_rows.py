"""Rows as user functions receive them: dicts of Python values, as in `db.table(…).rows()`, or Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.python_values import python_values
from viewlet.columns.rows import Rows
from viewlet.plan.types import Field

Row = dict[str, Any]


def python_rows(where: str, fields: Sequence[Field], rows: Rows) -> list[Row]:
    """The rows as dicts, in order; weights are ignored."""
    names = [f.name for f in fields]
    columns = [python_values(where, f, pa.chunked_array([rows[f.name]])) for f in fields]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def types_of(fields: Sequence[Field]) -> dict[str, pa.DataType]:
    """The Arrow types of columns."""
    return {f.name: arrow_type(f.type) for f in fields}
