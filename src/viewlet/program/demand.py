"""Which columns of its input a term uses."""

from __future__ import annotations

from viewlet.plan.expr import columns_of
from viewlet.plan.sums import Sum
from viewlet.program.access import Lookup, Range
from viewlet.program.chain import chain
from viewlet.program.terms import (
    Combine,
    Expand,
    Filter,
    Following,
    GroupSums,
    Leaders,
    Negate,
    Probe,
    Project,
    SparkRowwise,
    Term,
    Unnest,
)

Names = frozenset[str]


def columns_used(term: Term) -> Names:
    """The columns of a term's input that its steps read or its result contains."""
    wanted = _names(term)
    for step in reversed(chain(term)[1:]):
        assert isinstance(step, Following)
        wanted = _before(step, wanted)
    return wanted


def _before(step: Following, wanted: Names) -> Names:
    """The columns that a step needs from its input to produce the wanted ones."""
    match step:
        case Filter(condition=condition):
            return wanted | columns_of(condition)
        case Project(results=results):
            return frozenset().union(*(columns_of(result.expr) for result in results))
        case Expand(projections=projections):
            return frozenset().union(*(columns_of(expr) for made in projections for expr in made))
        case Unnest(generator=generator, generated=generated):
            return (wanted - {f.name for f in generated}) | columns_of(generator)
        case SparkRowwise():
            return _names(step.rows)
        case Leaders(order=order):
            return wanted.union(*(columns_of(o.key) for o in order))
        case Negate():
            return wanted
        case Probe(read=read, take=take, weight=weight):
            return (wanted - {name for _, name in take} - {weight}) | _looked_up(read)
        case Combine(keys=keys, parts=parts, doubles=doubles):
            terms = [m for part in parts for m in part.terms]
            terms += [m for total in doubles for m in (*total.terms, total.counted)]
            return frozenset((*keys, *(name for monomial in terms for name in monomial.columns)))
        case GroupSums(keys=keys, sums=sums):
            return frozenset((*keys, *(name for total in sums for name in _summed(total))))


def _names(term: Term) -> Names:
    return frozenset(f.name for f in term.columns)


def _looked_up(read: Lookup) -> Names:
    bounds = (read.low, read.high) if isinstance(read, Range) else ()
    return frozenset((*(m.column for m in read.on), *(bound[0] for bound in bounds if bound is not None)))


def _summed(total: Sum) -> tuple[str, ...]:
    return tuple(name for name in (total.column, total.second, total.where) if name is not None)
