"""Queries for window functions, and for groups of time."""


def _over(call: str, spec: str = "PARTITION BY product ORDER BY price, id", more: str = "") -> str:
    return f"SELECT id, {call} OVER ({spec}{more}) AS w FROM orders"


WINDOWS = {
    "rank, dense_rank": _over("rank()"),
    "row_number": _over("row_number()"),
    "row_number with ties": _over("row_number()", "PARTITION BY product ORDER BY qty"),
    "percent_rank, cume_dist": _over("cume_dist()"),
    "ntile": _over("ntile(3)"),
    "the first rows of each group": f"SELECT * FROM ({_over('row_number()')}) WHERE w <= 2",
    "lag, lead": _over("lag(qty, 1, 0)"),
    "first_value, last_value": _over("last_value(qty)", more=" ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING"),
    "nth_value": _over("nth_value(qty, 2)"),
    "aggregate over the partition": _over("sum(qty)", "PARTITION BY product"),
    "running sum": _over("sum(qty)"),
    "aggregate over ROWS": _over("avg(qty)", more=" ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"),
    "aggregate over RANGE": _over(
        "sum(qty)", "PARTITION BY product ORDER BY qty RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING"
    ),
    "min, max over ROWS": _over("max(qty)", more=" ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING"),
    "without PARTITION BY": _over("rank()", "ORDER BY price, id"),
    "running sum of everything": _over("sum(qty)", "ORDER BY id"),
}

TIME = {
    "tumbling windows": "SELECT window.start AS t, sum(qty) AS s FROM orders GROUP BY window(ts, '1 hour')",
    "sliding windows": "SELECT window.start AS t, sum(qty) AS s FROM orders GROUP BY window(ts, '2 hours', '1 hour')",
    "session windows": "SELECT session_window.start AS t, session_window.end AS u, count(*) AS n FROM orders GROUP BY session_window(ts, '20 minutes')",
    "session windows by key": "SELECT cust, session_window.start AS t, sum(qty) AS s FROM orders GROUP BY cust, session_window(ts, '20 minutes')",
    "session windows, dynamic gap": "SELECT cust, session_window.start AS t, max(qty) AS m FROM orders GROUP BY cust, session_window(ts, CASE WHEN qty > 5 THEN '5 minutes' ELSE '1 hour' END)",
    "times and intervals": "SELECT id, ts + INTERVAL '90' MINUTES AS later, ts - INTERVAL '1' DAY AS sooner FROM orders",
    "date_trunc": "SELECT date_trunc('DAY', ts) AS d, max(price) AS m FROM orders GROUP BY date_trunc('DAY', ts)",
}  # fmt: skip
