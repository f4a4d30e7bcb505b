"""The contents of a map, regardless of the names of its columns.

Maps whose terms differ only in names hold the same rows, so one of them suffices: within a view, and for all views of a
warehouse. The identity of a map writes every column as an expression over positions in the bags that it comes from. It
is None for maps that cannot be shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewlet.plan.expr import Column, Expr, substitute
from viewlet.plan.sums import DoubleSum, Monomial, Sum, SumColumns
from viewlet.program.access import Lookup, Range
from viewlet.program.chain import chain
from viewlet.program.terms import (
    Change,
    Combine,
    Expand,
    Filter,
    FinalizeSums,
    GroupSums,
    Negate,
    Probe,
    Project,
    Term,
    Unnest,
)

Identity = tuple[Any, ...]
Known = dict[str, Expr]


def identity(terms: Sequence[Term], sums: Sequence[str]) -> Identity | None:
    """The identity of a sum of terms; None if a term has a meaning only in its own program."""
    found = []
    for term in terms:
        if (one := _identity(term)) is None:
            return None
        found.append(one)
    places = tuple(i for i, f in enumerate(terms[0].columns) if f.name in sums)
    return (tuple(sorted(found, key=repr)), places)


def _identity(term: Term) -> Identity | None:
    steps: list[Any] = []
    known: Known = {}
    for step in chain(term):
        match step:
            case Change(bag, columns):
                steps.append(("change", bag))
                known = _columns(bag, columns, step.weight)
            case FinalizeSums(name, keys, sums, columns):
                steps.append(("answer", name, len(keys), tuple((s.function, s.type) for s in sums)))
                known = _columns(f"answer of {name}", columns, None)
            case Filter(condition=condition):
                steps.append(("select", substitute(condition, known)))
            case Project(results=results):
                known = {r.name: substitute(r.expr, known) for r in results}
            case Expand(projections=projections, columns=columns):
                steps.append(("spread", tuple(tuple(substitute(e, known) for e in p) for p in projections)))
                known = _columns(f"spread {len(steps)}", columns, None)
            case Unnest(generator=generator, outer=outer, generated=generated):
                steps.append(("unnest", substitute(generator, known), outer))
                own = _columns(f"unnest {len(steps)}", generated, None)
                known = {f.name: own.get(f.name) or known[f.name] for f in step.columns}
            case Negate():
                steps.append(("negate",))
            case Probe():
                read = _read(step.read, known)
                steps.append(("probe", step.map, step.version, read, step.take and _values(step.sums)))
                known |= _taken(step.map, len(steps), step.take, step.columns, step.weight)
            case Combine(keys=keys, parts=parts):
                made = (*(_part(p, known) for p in parts), *(_double(d, known) for d in step.doubles))
                steps.append(("combine", tuple(known[k] for k in keys), made))
                known = {k: known[k] for k in keys} | _columns(f"combine {len(steps)}", step.columns[len(keys) :], None)
            case GroupSums(keys=keys, sums=sums):
                steps.append(("total", tuple(known[k] for k in keys), tuple(_sum(s, known) for s in sums)))
                known = {k: known[k] for k in keys} | _columns(f"total {len(steps)}", step.columns[len(keys) :], None)
            case _:
                return None
    return (tuple(steps), tuple(known[f.name] for f in term.columns))


def _columns(bag: str, columns: Sequence[Any], weight: str | None) -> Known:
    places = {f.name: "weight" if f.name == weight else i for i, f in enumerate(columns)}
    return {f.name: Column(f"{bag}#{places[f.name]}", f.type) for f in columns}


def _taken(bag: str, at: int, take: Sequence[tuple[str, str]], columns: Sequence[Any], weight: str | None) -> Known:
    kinds = {f.name: f.type for f in columns}
    names = [*take, *([("weight", weight)] if weight is not None else [])]
    return {new: Column(f"{bag}@{at}#{own}", kinds[new]) for own, new in names}


def _read(read: Lookup, known: Known) -> tuple[Any, ...]:
    matches = tuple((known[m.column], m.map_column, m.null_safe) for m in read.on)
    if not isinstance(read, Range):
        return (matches,)
    return (matches, read.order, tuple(b and (known[b[0]], b[1]) for b in (read.low, read.high)), read.adds, read.lanes)


def _values(sums: tuple[Sum, ...] | None) -> tuple[Any, ...] | None:
    return None if sums is None else tuple((s.function, s.type) for s in sums)


def _sum(total: Sum, known: Known) -> tuple[Any, ...]:
    """What a map holds for a sum; for moments, the sums of powers."""
    column, second, where = (None if n is None else known[n] for n in (total.column, total.second, total.where))
    what = total.powers or (total.function, total.type)
    return (what, column, second, where, total.argument, total.degree, total.window is None)


def _part(part: SumColumns, known: Known) -> tuple[Any, ...]:
    return (part.limbs, tuple(_monomial(m, known) for m in part.terms))


def _double(total: DoubleSum, known: Known) -> tuple[Any, ...]:
    return (total.place, total.degree, *(_monomial(m, known) for m in (*total.terms, total.counted)))


def _monomial(term: Monomial, known: Known) -> tuple[Any, ...]:
    factors = sorted((tuple(known[n] for n in (*f.columns, *f.windows)) for f in term.factors), key=repr)
    return (term.coefficient, term.exponent, tuple(factors))
