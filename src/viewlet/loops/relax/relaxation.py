"""Recognizes steps that are relaxations: each row of the state offers values along its edges.

    value(v) = best over initial rows of v, and over edges (u, v, …) of f(value(u), …)

Recursions by UNION of one column, or USING KEY with min or max, have this form if their step looks rows up in other
tables by the state's key. If a better value of u makes f strictly better, no history is needed: the edge that last
improved v starts at an earlier row, so these edges form a forest, and deleting one affects only the tree below it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from viewlet.columns.fresh_names import free_name
from viewlet.loops.definition.merging import Choice
from viewlet.plan.expr import Call, Column, Expr, Named, columns_of, conjunction, conjuncts, substitute
from viewlet.plan.nodes import Filter, Join, Plan, Project, Scan, column, leaves
from viewlet.plan.types import BOOLEAN, INTEGRAL, Field

Fields = tuple[Field, ...]
Item = TypeVar("Item")


@dataclass(frozen=True)
class Relaxation:
    """A step as a plan of edges, source and target first, and the value that they offer, or None."""

    edges: Plan
    value: Expr | None
    known_as: str
    """The name of the value at the edge's source in `value`."""


@dataclass(frozen=True)
class Product:
    """A plan as a product of the state with other plans: conditions on it, and results."""

    others: tuple[Plan, ...]
    conditions: tuple[Expr, ...]
    results: Mapping[str, Expr]


def relaxation_of(step: Plan, state: str, own: Fields, key: Sequence[str], choice: Choice | None) -> Relaxation | None:
    """A step as a relaxation, if it is one; `own` are the state's columns, `key` those that identify a row."""
    scans = [leaf for leaf in leaves(step) if isinstance(leaf, Scan) and leaf.name == state]
    found = product_of(step, state) if len(scans) == 1 else None
    if found is None or not found.others or len(key) != 1 or not _fits(own, key, choice):
        return None
    at = [f.name for f in own].index(key[0])
    source, invariant = _split(found.conditions, scans[0].columns, at)
    target, *values = _rotated([found.results[f.name] for f in step.columns], at)
    known, *value_columns = _rotated(scans[0].columns, at)
    varying = {f.name for f in scans[0].columns}
    if source is None or columns_of(target) & varying or not source.type == target.type == known.type:
        return None
    if any(columns_of(c) & varying for c in invariant):
        return None
    value = values[0] if values else None
    known_as = value_columns[0].name if value_columns else ""
    if value is not None and not _is_strict(value, known_as):
        return None
    needed = [] if value is None else sorted(columns_of(value) - {known_as})
    edges = _edges(found, source, target, needed, invariant)
    if any(f.type.name not in INTEGRAL for f in edges.columns[2:]):
        return None
    return Relaxation(edges, value, known_as)


def _fits(own: Fields, key: Sequence[str], choice: Choice | None) -> bool:
    """Whether a state has a key and at most one other column, an integer that min or max chooses."""
    values = [f for f in own if f.name not in key]
    is_key = all(f.type.name in (*INTEGRAL, "string") for f in own if f.name in key)
    is_chosen = [f.name for f in values] == ([] if choice is None else [choice.column])
    return is_key and is_chosen and all(f.type.name in INTEGRAL for f in values)


def _rotated(items: Sequence[Item], at: int) -> list[Item]:
    return [items[at], *items[:at], *items[at + 1 :]]


def product_of(plan: Plan, state: str) -> Product | None:
    match plan:
        case Scan():
            return Product((), (), {f.name: column(f) for f in plan.columns})
        case Project():
            below = product_of(plan.rows, state)
            made = below and {r.name: substitute(r.expr, dict(below.results)) for r in plan.results}
            return below and Product(below.others, below.conditions, made or {})
        case Filter():
            below = product_of(plan.rows, state)
            return below and _where(below, plan.condition)
        case Join(kind="inner"):
            inner, other = (plan.left, plan.right) if _reads(plan.left, state) else (plan.right, plan.left)
            below = product_of(inner, state)
            if below is None:
                return None
            results = {**below.results, **{f.name: column(f) for f in other.columns}}
            return _where(Product((*below.others, other), below.conditions, results), plan.condition)
        case _:
            return None


def _where(product: Product, condition: Expr | None) -> Product:
    more = tuple(substitute(c, dict(product.results)) for c in conjuncts(condition))
    return Product(product.others, (*product.conditions, *more), product.results)


def _reads(plan: Plan, state: str) -> bool:
    return any(isinstance(leaf, Scan) and leaf.name == state for leaf in leaves(plan))


def _split(conditions: Sequence[Expr], scanned: Fields, at: int) -> tuple[Expr | None, list[Expr]]:
    """The expression that the state's key is looked up by, and the other conditions."""
    key = column(scanned[at])
    source: Expr | None = None
    others: list[Expr] = []
    for condition in conditions:
        match condition:
            case Call("eq", (left, right)) if key in (left, right):
                found = right if left == key else left
                others += [] if source is None else [Call("eq", (source, found), BOOLEAN)]
                source = source or found
            case Call("is_not_null", (Column(name),)) if name == key.name:
                pass  # a look-up of NULL finds nothing anyway
            case _:
                others.append(condition)
    return source, others


def _edges(found: Product, source: Expr, target: Expr, needed: Sequence[str], conditions: Sequence[Expr]) -> Project:
    """The edges: source, target, and the columns that the offered value needs."""
    rows = found.others[0]
    for other in found.others[1:]:
        rows = Join(rows, other, "inner", None, (*rows.columns, *other.columns))
    there = Call("is_not_null", (source,), BOOLEAN)
    condition = conjunction((*conditions, there))
    assert condition is not None
    types = {f.name: f for f in rows.columns}
    taken = [*types, *needed]
    ends = (
        Field(free_name("source", taken), source.type, False),
        Field(free_name("target", taken), target.type),
    )
    results = (
        Named(ends[0].name, source),
        Named(ends[1].name, target),
        *(Named(name, column(types[name])) for name in needed),
    )
    return Project(Filter(rows, condition), results, (*ends, *(types[name] for name in needed)))


def _is_strict(value: Expr, known_as: str) -> bool:
    """Whether the offered value grows strictly with the value at the source."""
    match value:
        case Column(name):
            return name == known_as
        case Call("add" | "subtract" as function, (left, right), kind) if kind.name in INTEGRAL:
            constant, varying = (left, right) if known_as in columns_of(right) else (right, left)
            is_after_minus = function == "subtract" and varying is right
            return known_as not in columns_of(constant) and not is_after_minus and _is_strict(varying, known_as)
        case Call("cast", (inner,), kind) if kind.name in INTEGRAL and inner.type.name in INTEGRAL:
            return _is_strict(inner, known_as)
        case _:
            return False
