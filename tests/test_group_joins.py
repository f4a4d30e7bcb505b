"""Joins evaluated here are those that Spark gives: kind by kind, condition by condition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.local_edges import (
    ID,
    KINDS,
    TABLES,
    G,
    assert_same,
    column,
    source,
    weighted,
)
from tests.marks import quickly
from viewlet.engine.groups import compile_plan, why_not
from viewlet.plan.expr import Call, Column, Expr, Literal, Named
from viewlet.plan.nodes import Join, Project
from viewlet.plan.types import BOOLEAN, INT, STRING, Field

pytestmark = pytest.mark.spark


def eq(a: Column, b: Column, *, null_safe: bool = False) -> Call:
    return Call("eq_null_safe" if null_safe else "eq", (a, b), BOOLEAN)


def both(a: Expr, b: Expr) -> Call:
    return Call("and", (a, b), BOOLEAN)


JOINS = {
    "inner": "join",
    "left": "left join",
    "right": "right join",
    "full": "full join",
    "semi": "left semi join",
    "anti": "left anti join",
}
TEXT = Column(f"r_{column('string').name}", STRING)
RG, RID = Column("r_g", INT), Column("r_id", INT)
CONDITIONS: dict[str, tuple[Expr | None, str, bool]] = {
    "g": (eq(G, RG), "a.g = b.g", True),
    "g null-safe": (eq(RG, G, null_safe=True), "a.g <=> b.g", True),
    "g and rest": (
        both(eq(G, RG), Call("lt", (ID, RID), BOOLEAN)),
        "a.g = b.g and a.id < b.id",
        True,
    ),
    "g and left only": (
        both(eq(G, RG), Call("gt", (ID, Literal(20, INT)), BOOLEAN)),
        "a.g = b.g and a.id > 20",
        True,
    ),
    "inequality": (Call("lt", (ID, RID), BOOLEAN), "a.id < b.id", False),
    "NOT IN": (
        Call("or", (eq(G, RG), Call("is_null", (eq(G, RG),), BOOLEAN)), BOOLEAN),
        "a.g = b.g or (a.g = b.g) is null",
        False,
    ),
    "all pairs": (None, "true", False),
}


def join(kind: str, condition: Expr | None) -> Project:
    left, right = source(), source(1, "r_")
    found = Field("found", BOOLEAN)
    sides = {"semi": left.columns, "anti": left.columns, "exists": (*left.columns, found)}
    joined = Join(left, right, kind, condition, sides.get(kind, left.columns + right.columns))
    wanted = [
        Column(f.name, f.type) for f in joined.columns if f.name in ("id", "g", "r_id", "r_g", TEXT.name, "found")
    ]
    return Project(joined, tuple(Named(c.name, c) for c in wanted), tuple(Field(c.name, c.type) for c in wanted))


@pytest.mark.parametrize(
    ("condition", "tables"),
    [(c, ("t", "u")) for c in CONDITIONS]
    + [(c, tables) for c in ("g and rest", "inequality") for tables in (("nothing", "u"), ("t", "nothing"))],
)
def test_joins(sql: Any, condition: str, tables: tuple[str, str]) -> None:
    expr, text, is_keyed = CONDITIONS[condition]
    for kind, words in JOINS.items():
        columns = (
            "a.id, a.g" if kind in ("semi", "anti") else f"a.id, a.g, b.id r_id, b.g r_g, b.{column('string').name}"
        )
        expected = sql(f"select {columns} from {tables[0]} a {words} {tables[1]} b on {text}")
        for keyed in (True, False) if is_keyed else (False,):
            plan = join(kind, expr)
            inputs = [weighted(TABLES[n]) for n in tables]
            assert why_not(plan, keyed=keyed) is None
            if keyed:
                inputs = [r.with_columns({"_key": pa.array(r.hashes(["g"]).astype(np.int64))}) for r in inputs]
            result = compile_plan(plan, keyed=keyed)(inputs).expanded().arrow()
            assert_same(result.drop_columns(["_key"]) if keyed else result, expected, f"{kind} on {text}")
    expected = sql(f"select a.id, a.g, exists(select 1 from {tables[1]} b where {text}) from {tables[0]} a")
    inputs = [weighted(TABLES[n]) for n in tables]
    assert_same(compile_plan(join("exists", expr), keyed=False)(inputs).expanded().arrow(), expected, text)


@pytest.mark.parametrize("kind", quickly(11, [*KINDS][::2] + [*KINDS][1::2]))
def test_join_keys(sql: Any, kind: str) -> None:
    """Equality of every type as a join key: NULL finds nothing, NaN finds NaN, −0.0 finds 0.0."""
    a = column(kind)
    b = Column(f"r_{a.name}", a.type)
    for null_safe, sign in ((False, "="), (True, "<=>")):
        plan = join("inner", eq(a, b, null_safe=null_safe))
        expected = sql(
            f"select a.id, a.g, b.id, b.g, b.{column('string').name} from t a join u b on a.{a.name} {sign} b.{a.name}"
        )
        result = compile_plan(plan, keyed=False)([weighted(TABLES["t"]), weighted(TABLES["u"])])
        assert_same(result.expanded().arrow(), expected, kind)
