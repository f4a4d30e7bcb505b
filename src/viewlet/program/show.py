"""Terms and maps as text, in full: every column, sum and weight.

q3.m2 += Sum[l_orderkey](σ(l_shipdate > 1995-03-15)(Δlineitem))
q3    += Δq3.m2 ⋈[l_orderkey] q3.m1
"""

from __future__ import annotations

from fractions import Fraction

from viewlet.plan.expr import Column, Named
from viewlet.plan.nodes import Plan, SparkOperator
from viewlet.plan.show import show_expr, show_order
from viewlet.plan.sums import Monomial
from viewlet.program.access import Extremes, Leading, Lookup, Nearby, Range, Ranked
from viewlet.program.program import Map
from viewlet.program.terms import (
    Change,
    Combine,
    Expand,
    Filter,
    FinalizeSums,
    Fold,
    Grouped,
    GroupSums,
    Leaders,
    Negate,
    Probe,
    Project,
    Regroup,
    Sessionize,
    SparkRowwise,
    Term,
    TopK,
    Unnest,
    Values,
)


def show_term(term: Term) -> str:
    """A statement's right-hand side, from the inside out."""
    match term:
        case Change(bag):
            return f"Δ{bag}"
        case Values(rows):
            return f"{len(rows)} constant rows"
        case Filter(rows, condition):
            return f"σ({show_expr(condition)})({show_term(rows)})"
        case Project(rows, results):
            return f"π({_results(results)})({show_term(rows)})"
        case Expand(rows, projections):
            return f"expand×{len(projections)}({show_term(rows)})"
        case Unnest(rows, generator, outer):
            return f"{'outer ' if outer else ''}{show_expr(generator)} of ({show_term(rows)})"
        case SparkRowwise(rows, _, label):
            return f"spark⟨{label}⟩({show_term(rows)})"
        case Leaders(rows, order, kept):
            return f"first[{', '.join(map(show_order, order))}]({kept} of {show_term(rows)})"
        case Negate(rows):
            return f"−({show_term(rows)})"
        case Probe():
            return f"{show_term(term.rows)} ⋈[{show_lookup(term.read)}] {_looked_up(term)}"
        case Combine(rows, keys, parts):
            named = [*((d.name, d.terms) for d in term.doubles), *((p.name, p.terms) for p in parts)]
            made = ", ".join(f"{name} = {_polynomial(terms)}" for name, terms in named)
            return f"Sum[{', '.join(keys)}]({made or '1'} · {show_term(_inside(rows))})"
        case GroupSums(rows, keys, sums):
            added = ", ".join(f"{s.function}({', '.join(filter(None, (s.column, s.second))) or '*'})" for s in sums)
            return f"Sum[{', '.join(keys)}]({added or '1'} · {show_term(_inside(rows))})"
        case FinalizeSums(name, keys):
            return f"finalize[{', '.join(keys)}](Δ{name})"
        case Fold(name, keys, parts):
            absorbed = ", ".join(show_expr(p.call) for p in parts)
            return f"fold[{', '.join(keys)}]({absorbed} · Δ{name})"
        case Regroup():
            return _regroup(term)
        case Sessionize(name, keys, (start, end)):
            return f"sessionize[{', '.join(keys)}]({start} – {end} · Δ{name}, what it meets of {term.target})"
        case TopK():
            by = ", ".join(map(show_order, term.limit.order))
            return f"top-k[{by}](Δ{term.map}, {term.needed} + {term.kept - term.needed})"


def _inside(rows: Term) -> Term:
    """A sum's input without a projection that only renames."""
    plain = isinstance(rows, Project) and all(isinstance(r.expr, Column) for r in rows.results)
    return rows.rows if plain and isinstance(rows, Project) else rows


def _results(results: tuple[Named, ...]) -> str:
    return ", ".join(
        r.name if isinstance(r.expr, Column) and r.expr.name == r.name else f"{show_expr(r.expr)} → {r.name}"
        for r in results
    )


def _looked_up(term: Probe) -> str:
    read = f"{term.map}{'′' if term.version == 'new' else ''}"
    if isinstance(term.read, Range) and term.read.adds:
        return f"Sum {read}"
    return read if term.sums is None else f"finalize({read})"


def show_lookup(read: Lookup) -> str:
    """The columns and bounds of a look-up."""
    equal = [(m.column, m.map_column, "<=>" if m.null_safe else "=") for m in read.on]
    matches = [a if a == b else f"{a} {sign} {b}" for a, b, sign in equal]
    return ", ".join([*matches, *([_range(read)] if isinstance(read, Range) else [])]) or "×"


def _range(read: Range) -> str:
    low = "" if read.low is None else f"{read.low[0]} {'≤' if read.low[1] else '<'} "
    high = "" if read.high is None else f" {'≤' if read.high[1] else '<'} {read.high[0]}"
    return f"{low}{read.order}{high}"


def _polynomial(terms: tuple[Monomial, ...]) -> str:
    return " + ".join("·".join([*_constant(m), *(f.name for f in m.factors)]) for m in terms)


def _constant(term: Monomial) -> list[str]:
    number = Fraction(term.coefficient) * Fraction(2) ** term.exponent
    return [] if number == 1 else [str(number) if number.denominator == 1 else str(float(number))]


def operator_word(plan: Plan) -> str:
    """The word for a regrouped operator; one that only Spark understands is just an "operator"."""
    return "operator" if isinstance(plan, SparkOperator) else type(plan).__name__.lower()


def _regroup(term: Regroup) -> str:
    what = operator_word(term.function)
    inputs = ", ".join(f"{i.map}′" for i in term.inputs)
    where = f"touched groups of {inputs}" if term.is_keyed else f"all of {inputs}" if inputs else ""
    match term.inputs:
        case (Grouped(read=Extremes() | Leading()),):
            where = f"the first rows of {where.removeprefix('all of ')}"
        case (Grouped(read=Ranked()),):
            where = f"rows by rank of {where.removeprefix('all of ')}"
        case (Grouped(read=Nearby()),):
            where = f"the affected rows of {inputs}"
    return f"{what}({where}){'' if term.native is None else ' on Spark'} − {term.target}"


def show_map(kept: Map) -> str:
    """A map's key, columns and meaning, in one line."""
    more = "".join(f", also by [{', '.join(i)}]" for i in kept.indexes)
    return f"{kept.name} [{', '.join(kept.key)}]{more} := {kept.meaning}"
