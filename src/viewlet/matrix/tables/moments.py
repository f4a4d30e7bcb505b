"""Sums of products of columns: a SQL view of one row, and the matrix that it holds.

With Z = [1, x, y, …], the columns of a table with ones before them, ZᵀZ is all that a program needs which reads rows
through sums over all of them alone (`compile/gram.py`). It is a view like any other, m_i_j = sum(z_i · z_j), kept by
the ring: of the table, or of the join that a query describes, no row is stored for it.
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
"""Digits of the widest decimal."""
ROOM = 10
"""Digits that a sum of decimals has beyond its arguments."""
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}


def moments_query(table: str, columns: Sequence[Field]) -> str:
    """The view of a table's or a query's moments, and of how many values each column has: NULL is none."""
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
    """A product of columns: of whole numbers and decimals where that is exact, since the ring factors these over joins."""
    digits = [_digits(f) for f in factors]
    is_exact = None not in digits and sum(d or 0 for d in digits) + len(factors) - 1 + ROOM <= EXACT
    return " * ".join(_decimal(f) if is_exact else f"CAST({quoted(f.name)} AS DOUBLE)" for f in factors)


def _digits(f: Field) -> int | None:
    """How many digits the values of a column may have; None for those that are no decimals."""
    return int(f.type.args[0]) if f.type.name == "decimal" else _DIGITS.get(f.type.name)


def _decimal(f: Field) -> str:
    return quoted(f.name) if f.type.name == "decimal" else f"CAST({quoted(f.name)} AS DECIMAL({_digits(f)},0))"


def is_query(table: str) -> bool:
    """Whether a source is a query, not the name of a table or view."""
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
            found[i, j] = found[j, i] = float(values[f"m_{i}_{j}"] or 0.0)  # of no rows, a sum is NULL
    return found
