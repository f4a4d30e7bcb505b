"""Moments, the sums of products of columns: a SQL view with one row, and the matrix in it.

With Z = [1, x, y, …], a column of ones and the columns of a table, ZᵀZ is all that a program needs if it reads rows
only through sums over all of them (`compile/gram.py`). It is an ordinary view, m_i_j = sum(z_i · z_j), of the ring
tier: no rows of the table, or of a query's join, are stored for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewlet.columns.rows import Rows
from viewlet.errors import RejectedEpoch
from viewlet.formatting import plural
from viewlet.matrix.delta.factors import Array
from viewlet.matrix.tables.sources import Moments
from viewlet.plan.types import Field
from viewlet.plan.words import quoted

EXACT = 38
"""The most digits of a decimal."""
ROOM = 10
"""How many digits more than its arguments a sum of decimals has."""
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}


def moments_query(table: str, columns: Sequence[Field]) -> str:
    """The query for the moments of a table or query, and for the number of non-NULL values of each column."""
    of = f"({table})" if is_query(table) else quoted(table)
    sums = ["count(*) AS m_0_0", *(f"sum({_product([c])}) AS m_0_{i}" for i, c in enumerate(columns, 1))]
    sums += [
        f"sum({_product([a, b])}) AS m_{i}_{j}"
        for i, a in enumerate(columns, 1)
        for j, b in enumerate(columns[i - 1 :], i)
    ]
    sums += [f"count({quoted(c.name)}) AS n_{i}" for i, c in enumerate(columns, 1)]
    return f"SELECT {', '.join(sums)} FROM {of}"


def _product(factors: Sequence[Field]) -> str:
    """A product of columns; of integers and decimals if that is exact, as the ring factors such products over joins."""
    digits = [_digits(f) for f in factors]
    is_exact = None not in digits and sum(d or 0 for d in digits) + len(factors) - 1 + ROOM <= EXACT
    return " * ".join(_decimal(f) if is_exact else f"CAST({quoted(f.name)} AS DOUBLE)" for f in factors)


def _digits(f: Field) -> int | None:
    """The most digits of a column's values; None if they are neither integers nor decimals."""
    return int(f.type.args[0]) if f.type.name == "decimal" else _DIGITS.get(f.type.name)


def _decimal(f: Field) -> str:
    return quoted(f.name) if f.type.name == "decimal" else f"CAST({quoted(f.name)} AS DECIMAL({_digits(f)},0))"


def is_query(table: str) -> bool:
    """Whether a source is a query rather than a name."""
    return table.split(None, 1)[0].upper() in ("SELECT", "WITH", "FROM") and len(table.split()) > 1


def moments_of(source: Moments, rows: Rows) -> Array:
    """ZᵀZ, from the one row of the view."""
    assert len(rows) == 1, f"{source.table} has {len(rows)} rows"
    values = {name: column[0].as_py() for name, column in rows.columns.items()}
    for i, column in enumerate(source.columns, 1):
        if (missing := values["m_0_0"] - values[f"n_{i}"]) > 0:
            raise RejectedEpoch(
                f"{column} is NULL in {plural(missing, 'row')}, but it is a column of a matrix",
                hint="leave such rows out with a view or a query, or fill them",
            )
    found = np.zeros((source.size, source.size))
    for i in range(source.size):
        for j in range(i, source.size):
            found[i, j] = found[j, i] = float(values[f"m_{i}_{j}"] or 0.0)  # the sum of no rows is NULL
    return found
