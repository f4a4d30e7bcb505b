"""Recognizes steps that gather: each vertex computes its value from its own columns and a sum along incoming edges.

    value(v) = apply(own columns of v, Σ over edges (u, v, …) of offer(value(u), columns of u, columns of the edge))

PageRank is one. The edges, the columns of their sources and those of the vertices themselves are invariant views; a
round recomputes the sums of vertices whose neighbours changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from viewlet.columns.fresh_names import free_name
from viewlet.loops.relax.relaxation import Product, product_of
from viewlet.plan.expr import (
    Call,
    Column,
    Expr,
    Literal,
    Named,
    Reduce,
    columns_of,
    conjunction,
    conjuncts,
    rewrite,
    substitute,
)
from viewlet.plan.nodes import Aggregate, Filter, Join, Plan, Project, Scan, column, leaves
from viewlet.plan.types import BOOLEAN, DOUBLE, INTEGRAL, Field

Fields = tuple[Field, ...]
KEY, SUM = "_gathered_key", "_gathered_sum"
_ENDS = ("source", "target")
_NUMBERS = (*INTEGRAL, "float", "double")


@dataclass(frozen=True)
class Gathering:
    """The computation of a round, over columns of the three invariant views."""

    key: Field
    known: Field
    """The name of the value at an edge's source in `offer`."""
    offer: Expr
    apply: Expr
    """An expression over the sum, named `SUM`, and the vertex's own columns."""
    edges: Fields
    """The columns of edges, then those of the vertices at their sources; None if there is no such view."""
    sources: Fields | None
    own: Fields | None
    """The columns of the vertex itself; None if every vertex with an incoming edge has a row."""
    keeps_all: bool
    """Whether vertices without incoming values have rows, too."""


@dataclass(frozen=True)
class GatherPlans:
    """A gathering step and its invariant views: edges with ends and columns, vertices with keys and columns."""

    gathering: Gathering
    edges: Plan
    sources: Plan | None
    own: Plan | None


@dataclass(frozen=True)
class _Above:
    """The part of a plan above the sum: its results, and the vertices that it is joined with, if any."""

    aggregate: Aggregate
    results: dict[str, Expr]
    vertices: Plan | None = None
    key: Column | None = None
    """The key of the joined vertices."""
    keeps_all: bool = False


def gathering_of(step: Plan, state: str, own: Fields, key_at: int) -> GatherPlans | None:
    """A step as a gathering one; None if it is not."""
    scans = [leaf for leaf in leaves(step) if isinstance(leaf, Scan) and leaf.name == state]
    value = own[1 - key_at] if len(own) == 2 else None
    if len(scans) != 1 or value is None or value.type != DOUBLE or own[key_at].type.name not in (*INTEGRAL, "string"):
        return None
    above = _above(step, state)
    below = None if above is None else product_of(above.aggregate.rows, state)
    if above is None or below is None or not below.others:
        return None
    results = [above.results[f.name] for f in step.columns]
    if results[key_at] != (above.key or Column(KEY, own[key_at].type)):
        return None
    (total,) = _sums(above.aggregate)
    (group,) = above.aggregate.keys
    offer, target = (substitute(e, dict(below.results)) for e in (total.args[0], group))
    scanned = scans[0].columns
    found = _split(below, column(scanned[key_at]), target)
    varying = {f.name for f in scanned}
    if found is None or columns_of(target) & varying or scanned[key_at].name in columns_of(offer):
        return None
    edges, sources = found
    return _plans(above, edges, sources, offer, results[1 - key_at], own[key_at], scanned[1 - key_at])


def _plans(
    above: _Above, edges: Project, sources: Project | None, offer: Expr, applied: Expr, key: Field, known: Field
) -> GatherPlans | None:
    """The gathering and its views, with only the columns that it uses."""
    offered, used = columns_of(offer), columns_of(applied) - {SUM, KEY}
    edges = _only(edges, 2, offered)
    sources = None if sources is None else _only(sources, 1, offered)
    vertices = None
    if above.vertices is not None and above.key is not None:
        fields = {f.name: f for f in above.vertices.columns}
        kept = [f for f in above.vertices.columns if f.name in used]
        key_name = free_name("vertex", list(fields))
        results = (Named(key_name, above.key), *(Named(f.name, column(f)) for f in kept))
        vertices = Project(above.vertices, results, (replace(fields[above.key.name], name=key_name), *kept))
    columns = [
        *edges.columns[2:],
        *(sources.columns[1:] if sources else ()),
        *(vertices.columns[1:] if vertices else ()),
    ]
    if any(f.type.name not in _NUMBERS for f in columns) or edges.columns[0].type != key.type:
        return None
    gathering = Gathering(
        key,
        known,
        offer,
        applied,
        edges.columns[2:],
        sources.columns[1:] if sources else None,
        vertices.columns[1:] if vertices else None,
        above.keeps_all,
    )
    return GatherPlans(gathering, edges, sources, vertices)


def _only(plan: Project, ends: int, wanted: frozenset[str]) -> Project:
    pairs = list(zip(plan.results, plan.columns, strict=True))
    kept = [*pairs[:ends], *((r, f) for r, f in pairs[ends:] if f.name in wanted)]
    return replace(plan, results=tuple(r for r, _ in kept), columns=tuple(f for _, f in kept))


def _sums(aggregate: Aggregate) -> list[Reduce]:
    """The distinct aggregate calls of an aggregate."""
    found: dict[Reduce, None] = {}
    for result in aggregate.results:
        rewrite(result.expr, lambda e: found.setdefault(e) if isinstance(e, Reduce) else None)
    return list(found)


def _above(plan: Plan, state: str) -> _Above | None:
    """The part of a plan above the one sum that reads the state; None if the plan has another form."""
    match plan:
        case Aggregate():
            sums = _sums(plan)
            is_sum = len(sums) == 1 and sums[0].function == "sum" and sums[0].type == DOUBLE
            if len(plan.keys) != 1 or not is_sum or sums[0].distinct or sums[0].where is not None:
                return None
            (key,) = plan.keys
            placed: dict[Expr, Expr] = {key: Column(KEY, key.type), sums[0]: Column(SUM, DOUBLE)}
            return _Above(plan, {r.name: rewrite(r.expr, placed.get) for r in plan.results})
        case Project():
            below = _above(plan.rows, state)
            return below and replace(below, results={r.name: substitute(r.expr, below.results) for r in plan.results})
        case Filter(condition=Call("is_not_null", (Column(name),))):
            below = _above(plan.rows, state)
            is_key = below is not None and below.vertices is None and below.results.get(name) == _key_of(below)
            return below if is_key else None
        case Join():
            return _beside(plan, state)
        case _:
            return None


def _key_of(above: _Above) -> Column:
    return Column(KEY, above.aggregate.keys[0].type)


def _beside(plan: Join, state: str) -> _Above | None:
    """A join of vertices, unique by key, with their sums; an outer join keeps those without a sum."""
    is_left = any(isinstance(leaf, Scan) and leaf.name == state for leaf in leaves(plan.left))
    inner, other = (plan.left, plan.right) if is_left else (plan.right, plan.left)
    keeps_all = plan.kind == ("right" if is_left else "left")
    below = _above(inner, state)
    if below is None or below.vertices is not None or (plan.kind != "inner" and not keeps_all):
        return None
    plain = (_key_of(below), Column(SUM, DOUBLE))
    if keeps_all and any(e not in plain for e in below.results.values()):
        return None  # the outer join makes expressions over a missing sum NULL, whatever they are
    terms = [substitute(c, below.results) for c in conjuncts(plan.condition)]
    match terms:
        case [Call("eq", (a, b))] if _key_of(below) in (a, b):
            key = b if a == _key_of(below) else a
        case _:
            return None
    if not isinstance(key, Column) or not is_unique(other, key.name):
        return None
    results = {**below.results, **{f.name: column(f) for f in other.columns}}
    return _Above(below.aggregate, results, other, key, keeps_all)


def is_unique(plan: Plan, name: str) -> bool:
    """Whether a column is unique in a plan, as the only key of its groups."""
    match plan:
        case Project():
            found = next((r.expr for r in plan.results if r.name == name), None)
            return isinstance(found, Column) and is_unique(plan.rows, found.name)
        case Filter():
            return is_unique(plan.rows, name)
        case Aggregate():
            keys = [key for key in plan.keys if not isinstance(key, Literal)]
            return any(r.name == name and keys == [r.expr] for r in plan.results)
        case _:
            return False


def _split(product: Product, key: Column, target: Expr) -> tuple[Project, Project | None] | None:
    """The edges that a step looks up by the state's key, and the columns of their sources, if it reads any."""
    looked_up: list[Expr] = []
    others: list[Expr] = []
    for condition in product.conditions:
        match condition:
            case Call("eq", (a, b)) if key in (a, b):
                looked_up.append(b if a == key else a)
            case Call("is_not_null", (Column(name),)) if name == key.name:
                pass
            case _ if key.name in columns_of(condition):
                return None
            case _:
                others.append(condition)
    looked_up, others = _with_equals(product, looked_up, others)
    sources = _sources(product, looked_up, others, target)
    parts = [other for other in product.others if sources is None or other is not sources[0]]
    by = [e for e in looked_up if sources is None or e is not sources[1]]
    if len(parts) != 1 or len(by) != 1:
        return None
    (edges,) = parts
    if not (columns_of(by[0]) | columns_of(target)) <= {f.name for f in edges.columns}:
        return None
    where = conjunction((*others, Call("is_not_null", (by[0],), BOOLEAN)))
    assert where is not None
    made = _with_ends(Filter(edges, where), by[0], target)
    return made, None if sources is None else _with_ends(sources[0], sources[1])


def _with_equals(product: Product, looked_up: Sequence[Expr], others: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
    """The expressions equal to the key, extended across equalities between the two plans; then the other conditions."""
    found = list(looked_up)
    left: list[Expr] = []
    for condition in others:
        match condition:
            case Call("eq", (a, b)) if len(product.others) == 2 and (a in found) != (b in found):
                known, other = (a, b) if a in found else (b, a)
                sides = [{f.name for f in plan.columns} for plan in product.others]
                is_across = any(
                    columns_of(known) <= one and columns_of(other) <= two for one, two in (sides, sides[::-1])
                )
                (found if is_across else left).append(other if is_across else condition)
            case _:
                left.append(condition)
    return found, left


def _sources(
    product: Product, looked_up: Sequence[Expr], others: Sequence[Expr], target: Expr
) -> tuple[Plan, Column] | None:
    """A plan with one row for each key, used only by look-ups, and its key column; None if there is none."""
    mentioned = {name for e in (*others, target) for name in columns_of(e)}
    for plan in product.others if len(product.others) == 2 else ():
        names = {f.name for f in plan.columns}
        keys = [e for e in looked_up if isinstance(e, Column) and e.name in names and is_unique(plan, e.name)]
        if keys and not mentioned & names:
            return plan, keys[0]
    return None


def _with_ends(plan: Plan, *ends: Expr) -> Project:
    """The ends of edges, then all columns of a plan."""
    names = [free_name(name, [f.name for f in plan.columns]) for name in _ENDS[: len(ends)]]
    named = [Named(name, e) for name, e in zip(names, ends, strict=True)]
    results = (*named, *(Named(f.name, column(f)) for f in plan.columns))
    fields = (*(Field(n.name, n.expr.type) for n in named), *plan.columns)
    return Project(plan, results, fields)
