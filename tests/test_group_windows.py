"""Windows, orders and row-wise operators evaluated here are those that Spark gives."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.local_edges import (
    G_ABOVE_2,
    ID,
    KINDS,
    G,
    assert_same,
    close,
    column,
    run,
    source,
)
from viewlet.engine.groups import why_not
from viewlet.engine.groups.window_functions import RANKS
from viewlet.plan.expr import Call, Column, Expr, Frame, Literal, Named, Order, Over, Reduce
from viewlet.plan.nodes import Aggregate, Expand, Filter, Project, Top, Union, Values, Window
from viewlet.plan.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Field, Type, decimal

pytestmark = pytest.mark.spark


ORDERS = [
    ("asc", False, True),
    ("desc", True, False),
    ("asc nulls last", False, False),
    ("desc nulls first", True, True),
]
ROWS_TO_HERE = Frame("rows", None, Literal(0, INT))
PEERS = Frame("range", None, Literal(0, INT))
FRAMES = {
    "rows between unbounded preceding and current row": ROWS_TO_HERE,
    "range between unbounded preceding and current row": PEERS,
    "rows between unbounded preceding and unbounded following": Frame("rows", None, None),
    "range between current row and unbounded following": Frame("range", Literal(0, INT), None),
    "range between current row and current row": Frame("range", Literal(0, INT), Literal(0, INT)),
    "rows between 2 preceding and 1 following": Frame("rows", Literal(-2, INT), Literal(1, INT)),
    "rows between 3 following and 5 following": Frame("rows", Literal(3, INT), Literal(5, INT)),
    "rows between 9 preceding and 4 preceding": Frame("rows", Literal(-9, INT), Literal(-4, INT)),
    "rows between current row and unbounded following": Frame("rows", Literal(0, INT), None),
}


def window_cases() -> list[tuple[Over, str, bool]]:
    """Window calls, their texts, and whether the text still lacks its frame."""
    x = column("decimal(18,4)")
    cases: list[tuple[Over, str, bool]] = []
    for name in RANKS:
        args: tuple[Expr, ...] = (Literal(3, INT),) if name == "ntile" else ()
        kind = DOUBLE if name in ("percent_rank", "cume_dist") else INT
        cases.append((Over(name, args, kind, ROWS_TO_HERE), f"{name}({3 if args else ''})", False))
    for name, step in (("lag", -2), ("lead", 1), ("lag", 3), ("lead", 0)):
        at = Frame("rows", Literal(step, INT), Literal(step, INT))
        distance = -step if name == "lag" else step
        default = Literal(Decimal("7.0000"), x.type) if step == 1 else Literal(None, x.type)
        args = (x, Literal(step, INT), default)
        text = f"{name}({x.name}, {distance}, {'7.0000' if step == 1 else 'null'})"
        cases.append((Over(name, args, x.type, at), text, False))
    for frame in FRAMES.values():
        cases += framed_cases(frame)
    return cases


def framed_cases(frame: Frame) -> list[tuple[Over, str, bool]]:
    x, s, d = column("decimal(18,4)"), column("string"), column("double")
    long, small, wild = column("bigint"), column("small"), column("wild")
    cases: list[tuple[Over, str, bool]] = []
    for name in ("first", "last"):
        cases.append((Over(name, (x,), x.type, frame), f"{name}({x.name})", True))
        cases.append((Over(name, (s,), s.type, frame, ignore_nulls=True), f"{name}({s.name}, true)", True))
    cases.append((Over("nth_value", (s, Literal(2, INT)), s.type, frame), f"nth_value({s.name}, 2)", True))
    cases.append((Over("count", (), BIGINT, frame), "count(*)", True))
    cases.append((Over("count", (s,), BIGINT, frame), f"count({s.name})", True))
    for column_, kind in ((x, decimal(28, 4)), (long, BIGINT), (d, DOUBLE)):
        cases.append((Over("sum", (column_,), kind, frame), f"sum({column_.name})", True))
    cases.append((Over("avg", (x,), decimal(22, 8), frame), f"avg({x.name})", True))
    cases.append((Over("avg", (small,), DOUBLE, frame), f"avg({small.name})", True))
    for column_ in (s, wild, x):
        cases += [(Over(f, (column_,), column_.type, frame), f"{f}({column_.name})", True) for f in ("min", "max")]
    cases.append((Over("collect_list", (s,), Type("array", (STRING,)), frame), f"collect_list({s.name})", True))
    cases.append((Over("stddev_samp", (d,), DOUBLE, frame), f"stddev_samp({d.name})", True))
    return cases


def test_every_window_function_has_a_case() -> None:
    assert {w.function for w, _, _ in window_cases()} >= set(RANKS) | {"lag", "lead", "first", "last", "nth_value"}


def window_plan(cases: list[Over], partition: tuple[Expr, ...], order: tuple[Order, ...]) -> Project:
    rows = source()
    results = tuple(Named(f"w{i}", over) for i, over in enumerate(cases))
    more = tuple(Field(r.name, r.expr.type) for r in results)
    window = Window(rows, partition, order, results, rows.columns + more)
    wanted = (Field("id", INT), *more)
    return Project(window, tuple(Named(f.name, Column(f.name, f.type)) for f in wanted), wanted)


@pytest.mark.parametrize("partitioned", [True, False])
def test_windows(sql: Any, partitioned: bool) -> None:
    """Every function and frame, over an order that leaves nothing open but equal rows."""
    cases = window_cases()
    partition = (G,) if partitioned else ()
    order = (Order(column("int"), True, True), Order(ID, False, True))
    by = ("partition by g " if partitioned else "") + f"order by {column('int').name} desc nulls first, id"
    frames = {frame: text for text, frame in FRAMES.items()}
    texts = [
        f"{t} over ({by} {frames[over.frame] if framed else ''}) w{i}" for i, (over, t, framed) in enumerate(cases)
    ]
    expected = sql(f"select id, {', '.join(texts)} from t")
    for key in ("g", None) if partitioned else (None,):
        ours = run(window_plan([over for over, _, _ in cases], partition, order), ("t",), key)
        here, there = rows_by_place(ours), rows_by_place(expected)
        for i, (_, _, _) in enumerate(cases):
            for a, b in zip(here, there, strict=True):
                assert close(a[i + 1], b[i + 1], signed=False), (texts[i], a[0], a[i + 1], b[i + 1])


def rows_by_place(table: pa.Table) -> list[tuple[Any, ...]]:
    """Rows by id and, for the two of an equal pair, by row_number, which is the first window call."""
    return sorted(zip(*(c.to_pylist() for c in table.columns), strict=True), key=lambda row: (row[0], row[1]))


@pytest.mark.parametrize("direction", ORDERS, ids=[o[0] for o in ORDERS])
def test_order_of_every_type(sql: Any, direction: tuple[str, bool, bool]) -> None:
    """rank() shows the order of all values at once."""
    words, descending, nulls_first = direction
    by = {kind: f"order by {column(kind).name} {words}" for kind in KINDS}
    calls = [Over(f, (), INT, ROWS_TO_HERE) for f in ("rank", "dense_rank")]
    texts = [f"{c.function}() over ({by[kind]}) {c.function}_{column(kind).name}" for kind in KINDS for c in calls]
    expected = sql(f"select id, {', '.join(texts)} from t")
    for i, kind in enumerate(KINDS):
        ours = run(window_plan(calls, (), (Order(column(kind), descending, nulls_first),)), ("t",), None)
        assert_same(ours, expected.select([0, 1 + 2 * i, 2 + 2 * i]), kind)


@pytest.mark.parametrize(("limit", "offset"), [(3, 0), (7, 5), (1000, 2), (None, 50), (0, 0)])
def test_top(sql: Any, limit: int | None, offset: int) -> None:
    order = (Order(column("string"), True, False), Order(ID, False, True))
    plan = Top(source(), order, limit, offset)
    text = f"select * from t order by {column('string').name} desc nulls last, id"
    words = "" if limit is None else f" limit {limit}"
    assert_same(run(plan, ("t",), None), sql(f"{text}{words} offset {offset}"))


def test_top_of_each_group(sql: Any) -> None:
    plan = Top(source(), (Order(ID, True, False),), 3, 1)
    ranked = "select *, row_number() over (partition by g order by id desc) n from t"
    expected = sql(f"select * from ({ranked}) where n between 2 and 4").drop_columns(["n"])
    assert_same(run(plan, ("t",), "g"), expected)


def test_rowwise_operators(sql: Any) -> None:
    rows = source()
    fields = (Field("id", INT), Field("x", BIGINT), Field("s", STRING))
    null = Literal(None, BIGINT)
    expand = Expand(
        Filter(rows, G_ABOVE_2),
        ((ID, column("bigint"), column("string")), (ID, null, Literal("all", STRING))),
        fields,
    )
    constants = Values(((1, 2, "x"), (None, 3, None)), fields)
    text = f"select id, {column('bigint').name} x, {column('string').name} s from t where g > 2"
    text += " union all select id, null, 'all' from t where g > 2"
    assert_same(run(expand, ("t",), "g"), sql(text))
    union = Union((expand, constants), tuple(Field(f"u_{f.name}", f.type) for f in fields))
    assert_same(run(union, ("t",), None), sql(f"{text} union all values (1, 2, 'x'), (null, 3, null)"))
    assert why_not(union) == "a union of constant rows with others is evaluated by Spark alone"


def test_results_over_keys_and_calls(sql: Any) -> None:
    """HAVING, arithmetic on results, and keys that are expressions."""
    parity = Call("mod", (ID, Literal(3, INT)), INT)
    total = Reduce("sum", (column("bigint"),), BIGINT)
    lifted = Call("add", (Reduce("count", (), BIGINT), Literal(1, BIGINT)), BIGINT)
    results = (Named("p", Call("add", (parity, Literal(1, INT)), INT)), Named("n", lifted), Named("s", total))
    fields = tuple(Field(r.name, r.expr.type) for r in results)
    grouped = Aggregate(source(), (parity,), results, fields)
    plan = Filter(grouped, Call("gt", (Column("n", BIGINT), Literal(5, BIGINT)), BOOLEAN))
    text = f"select id % 3 + 1 p, count(*) + 1 n, sum({column('bigint').name}) s from t group by id % 3"
    assert_same(run(plan, ("t",), None), sql(f"select * from ({text}) where n > 5"))
