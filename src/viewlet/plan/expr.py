"""Expressions over the columns of one row, and over groups of rows.

Expressions are frozen, typed values; equal ones mean the same. Spark's semantics are the only semantics: functions
handle NULL, NaN and overflow as Spark does in ANSI mode. A function in another mode says so in its name: `try_add`,
`wrapping_add`, `try_cast`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from viewlet.plan.types import Field, Type


@dataclass(frozen=True, slots=True)
class Column:
    """The value of a column of the input row."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant, as a Python value: int, float, Decimal, str, bytes, bool, date, datetime, or None.

    Two are equal if they are written alike: −0.0 is not 0.0, and NaN equals NaN.
    """

    value: Any
    type: Type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and (self.type, repr(self.value)) == (other.type, repr(other.value))

    def __hash__(self) -> int:
        return hash((self.type, repr(self.value)))


@dataclass(frozen=True, slots=True)
class Call:
    """A deterministic function of its arguments."""

    function: str
    args: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Opaque:
    """An expression that only Spark evaluates; `text` is Spark's own rendering of it."""

    text: str
    args: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Handlers:
    """The delta handlers of a user-defined aggregate: the fields of its state, and whether states merge and invert."""

    state: tuple[Field, ...]
    merges: bool
    inverts: bool
    code: bytes
    """The functions, pickled."""


@dataclass(frozen=True, slots=True)
class Reduce:
    """An aggregate function over the rows of a group."""

    function: str
    args: tuple[Expr, ...]
    type: Type
    distinct: bool = False
    where: Expr | None = None
    """The condition of a FILTER clause."""
    handlers: Handlers | None = None
    """Set for a user-defined aggregate with delta handlers."""


@dataclass(frozen=True, slots=True)
class Order:
    """One term of an ORDER BY."""

    key: Expr
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows that a window function sees; a bound is None (unbounded), or an offset (0 is the current row)."""

    unit: str
    """`rows` or `range`."""
    lower: Expr | None
    upper: Expr | None


@dataclass(frozen=True, slots=True)
class Over:
    """A window function: a ranking or offset function, or an aggregate over a frame."""

    function: str
    args: tuple[Expr, ...]
    type: Type
    frame: Frame
    ignore_nulls: bool = False
    where: Expr | None = None


Expr = Column | Literal | Call | Opaque | Reduce | Over


@dataclass(frozen=True, slots=True)
class Named:
    """An expression with the name of its column."""

    name: str
    expr: Expr


def inputs(expr: Expr) -> tuple[Expr, ...]:
    """The direct parts of an expression."""
    match expr:
        case Column() | Literal():
            return ()
        case Call() | Opaque():
            return expr.args
        case Reduce():
            return expr.args if expr.where is None else (*expr.args, expr.where)
        case Over():
            bounds = tuple(b for b in (expr.frame.lower, expr.frame.upper, expr.where) if b is not None)
            return (*expr.args, *bounds)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all its parts, outermost first."""
    yield expr
    for part in inputs(expr):
        yield from walk(part)


def columns_of(expr: Expr) -> frozenset[str]:
    """The names of the columns that an expression reads."""
    return frozenset(part.name for part in walk(expr) if isinstance(part, Column))


def rewrite(expr: Expr, rule: Callable[[Expr], Expr | None]) -> Expr:
    """Replace, outermost first, every part for which `rule` returns an expression."""
    if (found := rule(expr)) is not None:
        return found
    match expr:
        case Column() | Literal():
            return expr
        case Call() | Opaque():
            return replace(expr, args=tuple(rewrite(a, rule) for a in expr.args))
        case Reduce() | Over():
            where = None if expr.where is None else rewrite(expr.where, rule)
            return replace(expr, args=tuple(rewrite(a, rule) for a in expr.args), where=where)


def substitute(expr: Expr, values: dict[str, Expr]) -> Expr:
    """The expression with each named column replaced by its value."""
    return rewrite(expr, lambda e: values.get(e.name) if isinstance(e, Column) else None)


def conjuncts(expr: Expr | None) -> tuple[Expr, ...]:
    """The terms of a conjunction, in order; none for no condition."""
    match expr:
        case None:
            return ()
        case Call("and", (left, right)):
            return (*conjuncts(left), *conjuncts(right))
        case _:
            return (expr,)


def conjunction(terms: tuple[Expr, ...]) -> Expr | None:
    """The terms joined by AND, or None if there are none."""
    if not terms:
        return None
    result = terms[0]
    for term in terms[1:]:
        result = Call("and", (result, term), Type("boolean"))
    return result
