"""The statements of a fill: a program starting from empty maps, with all rows new.

A term that looks up an old map finds nothing. Of a product, Δa·b_old + a_new·Δb, each term alone is the whole product
if it reads the other factors as they are now; the one estimated to handle the fewest rows is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from viewlet.program.chain import chain, source
from viewlet.program.program import Program, Step
from viewlet.program.terms import (
    Change,
    Combine,
    Expand,
    FinalizeSums,
    Fold,
    Following,
    GroupSums,
    Probe,
    Regroup,
    Sessionize,
    Term,
    TopK,
    Unnest,
    Values,
)

Sizes = Mapping[str, float]


def filling(program: Program, rows: Sizes) -> Program:
    """The program with only the terms that fill its maps, given the sizes of tables."""
    sizes = most_rows(program, rows)
    own = {kept.name for kept in program.maps}
    return replace(program, steps=tuple(replace(s, terms=_terms(s, own, sizes)) for s in program.steps))


def _terms(step: Step, own: Collection[str], sizes: Sizes) -> tuple[Term, ...]:
    """For each product the cheapest term."""
    whole = [term for term in step.terms if not any(p.version == "old" and p.map in own for p in _probes(term))]
    return tuple(min(_same_product(term, step.terms), key=lambda t: _work(t, sizes)) for term in whole)


def _same_product(term: Term, terms: Sequence[Term]) -> list[Term]:
    """All terms of a term's product, each reading the other factors as they are now."""
    factors = _factors(term)
    return [_as_now(other) for other in terms if factors and _factors(other) == factors] or [term]


def _factors(term: Term) -> frozenset[str]:
    """The factors of a term's product, by the names of their weights; none if one has no name."""
    start = source(term)
    weights = [start.weight if isinstance(start, Change) else None, *(probe.weight for probe in _probes(term))]
    return frozenset(weight for weight in weights if weight is not None) if all(weights) else frozenset()


def _as_now(term: Term) -> Term:
    if not isinstance(term, Following):
        return term
    before = _as_now(term.rows)
    return replace(term, rows=before, version="new") if isinstance(term, Probe) else replace(term, rows=before)


def _probes(term: Term) -> list[Probe]:
    return [step for step in chain(term) if isinstance(step, Probe)]


def _work(term: Term, sizes: Sizes) -> float:
    """How many rows a term handles, if every row of the larger side finds a partner."""
    rows = total = _start(source(term), sizes)
    for probe in _probes(term):
        rows = max(rows, sizes.get(probe.map, 0.0))
        total += rows
    return total


def most_rows(program: Program, rows: Sizes) -> dict[str, float]:
    """Upper bounds for the rows of a program's maps, if no look-up finds more than all rows that the program reads."""
    total = sum(rows.get(bag, 0.0) for bag in program.reads)
    sizes = dict(rows)
    for step in program.steps:
        sizes[step.map.name] = sum(_most(term, sizes, total) for term in step.terms)
    return sizes


def _most(term: Term, sizes: Sizes, total: float) -> float:
    most = _start(source(term), sizes)
    for step in chain(term)[1:]:
        match step:
            case GroupSums(keys=()) | Combine(keys=()):
                most = min(most, 1.0)
            case Expand(projections=projections):
                most *= len(projections)
            case Probe() | Unnest():
                most = max(most, total)
            case _:
                pass
    return most


def _start(first: Term, sizes: Sizes) -> float:
    """How many rows a term starts from."""
    match first:
        case Change(bag=bag) | FinalizeSums(map=bag) | Fold(map=bag) | Sessionize(map=bag):
            return sizes.get(bag, 0.0)
        case Values(rows=constants):
            return float(len(constants))
        case TopK(kept=kept):
            return float(kept)
        case Regroup(inputs=inputs):
            return sum(sizes.get(i.map, 0.0) for i in inputs) or 1.0
        case _:
            return sum(sizes.values())
