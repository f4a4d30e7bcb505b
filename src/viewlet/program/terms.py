"""Terms: the right-hand sides of a program's statements.

A term denotes a delta: what a change of the epoch means for the statement's map. Each starts from one
changed bag and goes through row-wise steps and look-ups in maps, so that its cost follows the change:

    Change → (Filter | Project | Expand | Unnest | SparkRowwise | Probe | Negate)* → GroupSums | Combine | Leaders

`FinalizeSums`, `Fold` and `Regroup` start over from a map: they turn the keys that a map's delta touches into the delta of
a result that is not a sum. `TopK` does so for an order in place of keys, `Sessionize` for spans of time that meet.
A look-up says which state it reads: `old`, as the epoch found it, or `new`, with the epoch's own changes. That is all
the product rule needs: Δ(a·b) = Δa·b_old + a_new·Δb.
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
    """What the epoch changes in a table, view or map; its columns under new names, by position.

    `weight` names a last column that holds the weights, for a `Combine` further on.
    """

    bag: str
    columns: tuple[Field, ...]
    weight: str | None = None


@dataclass(frozen=True, slots=True)
class Values:
    """Rows that are there from a view's first epoch on, and never change."""

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
    """The rows that a generator makes of each row, as its last columns; `outer`: one of NULLs where it makes none."""

    rows: Term
    generator: Call
    outer: bool
    generated: tuple[Field, ...]
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class SparkRowwise:
    """A row-wise operator that Spark itself runs; `origin` names the operator of its plan."""

    rows: Term
    origin: int
    label: str
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Negate:
    """The rows taken away instead of put in."""

    rows: Term

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.rows.columns


@dataclass(frozen=True, slots=True)
class Probe:
    """Each row with the rows of a map that a look-up finds for it; weights multiply.

    `take` lists the map's columns that are wanted, and their names in the result. `weight` names a last column for
    the map's own weight. With `sums`, the map is one of sums and what is met are the rows that it stands for: its
    keys and the values of the sums.
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
    """Sums of a product out of the sums that its factors carry: polynomials of whole numbers, row by row.

    Polynomials of doubles add up by key, as digits in slots.
    """

    rows: Term
    keys: tuple[str, ...]
    parts: tuple[SumColumns, ...]
    columns: tuple[Field, ...]
    doubles: tuple[DoubleSum, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupSums:
    """Sum[keys]: the rows added up for each key, as integers that can be added and taken away again."""

    rows: Term
    keys: tuple[str, ...]
    sums: tuple[Sum, ...]
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class FinalizeSums:
    """For each key that a map of sums touches: the row it stood for is taken away, the new one put in."""

    map: str
    keys: tuple[str, ...]
    sums: tuple[Sum, ...]
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class FoldedAggregate:
    """An aggregate of a fold: the call over columns of the map, and the columns of its state and of its value.

    Without a state of its own, the value is the state: f(f(A) ∪ B) = f(A ∪ B), as for min and max.
    """

    call: Reduce
    state: tuple[Field, ...]
    value: Field


@dataclass(frozen=True, slots=True)
class Fold:
    """For each key that a map's delta touches, the target's state with the delta merged into it; no rows are read.

    The target has one row for each key: the key, how many rows there are, states, values.
    """

    map: str
    keys: tuple[str, ...]
    parts: tuple[FoldedAggregate, ...]
    target: str
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Grouped:
    """An input of a regrouped operator: a map, and the columns that make a group of it.

    With `sums` it is a map of sums, all of it, and the rows are those that it stands for: its keys, then the sums.
    """

    map: str
    key: tuple[str, ...]
    columns: tuple[Field, ...]
    read: GroupAccess = field(default_factory=Group)
    sums: tuple[Sum, ...] | None = None


@dataclass(frozen=True, slots=True)
class Regroup:
    """f(new groups) − what is stored for them, for the groups that a delta touches.

    `function` is a plan over `Input`s; where it cannot be evaluated here, Spark runs its own operators from
    `top` down to `cuts`. Without a key there is one group, everything: that is recomputation.
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
    """The rows of a map gathered into sessions, as the target: those with equal keys whose spans meet are in one.

    `span` are the columns where a row's span starts and ends. The target has the map's columns, then two for where the
    row's session starts and ends. Of it, only the sessions that a change meets are read, and nothing else is.
    """

    map: str
    keys: tuple[str, ...]
    span: tuple[str, str]
    target: str
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class TopK:
    """The first rows of a map in the order of a LIMIT, as the target: those that the LIMIT needs and some in reserve.

    The target is always all that does not sort after its own last row, so that what changes behind that row does not
    concern it. The map is read only where fewer rows than needed are left, in order where that can be: the target then
    begins anew, with the first `kept` ones. A last column marks the rows that the LIMIT, a `Top` over an `Input`, lets through.
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
        """The column, by position, in whose order the map's first rows are read, and whether that descends; None: all are."""
        leads = self.limit.leads
        if leads is None or not isinstance(leads.key, Column):
            return None
        return [f.name for f in self.columns].index(leads.key.name), leads.descending


@dataclass(frozen=True, slots=True)
class Leaders:
    """What a `TopK` needs to see of a netted change: all deletions, and the first insertions, as many as it keeps."""

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
