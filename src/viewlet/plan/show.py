"""Plans and expressions as text, for `explain`, logs, errors and golden files.

Each operator takes one line, with its inputs indented below. The text is deterministic; a subtree that occurs twice is
named and written once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any, assert_never

from viewlet.plan.expr import Call, Column, Expr, Frame, Literal, Named, Opaque, Order, Over, Reduce, conjuncts
from viewlet.plan.nodes import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Input,
    Join,
    Plan,
    Project,
    Scan,
    Sessions,
    SparkOperator,
    Top,
    Union,
    Values,
    Window,
    children,
)  # fmt: skip
from viewlet.plan.types import Field
from viewlet.plan.words import identifier

INFIX = {
    "or": ("OR", 1), "and": ("AND", 2), "eq": ("=", 4), "eq_null_safe": ("<=>", 4), "lt": ("<", 4), "le": ("<=", 4),
    "gt": (">", 4), "ge": (">=", 4), "like": ("LIKE", 4), "bit_or": ("|", 5), "bit_xor": ("^", 5), "bit_and": ("&", 5),
    "add": ("+", 6), "subtract": ("-", 6), "multiply": ("*", 7), "divide": ("/", 7), "mod": ("%", 7), "div": ("DIV", 7),
}  # fmt: skip
"""Infix functions, with their precedence."""

SUFFIX = {"is_null": "IS NULL", "is_not_null": "IS NOT NULL"}
NOT, COMPARISON, ATOM = 3, 4, 9
_MOST_BYTES = 64
"""Longer byte constants are not shown."""


def show(plan: Plan) -> str:
    """A plan as an indented tree."""
    return "\n".join(_lines(plan, 0, _shared(plan), {}))


def show_expr(expr: Expr) -> str:
    """An expression in SQL's notation."""
    return _render(expr)[0]


def _shared(plan: Plan) -> set[int]:
    """The nodes that occur more than once in a plan."""
    counts: Counter[int] = Counter()
    todo: list[Plan] = [plan]
    while todo:
        node = todo.pop()
        counts[id(node)] += 1
        if counts[id(node)] == 1:
            todo.extend(children(node))
    return {key for key, count in counts.items() if count > 1}


def _lines(plan: Plan, depth: int, shared: set[int], named: dict[int, str]) -> Iterator[str]:
    indent = "  " * depth
    if id(plan) in named:
        yield f"{indent}{named[id(plan)]}"
        return
    label = ""
    if id(plan) in shared and children(plan):
        named[id(plan)] = f"#{len(named) + 1}"
        label = f"{named[id(plan)]} := "
    yield f"{indent}{label}{show_node(plan)}"
    for child in children(plan):
        yield from _lines(child, depth + 1, shared, named)


def show_node(plan: Plan) -> str:
    """One operator, without its inputs."""
    match plan:
        case Scan(name, columns):
            return f"Scan {name} [{_names(columns)}]"
        case Input(index, columns):
            return f"Input {index} [{_names(columns)}]"
        case Values(rows, columns):
            return f"Values [{_names(columns)}] {_rows(rows)}".rstrip()
        case Filter(_, condition):
            return f"Filter {show_expr(condition)}"
        case Project(_, results):
            return f"Project {_results(results)}".rstrip()
        case Join(_, _, kind, condition):
            return f"Join {kind}" + (
                "" if condition is None else f" {' AND '.join(_tight(c) for c in conjuncts(condition))}"
            )
        case Aggregate(_, keys, results):
            return f"Aggregate [{_list(keys)}] {_results(results)}".rstrip()
        case Union(_, columns):
            return f"Union [{_names(columns)}]"
        case Expand(_, projections, columns):
            return f"Expand [{_names(columns)}] {', '.join(f'({_list(p)})' for p in projections)}"
        case Generate(_, generator, outer, generated, columns):
            made = columns[len(columns) - generated :]
            return f"Generate {'outer ' if outer else ''}{show_expr(generator)} AS {_names(made)} [{_names(columns)}]"
        case Window(_, partition, order, results):
            by = " ".join(
                filter(None, (_clause("PARTITION BY", _list(partition)), _clause("ORDER BY", _orders(order))))
            )
            return f"Window [{by}] {_results(results)}".rstrip()
        case Sessions(_, keys, span):
            return f"Sessions [{_list(keys)}] {show_expr(span)}"
        case Top(_, order, limit, offset):
            bounds = ("" if limit is None else f" {limit}") + (f" OFFSET {offset}" if offset else "")
            return f"Top{bounds} ORDER BY {_orders(order)}"
        case SparkOperator(_, text, reason, columns):
            return f"Spark {text} [{_names(columns)}]: {reason}"
        case _:
            assert_never(plan)


def _clause(word: str, text: str) -> str:
    return f"{word} {text}" if text else ""


def _names(columns: tuple[Field, ...]) -> str:
    return ", ".join(identifier(f.name) for f in columns)


def _list(exprs: tuple[Expr, ...]) -> str:
    return ", ".join(show_expr(e) for e in exprs)


def _rows(rows: tuple[tuple[Any, ...], ...]) -> str:
    shown = ", ".join(f"({', '.join(_constant(v) for v in row)})" for row in rows[:5])
    return shown + (f", … ({len(rows)} rows)" if len(rows) > 5 else "")


def _results(results: tuple[Named, ...]) -> str:
    return ", ".join(show_named(r) for r in results)


def show_named(result: Named) -> str:
    """A result with its name, which is left out for a column that keeps its own."""
    if isinstance(result.expr, Column) and result.expr.name == result.name:
        return identifier(result.name)
    return f"{show_expr(result.expr)} AS {identifier(result.name)}"


def _orders(order: tuple[Order, ...]) -> str:
    return ", ".join(show_order(o) for o in order)


def show_order(order: Order) -> str:
    """One term of an ORDER BY; the position of NULLs is shown only if it is not the default."""
    text = show_expr(order.key) + (" DESC" if order.descending else "")
    if order.nulls_first == order.descending:
        text += " NULLS FIRST" if order.nulls_first else " NULLS LAST"
    return text


def _tight(expr: Expr) -> str:
    """An expression as a term of a conjunction."""
    return _within(expr, INFIX["and"][1] + 1)


def _within(expr: Expr, binding: int) -> str:
    """An expression, in parentheses if it binds more loosely than its surroundings."""
    text, own = _render(expr)
    return text if own >= binding else f"({text})"


def _render(expr: Expr) -> tuple[str, int]:
    """The text of an expression, and its precedence."""
    match expr:
        case Column(name):
            return identifier(name), ATOM
        case Literal(value):
            return _constant(value), ATOM
        case Opaque(text):
            return text, ATOM
        case Call():
            return _call(expr)
        case Reduce():
            return _reduce(expr), ATOM
        case Over():
            return _over(expr), ATOM
        case _:
            assert_never(expr)


def _call(call: Call) -> tuple[str, int]:
    args = call.args
    if call.function in INFIX and len(args) == 2:
        return _infix(args, *INFIX[call.function], chains=call.function in ("and", "or"))
    match call.function:
        case "not" if isinstance(args[0], Call) and args[0].function == "eq":
            return _infix(args[0].args, "<>", COMPARISON, chains=False)
        case "not":
            return f"NOT {_within(args[0], NOT + 1)}", NOT
        case "is_null" | "is_not_null":
            return f"{_within(args[0], COMPARISON + 1)} {SUFFIX[call.function]}", COMPARISON
        case "in":
            return f"{_within(args[0], COMPARISON + 1)} IN ({_list(args[1:])})", COMPARISON
        case "negate":
            return f"-{_within(args[0], ATOM)}", ATOM - 1
        case "cast" | "try_cast" | "legacy_cast":
            return f"{call.function}({show_expr(args[0])} AS {call.type})", ATOM
        case "collate":
            return f"cast({show_expr(args[0])} AS {call.type})", ATOM
        case "case":
            return _case(args), ATOM
        case "get_field" if isinstance(args[1], Literal):
            return f"{_within(args[0], ATOM)}.{identifier(str(args[1].value))}", ATOM
        case name:
            return f"{name}({_list(args)})", ATOM


def _infix(args: tuple[Expr, ...], sign: str, binding: int, *, chains: bool) -> tuple[str, int]:
    """Two arguments with an infix sign; `chains`: the sign is associative."""
    left, right = _within(args[0], binding + (binding == COMPARISON)), _within(args[1], binding + (not chains))
    return f"{left} {sign} {right}", binding


def _case(args: tuple[Expr, ...]) -> str:
    pairs = len(args) // 2
    text = "".join(f" WHEN {show_expr(args[2 * i])} THEN {show_expr(args[2 * i + 1])}" for i in range(pairs))
    return f"CASE{text}{f' ELSE {show_expr(args[-1])}' if len(args) % 2 else ''} END"


def _reduce(call: Reduce) -> str:
    args = _list(call.args) if call.args or call.function != "count" else "*"
    where = "" if call.where is None else f" FILTER (WHERE {show_expr(call.where)})"
    return f"{call.function}({'DISTINCT ' if call.distinct else ''}{args}){where}"


def _over(call: Over) -> str:
    where = "" if call.where is None else f" FILTER (WHERE {show_expr(call.where)})"
    nulls = " IGNORE NULLS" if call.ignore_nulls else ""
    args = _list(call.args) if call.args or call.function != "count" else "*"
    return f"{call.function}({args}){nulls}{where} OVER ({_frame(call.frame)})"


def _frame(frame: Frame) -> str:
    lower = "UNBOUNDED PRECEDING" if frame.lower is None else _bound(frame.lower)
    upper = "UNBOUNDED FOLLOWING" if frame.upper is None else _bound(frame.upper)
    return f"{frame.unit.upper()} {lower} TO {upper}"


def _bound(bound: Expr) -> str:
    if isinstance(bound, Literal) and bound.value == 0:
        return "CURRENT ROW"
    return show_expr(bound)


def _constant(value: Any) -> str:
    """A constant as SQL writes it, abbreviated if it is long."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case bytes():
            return f"X'{value.hex().upper()}'" if len(value) <= _MOST_BYTES else f"{len(value):,} bytes"
        case datetime():
            return value.replace(tzinfo=None).isoformat(sep=" ") + ("" if value.tzinfo is None else "Z")
        case date():
            return value.isoformat()
        case Decimal():
            return format(value, "f")
        case float() | int():
            return repr(value)
        case _:
            return str(value)
