"""Conditions and scalar expressions over a query's columns; none can fail on the values there are, unless ANSI is off."""

from __future__ import annotations

from tests.oracle.queries import INTEGERS, OPAQUE, REAL, Column, Queries, Query
from tests.oracle.values import (
    ARRAY,
    CHAR,
    COLLATED,
    DURATION,
    JSON,
    MAP,
    MONTHS,
    NUMBERS,
    SCALARS,
    STRUCT,
    STRUCTS,
    TIME,
    VARCHAR,
    VARIANT,
)


def condition(g: Queries, q: Query) -> str:
    column = g.pick(q.ordered or q.columns)
    c, kind = column.name, column.type
    tests = [f"{c} IS NOT NULL", f"{c} IS NULL"]
    if kind in NUMBERS:
        tests += [f"{c} > 0", f"{c} <= 1 OR {c} IS NULL", f"{c} <> 1", f"NOT ({c} = 2)", f"{c} IN (1, 2, NULL)", f"{c} BETWEEN -1 AND 2"]  # fmt: skip
    if kind == "string":
        tests += [f"{c} >= 'a'", f"{c} LIKE 'a%'", f"{c} IN ('a', 'b')", f"length({c}) = 1", f"upper({c}) = 'B'", f"{c} RLIKE '^a'"]  # fmt: skip
    if kind == "boolean":
        tests += [c, f"NOT {c}"]
    if kind == "date":
        tests += [f"{c} < DATE'2024-01-01'", f"year({c}) = 2024"]
    if kind == "timestamp":
        tests += [f"{c} >= TIMESTAMP'2024-02-29 12:00:00'", f"hour({c}) < 6", f"{c} < '2024-03-10 03:00:00'"]
    other = [d for d in q.columns if d.type == kind and d.name != c and kind in SCALARS]
    if other:
        tests.append(f"{c} {g.pick(['=', '<', '<=>', '<>'])} {g.pick(other).name}")
    return g.pick(tests)


def expression(g: Queries, q: Query) -> tuple[str, str]:
    """An expression, and its type."""
    column = g.pick(q.columns)
    lenient = failing(column) if g.lenient else []
    return g.pick([(column.name, column.type), *scalar(column), *nested(column), *lenient])


def failing(column: Column) -> list[tuple[str, str]]:
    """What fails on some values, with ANSI."""
    c = column.name
    match column.type:
        case "int":
            return [
                (f"{c} + 2147483647", "int"),
                (f"{c} * 1000000", "int"),
                (f"{c} % 0", "int"),
                (f"{c} DIV 0", "bigint"),
            ]
        case "string":
            return [(f"CAST({c} AS int)", "int"), (f"CAST({c} AS date)", "date"), (f"CAST({c} AS boolean)", "boolean")]
        case "decimal(10,2)":
            return [(f"CAST({c} * 100000 AS decimal(10,2))", column.type), (f"CAST({c} AS tinyint)", "tinyint")]
        case "double":
            return [(f"CAST({c} AS int)", "int"), (f"CAST({c} AS decimal(10,2))", "decimal(10,2)")]
        case kind if kind == ARRAY:
            return [(f"{c}[5]", "int"), (f"element_at({c}, 7)", "int")]
    return []


def scalar(column: Column) -> list[tuple[str, str]]:
    c, kind = column.name, column.type
    if kind in (REAL, OPAQUE):
        return [(f"{c} IS NULL", "boolean")]
    found = [(f"coalesce({c}, {c})", kind), (f"{c} IS NULL", "boolean"), (f"array({c}, {c})", OPAQUE), (f"named_struct('x', {c})", OPAQUE)]  # fmt: skip
    if kind in INTEGERS:
        wide = "int" if kind in ("smallint", "tinyint") else kind
        found += [
            (f"{c} % 7" if kind == wide else f"CAST({c} + 1 AS int)", wide),
            (f"CAST({c} AS string)", "string"),
            (f"CASE WHEN {c} > 0 THEN {c} ELSE -1 END", wide),
            (f"nullif({c}, 1)", kind),
            (f"{c} / 4", REAL),
            (f"try_divide({c}, {c})", REAL),
            (f"hash({c})", "int"),
        ]
    if kind == "decimal(10,2)":
        found += [(f"CAST({c} * 2 AS decimal(10,2))", kind), (f"CAST({c} AS double)", REAL), (f"CAST(round({c}, 1) AS decimal(10,2))", kind)]  # fmt: skip
    if kind == "double":
        found += [(f"{c} * 2", kind), (f"-{c}", kind), (f"abs({c})", kind), (f"nanvl({c}, 0.5D)", kind)]
    if kind == "string":
        found += [(f"concat({c}, 'x')", kind), (f"length({c})", "int"), (f"substring({c}, 1, 1)", kind), (f"upper({c})", kind), (f"repeat({c}, 2)", kind), (f"split({c}, '')", OPAQUE)]  # fmt: skip
    if kind == "date":
        found += [(f"year({c})", "int"), (f"date_add({c}, 1)", kind)]
    if kind == "timestamp":
        found += [
            (f"date_trunc('HOUR', {c})", kind), (f"date_trunc('DAY', {c})", kind), (f"CAST({c} AS date)", "date"), (f"hour({c})", "int"),
            (f"CAST({c} AS string)", "string"), (f"{c} + INTERVAL 1 DAY", kind), (f"date_format({c}, 'yyyy-MM-dd HH:mm')", "string"),
            (f"CAST({c} AS timestamp_ntz)", "timestamp_ntz"), (f"{c} - TIMESTAMP'2024-03-10 00:00:00'", DURATION),
            (f"to_utc_timestamp({c}, 'America/New_York')", kind), (f"unix_seconds({c})", "bigint"),
        ]  # fmt: skip
    if kind == "timestamp_ntz":
        found += [(f"CAST({c} AS timestamp)", "timestamp"), (f"CAST({c} AS string)", "string"), (f"{c} + INTERVAL 1 HOUR", kind)]  # fmt: skip
    if kind in (CHAR, VARCHAR):
        found += [
            (f"concat({c}, '|')", "string"),
            (f"length({c})", "int"),
            (f"{c} = 'a'", "boolean"),
            (f"upper({c})", "string"),
        ]
    if kind == TIME:
        found += [(f"hour({c})", "int"), (f"CAST({c} AS string)", "string"), (f"{c} < TIME'12:30:00'", "boolean")]
    if kind == DURATION:
        found += [(f"{c} * 2", kind), (f"-{c}", kind), (f"CAST({c} AS string)", "string"), (f"extract(HOUR FROM {c})", OPAQUE), (f"DATE'2024-03-10' + {c}", "timestamp")]  # fmt: skip
    if kind == MONTHS:
        found += [(f"{c} * 2", kind), (f"CAST({c} AS string)", "string"), (f"DATE'2024-01-31' + {c}", "date")]
    return found


def nested(column: Column) -> list[tuple[str, str]]:
    c = column.name
    match column.type:
        case kind if kind == ARRAY:
            return [
                (f"transform({c}, x -> x + 1)", ARRAY), (f"filter({c}, x -> x > 1)", ARRAY), (f"array_sort({c})", ARRAY),
                (f"aggregate({c}, 0, (s, x) -> s + coalesce(x, 0))", "int"), (f"exists({c}, x -> x = 2)", "boolean"),
                (f"forall({c}, x -> x > 0)", "boolean"), (f"zip_with({c}, {c}, (x, y) -> x + y)", ARRAY), (f"size({c})", "int"),
                (f"try_element_at({c}, 1)", "int"), (f"array_distinct({c})", ARRAY), (f"array_contains({c}, 1)", "boolean"),
                (f"transform({c}, (x, i) -> named_struct('x', x, 'y', CAST(i AS string)))", STRUCTS), (f"to_json({c})", "string"),
            ]  # fmt: skip
        case kind if kind == STRUCT:
            return [(f"{c}.x", "int"), (f"{c}.y", "string"), (f"to_json({c})", "string"), (f"array({c})", STRUCTS)]
        case kind if kind == MAP:
            return [
                (f"{c}['a']", "int"), (f"size({c})", "int"), (f"array_sort(map_values({c}))", ARRAY),
                (f"transform_values({c}, (k, v) -> v + 1)", MAP), (f"map_filter({c}, (k, v) -> v > 0)", MAP),
                (f"map_keys({c})", OPAQUE), (f"map_contains_key({c}, 'b')", "boolean"), (f"to_json({c})", "string"),
                (f"map_entries({c})", OPAQUE),
            ]  # fmt: skip
        case kind if kind == STRUCTS:
            return [(f"{c}.x", ARRAY), (f"size({c})", "int"), (f"try_element_at({c}, 1)", STRUCT), (f"try_element_at({c}, 1).y", "string")]  # fmt: skip
        case kind if kind == JSON:
            return [
                (f"get_json_object({c}, '$.a')", "string"), (f"from_json({c}, 'x int, y string')", STRUCT),
                (f"from_json({c}, 'array<int>')", ARRAY), *variant(f"try_parse_json({c})"),
            ]  # fmt: skip
        case kind if kind == VARIANT:
            return variant(c)
        case kind if kind == COLLATED:
            tests = [f"{c} = 'A'", f"{c} < 'B'", f"contains({c}, 'A')", f"{c} IN ('AB', 'ä')"]
            return [
                *((test, "boolean") for test in tests),
                (f"length({c})", "int"),
                (f"{c} COLLATE UTF8_BINARY", "string"),
            ]
    return []


def variant(v: str) -> list[tuple[str, str]]:
    return [
        (f"try_variant_get({v}, '$.x', 'int')", "int"), (f"try_variant_get({v}, '$.y', 'string')", "string"), (f"to_json({v})", "string"),
        (f"schema_of_variant({v})", "string"), (v, VARIANT), (f"is_variant_null({v})", "boolean"),
    ]  # fmt: skip
