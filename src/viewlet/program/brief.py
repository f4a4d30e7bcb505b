"""Statements for people, one line each: what changes and which maps it is looked up in.

    on lineitem
      q3.m4 += Δlineitem → orders[l_orderkey = o_orderkey] → customer[o_custkey = c_custkey]

A map that holds only rows of one table goes by the table's name; the list of maps says what each keeps. `show.py`
prints the full right-hand sides, with every column and weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from viewlet.plan.expr import Expr, substitute
from viewlet.plan.show import show_expr, show_order
from viewlet.plan.sums import Sum
from viewlet.program.access import Extremes, Group, Leading, Nearby, Range, Ranked, Scan
from viewlet.program.chain import chain, changes_read
from viewlet.program.program import Program, Step
from viewlet.program.show import operator_word, show_lookup, show_term
from viewlet.program.terms import (
    Change,
    Combine,
    Expand,
    Filter,
    FinalizeSums,
    Fold,
    Following,
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

Labels = Mapping[str, str]


def statements(program: Program, table: str | None, *, verbose: bool = False) -> list[str]:
    """The statements that a change of a table triggers, in order; for None, those that add rows without any data."""
    moved = {table}
    lines = []
    labels = labels_of(program.steps)
    for step in program.steps:
        fired = [t for t in step.terms if (moved & set(changes_read(t)) if table else not changes_read(t))]
        if fired:
            moved.add(step.map.name)
            lines += [f"{step.map.name} += {show_term(t) if verbose else show_statement(t, labels)}" for t in fired]
    return lines


def labels_of(steps: Iterable[Step]) -> dict[str, str]:
    """The maps that hold rows of a single table, and that table."""
    found: dict[str, str] = {}
    for step in steps:
        match {chain(term)[0] for term in step.terms if not any(isinstance(s, Probe) for s in chain(term))}:
            case sources if len(sources) == len(step.terms) == 1 and isinstance(only := sources.pop(), Change):
                found[step.map.name] = found.get(only.bag, only.bag)
    return found


def show_statement(term: Term, labels: Labels) -> str:
    """What a statement adds to its map, in one line."""
    sign = "−" if any(isinstance(s, Negate) for s in chain(term)) else ""
    known: dict[str, Expr] = {}
    text = ""
    for part in chain(term):
        text += _step(part, labels, known)
        if isinstance(part, Project):
            known = {r.name: substitute(r.expr, known) for r in part.results}
    return sign + text


def _step(term: Term, labels: Labels, known: dict[str, Expr]) -> str:
    """What one step adds to the line."""
    match term:
        case Filter(condition=condition):
            return f" where {show_expr(substitute(condition, known))}"
        case Leaders(order=order, kept=kept):
            return f" → the first {kept:,} by {', '.join(map(show_order, order))}, less those that drop out"
        case Project() | Negate() | Combine():
            return ""
        case Expand(projections=projections):
            return f" → {len(projections)} projections"
        case Unnest(generator=generator, outer=outer):
            return f" → {'outer ' if outer else ''}{show_expr(substitute(generator, known))}"
        case SparkRowwise(label=label):
            return f" → on Spark: {label}"
        case Probe():
            return f" → {_probed(term, labels)}"
        case GroupSums(sums=sums):
            return f" · {', '.join(_sum(s, known) for s in sums) or 'count(*)'}"
        case _:
            assert not isinstance(term, Following)
            return _start(term, labels)


def _start(term: Term, labels: Labels) -> str:
    """The start of a statement."""
    match term:
        case Change(bag):
            return f"Δ{labels.get(bag, bag)}"
        case Values(rows):
            return f"{len(rows)} constant rows"
        case FinalizeSums(name):
            return f"changed groups of {name}"
        case Fold(name, _, parts):
            calls = ", ".join(show_expr(p.call) for p in parts)
            return f"Δ{labels.get(name, name)} merged into {calls}"
        case Regroup():
            return _regrouped(term)
        case Sessionize(name):
            return f"the sessions that Δ{labels.get(name, name)} touches"
        case TopK():
            return f"the first {term.needed:,} rows of {term.map} by {', '.join(map(show_order, term.limit.order))}"
    raise AssertionError(f"{term} begins no statement")


def _probed(term: Probe, labels: Labels) -> str:
    read = labels.get(term.map, term.map)
    match term.read:
        case Scan():
            return f"all of {read}"
        case Range(adds=True):
            return f"sums of {read}[{show_lookup(term.read)}]"
        case _:
            return f"{read}[{show_lookup(term.read)}]"


def _sum(total: Sum, known: dict[str, Expr]) -> str:
    """A sum and what it adds up."""
    names = filter(None, (total.column, total.second))
    args = ", ".join(show_expr(known[n]) if n in known else n for n in names)
    filtered = known.get(total.where or "")
    where = "" if filtered is None else f" FILTER (WHERE {show_expr(filtered)})"
    return f"{total.function}({args or '*'}){where}"


def _regrouped(term: Regroup) -> str:
    what = operator_word(term.function)
    inputs = ", ".join(dict.fromkeys(i.map for i in term.inputs))
    groups = f"touched groups of {inputs}" if term.is_keyed else inputs
    where = " on Spark" if term.native is not None else ""
    match [i.read for i in term.inputs]:
        case [Extremes() | Leading()]:
            rows = f"the first rows of {groups}"
        case [Ranked()]:
            rows = f"rows by rank of {groups}"
        case [Nearby()]:
            rows = f"the affected rows of {inputs}"
        case reads:
            assert all(isinstance(read, Group) for read in reads)
            rows = groups if term.is_keyed else f"all of {inputs}" if inputs else "no rows"
    return f"{what} of {rows}{where}"
