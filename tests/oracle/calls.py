"""Aggregate functions: each with its argument and the type of its result; `§` is the place of a FILTER.

What Spark rounds in an order of its own is computed of small integers, so that nothing is left open; results that are
not exact are `real`, and no later operator compares or adds them. corr is left out: it fails where nothing varies.
"""

from __future__ import annotations

from tests.oracle.queries import INTEGERS, OPAQUE, REAL, Column, Queries, Query, either
from tests.oracle.values import DURATION, KEYABLE, MONTHS

SUMS = {"int": "bigint", "smallint": "bigint", "tinyint": "bigint", DURATION: DURATION, MONTHS: MONTHS, "bigint": "bigint", "double": "double", "float": "double", "decimal(10,2)": "decimal(20,2)"}  # fmt: skip
MOMENTS = ("stddev", "stddev_pop", "variance", "var_pop", "skewness", "kurtosis")
PAIRS = ("covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2", "regr_sxy", "regr_sxx", "regr_syy", "regr_avgx", "regr_avgy")  # fmt: skip


def reduce(g: Queries, q: Query) -> tuple[str, str]:
    """A call of an aggregate function over some columns of a query, and its type; a FILTER now and then."""
    column, other = g.pick(q.columns), g.pick(q.columns)
    family = g.pick([f for f in FAMILIES if f(column, other)])
    call, kind = g.pick(family(column, other))
    where = f" FILTER (WHERE {column.name} > 0)" if column.type in INTEGERS and g.chance(6) else ""
    return call.replace("§", where) if "§" in call else call + where, kind


def counts(x: Column, y: Column) -> list[tuple[str, str]]:
    found = ["count(*)", f"count({x.name})", f"count({x.name}, {y.name})", f"count_if({x.name} IS NULL)"]
    return [(call, "bigint") for call in found]


def distinct_counts(x: Column, y: Column) -> list[tuple[str, str]]:
    if x.type not in KEYABLE:
        return []
    more = [f"count(DISTINCT {x.name}, {y.name})"] if y.type in KEYABLE else []
    sums = [(f"sum(DISTINCT {x.name})", SUMS[x.type]), (f"avg(DISTINCT {x.name})", REAL)] if x.type in INTEGERS else []
    return [*((call, "bigint") for call in [f"count(DISTINCT {x.name})", *more]), *sums]


def sums(x: Column, y: Column) -> list[tuple[str, str]]:
    if x.type not in SUMS:
        return []
    average = "decimal(14,6)" if x.type.startswith("decimal") else OPAQUE if x.type in (DURATION, MONTHS) else REAL
    exact = [(f"sum({x.name})", SUMS[x.type])] * 3 + [(f"try_sum({x.name})", SUMS[x.type])]
    quotient = [(f"sum({x.name})§ / count({x.name})§", REAL)] if x.type == "int" else []
    return [*exact, (f"avg({x.name})", average), *quotient]


def moments(x: Column, y: Column) -> list[tuple[str, str]]:
    if x.type not in INTEGERS or y.type not in INTEGERS:
        return []
    one = [f"{f}({x.name} % 5)" for f in MOMENTS]
    two = [f"{f}({x.name} % 5, {y.name} % 3)" for f in PAIRS]
    rounded = [f"round({call}§, 8)" for call in one + two]
    return [*((call, REAL) for call in one + two + rounded), (f"regr_count({x.name}, {y.name})", "bigint")]


def extremes(x: Column, y: Column) -> list[tuple[str, str]]:
    if x.type not in KEYABLE:
        return []
    least, greatest = f"min({x.name})", f"max({x.name})"
    found = [
        least, greatest, either(f"any_value({x.name})§", f"{least}§"), either(f"first({x.name})§", f"{least}§"),
        either(f"last({x.name}, true)§", f"{greatest}§"), either(f"mode({x.name})§", f"mode({x.name}, true)§"),
    ]  # fmt: skip
    if y.type in KEYABLE:
        found += [either(f"{f}_by({x.name}, {y.name})§", first_by(f, x, y)) for f in ("min", "max")]
    return [(call, x.type) for call in found]


def first_by(function: str, x: Column, y: Column) -> str:
    """min_by or max_by, where ties go by the value itself."""
    return f"{function}(IF({y.name} IS NULL, NULL, struct({y.name} AS y, {x.name} AS x)))§.x"


def quantiles(x: Column, y: Column) -> list[tuple[str, str]]:
    if x.type not in INTEGERS:
        return []
    return [
        (f"percentile({x.name}, 0.25)", REAL), (f"median({x.name})", REAL), (f"percentile({x.name}, array(0.0, 0.9))", OPAQUE),
        (f"percentile_cont(0.5) WITHIN GROUP (ORDER BY {x.name} DESC)", REAL), (f"percentile_disc(0.5) WITHIN GROUP (ORDER BY {x.name})", REAL),
        (f"percentile_approx({x.name}, 0.5)", x.type), (f"percentile_approx({x.name}, array(0.2, 1.0))", OPAQUE),
        (f"aggregate(histogram_numeric({x.name}, 100)§, 0D, (s, b) -> s + b.y)", REAL),
    ]  # fmt: skip


def collections(x: Column, y: Column) -> list[tuple[str, str]]:
    if x.type not in KEYABLE:
        return []
    both = [(f"sort_array(collect_list(struct({x.name} AS x, {y.name} AS y))§)", OPAQUE)] if y.type in KEYABLE else []
    text = [
        (f"listagg({x.name}, ',') WITHIN GROUP (ORDER BY {x.name})", "string"),
        (f"listagg(DISTINCT {x.name}, '|') WITHIN GROUP (ORDER BY {x.name} DESC)", "string"),
        (either(f"string_agg({x.name})§", f"string_agg({x.name}) WITHIN GROUP (ORDER BY {x.name})§"), "string"),
    ]
    lists = [f"{f}({x.name})§" for f in ("collect_list", "collect_set", "array_agg")]
    found = [f"sort_array(collect_list({x.name})§)", *(either(call, f"sort_array({call})") for call in lists)]
    return [*((call, OPAQUE) for call in found), *both, *(text if x.type == "string" else [])]


def sketches(x: Column, y: Column) -> list[tuple[str, str]]:
    if x.type not in ("int", "bigint", "string", "double", "date"):
        return []
    found = [(f"approx_count_distinct({x.name})", "bigint")]
    if x.type in ("int", "bigint", "string"):
        found += [(f"hll_sketch_estimate(hll_sketch_agg({x.name})§)", "bigint")]
    return found


def bits(x: Column, y: Column) -> list[tuple[str, str]]:
    if x.type == "boolean":
        return [(f"{f}({x.name})", "boolean") for f in ("bool_or", "bool_and", "every", "some")]
    return [(f"{f}({x.name})", x.type) for f in ("bit_and", "bit_or", "bit_xor")] if x.type in INTEGERS else []


FAMILIES = (counts, distinct_counts, sums, sums, moments, extremes, extremes, quantiles, collections, sketches, bits)
