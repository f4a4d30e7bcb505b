"""Numerical health: what came and went leaves no trace, and what does not fit behaves as in Spark, on both engines."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from contextlib import nullcontext
from decimal import Decimal
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import viewlet
from tests.marks import quickly, rounds, some
from viewlet.engine.terms import regroup_groups as regroup
from viewlet.errors import EvaluationError
from viewlet.spark.session.versions import version_of
from viewlet.views import check

pytestmark = pytest.mark.spark

ANSI = "spark.sql.ansi.enabled"
ENGINES = ["inproc", pytest.param("spark", marks=pytest.mark.slow)]
both_engines = pytest.mark.parametrize("db", ENGINES, indirect=True)


@pytest.fixture
def db(request: Any, tmp_path: Path, spark: Any) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w", spark=spark, engine=getattr(request, "param", "inproc")) as db:
        yield db


@pytest.fixture
def legacy(spark: Any) -> Iterator[None]:
    """Spark without ANSI: what does not fit is NULL, or wraps around."""
    spark.conf.set(ANSI, "false")
    yield
    spark.conf.unset(ANSI)


def agrees(db: viewlet.Database) -> None:
    wrong = db.check()
    assert not wrong.num_rows, wrong.to_pylist()


MOMENTS = {
    "by_key": """SELECT k, var_pop(x) AS a, stddev(i) AS b, variance(d) AS c, skewness(x) AS e, kurtosis(y) AS f,
        covar_samp(x, y) AS g, regr_slope(y, x) AS h, regr_intercept(y, x) AS i, regr_r2(y, x) AS j, regr_sxy(y, x) AS l,
        regr_count(y, x) AS m, regr_sxx(y, x) AS n, regr_syy(y, x) AS o, corr(x, z) FILTER (WHERE k > 0) AS p
        FROM t GROUP BY k""",
    "of_all": "SELECT stddev_pop(x) AS a, covar_pop(x, i) AS b, kurtosis(x) FILTER (WHERE i > 3) AS c FROM t",
    "of_different": "SELECT k, var_samp(DISTINCT i) AS a, skewness(DISTINCT i) AS b FROM t GROUP BY k",
    "rolled_up": "SELECT k, i, var_pop(x) AS a, covar_pop(x, y) AS b FROM t GROUP BY ROLLUP (k, i)",
    "joined": "SELECT a.k, stddev(a.x) AS a, covar_pop(a.x, b.i) AS b FROM t a JOIN t b ON a.k = b.k GROUP BY a.k",
    "outliers": """SELECT t.k, t.i FROM t JOIN (SELECT k, avg(z) AS m, stddev(z) AS s, stddev(i) AS r FROM t GROUP BY k) q
        ON t.k = q.k AND t.z > m + s AND r > 0""",
}  # fmt: skip


def measured(rng: random.Random) -> tuple[Any, ...]:
    """A row of t: x and y with gaps and of several sizes, i small, z always there."""
    x = rng.choice([None, rng.gauss(1e6, 1), round(rng.random(), 1)]) if rng.random() < 0.3 else rng.gauss(5, 3)
    y = None if rng.random() < 0.1 else 2 * (x or 0) + rng.gauss(0, 1)
    return (rng.randrange(3), x, y, rng.gauss(0, 1), rng.randrange(10), Decimal(rng.randrange(10**6)) / 100)


@both_engines
def test_moments_are_sums(db: viewlet.Database) -> None:
    db.create_table("t", "k INT, x DOUBLE, y DOUBLE, z DOUBLE, i INT, d DECIMAL(10,2)")
    for name, text in MOMENTS.items():
        db.create_view(name, text)
        assert not {"keyed", "recompute"} & set(db.explain(name).split()), name
    rng, rows = random.Random(4), [measured(random.Random(i)) for i in range(40)]
    db.insert("t", rows)
    new = [measured(rng) for _ in range(12)]
    with db.epoch() as e:
        e.delete("t", rows[:25])
        e.insert("t", new)
    agrees(db)


def test_one_map_of_powers_serves_all_moments_of_a_column(db: viewlet.Database) -> None:
    db.create_table("t", "k INT, x DOUBLE")
    db.create_view("v", "SELECT k, var_pop(x) AS a, stddev(x) AS b FROM t GROUP BY k")
    db.create_view("w", "SELECT k, stddev_pop(x) AS a, var_samp(x) AS b FROM t GROUP BY k")
    db.insert("t", [(1, 0.5), (1, 2.5), (2, 7.0)])
    assert "shared with w" in db.explain("v")
    agrees(db)
    assert sorted(db.table("w").rows()) == [(1, 1.0, 2.0), (2, 0.0, None)]


NOT_FINITE = {
    "sums": "SELECT k, sum(x) AS s, avg(x) AS a, var_pop(x) AS v, corr(x, y) AS r, regr_slope(y, x) AS l FROM t GROUP BY k",
    "ends": "SELECT k, min(x) AS a, max(x) AS b FROM t GROUP BY k",
    "windows": """SELECT id, sum(x) OVER w AS s, avg(x) OVER w AS a, stddev(x) OVER (PARTITION BY k) AS v, max(x) OVER w AS m
        FROM t WINDOW w AS (PARTITION BY k ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)""",
}  # fmt: skip


@both_engines
def test_what_is_not_finite_leaves_a_group_finite(db: viewlet.Database) -> None:
    db.create_table("t", "id INT, k INT, x DOUBLE, y DOUBLE, PRIMARY KEY (id)")
    for name, text in NOT_FINITE.items():
        db.create_view(name, text)
    db.insert("t", [(i, i % 2, 0.1 * i * i, 1.0 * i) for i in range(10)])
    before = {name: sorted(db.table(name).rows()) for name in NOT_FINITE}
    db.insert("t", [(10, 0, math.nan, 1.0), (11, 0, math.inf, 2.0), (12, 0, -math.inf, 3.0), (13, 1, math.inf, 4.0)])
    agrees(db)
    db.upsert("t", [(10, 0, -math.inf, math.nan), (11, 0, None, math.inf)])
    agrees(db)
    db.delete("t", [(10,), (11,), (12,), (13,)])
    agrees(db)
    assert {name: sorted(db.table(name).rows()) for name in NOT_FINITE} == before


@both_engines
def test_check_knows_rounding_from_a_difference(db: viewlet.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db.create_table("t", "k INT, x DOUBLE, y DOUBLE")
    db.create_view("v", "SELECT k, sum(x) AS s, regr_intercept(y, x) AS i, skewness(x) AS w FROM t GROUP BY k")
    big = [(1, 1e16, 3e16), (1, 0.7, 2.1), (1, -1e16, -3e16), (1, 1e9 / 3, 1e9)]
    small = [(2, i / 7, 3 * i / 7) for i in range(-9, 10)]
    of_two_values = [(3, x, 1.0) for x in [3.0, 7.0] * 5]
    db.insert("t", of_two_values + big + small)
    agrees(db)
    assert {k: s for k, s, *_ in db.table("v").rows()}[1] == math.fsum(x for _, x, _ in big)
    short = db.spark.sql(
        "SELECT k, sum(x) AS s, regr_intercept(y, x) AS i, skewness(x) AS w FROM (SELECT * FROM t WHERE x <> 1 / 7) GROUP BY k"
    )
    monkeypatch.setattr(check, "recomputed", lambda database, view: short)
    assert db.check("v").num_rows == 2


def test_a_product_beyond_the_largest_double_is_infinite(db: viewlet.Database) -> None:
    db.create_table("t", "k INT, x DOUBLE")
    db.create_view("v", "SELECT a.k, sum(a.x * b.x) AS s FROM t a JOIN t b ON a.k = b.k GROUP BY a.k")
    db.insert("t", [(1, -1e200), (1, 1e180), (1, 7.0), (2, 3.0), (3, math.inf)])
    assert sorted(db.table("v").rows()) == [(1, math.inf), (2, 9.0), (3, math.inf)]  # of k = 1, Spark says ∞ − ∞
    agrees(db)


EXACT = {
    "groups": "SELECT k, sum(x) AS s, avg(x) AS a, sum(f) AS t FROM t GROUP BY k",
    "running": "SELECT id, k, x, sum(x) OVER (PARTITION BY k ORDER BY id) AS s FROM t",
    "sliding": """SELECT id, k, x, sum(x) OVER w AS s, avg(f) OVER w AS a FROM t
        WINDOW w AS (PARTITION BY k ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)""",
    "beside": "SELECT k, sum(x) AS s, max_by(id, x) AS m, collect_set(k) AS c FROM t GROUP BY k",
    "spread": "SELECT k, var_pop(x) AS v, stddev(x) AS d, covar_pop(x, x) AS c FROM t GROUP BY k",
    "few": "SELECT id, k, x, var_pop(x) OVER (PARTITION BY k ORDER BY id ROWS 2 PRECEDING) AS v FROM t",
}  # fmt: skip
SIZES = [1 / 3, 1e-9, 1e16, -1e16, 2.0, 4503599627370495.5, -3.2e-111, 5e-324, -5e-324, 1e308, -1e308, 1.0, 0.1, -0.0]
INFINITE = [math.inf, -math.inf, math.nan]


def total(values: list[float]) -> float | None:
    """The sum as it is defined: NaN and infinities as in Spark, else the double nearest to the exact sum."""
    strange = [v for v in values if not math.isfinite(v)]
    if strange or not values:
        return sum(strange) if strange else None
    exact = sum(map(Fraction, values), Fraction(0))
    try:
        return float(exact) + 0.0
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def mean(values: list[float]) -> float | None:
    added = total(values)
    return None if added is None else added / len(values)


def expected(rows: list[tuple[int, int, float, float]]) -> dict[str, list[tuple[Any, ...]]]:
    """What the views of exact sums hold, in order."""
    parts = {k: sorted(row for row in rows if row[1] == k) for k in {k for _, k, *_ in rows}}
    xs, fs = ({k: [row[at] for row in part] for k, part in parts.items()} for at in (2, 3))
    places = sorted((row, k, i) for k, part in parts.items() for i, row in enumerate(part))
    near = [(row, k, slice(max(i - 2, 0), i + 2)) for row, k, i in places]
    return {
        "groups": [(k, total(xs[k]), mean(xs[k]), total(fs[k])) for k in sorted(parts)],
        "running": [(*row[:3], total(xs[k][: i + 1])) for row, k, i in places],
        "sliding": [(*row[:3], total(xs[k][at]), mean(fs[k][at])) for row, k, at in near],
    }


@both_engines
def test_sums_of_doubles_are_exact_and_rounded_once(db: viewlet.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while infinities come and go, and where sums are beyond the largest double on the way."""
    for limit, value in (
        ("_MANY", math.inf),
        ("_FEW", 0),
        ("_SHORT", 0),
    ):  # running sums go on from what is before a change
        monkeypatch.setattr(regroup, limit, value)
    db.create_table("t", "id INT, k INT, x DOUBLE, f FLOAT, PRIMARY KEY (id)")
    for name, text in EXACT.items():
        db.create_view(name, text)
    rng, rows = random.Random(6), dict[int, tuple[int, int, float, float]]()
    for number in range(rounds(4, 8)):
        gone = rng.sample(sorted(rows), len(rows) // 3)
        new = [
            (12 * number + i, rng.randrange(3), rng.choice(SIZES), float(np.float32(rng.gauss(0, 1e4))))
            for i in range(12)
        ]
        if number < rounds(3, 6):
            new[0] = (*new[0][:2], rng.choice(INFINITE), rng.choice(INFINITE))
        else:
            gone = [id for id, row in rows.items() if not math.isfinite(row[2]) or id in gone]
        with db.epoch() as e:
            e.delete("t", [(id,) for id in gone])
            e.insert("t", new)
        rows = {id: row for id, row in rows.items() if id not in gone} | {row[0]: row for row in new}
        for name, wanted in expected(list(rows.values())).items():
            assert repr(sorted(db.table(name).rows(), key=lambda row: row[:2])) == repr(wanted), name
    agrees(db)


@both_engines
def test_check_knows_an_overflow_on_the_way_from_a_difference(
    db: viewlet.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.create_table("t", "k INT, x DOUBLE")
    text = "SELECT k, sum(x) AS s, avg(x) AS a, stddev(x) AS d FROM t GROUP BY k"
    db.create_view("v", text)
    db.create_view("finite", "SELECT k, sum(x) AS s FROM t GROUP BY k HAVING sum(x) < 1.5e308")
    db.create_view(
        "windows", "SELECT k, x, sum(x) OVER (PARTITION BY k) AS s, avg(x) OVER (PARTITION BY k) AS a FROM t"
    )
    cases = [
        [-1e308, 1e308, 1e308, 1.0],
        [1e308] * 4 + [-1e308] * 4 + [7.0],
        [math.inf, -1e308, 1.0, -1e308],
        [1.5e308, 1.5e308, -1e307],
        [1e200, -1e200],
        [1.0, 2.5],
    ]
    db.insert("t", [(k, x) for k, values in enumerate(cases) for x in values])
    db.create_table("edge", "x DOUBLE")
    db.create_view("at_the_edge", "SELECT sum(x) AS s FROM edge")
    db.insert("edge", [(1.7976931348623157e308,), (2.0**969,), (2.0**969,)])
    assert db.table("at_the_edge").rows() == [(math.inf,)]
    found = {k: (s, a) for k, s, a, _ in db.table("v").rows()}
    assert found == {k: (total(values), mean(values)) for k, values in enumerate(cases)}
    agrees(db)
    for wrong in some(2, ("x + if(k = 5, 1, 0)", "if(k = 2, nan, x)", "if(k = 0, x / 2, x)", "if(k = 4, 1, x)")):
        other = db.spark.sql(text.replace("(x)", f"({wrong})").replace("nan", "double('NaN')"))
        monkeypatch.setattr(check, "recomputed", lambda database, view, other=other: other)
        assert db.check("v").num_rows == 2, wrong


OVERFLOWS = {
    "sum(bigint)": ("v BIGINT", "SELECT k, sum(v) AS s FROM t GROUP BY k", 2**63 - 1),
    "sum(decimal(38))": ("v DECIMAL(38,0)", "SELECT k, sum(v) AS s FROM t GROUP BY k", Decimal(10**38 - 1)),
    "avg(decimal(38))": ("v DECIMAL(38,0)", "SELECT k, avg(v) AS s FROM t GROUP BY k", Decimal(10**37)),
    "cast": ("v BIGINT", "SELECT k, CAST(v AS INT) AS s FROM t", 2**40),
    "cast of a decimal": ("v DECIMAL(20,2)", "SELECT k, CAST(v AS DECIMAL(5,2)) AS s FROM t", Decimal("12345.67")),
    "division": ("v INT", "SELECT k, 10 / (v - 7) AS s FROM t", 7),
    "division of sums": ("v INT", "SELECT k, 10 / (sum(v) - 11) AS s FROM t GROUP BY k", 10),
    "corr": ("v INT", "SELECT k, corr(v, v * 2.0D) AS s FROM t GROUP BY k", 1),
    "corr in a CASE": ("v INT", "SELECT k, CASE WHEN stddev(v) > 0 THEN corr(v, v * 2.0D) END AS s FROM t GROUP BY k", 1),
    "product": ("v DECIMAL(38,10)", "SELECT k, v * v AS s FROM t", Decimal(10**27)),
    "window": ("v BIGINT", "SELECT k, sum(v) OVER (PARTITION BY k) AS s FROM t", 2**63 - 1),
}  # fmt: skip


CORRELATIONS = [case for case in OVERFLOWS if case.startswith("corr")]
ARE_NULL = version_of(metadata.version("pyspark")) >= (4, 3)
"""Whether Spark's correlation of what does not vary is NULL, also under ANSI: it was a division by zero before."""


@pytest.mark.parametrize("case", CORRELATIONS)
def test_a_correlation_of_what_does_not_vary(db: viewlet.Database, case: str) -> None:
    columns, text, _ = OVERFLOWS[case]
    db.create_table("t", f"k INT, {columns}")
    db.create_view("v", text)
    with nullcontext() if ARE_NULL else pytest.raises(EvaluationError):
        db.insert("t", [(1, 1), (1, 1), (2, 3), (2, 4)])
    agrees(db)
    assert ((1, None) in db.table("v").rows()) == ARE_NULL


@both_engines
@pytest.mark.parametrize("case", quickly(5, [case for case in OVERFLOWS if not (ARE_NULL and case in CORRELATIONS)]))
def test_what_does_not_fit_rejects_the_epoch(db: viewlet.Database, case: str) -> None:
    columns, text, large = OVERFLOWS[case]
    db.create_table("t", f"k INT, {columns}")
    db.create_view("other", "SELECT k, count(*) AS n FROM t GROUP BY k")
    db.create_view("v", text)
    db.insert("t", [(1, 1), (2, 3), (2, 4)])
    before = {name: sorted(db.table(name).rows()) for name in ("t", "other", "v")}
    epoch = db.status()["epoch"]
    with pytest.raises(EvaluationError, match=r"\bv\b"):
        db.insert("t", [(3, 1), (1, large)])
    assert {name: sorted(db.table(name).rows()) for name in ("t", "other", "v")} == before
    assert db.status()["epoch"] == epoch
    db.insert("t", [(3, 1), (1, 2)])
    agrees(db)
    assert (1, 2) in db.table("t").rows()


@both_engines
@pytest.mark.parametrize("case", quickly(5, OVERFLOWS))
def test_without_ansi_what_does_not_fit_is_as_in_spark(legacy: None, db: viewlet.Database, case: str) -> None:
    columns, text, large = OVERFLOWS[case]
    db.create_table("t", f"k INT, {columns}")
    db.create_view("v", text)
    db.insert("t", [(1, 1), (2, 3), (2, 4)])
    before = sorted(db.table("v").rows())
    db.insert("t", [(3, 1), (1, large)])
    agrees(db)
    assert sorted(db.table("v").rows(), key=str) != sorted(before, key=str)
    db.delete("t", [(3, 1), (1, large)])
    agrees(db)
    assert sorted(db.table("v").rows()) == before


def drawn(rng: np.random.Generator, first: int, count: int) -> pa.Table:
    """Rows of w: x of all magnitudes, y of those whose squares are doubles, v of one."""
    sign = rng.choice([-1.0, 1.0], (2, count))
    x = sign[0] * rng.uniform(1, 10, count) * 10.0 ** rng.uniform(-300, 300, count).round()
    y = sign[1] * rng.uniform(1, 10, count) * 10.0 ** rng.uniform(-150, 150, count).round()
    ids, keys = np.arange(first, first + count), rng.integers(0, 20, count)
    return pa.table({"id": ids, "k": keys, "x": x, "y": y, "v": rng.normal(1000, 1, count)})


@pytest.mark.slow
def test_a_million_updates(db: viewlet.Database) -> None:
    """Sums, averages and variances stay what they are from scratch, and forget the large values that left."""
    db.create_table("w", "id BIGINT, k BIGINT, x DOUBLE, y DOUBLE, v DOUBLE, PRIMARY KEY (id)")
    db.create_view("sums", "SELECT k, sum(x) AS s, avg(x) AS a, sum(v) AS t, count(*) AS n FROM w GROUP BY k")
    db.create_view("spread", "SELECT k, var_pop(y) AS y, var_samp(v) AS v, covar_pop(v, y) AS c FROM w GROUP BY k")
    rng, size = np.random.default_rng(7), 20_000
    db.insert("w", drawn(rng, -200_000, 200_000).set_column(1, "k", [pa.array([-1] * 200_000)]))  # so epochs are small
    batches = [drawn(rng, at * size, size) for at in range(50)]
    for at, new in enumerate(batches):
        with db.epoch() as e:
            e.insert("w", new)
            if at >= 3:
                e.delete("w", batches[at - 3])
    agrees(db)
    rows = [row for batch in batches[-3:] for row in batch.to_pylist()]
    left = [row for row in rows if abs(row["x"]) < 1e-280]
    db.delete("w", [tuple(row.values()) for row in rows if abs(row["x"]) >= 1e-280])
    agrees(db)
    techniques = [record["views"]["sums"]["technique"] for record in db.history("w") if "views" in record]
    assert len(techniques) > 50
    assert not any(technique.startswith("recompute") for technique in techniques[1:])
    for k, total, mean, *_ in db.table("sums").rows():
        exact = [row["x"] for row in left if row["k"] == k]
        if k >= 0:
            assert total == math.fsum(exact)
            assert mean == math.fsum(exact) / len(exact)


@pytest.mark.parametrize("kind", quickly(1, ["double", "float"]))
def test_spark_finds_nan_in_a_tables_files(db: viewlet.Database, kind: str) -> None:
    """NaN is greater than all numbers, whatever a file says of the greatest number in it."""
    db.sql(f"CREATE TABLE t (n INT, x {kind}) TRUSTED")
    low = np.full(140_000, -1.0, np.float32 if kind == "float" else np.float64)
    with db.epoch() as e:
        e.insert("t", pa.table({"n": np.zeros(len(low), np.int32), "x": low}))
        e.insert("t", [(1, math.nan), (2, -0.0)])
    db.create_view("above", "SELECT n FROM t WHERE x > 0")
    for condition in ("x > 0", "x >= 7", f"x = {kind}('NaN')", "NOT x <= 0"):
        assert db.sql(f"SELECT n FROM t WHERE {condition}").to_pylist() == [{"n": 1}], condition
        assert [row.n for row in db.table("t").spark().where(condition).collect()] == [1], condition
    agrees(db)
