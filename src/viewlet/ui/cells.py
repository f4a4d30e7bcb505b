"""Values for the page, as text, since a browser's numbers are doubles."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from viewlet.formatting import is_number

LONGEST = 2_000
"""The most characters of a value that are sent."""


def table_document(table: pa.Table, most: int) -> dict[str, Any]:
    """The first rows of an Arrow table as JSON: columns with types, rows of texts, and the total number of rows."""
    columns = [column.slice(0, most).to_pylist() for column in table.columns]
    return {
        "columns": [[f.name, str(f.type), is_number(f.type)] for f in table.schema],
        "rows": [[cell(value) for value in row] for row in zip(*columns, strict=True)],
        "total": table.num_rows,
    }


def cell(value: Any) -> str | None:
    """A value as text; None is NULL."""
    if value is None:
        return None
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
