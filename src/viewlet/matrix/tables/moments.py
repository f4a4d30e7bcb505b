"""Sums of products of columns: a SQL view of one row, and the matrix that it holds.

With Z = [1, x, y, …], the columns of a table with ones before them, ZᵀZ is all that a program needs which reads rows
through sums over all of them alone (`gram.py`). It is a view like any other, m_i_j = sum(z_i · z_j), kept by the ring:
of the table, or of the join that a query describes, no row is stored for it.
"""

from __future__ import annotations

import numpy as np

from viewlet.columns.rows import Rows
from viewlet.errors import RejectedEpoch
from viewlet.matrix.factors import Array
from viewlet.matrix.sources import Moments
from viewlet.plan.words import quoted

NULLS = "nulls"
"""The column that counts rows in which a column is NULL."""


def moments_query(table: str, columns: tuple[str, ...]) -> str:
    """The view of a table's or a query's moments."""
    of = f"({table})" if is_query(table) else quoted(table)
    numbers = [f"CAST({quoted(c)} AS DOUBLE)" for c in columns]
    sums = ["count(*) AS m_0_0", *(f"sum({x}) AS m_0_{i}" for i, x in enumerate(numbers, 1))]
    sums += [
        f"sum({x} * {numbers[j - 1]}) AS m_{i}_{j}"
        for i, x in enumerate(numbers, 1)
        for j in range(i, len(numbers) + 1)
    ]
    null = " OR ".join(f"{quoted(c)} IS NULL" for c in columns)
    return f"SELECT {', '.join(sums)}, count_if({null}) AS {NULLS} FROM {of}"


def is_query(table: str) -> bool:
    """Whether a source is a query, not the name of a table or view."""
    return table.split(None, 1)[0].upper() in ("SELECT", "WITH", "FROM") and len(table.split()) > 1


def moments_of(source: Moments, rows: Rows) -> Array:
    """ZᵀZ, from the one row of the view."""
    assert len(rows) == 1, f"{source.table} has {len(rows)} rows"
    values = {name: column[0].as_py() for name, column in rows.columns.items()}
    if values[NULLS]:
        raise RejectedEpoch(
            f"{values[NULLS]} rows have NULL in one of {', '.join(source.columns)}, which are columns of a matrix",
            hint="leave such rows out with a view or a query, or fill them",
        )
    found = np.zeros((source.size, source.size))
    for i in range(source.size):
        for j in range(i, source.size):
            found[i, j] = found[j, i] = values[f"m_{i}_{j}"] or 0.0  # of no rows, a sum is NULL
    return found
