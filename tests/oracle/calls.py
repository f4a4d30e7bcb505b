"""Aggregate functions: each with its argument and the type of its result.

What Spark rounds in an order of its own is computed of small integers, so that nothing is left open; results that are
not exact are `real`, and no later operator compares or adds them. corr is left out: it fails where nothing varies.
"""

from __future__ import annotations

from tests.oracle.queries import INTEGERS, OPAQUE, REAL, Column, Queries, Query
from tests.oracle.values import KEYABLE

SUMS = {"int": "bigint", "smallint": "bigint", "bigint": "bigint", "double": "double", "float": "double", "decimal(10,2)": "decimal(20,2)"}  # fmt: skip
MOMENTS = ("stddev", "stddev_pop", "variance", "var_pop", "skewness", "kurtosis")
PAIRS = ("covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2", "regr_sxy", "regr_sxx", "regr_syy", "regr_avgx", "regr_avgy")  # fmt: skip

WRAPPED = ("sort_array(", "round(", "aggregate(", "hll_sketch_estimate(")
"""What stands around some calls, and takes no FILTER."""


def reduce(g: Queries, q: Query) -> tuple[str, str]:
    """A call of an aggregate function over some columns of a query, and its type; a FILTER now and then."""
    column, other = g.pick(q.columns), g.pick(q.columns)
    family = g.pick([f for f in FAMILIES if f(column, other)])
    call, kind = g.pick(family(column, other))
    if column.type in INTEGERS and g.chance(6) and not call.startswith(WRAPPED) and " / " not in call:
        call += f" FILTER (WHERE {column.name} > 0)"
    return call, kind


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
    average = "decimal(14,6)" if x.type.startswith("decimal") else REAL
    exact = [(f"sum({x.name})", SUMS[x.type])] * 3 + [(f"try_sum({x.name})", SUMS[x.type])]
    return [*exact, (f"avg({x.name})", average), (f"sum({x.name}) / count({x.name})", REAL)][
        : 5 if x.type != "int" else 6
    ]


def moments(x: Column, y: Column) -> list[tuple[str, str]]:
    if x.type not in INTEGERS or y.type not in INTEGERS:
        return []
    one = [f"{f}({x.name} % 5)" for f in MOMENTS]
    two = [f"{f}({x.name} % 5, {y.name} % 3)" for f in PAIRS]
    rounded = [f"round({call}, 8)" for call in one + two]
    return [*((call, REAL) for call in one + two + rounded), (f"regr_count({x.name}, {y.name})", "bigint")]


def extremes(x: Column, y: Column) -> list[tuple[str, str]]:
    if x.type not in KEYABLE:
        return []
    found = [f"min({x.name})", f"max({x.name})", f"any_value({x.name})", f"first({x.name})", f"last({x.name}, true)", f"mode({x.name})"]  # fmt: skip
    if y.type in KEYABLE:
        found += [f"min_by({x.name}, {y.name})", f"max_by({x.name}, {y.name})"]
    return [(call, x.type) for call in found]


def quantiles(x: Column, y: Column) -> list[tuple[str, str]]:
    if x.type not in INTEGERS:
        return []
    return [
        (f"percentile({x.name}, 0.25)", REAL), (f"median({x.name})", REAL), (f"percentile({x.name}, array(0.0, 0.9))", OPAQUE),
        (f"percentile_cont(0.5) WITHIN GROUP (ORDER BY {x.name} DESC)", REAL), (f"percentile_disc(0.5) WITHIN GROUP (ORDER BY {x.name})", REAL),
        (f"percentile_approx({x.name}, 0.5)", x.type), (f"percentile_approx({x.name}, array(0.2, 1.0), 7)", OPAQUE),
        (f"aggregate(histogram_numeric({x.name}, 100), 0D, (s, b) -> s + b.y)", REAL),
    ]  # fmt: skip


def collections(x: Column, y: Column) -> list[tuple[str, str]]:
    if x.type not in KEYABLE:
        return []
    both = [(f"sort_array(collect_list(struct({x.name} AS x, {y.name} AS y)))", OPAQUE)] if y.type in KEYABLE else []
    text = [
        (f"listagg({x.name}, ',') WITHIN GROUP (ORDER BY {x.name})", "string"),
        (f"listagg(DISTINCT {x.name}, '|') WITHIN GROUP (ORDER BY {x.name} DESC)", "string"),
        (f"string_agg({x.name})", "string"),
    ]
    found = [
        f"sort_array(collect_list({x.name}))",
        f"collect_list({x.name})",
        f"collect_set({x.name})",
        f"array_agg({x.name})",
    ]
    return [*((call, OPAQUE) for call in found), *both, *(text if x.type == "string" else [])]


def sketches(x: Column, y: Column) -> list[tuple[str, str]]:
    if x.type not in ("int", "bigint", "string", "double", "date"):
        return []
    found = [(f"approx_count_distinct({x.name})", "bigint")]
    if x.type in ("int", "bigint", "string"):
        found += [(f"hll_sketch_estimate(hll_sketch_agg({x.name}))", "bigint")]
    return found


def bits(x: Column, y: Column) -> list[tuple[str, str]]:
    if x.type == "boolean":
        return [(f"{f}({x.name})", "boolean") for f in ("bool_or", "bool_and", "every", "some")]
    return [(f"{f}({x.name})", x.type) for f in ("bit_and", "bit_or", "bit_xor")] if x.type in INTEGERS else []


FAMILIES = (counts, distinct_counts, sums, sums, moments, extremes, extremes, quantiles, collections, sketches, bits)
