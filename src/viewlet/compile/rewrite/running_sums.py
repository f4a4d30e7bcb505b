"""Nested aggregates correlated by an inequality, as running sums.

`(SELECT sum(x) FROM R WHERE R.q > d.p)` for each row d of another query arrives as an aggregate over a join with D, the
distinct values of d: every row of D matches every row of R above it. Sorted by p and q, one pass computes it:

    γ[p; sum(x)](D ⋈[q > p] R)  =  the rows of D in  Σ↓(D ∪ M)  before which there is a row of M,   M = γ[q; sum(x)](R)

where Σ↓ is the sum of all rows from the greatest value down to the row's own. The ring maintains D and M; when they
change, the pass is repeated over the affected partitions. Equalities beside the inequality define the partitions.

It holds where

- D has unique columns that are all among the aggregate's keys, so that a group is one row of D,
  and every key reads D alone (`domains.narrowed` ensures this if an equality makes a column of R a key);
- the join's condition is equalities and exactly one inequality, each between an expression of D and one of R;
- the aggregates read R alone, and are counts and sums that add up exactly and never overflow in between: sums of
  integers and of decimals of up to 28 digits, whose sums of fewer than 10¹⁰ rows fit their type, and the average of
  INT and shorter. A sum of BIGINT may overflow, so it runs as a decimal and is cast at the end, where it counts;
- nothing that moves below the join can fail, because it sees rows without a partner there.

NULL is neither greater nor less than anything and equals nothing, so such rows are dropped from both sides, except
under `<=>`. Tied rows of D add nothing, so their order does not matter and the frame is a RANGE.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count

from viewlet.compile.abilities import Abilities
from viewlet.compile.build import comparable
from viewlet.compile.keyed.regroup import with_inputs
from viewlet.compile.rewrite.domains import adds_exactly, as_part, narrowed, never_null, over_join, unique_columns
from viewlet.plan.expr import (
    Call,
    Column,
    Expr,
    Frame,
    Literal,
    Named,
    Order,
    Over,
    Reduce,
    columns_of,
    conjunction,
    conjuncts,
    rewrite,
    walk,
)
from viewlet.plan.nodes import (
    Aggregate,
    Filter,
    Join,
    Plan,
    Project,
    Union,
    Window,
    calls_of,
    column,
    map_children,
    names,
)
from viewlet.plan.types import BIGINT, BOOLEAN, DOUBLE, INT, INTEGRAL, Field

_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "eq_null_safe": "eq_null_safe"}
_SO_FAR = Frame("range", None, Literal(0, INT))
_ROWS = Reduce("count", (), BIGINT)


def running_sums(plan: Plan, abilities: Abilities) -> Plan:
    """Rewrite every aggregate of the plan to which the law applies."""
    return _rewrite(plan, abilities, count(1))


def _rewrite(plan: Plan, abilities: Abilities, numbers: Iterator[int]) -> Plan:
    if isinstance(plan, Join):
        plan = narrowed(plan, lambda aggregate: _running_sum(aggregate, abilities, count(0)) is not None)
    plan = map_children(plan, lambda child: _rewrite(child, abilities, numbers))
    return (_running_sum(plan, abilities, numbers) or plan) if isinstance(plan, Aggregate) else plan


def _running_sum(plan: Aggregate, abilities: Abilities, numbers: Iterator[int]) -> Plan | None:
    """An aggregate as a running sum, if it is one; a number makes its column names unique."""
    aggregate = over_join(plan)
    found = None if aggregate is None else _match(aggregate)
    return None if found is None else _rewritten(found, abilities, next(numbers))


def _match(plan: Aggregate) -> _Running | None:
    join = plan.rows
    assert isinstance(join, Join)
    for domain, other in ((join.left, join.right), (join.right, join.left)):
        pairs = _pairs(join.condition, names(domain), names(other))
        if pairs is not None and _is_domain(domain, plan) and all(_adds_up(c, names(other)) for c in calls_of(plan)):
            return _Running(plan, domain, other, pairs)
    return None


@dataclass(frozen=True, slots=True)
class _Running:
    """An aggregate over the join of D with R that is a running sum; the last pair is the inequality."""

    plan: Aggregate
    domain: Plan
    other: Plan
    pairs: tuple[_Pair, ...]


@dataclass(frozen=True, slots=True)
class _Pair:
    """A term of the join's condition: `other function domain`."""

    function: str
    domain: Expr
    other: Expr


def _pairs(condition: Expr | None, domain: Iterable[str], other: Iterable[str]) -> tuple[_Pair, ...] | None:
    """A condition as equalities followed by one inequality between the two sides; None for any other condition."""
    equalities: list[_Pair] = []
    inequalities: list[_Pair] = []
    for term in conjuncts(condition):
        match term:
            case Call(function, (a, b)) if function in _MIRRORED and a.type == b.type:
                if _reads(a, domain) and _reads(b, other):
                    function, a, b = _MIRRORED[function], b, a
                if not (_reads(a, other) and _reads(b, domain)):
                    return None
                (equalities if function.startswith("eq") else inequalities).append(_Pair(function, b, a))
            case _:
                return None
    return (*equalities, *inequalities) if len(inequalities) == 1 else None


def _reads(expr: Expr, side: Iterable[str]) -> bool:
    """Whether an expression reads columns of one side, and of no other."""
    return bool(columns_of(expr)) and columns_of(expr) <= frozenset(side)


def _is_domain(plan: Plan, aggregate: Aggregate) -> bool:
    """Whether each group of an aggregate is one row of the domain."""
    columns = unique_columns(plan)
    keys = {k.name for k in aggregate.keys if isinstance(k, Column)}
    return columns is not None and columns <= keys and all(_reads(k, names(plan)) for k in aggregate.keys)


def _adds_up(call: Reduce, side: Iterable[str]) -> bool:
    """Whether a call over one side can be computed exactly from sums of parts."""
    if call.distinct or len(call.args) > 1 or not columns_of(call) <= frozenset(side):
        return False
    kind = call.args[0].type if call.args else BIGINT
    match call.function:
        case "count":
            return True
        case "sum":
            return adds_exactly(kind)
        case "avg":
            return kind.name in INTEGRAL and kind != BIGINT
        case _:
            return False


def _rewritten(found: _Running, abilities: Abilities, number: int) -> Plan | None:
    """The running sum; None if we cannot evaluate it, since Spark has no such operator to run."""
    results = [Named(r.name, rewrite(r.expr, _from_parts)) for r in found.plan.results]
    parts = tuple(dict.fromkeys((_ROWS, *(e for r in results for e in walk(r.expr) if isinstance(e, Reduce)))))
    if not _can_move(found.pairs, parts, abilities):
        return None
    asks = Field(f"_asks{number}", BOOLEAN, False)
    sums = tuple(Field(f"_s{number}_{i}", part.type) for i, part in enumerate(parts))
    union = _union(found, asks, dict(zip(sums, parts, strict=True)))
    window = _window(found.pairs, union, asks, sums)
    running: dict[Expr, Expr] = {p: column(f) for p, f in zip(parts, window.columns[-len(parts) :], strict=True)}
    answered = Call("gt", (running[_ROWS], Literal(0, BIGINT)), BOOLEAN)
    held = {k: comparable(k) for k in found.plan.keys} | running
    top = Project(
        Filter(window, Call("and", (column(asks), answered), BOOLEAN)),
        tuple(Named(r.name, rewrite(r.expr, held.get)) for r in results),
        found.plan.columns,
        origin=found.plan.origin,  # its rows equal those of Spark's aggregate, for readers on Spark
    )
    unable = abilities.expressions(map(_null, union.columns)) or abilities.groups(with_inputs(top, (union,)))
    return top if unable is None else None


def _from_parts(expr: Expr) -> Expr | None:
    """A call as an expression over sums that never overflow."""
    match expr:
        case Reduce("sum") if (part := as_part(expr)) is not expr:
            return Call("cast", (part,), expr.type)
        case Reduce("avg"):
            parts = (replace(expr, function=function, type=BIGINT) for function in ("sum", "count"))
            return Call("divide", tuple(Call("cast", (part,), DOUBLE) for part in parts), DOUBLE)
        case Reduce():
            return expr
        case _:
            return None


def _can_move(pairs: Iterable[_Pair], parts: Iterable[Reduce], abilities: Abilities) -> bool:
    """Whether everything that moves below the join can be evaluated, and cannot fail on rows without a partner."""
    moved = [_is_there(comparable(e)) for p in pairs for e in (p.domain, p.other)]
    moved += [e for part in parts for e in (*part.args, part.where) if e is not None]
    return abilities.expressions(moved) is None and not any(map(abilities.can_fail, moved))


def _union(found: _Running, asks: Field, sums: Mapping[Field, Reduce]) -> Union:
    """The rows of D, which ask, and the sums by value, which answer."""
    pairs = found.pairs
    values = _values(pairs, asks)
    wanted = {name for k in found.plan.keys for name in columns_of(k)} - {f.name for f in values}
    rest = [Field(f.name, f.type) for f in found.domain.columns if f.name in wanted]
    fields = (*values, *rest, asks, *sums)
    asking = (*(p.domain for p in pairs), *map(column, rest), Literal(True, BOOLEAN), *map(_null, sums))
    answers = (*(p.other for p in pairs), *map(_null, rest), Literal(False, BOOLEAN), *sums.values())
    domain = _without_nulls(found.domain, [p.domain for p in pairs if p.function != "eq_null_safe"])
    other = _without_nulls(found.other, [p.other for p in pairs if p.function != "eq_null_safe"])
    keys = tuple(dict.fromkeys(p.other for p in pairs))
    return Union(
        (Project(domain, _named(fields, asking), fields), Aggregate(other, keys, _named(fields, answers), fields)),
        fields,
    )


def _values(pairs: Iterable[_Pair], asks: Field) -> tuple[Field, ...]:
    """The columns in which D and R are compared, under D's own names where possible."""
    found: dict[str, Field] = {}
    for pair in pairs:
        own = pair.domain.name if isinstance(pair.domain, Column) else None
        name = f"{asks.name}_{len(found)}" if own is None or own in found else own
        found[name] = Field(name, pair.domain.type)
    return tuple(found.values())


def _named(fields: Iterable[Field], exprs: Iterable[Expr]) -> tuple[Named, ...]:
    return tuple(Named(f.name, e) for f, e in zip(fields, exprs, strict=True))


def _null(field: Field) -> Expr:
    return Literal(None, field.type)


def _without_nulls(plan: Plan, exprs: Iterable[Expr]) -> Plan:
    """The rows in which none of the expressions is NULL."""
    never = never_null(plan)
    unsure = [e for e in dict.fromkeys(exprs) if not isinstance(e, Column) or e.name not in never]
    condition = conjunction(tuple(map(_is_there, unsure)))
    return plan if condition is None else Filter(plan, condition)


def _is_there(expr: Expr) -> Expr:
    return Call("is_not_null", (expr,), BOOLEAN)


def _window(pairs: tuple[_Pair, ...], union: Union, asks: Field, sums: tuple[Field, ...]) -> Window:
    """The running sums; a row of D comes before the rows of its own value, or after them if they count."""
    *partition, value = map(column, union.columns[: len(pairs)])
    function = pairs[-1].function
    order = (Order(value, function in ("gt", "ge")), Order(column(asks), function in ("gt", "lt")))
    fields = tuple(replace(f, name=f"_r{f.name[2:]}") for f in sums)
    running = [Over("sum", (column(f),), f.type, _SO_FAR) for f in sums]
    return Window(union, tuple(partition), order, _named(fields, running), (*union.columns, *fields))
