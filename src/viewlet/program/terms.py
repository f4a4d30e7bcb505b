"""Terms: the right-hand sides of a program's statements.

A term denotes a delta: what the epoch's changes mean for the statement's map. It starts from one changed bag and goes
through row-wise steps and look-ups in maps, so its cost follows the size of the change:

    Change → (Filter | Project | Expand | Unnest | SparkRowwise | Probe | Negate)* → GroupSums | Combine | Leaders

`FinalizeSums`, `Fold` and `Regroup` start over from a map: they turn the keys touched by a map's delta into the delta
of a result that is not a sum. `TopK` does so for an order instead of keys, `Sessionize` for overlapping time spans.

A look-up says which state it reads: `old`, before the epoch, or `new`, with the epoch's own changes. That is all the
product rule needs: Δ(a·b) = Δa·b_old + a_new·Δb.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from viewlet.plan.expr import Call, Column, Expr, Named, Order, Reduce
from viewlet.plan.nodes import Plan, Top
from viewlet.plan.sums import DoubleSum, Sum, SumColumns
from viewlet.plan.types import Field
from viewlet.program.access import Group, GroupAccess, Lookup


@dataclass(frozen=True, slots=True)
class Change:
    """The epoch's change of a table, view or map, with columns renamed by position.

    `weight` names a last column that holds the weights, for a later `Combine`.
    """

    bag: str
    columns: tuple[Field, ...]
    weight: str | None = None


@dataclass(frozen=True, slots=True)
class Values:
    """Rows that exist from a view's first epoch on, and never change."""

    rows: tuple[tuple[Any, ...], ...]
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which the condition is true."""

    rows: Term
    condition: Expr

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.rows.columns


@dataclass(frozen=True, slots=True)
class Project:
    """One computed row for each row."""

    rows: Term
    results: tuple[Named, ...]
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Expand:
    """Several computed rows for each row, one for each projection."""

    rows: Term
    projections: tuple[tuple[Expr, ...], ...]
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Unnest:
    """The rows that a generator makes of each row, as last columns; `outer`: one row of NULLs if it makes none."""

    rows: Term
    generator: Call
    outer: bool
    generated: tuple[Field, ...]
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class SparkRowwise:
    """A row-wise operator that Spark itself runs; `origin` identifies it in Spark's plan."""

    rows: Term
    origin: int
    label: str
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Negate:
    """The rows with negated weights."""

    rows: Term

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.rows.columns


@dataclass(frozen=True, slots=True)
class Probe:
    """Each row joined with the rows of a map that a look-up finds for it; weights multiply.

    `take` lists the wanted columns of the map, with their names in the result. `weight` names a last column for the
    map's own weight. With `sums`, the map is a map of sums, and the rows found are those that it stands for: its keys
    and the values of the sums.
    """

    rows: Term
    map: str
    version: str
    read: Lookup
    take: tuple[tuple[str, str], ...]
    columns: tuple[Field, ...]
    weight: str | None = None
    sums: tuple[Sum, ...] | None = None


@dataclass(frozen=True, slots=True)
class Combine:
    """Sums of a product, computed from the sums of its factors: polynomials of integers, row by row.

    Polynomials of doubles add up by key, as digits in slots.
    """

    rows: Term
    keys: tuple[str, ...]
    parts: tuple[SumColumns, ...]
    columns: tuple[Field, ...]
    doubles: tuple[DoubleSum, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupSums:
    """Sum[keys]: the rows added up by key, as integers that can be added and subtracted."""

    rows: Term
    keys: tuple[str, ...]
    sums: tuple[Sum, ...]
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class FinalizeSums:
    """For each key that a map of sums touches: deletes the row that it stood for, and inserts the new one."""

    map: str
    keys: tuple[str, ...]
    sums: tuple[Sum, ...]
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class FoldedAggregate:
    """An aggregate of a fold: the call over columns of the map, and the columns of its state and value.

    Without a state of its own, the value is the state: f(f(A) ∪ B) = f(A ∪ B), as for min and max.
    """

    call: Reduce
    state: tuple[Field, ...]
    value: Field


@dataclass(frozen=True, slots=True)
class Fold:
    """For each key that a map's delta touches, the target's state with the delta merged in; no rows are read.

    The target has one row per key: the key, the number of rows, states, values.
    """

    map: str
    keys: tuple[str, ...]
    parts: tuple[FoldedAggregate, ...]
    target: str
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Grouped:
    """An input of a regrouped operator: a map, and the columns that identify a group.

    With `sums` it is a whole map of sums, and the rows are those that it stands for: its keys, then the sums.
    """

    map: str
    key: tuple[str, ...]
    columns: tuple[Field, ...]
    read: GroupAccess = field(default_factory=Group)
    sums: tuple[Sum, ...] | None = None


@dataclass(frozen=True, slots=True)
class Regroup:
    """f(new groups) − the stored result, for the groups that a delta touches.

    `function` is a plan over `Input`s; if it cannot be evaluated here, Spark runs its own operators: `native` gives the
    top one, and those at which to cut. Without a key there is one group, everything: that is recomputation.
    """

    inputs: tuple[Grouped, ...]
    function: Plan
    target: str
    columns: tuple[Field, ...]
    native: tuple[int, tuple[int, ...]] | None = None

    @property
    def is_keyed(self) -> bool:
        return bool(self.inputs) and bool(self.inputs[0].key)


@dataclass(frozen=True, slots=True)
class Sessionize:
    """The rows of a map with their sessions, as the target: rows with equal keys whose spans overlap share a session.

    `span` are the columns with a row's start and end. The target has the map's columns, then the start and end of the
    row's session. Only the sessions in the target that a change overlaps are read.
    """

    map: str
    keys: tuple[str, ...]
    span: tuple[str, str]
    target: str
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class TopK:
    """The first rows of a map in the order of a LIMIT, as the target: those that the LIMIT needs and some in reserve.

    The target always consists of all rows that do not sort after its own last row, so changes behind that row do not
    concern it. The map is read only if fewer rows than needed are left, in order if possible: the target then restarts
    with the first `kept` rows. A last column marks the rows that the LIMIT, a `Top` over an `Input`, lets through.
    """

    map: str
    limit: Top
    kept: int
    target: str
    columns: tuple[Field, ...]

    @property
    def needed(self) -> int:
        return self.limit.offset + (self.limit.limit or 0)

    @property
    def read_by(self) -> tuple[int, bool] | None:
        """The position and direction of the column in whose order the map's first rows are read; None: read all."""
        leads = self.limit.leads
        if leads is None or not isinstance(leads.key, Column):
            return None
        return [f.name for f in self.columns].index(leads.key.name), leads.descending


@dataclass(frozen=True, slots=True)
class Leaders:
    """What a `TopK` needs of a netted change: all deletions, and the first `kept` insertions."""

    rows: Term
    order: tuple[Order, ...]
    kept: int

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.rows.columns


Term = (
    Change
    | Values
    | Filter
    | Project
    | Expand
    | Unnest
    | SparkRowwise
    | Negate
    | Probe
    | Combine
    | GroupSums
    | FinalizeSums
    | Fold
    | Regroup
    | Sessionize
    | TopK
    | Leaders
)
Following = Filter | Project | Expand | Unnest | SparkRowwise | Negate | Probe | Combine | GroupSums | Leaders
"""Steps that follow another."""

KEY = "_key"
"""The column of a regrouped result that holds the hash of the group."""
COUNT = "_rows"
"""The column of a fold's target that holds the number of rows."""
