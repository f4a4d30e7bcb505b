"""Queries for aggregate functions, and for the ways to group."""


def _by_product(*calls: str) -> str:
    named = ", ".join(f"{call} AS c{i}" for i, call in enumerate(calls))
    return f"SELECT product, {named} FROM orders GROUP BY product"


AGGREGATES = {
    "count, count_if": _by_product("count(*)", "count(cust)", "count_if(qty > 2)"),
    "sum, avg": _by_product("sum(qty)", "avg(qty)", "sum(price)", "avg(price)"),
    "sum of doubles": _by_product("sum(weight)"),
    "sum with FILTER": _by_product("sum(qty) FILTER (WHERE cust > 1)"),
    "try_sum, try_avg": _by_product("try_sum(qty)", "try_avg(qty)"),
    "variance, stddev": _by_product("variance(qty)", "var_pop(qty)", "stddev(qty)", "stddev_pop(qty)"),
    "skewness, kurtosis": _by_product("skewness(qty)", "kurtosis(weight)"),
    "covariance, correlation": _by_product("covar_pop(qty, cust)", "covar_samp(qty, cust)", "corr(qty, cust)"),
    "regressions": _by_product("regr_slope(qty, cust)", "regr_intercept(qty, cust)", "regr_r2(qty, cust)"),
    "sums of a regression": _by_product("regr_count(qty, cust)", "regr_sxx(qty, cust)", "regr_sxy(qty, cust)"),
    "moments of what is DISTINCT": _by_product("var_pop(DISTINCT qty)", "stddev(DISTINCT qty)"),
    "min, max": _by_product("min(qty)", "max(price)", "max(product)"),
    "min_by, max_by": _by_product("min_by(id, qty)", "max_by(id, price)"),
    "first, last, any_value": _by_product("first(qty)", "last(id)", "any_value(cust)"),
    "count DISTINCT": _by_product("count(DISTINCT cust)"),
    "several DISTINCT": _by_product("count(DISTINCT cust)", "sum(DISTINCT qty)", "count(*)"),
    "approx_count_distinct": _by_product("approx_count_distinct(cust)"),
    "approx_count_distinct beside others": _by_product("approx_count_distinct(cust)", "max(qty)"),
    "sketches": _by_product("hll_sketch_estimate(hll_sketch_agg(cust))"),
    "percentile, median": _by_product("percentile(qty, 0.25)", "median(qty)"),
    "percentile_cont, percentile_disc": _by_product(
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY qty)", "percentile_disc(0.5) WITHIN GROUP (ORDER BY qty)"
    ),
    "percentile_approx": _by_product("percentile_approx(qty, 0.5)", "percentile_approx(price, array(0.1, 0.9), 50)"),
    "mode": _by_product("mode(qty)"),
    "histogram_numeric": _by_product("aggregate(histogram_numeric(qty, 100), 0D, (s, b) -> s + b.y)"),
    "collect_list, array_agg": _by_product("collect_list(qty)", "array_agg(id)"),
    "collect_set": _by_product("collect_set(qty)"),
    "listagg": _by_product("listagg(CAST(qty AS STRING), ',') WITHIN GROUP (ORDER BY CAST(qty AS STRING))"),
    "bool_and, bool_or": _by_product("bool_and(qty > 1)", "bool_or(qty > 5)"),
    "bit_and, bit_or, bit_xor": _by_product("bit_and(qty)", "bit_or(qty)", "bit_xor(qty)"),
}

GROUPS = {
    "of everything": "SELECT sum(qty) AS s, count(*) AS n FROM orders",
    "of everything, over nothing": "SELECT sum(qty) AS s, count(*) AS n, max(qty) AS m FROM orders WHERE qty > 1000",
    "max of everything": "SELECT max(qty) AS m FROM orders",
    "HAVING": "SELECT product, sum(qty) AS s FROM orders GROUP BY product HAVING count(*) > 5",
    "by an expression": "SELECT year(day) AS y, sum(qty) AS s FROM orders GROUP BY year(day)",
    "GROUPING SETS": "SELECT product, cust, sum(qty) AS s FROM orders GROUP BY GROUPING SETS ((product, cust), (product), ())",
    "ROLLUP": "SELECT product, cust, grouping_id() AS g, sum(qty) AS s FROM orders GROUP BY ROLLUP (product, cust)",
    "CUBE": "SELECT product, cust, max(qty) AS m FROM orders GROUP BY CUBE (product, cust)",
    "PIVOT": "SELECT * FROM (SELECT cust, product, qty FROM orders) PIVOT (sum(qty) FOR product IN ('p0' AS p0, 'p1' AS p1))",
    "UNPIVOT": "SELECT * FROM (SELECT id, qty, cust FROM orders) UNPIVOT (v FOR k IN (qty, cust))",
    "an aggregate of an aggregate": "SELECT s, count(*) AS n FROM (SELECT cust, sum(qty) AS s FROM orders GROUP BY cust) GROUP BY s",
}  # fmt: skip
