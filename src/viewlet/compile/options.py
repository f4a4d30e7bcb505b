"""The compiler's options. They affect what is kept and what a change costs, never a result.

The first four are the rewrite rules of the viewlet transform (Nikolic 2016, figure 3.1). Tests switch each of them off;
`FIRST_ORDER` is classical incremental maintenance, for comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Rules:
    decomposition: bool = True
    """The unconnected parts that a delta leaves of a join are kept separately, not as their product."""
    expansion: bool = True
    """Products of unions, outer, semi and anti joins and sums of several factors become sums of products."""
    input_variables: bool = True
    """Sums are pushed into maps; conditions on another factor's columns stay outside."""
    nested: bool = True
    """A nested aggregate is kept as sums of its own; otherwise its groups are recomputed."""
    higher_order: bool = True
    """Joins of several factors are kept where that pays; otherwise only the factors are."""


FIRST_ORDER = Rules(input_variables=False, higher_order=False)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the store knows about tables and views when a view is compiled. All but the last three only guide costs."""

    rows: Mapping[str, int] = field(default_factory=dict)
    keys: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The positions of a primary key's columns."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Changed rows per epoch; 1 for a table without a history."""
    static: frozenset[str] = frozenset()
    """Tables declared never to change once a view reads them: they get no statements."""
    growing: frozenset[str] = frozenset()
    """Tables and views whose rows are never deleted."""
    watermarks: Mapping[str, int] = field(default_factory=dict)
    """The position of the time column of tables with a watermark."""
