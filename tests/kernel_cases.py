"""The cases of every entry of the checked table, and how an expression is written in SQL."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pyspark

from tests.kernel_edges import (
    ALL,
    BINARY,
    DECIMALS,
    EDGES,
    FLOATS,
    INSTANTS,
    INTEGERS,
    NUMBERS,
    ORDERED,
    PAIR,
    SMALLINT,
    TINYINT,
    VOID,
    a,
    b,
    c,
    key_of,
)
from viewlet.plan.expr import Call, Column, Expr, Literal
from viewlet.plan.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, Type, decimal
from viewlet.spark.session.versions import change_of, version_of

MIXED = tuple(decimal(p, s) for p, s in ((4, 2), (18, 4), (19, 0), (38, 18), (38, 37)))

# How each function is written in SQL; `{0}`, `{1}` … are its arguments, `{all}` all of them, `{type}` its type.
SQL = {
    "eq": "({0} = {1})", "lt": "({0} < {1})", "le": "({0} <= {1})", "gt": "({0} > {1})", "ge": "({0} >= {1})",
    "eq_null_safe": "({0} <=> {1})", "and": "({0} AND {1})", "or": "({0} OR {1})", "not": "(NOT {0})",
    "is_null": "({0} IS NULL)", "is_not_null": "({0} IS NOT NULL)", "is_nan": "isnan({0})",
    "add": "({0} + {1})", "subtract": "({0} - {1})", "multiply": "({0} * {1})", "divide": "({0} / {1})",
    "div": "({0} div {1})", "mod": "({0} % {1})", "pmod": "pmod({0}, {1})", "negate": "(- {0})", "abs": "abs({0})",
    "try_add": "try_add({0}, {1})", "try_subtract": "try_subtract({0}, {1})", "try_multiply": "try_multiply({0}, {1})",
    "try_divide": "try_divide({0}, {1})", "try_mod": "try_mod({0}, {1})",
    "if": "if({all})", "coalesce": "coalesce({all})", "nullif": "nullif({all})",
    "greatest": "greatest({all})", "least": "least({all})",
    "cast": "CAST({0} AS {type})", "try_cast": "TRY_CAST({0} AS {type})", "legacy_cast": "CAST({0} AS {type})",
    "starts_with": "startswith({all})", "ends_with": "endswith({all})", "contains": "contains({all})",
    "like": "({0} LIKE {1})", "length": "length({0})", "upper": "upper({0})",
    "lower": "lower({0})", "substring": "substring({all})", "concat": "concat({all})",
    "collation_key": "CAST({0} AS {given})", "collate": "CAST(CAST({0} AS {given}) AS {type})",
    "trim": "trim({0})", "ltrim": "ltrim({0})", "rtrim": "rtrim({0})",
    "year": "year({0})", "month": "month({0})", "day": "day({0})", "quarter": "quarter({0})",
    "hour": "hour({0})", "minute": "minute({0})", "second": "second({0})",
    "add_micros": "({0} + {1} * INTERVAL '0.000001' SECOND)",
    "date_add": "date_add({all})", "date_sub": "date_sub({all})", "datediff": "datediff({all})",
    "named_struct": "named_struct({all})", "array": "array({all})", "sort_array": "sort_array({all})", "size": "size({0})",
    "ceil": "ceil({0})", "floor": "floor({0})", "round": "round({all})", "sqrt": "sqrt({0})",
    "bit_and": "({0} & {1})", "bit_or": "({0} | {1})", "bit_xor": "({0} ^ {1})",
    "shift_left": "shiftleft({0}, {1})", "shift_right": "shiftright({0}, {1})",
    "xxhash64": "xxhash64({all})",
    "hll_share": "pow(2D, length(bin(shiftleft({0}, {1}) | shiftleft(1L, {1} - 1))) - 65)",
    "unscaled": "CAST({0} * 100 AS BIGINT)", "normalize_float": "normalize({0})", "get_field": "{0}.{name}", "get_list_field": "{0}.{name}",
}  # fmt: skip
SQL |= {f"wrapping_{name}": SQL[name] for name in ("add", "subtract", "multiply", "divide", "mod", "negate", "abs")}


def sql(expr: Expr) -> str:
    """The expression as Spark reads it."""
    match expr:
        case Column(name, _):
            return name
        case Literal():
            return _sql_literal(expr)
        case Call("case", args):
            branches = "".join(f" WHEN {sql(c)} THEN {sql(v)}" for c, v in zip(args[0::2], args[1::2], strict=False))
            return f"(CASE{branches}{f' ELSE {sql(args[-1])}' if len(args) % 2 else ''} END)"
        case Call("in", args):
            return f"({sql(args[0])} IN ({', '.join(map(sql, args[1:]))}))"
        case Call(function, args, kind):
            texts = [sql(arg) for arg in args]
            field = (
                args[1].value if function in ("get_field", "get_list_field") and isinstance(args[1], Literal) else None
            )
            given = args[0].type if args else None
            return SQL[function.partition("[")[0]].format(
                *texts, all=", ".join(texts), type=kind, name=field, given=given
            )
    raise AssertionError(expr)


_CLASSES = {
    "upper": "Upper", "lower": "Lower", "collation_key": "CollationKey", "ceil": "Ceil", "floor": "Floor", "mode": "Mode",
    "corr": "Corr", "percentile": "Percentile",
}  # fmt: skip
"""Spark's classes of the functions that mean something else since some version."""


def as_of(function: str, version: str = pyspark.__version__) -> str:
    """What a function is called in a version of Spark."""
    name, _, parameters = function.partition("[")
    change = change_of(_CLASSES.get(name, ""), version_of(version))
    return f"{name}[{', '.join(filter(None, [parameters.rstrip(']'), change]))}]" if change else function


def _sql_literal(literal: Literal) -> str:
    value, kind = literal.value, literal.type
    if isinstance(value, str):
        quoted = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{quoted}'" if kind.name == "string" else f"CAST('{quoted}' AS {kind})"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, float):
        return f"CAST('{value!r}' AS {kind})"
    return f"CAST({'NULL' if value is None else value} AS {kind})"


def _call(function: str, *args: Expr, type: Type = VOID) -> Call:
    """A case: its type is Spark's own unless it is given."""
    return Call(function, args, type)


def _text(value: str | None) -> Literal:
    return Literal(value, STRING)


def _number(value: Any, kind: Type = INT) -> Literal:
    return Literal(value, kind)


def _comparisons() -> Iterator[Call]:
    for function, kind in product(("eq", "lt", "le", "gt", "ge", "eq_null_safe", "greatest", "least"), ORDERED):
        yield _call(function, a(kind), b(kind))
    for function, constant in product(("eq", "lt", "ge"), (_text("ab"), _text(""), Literal(b"\x80", BINARY))):
        yield _call(function, a(constant.type), constant)
    for function in ("greatest", "least"):
        yield _call(function, a(DOUBLE), b(DOUBLE), c(DOUBLE))
        yield _call(function, a(STRING), _text("b"), c(STRING))
    yield from _memberships()


def _memberships() -> Iterator[Call]:
    for kind in ORDERED:
        values = [v for v in EDGES[key_of(kind)][1][1:4] if kind.name not in ("date", "timestamp", "timestamp_ntz")]
        if values:
            listed = [Literal(v, kind) for v in values]
            yield _call("in", a(kind), *listed)
            yield _call("in", a(kind), *listed, Literal(None, kind))
    yield _call("in", a(INT), *(_number(i) for i in range(-3, 12)))
    yield _call("in", a(DOUBLE), *(_number(v, DOUBLE) for v in (float("nan"), 0.0)))


def _logic() -> Iterator[Call]:
    yield _call("and", a(BOOLEAN), b(BOOLEAN))
    yield _call("or", a(BOOLEAN), b(BOOLEAN))
    yield _call("not", a(BOOLEAN))
    for kind in ALL:
        yield _call("is_null", a(kind))
        yield _call("is_not_null", a(kind))
    for kind in FLOATS:
        yield _call("is_nan", a(kind))
        yield _call("normalize_float", a(kind), type=kind)
    # What is decided by the left side does not fail on the right.
    quotient_positive = Call("gt", (Call("divide", (a(DOUBLE), b(DOUBLE)), DOUBLE), _number(0.0, DOUBLE)), BOOLEAN)
    zero = Call("eq", (b(DOUBLE), _number(0.0, DOUBLE)), BOOLEAN)
    yield _call("and", Call("not", (zero,), BOOLEAN), quotient_positive)
    yield _call("or", zero, quotient_positive)
    yield _call("and", a(BOOLEAN), quotient_positive)


def _arithmetic() -> Iterator[Call]:
    for function in ("add", "subtract", "multiply", "mod", "pmod"):
        for kind in (*INTEGERS, *FLOATS):
            yield _call(function, a(kind), b(kind))
    for function, kind in product(("try_add", "try_subtract", "try_multiply", "try_mod"), (*INTEGERS, *FLOATS)):
        yield _call(function, a(kind), b(kind))
    for function in ("wrapping_add", "wrapping_subtract", "wrapping_multiply", "wrapping_mod"):
        for kind in (*INTEGERS, DOUBLE, decimal(38, 0)):
            yield _call(function, a(kind), b(kind))
    for function in ("divide", "try_divide", "wrapping_divide"):
        yield _call(function, a(DOUBLE), b(DOUBLE))
    for function, left, right in product(("add", "subtract", "multiply", "divide", "mod"), MIXED, MIXED):
        yield _call(function, a(left), b(right))
    for function, kind in product(("add", "subtract", "multiply", "divide", "mod"), DECIMALS):
        yield _call(function, a(kind), b(kind))
    for function, left in product(("try_add", "try_multiply", "try_divide", "wrapping_divide"), DECIMALS):
        yield _call(function, a(left), b(decimal(38, 18)))
    yield _call("div", a(BIGINT), b(BIGINT))
    for kind in NUMBERS:
        yield _call("negate", a(kind))
        yield _call("abs", a(kind))
        yield _call("wrapping_negate", a(kind))
        yield _call("wrapping_abs", a(kind))
    yield _call("unscaled", a(decimal(4, 2)), type=BIGINT)
    for function, kind in product(("bit_and", "bit_or", "bit_xor"), INTEGERS):
        yield _call(function, a(kind), b(kind))
    for function, kind in product(("shift_left", "shift_right"), (INT, BIGINT)):
        yield _call(function, a(kind), b("small"))
    yield _call("sqrt", a(DOUBLE))
    yield from _rounding()
    # A NULL on one side keeps the other from being evaluated; division looks at its right side first.
    yield _call("add", a(DOUBLE), Call("divide", (a(DOUBLE), b(DOUBLE)), DOUBLE))
    yield _call("divide", Call("divide", (c(DOUBLE), a(DOUBLE)), DOUBLE), b(DOUBLE))
    yield _call("multiply", a(INT), _number(1000))
    yield _call("subtract", _number(1), a(INT))


def _rounding() -> Iterator[Call]:
    for function, kind in product(("ceil", "floor"), (BIGINT, DOUBLE, *DECIMALS)):
        yield _call(function, a(kind))
    for kind, digits in product((*INTEGERS, *DECIMALS), (0, 1, 3)):
        yield _call("round", a(kind), _number(digits))


def _conditionals() -> Iterator[Call]:
    for kind in ALL:
        yield _call("case", a(BOOLEAN), a(kind), b(BOOLEAN), b(kind), c(kind))
        yield _call("case", a(BOOLEAN), a(kind), b(BOOLEAN), b(kind))
        yield _call("if", a(BOOLEAN), a(kind), b(kind))
        yield _call("coalesce", a(kind), b(kind), c(kind))
    for kind in ORDERED:
        yield _call("nullif", a(kind), b(kind))
    quotient = Call("divide", (a(DOUBLE), b(DOUBLE)), DOUBLE)
    zero = Call("eq", (b(DOUBLE), _number(0.0, DOUBLE)), BOOLEAN)
    sum_of_ints = Call("add", (a(INT), b(INT)), INT)
    yield _call("case", zero, a(DOUBLE), Call("gt", (quotient, _number(1.0, DOUBLE)), BOOLEAN), quotient, b(DOUBLE))
    yield _call("if", zero, _number(-1.0, DOUBLE), quotient)
    yield _call("case", a(BOOLEAN), quotient)
    yield _call("coalesce", a(INT), sum_of_ints)
    yield _call("coalesce", c(INT), sum_of_ints, _number(5))
    yield _call("coalesce", a(STRING), _text("none"))
    yield _call("nullif", a(DOUBLE), quotient)
    yield _call("greatest", a(INT), _number(2), b(INT))


def _casts() -> Iterator[Call]:
    simple = (BOOLEAN, *INTEGERS, *FLOATS, *DECIMALS, DATE, *INSTANTS, STRING, BINARY)
    for mode, source, target in product(("cast", "try_cast"), simple, simple):
        yield _call(mode, a(source), type=target)
    for source, target in product((BOOLEAN, *INTEGERS, *DECIMALS), (BOOLEAN, *INTEGERS, DOUBLE, *DECIMALS)):
        yield _call("legacy_cast", a(source), type=target)
    for mode, kind in product(("cast", "try_cast"), INTEGERS):
        yield _call(mode, a("readable"), type=kind)
    for mode in ("cast", "try_cast"):
        yield _call(mode, a("truth"), type=BOOLEAN)
        yield _call(mode, a("date_text"), type=DATE)
    for mode, target in product(("cast", "try_cast"), (decimal(5, 2), decimal(15, 6), decimal(9, 0))):
        yield _call(mode, a("printed"), type=target)
    yield _call("cast", Literal(None, VOID), type=INT)
    yield _call("cast", Call("add", (a(INT), _number(1)), INT), type=STRING)


def _collations() -> Iterator[Call]:
    for name in ("lcase", "lcase_rtrim", "binary_rtrim"):
        yield _call("collation_key", a(name))
        yield _call("collate", a(name), type=STRING)
        yield _call("collate", a(STRING), type=a(name).type)


def _strings() -> Iterator[Call]:
    for function in ("starts_with", "ends_with", "contains"):
        yield _call(function, a(STRING), b(STRING))
        for part in ("a", "", "😀", None):
            yield _call(function, a(STRING), _text(part))
    for pattern in ("%", "", "a%", "%b", "_", "__", "a_%", "%\\%%", "%\\\\", "a%b", "%😀%", ".*", "[a]", "é"):
        yield _call("like", a(STRING), _text(pattern))
    for function in ("trim", "ltrim", "rtrim", "length", "upper", "lower"):
        yield _call(function, a(STRING))
    yield _call("length", a(BINARY))
    yield _call("substring", a(STRING), b("small"), c("small"))
    edges = (0, 1, 2, -1, -2, -5, 2**31 - 1, -(2**31))
    for position, length in product(edges, (0, 1, 2, 5, -1, 2**31 - 1)):
        yield _call("substring", a(STRING), _number(position), _number(length))
    yield _call("concat", a(STRING), b(STRING), _text("-"), c(STRING))
    yield _call("concat", a(BINARY), b(BINARY))
    yield _call("concat", a(STRING))


def _dates() -> Iterator[Call]:
    for function in ("year", "month", "day", "quarter"):
        yield _call(function, a(DATE))
    for function, kind in product(("hour", "minute", "second"), INSTANTS):
        yield _call(function, a(kind))
    for function, kind in product(("date_add", "date_sub"), (TINYINT, SMALLINT, INT)):
        yield _call(function, a(DATE), b(kind))
    yield _call("datediff", a(DATE), b(DATE))
    for kind in INSTANTS:
        yield Call("precise_time", (a(kind),), BIGINT)
        yield Call("precise_time", (a(BIGINT),), kind)
        for micros in (0, 1, -600_000_000, 86_400_000_000, 2**63 - 1):
            yield Call("add_micros", (a(kind), Literal(micros, BIGINT)), kind)


def _nested() -> Iterator[Call]:
    yield _call("get_field", a(PAIR), _text("x"))
    yield _call("get_field", a(PAIR), _text("y"))
    for name in ("x", "y"):
        yield _call("get_list_field", a("array_struct"), _text(name))
    yield _call("named_struct", _text("i"), a(INT), _text("s"), b(STRING), _text("p"), c(PAIR), _text("k"), _number(1))
    for kind in ALL:
        yield _call("array", a(kind), b(kind))
    yield _call("array", a(INT), _number(None), _number(3))
    for name in ("array", "array_string", "array_struct", "map"):
        yield _call("size", a(name))
    for name, order in product(("array", "array_string", "array_struct", "array_array"), (True, False)):
        yield _call("sort_array", a(name), Literal(order, BOOLEAN))


def _hashes() -> Iterator[Call]:
    for kind in ORDERED:
        yield _call("xxhash64", a(kind), type=BIGINT)
    for i in range(9):
        longer = Call("concat", (_text("x" * 5 * i), a(STRING), _text("é" * i), b(STRING), a(STRING)), STRING)
        yield _call("xxhash64", longer, type=BIGINT)
    yield _call("xxhash64", a(STRING), b(INT), c(DOUBLE), a(BINARY), _number(7), type=BIGINT)
    for bits in (4, 9, 18, 25):
        hashed = Call("xxhash64", (a(BIGINT),), BIGINT)
        yield from (_call("hll_share", h, _number(bits), type=DOUBLE) for h in (a(BIGINT), hashed))


FAMILIES = (_comparisons, _logic, _arithmetic, _conditionals, _casts, _strings, _collations, _dates, _nested, _hashes)
WITHOUT_ANSI = ("wrapping_", "legacy_")
