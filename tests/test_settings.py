"""Settings of a session are part of what a text means; the judge is the text in plain Spark SQL under the same ones."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import viewlet
from tests.marks import quickly, some

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ZONE, ANSI = "spark.sql.session.timeZone", "spark.sql.ansi.enabled"
NEW_YORK, TOKYO = {ZONE: "America/New_York"}, {ZONE: "Asia/Tokyo"}
COLUMNS = "id BIGINT, at TIMESTAMP_LTZ, n INT, p DECIMAL(38,18), q DECIMAL(20,10), s STRING"


@pytest.fixture(autouse=True)
def the_active_session_stays(spark: SparkSession) -> Iterator[None]:
    """A warehouse that is opened without a session takes the active one: that of a test must not outlive it."""
    from viewlet.spark.session.children import active

    with active(spark):
        yield


def moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


Row = tuple[Any, ...]
FIRST: list[Row] = [
    (1, moment("2024-03-10 06:59:59"), 1, Decimal("1.5"), Decimal("3"), "2024-03-10 02:30:00"),  # the hour that is not
    (2, moment("2024-03-10 07:00:00"), 2, Decimal("123456789.123456789"), Decimal("7.7"), "2024-11-03 01:30:00"),
    (3, moment("2024-11-03 05:30:00"), 0, Decimal("-0.000000000000000001"), Decimal("0.3"), "12"),
    (4, moment("2024-11-03 06:30:00"), 2147483647, None, Decimal("1"), "abc"),  # the hour that is there twice
    (5, None, None, Decimal("2"), None, None),
]
MORE: list[Row] = [
    (6, moment("1883-11-18 17:00:00"), -2147483648, Decimal("9"), Decimal("9"), "-7"),  # when zones began
    (7, moment("2024-03-10 03:30:00"), 5, Decimal("1"), Decimal("3"), "2024-12-31"),
]

IN_ZONES = {
    "parts": "SELECT id, hour(at) AS h, minute(at) AS m, date(at) AS d, CAST(at AS STRING) AS s FROM t",
    "by_day": "SELECT date(at) AS d, count(*) AS n, max(hour(at)) AS h FROM t GROUP BY date(at)",
    "truncated": "SELECT date_trunc('DAY', at) AS day, sum(id) AS s FROM t GROUP BY 1",
    "formatted": "SELECT id, date_format(at, 'yyyy-MM-dd HH:mm z') AS f, at + INTERVAL 1 DAY AS tomorrow FROM t",
    "literal": "SELECT id, at > TIMESTAMP '2024-03-10 02:00:00' AS late, TIMESTAMP '2024-07-01 00:00' AS c FROM t",
    "parsed": "SELECT id, try_to_timestamp(s) AS u, try_cast(s AS TIMESTAMP) AS v FROM t",
    "local": "SELECT id, CAST(at AS TIMESTAMP_NTZ) AS ntz, CAST(date(at) AS TIMESTAMP) AS midnight FROM t",
    "wide": "SELECT CAST(id AS STRING) AS i, CAST(n AS BIGINT) AS n FROM t WHERE CAST(id AS INT) > 1",
}
WITHOUT_ANSI = {
    "divided": "SELECT id, 10 / n AS q, 10 % n AS r, n + 1 AS up, -n AS neg, abs(n) AS a FROM t",
    "cast": "SELECT id, CAST(s AS INT) AS i, CAST(s AS DATE) AS d, CAST(n AS TINYINT) AS t FROM t",
    "compared": "SELECT id FROM t WHERE s > 5",
    "summed": "SELECT sum(CAST(n AS BIGINT) * 4611686018427387904) AS s, avg(p) AS a, sum(p * 1e20BD) AS big FROM t",
    "picked": "SELECT id, array(1, 2)[n] AS x, element_at(map('a', 1), s) AS y FROM t",
    "spread": "SELECT n % 2 AS k, skewness(id) AS s, corr(id, n) AS c FROM t GROUP BY n % 2",
}
DECIMALS = {
    "products": "SELECT id, p * q AS a, p / q AS b, p + q AS c FROM t",
    "sums": "SELECT sum(p * q) AS s, avg(p / q) AS a, count(*) AS n FROM t",
}
CASES: dict[str, tuple[Mapping[str, str], Mapping[str, str]]] = {
    "a zone with summer time": (NEW_YORK, IN_ZONES),
    "without ANSI": ({ANSI: "false"}, WITHOUT_ANSI),
    "a zone by its offset": ({ZONE: "+05:45"}, {k: IN_ZONES[k] for k in ("parts", "by_day", "literal", "parsed")}),
    "decimals without loss of precision": ({"spark.sql.decimalOperations.allowPrecisionLoss": "false"}, DECIMALS),
    "case": (
        {"spark.sql.caseSensitive": "true"},
        {"fields": "SELECT id, named_struct('a', id, 'A', n).A AS x FROM t", "alias": "SELECT T.id FROM t AS T"},
    ),
    "quoted names, and times without zones": (
        {"spark.sql.ansi.doubleQuotedIdentifiers": "true", "spark.sql.timestampType": "TIMESTAMP_NTZ", **TOKYO},
        {
            "names": 'SELECT "id", "n" AS "m n" FROM "t"',
            "times": "SELECT id, TIMESTAMP '2024-01-01 00:00' AS x FROM t",
            "mixed": "SELECT id, at > TIMESTAMP '2024-03-10 12:30:00' AS later, date_format(at, 'HH') AS h FROM t",
        },
    ),
    "letters": (
        {"spark.sql.icu.caseMappings.enabled": "false"},
        {"upper": "SELECT id, upper(concat(s, '\ua7db')) AS u FROM t WHERE lower(s) > ''"},
    ),
    "keys of maps": (
        {"spark.sql.mapKeyDedupPolicy": "LAST_WIN"},
        {"last": "SELECT id, map_from_arrays(array(1, 1), array(n, id)) AS m FROM t"},
    ),
    "legacy": (
        {
            ANSI: "false",
            "spark.sql.legacy.sizeOfNull": "false",
            "spark.sql.legacy.statisticalAggregate": "true",
            "spark.sql.legacy.timeParserPolicy": "LEGACY",
            "spark.sql.legacy.castComplexTypesToString.enabled": "true",
            "spark.sql.legacy.setopsPrecedence.enabled": "true",
        },
        {
            "sizes": "SELECT id, size(split(s, '-')) AS n, CAST(array(n, NULL) AS STRING) AS a FROM t",
            "spread": "SELECT id, var_samp(n) AS v, stddev(n) AS s FROM t GROUP BY id",
            "dates": "SELECT id, to_date(s, 'yyyy-MM') AS d, date_format(at, 'u') AS u FROM t",
            "sets": "SELECT id FROM t UNION SELECT n FROM t INTERSECT SELECT 1L",
        },
    ),
}
"""Settings, and views that mean something else without them."""


def session_with(spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    made = spark.newSession()
    for name, value in settings.items():
        made.conf.set(name, value)
    return made


def in_plain_spark(spark: SparkSession, settings: Mapping[str, str], rows: list[Row], text: str) -> Counter[str]:
    """What Spark SQL gives for the user's text under some settings, on rows that the test keeps."""
    judge = session_with(spark, settings)
    frame = spark.createDataFrame(rows, COLUMNS)
    judge.createDataFrame(frame.toArrow(), COLUMNS).createOrReplaceTempView("t")
    return texts(judge.sql(text))


def texts(frame: DataFrame) -> Counter[str]:
    """Rows as Spark itself sends them, times in UTC."""
    return rows_as_texts(frame.toArrow().to_pylist())


def rows_as_texts(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(str([_shown(v) for v in row.values()]) for row in rows)


def _shown(value: Any) -> Any:
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).isoformat()
    if isinstance(value, float):
        return f"{value:.9g}"
    return value


@pytest.mark.parametrize("case", quickly(2, CASES))
def test_a_view_keeps_its_settings(spark: SparkSession, tmp_path: Path, case: str) -> None:
    settings, every = CASES[case]
    views = dict(some(3, every.items()))
    with viewlet.connect(tmp_path / "w", spark=session_with(spark, settings), engine="inproc") as db:
        db.create_table("t", COLUMNS)
        db.insert("t", FIRST[:2])
        for name, text in views.items():
            db.create_view(name, text)
        db.insert("t", FIRST[2:])
        compare(db, spark, settings, views, FIRST)
    others = {ZONE: "Asia/Tokyo", ANSI: "true" if settings.get(ANSI) == "false" else "false"}
    with viewlet.connect(tmp_path / "w", spark=session_with(spark, others), engine="inproc") as db:
        with db.epoch() as e:
            e.insert("t", MORE)
            e.delete("t", FIRST[:1])
        compare(db, spark, settings, views, FIRST[1:] + MORE)
        for name in settings:
            assert all(f"{name} = {settings[name]}" in db.explain(view) for view in views)
        db.sql("ALTER TABLE t ADD COLUMN z STRING")
        assert db.check().num_rows == 0


def compare(
    db: viewlet.Database, spark: SparkSession, settings: Mapping[str, str], views: Mapping[str, str], rows: list[Row]
) -> None:
    for name, text in views.items():
        found = rows_as_texts(db.table(name).arrow().to_pylist())
        assert found == in_plain_spark(spark, settings, rows, text), f"{name}: {text}"
        assert db.check(name).num_rows == 0, name


def test_statements_have_the_settings_of_the_moment(spark: SparkSession, tmp_path: Path) -> None:
    caller = session_with(spark, NEW_YORK)
    with viewlet.connect(tmp_path / "w", spark=caller, engine="inproc") as db:
        db.sql("CREATE TABLE t (at TIMESTAMP)")
        db.sql("INSERT INTO t VALUES (TIMESTAMP '2024-01-01 23:30:00')")
        db.sql("INSERT INTO t VALUES ('2024-07-01 23:30:00')")
        db.sql("INSERT INTO t SELECT TIMESTAMP '2024-02-01 23:30:00'")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT DISTINCT hour(at) AS h FROM t")
        assert db.table("v").rows() == [(23,)]
        assert db.sql("SELECT DISTINCT hour(at) AS h FROM t").to_pylist() == [{"h": 23}]
        caller.conf.set(ZONE, "Asia/Tokyo")
        assert sorted(db.sql("SELECT DISTINCT hour(at) AS h FROM t").column(0).to_pylist()) == [12, 13]
        db.sql("CREATE MATERIALIZED VIEW w AS SELECT DISTINCT hour(at) AS h FROM t")
        db.sql("INSERT INTO t VALUES (TIMESTAMP '2024-01-01 23:30:00')")
        assert sorted(db.table("v").rows()) == [(9,), (23,)]
        assert sorted(db.table("w").rows()) == [(12,), (13,), (23,)]
        assert db.check().num_rows == 0
        db.sql("DELETE FROM t WHERE at = TIMESTAMP '2024-01-01 23:30:00'")
        db.sql("UPDATE t SET at = TIMESTAMP '2024-01-01 00:00:00'")
        assert db.sql("SELECT count(*) AS n FROM t WHERE hour(at) = 0").to_pylist() == [{"n": 3}]
        db.spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
        db.sql("INSERT INTO t SELECT TIMESTAMP '2024-01-01 00:30:00'")
        db.sql("INSERT INTO t VALUES (TIMESTAMP '2024-01-01 00:40:00')")
        assert db.sql("SELECT count(*) AS n FROM t WHERE hour(at) = 0").to_pylist() == [{"n": 5}]
        db.spark.conf.set(ZONE, "UTC")
        assert db.sql("SELECT DISTINCT hour(at) AS h FROM t").to_pylist() == [{"h": 15}]
        assert caller.conf.get(ZONE) == "Asia/Tokyo"


def test_values_of_python_are_in_utc(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that come from Python or go to it do not depend on a session: times without a zone are in UTC."""
    import pandas as pd

    noon = dt.datetime(2024, 7, 1, 12)
    caller = session_with(spark, NEW_YORK)
    with viewlet.connect(tmp_path / "w", spark=caller, engine="inproc") as db:
        db.sql("CREATE TABLE t (at TIMESTAMP)")
        db.insert("t", [(noon,), ("2024-07-01 12:00:00",), (noon.replace(tzinfo=dt.UTC),)])
        db.insert("t", pd.DataFrame({"at": [noon]}))
        db.insert("t", caller.sql("SELECT TIMESTAMP '2024-07-01 08:00:00' AS at"))
        assert set(db.table("t").rows()) == {(noon.replace(tzinfo=dt.UTC),)}
        assert set(db.table("t").pandas()["at"]) == {pd.Timestamp(noon, tz="UTC")}
        assert texts(db.table("t").spark().selectExpr("hour(at) AS h").distinct()) == Counter({"[8]": 1})
        assert texts(db.spark.sql("SELECT DISTINCT hour(at) AS h FROM t")) == Counter({"[8]": 1})


def test_files_are_read_as_they_were_written(spark: SparkSession, tmp_path: Path) -> None:
    import pyarrow as pa

    old = {"spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY", "spark.sql.files.ignoreMissingFiles": "true"}
    with viewlet.connect(tmp_path / "w", spark=session_with(spark, old), engine="inproc") as db:
        db.sql("CREATE TABLE t (id BIGINT, d DATE)")
        db.insert("t", pa.table({"id": range(140_000), "d": [dt.date(1500, 1, 1)] * 140_000}))
        (file,) = (tmp_path / "w" / "data").glob("*.parquet")
        assert db.sql("SELECT min(d) AS d, count(*) AS n FROM t").to_pylist() == [
            {"d": dt.date(1500, 1, 1), "n": 140_000}
        ]
        file.unlink()
        with pytest.raises(viewlet.ViewletError):
            db.sql("SELECT count(d) AS n FROM t")


def test_maps_are_shared_under_equal_settings_only(spark: SparkSession, tmp_path: Path) -> None:
    text = "SELECT date_format(at, 'HH') AS h, count(*) AS n FROM t GROUP BY 1"
    caller = session_with(spark, NEW_YORK)
    with viewlet.connect(tmp_path / "w", spark=caller, engine="inproc") as db:
        db.sql("CREATE TABLE t (at TIMESTAMP)")
        db.create_view("here", text)
        caller.conf.set(ZONE, "Asia/Tokyo")
        db.create_view("there", text)
        db.insert("t", [(dt.datetime(2024, 7, 1, 12),)])
        assert (db.table("here").rows(), db.table("there").rows()) == ([("08", 1)], [("21", 1)])
        assert db.check().num_rows == 0


def test_what_spark_records_is_recorded(spark: SparkSession) -> None:
    """Every setting that Spark would record with a view of its own, unless it says nothing of a query's meaning."""
    from viewlet.spark.session.settings import has_meaning, meaning_of

    changed = {
        "spark.sql.caseSensitive": "true",
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
        "spark.sql.storeAssignmentPolicy": "LEGACY",
        "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
        "spark.sql.groupByOrdinal": "false",
        "spark.sql.decimalOperations.allowPrecisionLoss": "false",
        "spark.sql.execution.pandas.convertToArrowArraySafely": "false",
        **NEW_YORK,
        ANSI: "false",
    }
    session = session_with(spark, {**changed, "spark.sql.shuffle.partitions": "3", "spark.sql.orderByOrdinal": "true"})
    assert meaning_of(session) == dict(sorted(changed.items()))
    assert not has_meaning("spark.sql.adaptive.enabled")
    assert not has_meaning("spark.app.name")
