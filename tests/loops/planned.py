"""Loops whose queries are written as plans: what needs no session."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

from viewlet.compile import Facts
from viewlet.loops.definition.define import LoopCompiler
from viewlet.loops.language.read_loop import read_loop
from viewlet.loops.language.syntax import LoopText
from viewlet.loops.run.prepared_loop import PreparedLoop
from viewlet.plan.expr import Call, Column, Named
from viewlet.plan.nodes import Join, Plan, Project, Scan
from viewlet.plan.types import BIGINT, BOOLEAN, Field

TEXT = "WITH RECURSIVE t(x, y) AS (SELECT src, dst FROM edges UNION SELECT stepped FROM t) SELECT * FROM t"


def bigints(*names: str) -> tuple[Field, ...]:
    return tuple(Field(name, BIGINT, True) for name in names)


def columns(rows: Plan, **results: str) -> Plan:
    """Some columns of rows, under other names."""
    named = tuple(Named(name, Column(of, BIGINT)) for name, of in results.items())
    return Project(rows, named, bigints(*results))


def joined(left: Plan, right: Plan, a: str, b: str) -> Plan:
    same = Call("eq", (Column(a, BIGINT), Column(b, BIGINT)), BOOLEAN)
    return Join(left, right, "inner", same, (*left.columns, *right.columns))


EDGES, PATHS = Scan("edges", bigints("e_src", "e_dst", "e_w")), Scan("t", bigints("t_x", "t_y"))
FIRST = columns(Scan("edges", bigints("src", "dst", "w")), f_x="src", f_y="dst")
STEPS = {
    "by an edge": columns(joined(PATHS, EDGES, "t_y", "e_src"), s_x="t_x", s_y="e_dst"),
    "by a path": columns(joined(PATHS, Scan("t", bigints("o_x", "o_y")), "t_y", "o_x"), s_x="t_x", s_y="o_y"),
}


@dataclass
class Planned:
    """What queries mean, without asking Spark: the first rows, the step, and the result."""

    view: str
    loop: LoopText
    step: Plan
    frames: None = None
    changing: set[str] = field(default_factory=set)
    fields: dict[str, tuple[Field, ...]] = field(default_factory=lambda: {"t": bigints("x", "y")})

    def analysed(self, query: str) -> Any:
        whole = Scan("t", bigints("r_x", "r_y"))
        plan = self.step if "stepped" in query else FIRST if "CAST" in query else whole
        jvm = SimpleNamespace(spark=SimpleNamespace(version="4.1"))
        return SimpleNamespace(plan=plan, columns=plan.columns, settings={}, jvm=jvm)

    def mentions(self) -> tuple[str, ...]:
        return ("edges",)


def closure(view: str, step: str) -> PreparedLoop:
    """The transitive closure of edges."""
    loop = read_loop(TEXT)
    assert loop is not None
    found = LoopCompiler(cast(Any, Planned(view, loop, STEPS[step])), Facts(), relaxes=False).compile()
    return PreparedLoop(view, found, loop)
