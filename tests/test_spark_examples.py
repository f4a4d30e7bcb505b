"""Every example that Spark documents for its functions becomes a view, or is refused for a reason with a name.

docs/functions.md is made from what is seen here. To rewrite it after a change that was meant: `make docs-functions`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.spark_examples import Outcome, examples, functions, play_constant, play_varied, queries_in, varied
from viewlet import Database
from viewlet.engine.choose import EngineName
from viewlet.errors import UnsupportedQuery

pytestmark = pytest.mark.spark
PAGE = Path(__file__).parent.parent / "docs" / "functions.md"
SHARDS = 8
TIERS = ("ring", "monoid", "keyed", "recompute")
QUICK = {"inproc": ("array_sort", "lag", "make_ym_interval", "rand"), "spark": ("collect_set", "make_interval")}


def open_database(path: Path, spark: Any, engine: EngineName) -> Database:
    return Database(path / "w", spark=spark, engine=engine)


SKETCHES = ("histogram_numeric",)
"""Functions whose answer follows from the order in which Spark happens to read rows: they are played as written only."""


def outcomes(db: Database, name: str, queries: list[str]) -> list[Outcome]:
    """What became of a function's examples: of each over tables where that is possible, else as it is written."""
    found = []
    for query in queries:
        written = play_constant(db, query)
        made = None if written.refused or name in SKETCHES else varied(db._warehouse.session, query)
        found.append((None if made is None else play_varied(db, made)) or written)
    return found


def line(name: str, found: list[Outcome]) -> str:
    """The page's line about a function: the worst tier of its views, and where they are evaluated."""
    kept = [o for o in found if not o.refused]
    refused = "; ".join(dict.fromkeys(o.refused for o in found if o.refused))
    shown = _safe(name)
    if not kept:
        return f"| `{shown}` | – | | {refused or 'no example'} |"
    tier = max((o.technique for o in kept), key=TIERS.index)
    where = "Spark" if any(o.where == "Spark" for o in kept) else "in process"
    return f"| `{shown}` | {tier} | {where} | {refused and f'some examples: {refused}'} |"


def _safe(name: str) -> str:
    return name.replace("|", "\\|")


@pytest.mark.parametrize("engine", ["inproc", "spark"])
def test_some_functions(tmp_path: Path, spark: Any, engine: EngineName) -> None:
    with open_database(tmp_path, spark, engine) as db:
        for name in QUICK[engine]:
            found = outcomes(db, name, examples(spark, name)[:1])
            assert found, name
            assert all(bool(o.refused) == (name in ("rand", "make_interval")) for o in found), (name, found)


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_function(tmp_path: Path, spark: Any, shard: int) -> None:
    with open_database(tmp_path, spark, "inproc") as db:
        names = functions(spark)[shard::SHARDS]
        made = {f"`{_safe(name)}`": line(name, outcomes(db, name, examples(spark, name))) for name in names}
    if os.environ.get("VIEWLET_GOLDEN") == "write":
        write(made)
    known = lines(PAGE.read_text(encoding="utf-8"))
    assert [known.get(name) for name in made] == list(made.values())


HEAD = """# Spark's functions in views

Made by `make docs-functions` from the examples that Spark documents for its functions: each became a view, as it is
written and, where that is possible, with its values in tables, which changed; every view was compared with Spark SQL. The
tier is that of the worst of a function's views, and *Spark* means that Spark evaluates the changed rows or groups of at
least one of them. What is refused has the reason. *Spark does not take it* means that this version of Spark, as it is
configured by default, rejects its own example; *it fails in Spark*, that the example shows an error.

| function | tier | evaluated | refused |
|---|---|---|---|
"""


def lines(text: str) -> dict[str, str]:
    """The page's lines, by function."""
    return {found[1]: found[0] for found in re.finditer(r"(?m)^\| (`.*?`) \|.*$", text)}


def write(made: dict[str, str]) -> None:
    """Put lines into the page, in the order of the functions' names."""
    known = lines(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
    ordered = [text for _, text in sorted({**known, **made}.items())]
    PAGE.write_text(HEAD + "\n".join(ordered) + "\n", encoding="utf-8")


def test_examples_are_read() -> None:
    text = "\n    Examples:\n      > SELECT f(1, ';');\n       1\n      > SELECT f(\n        2);\n       2\n  "
    assert list(queries_in(text)) == ["SELECT f(1, ';')", "SELECT f(\n        2)"]


def test_constants_become_columns(spark: Any) -> None:
    made = varied(spark, "SELECT date_format(DATE'2020-01-01', 'yy'), elt(1, 'a', 'b')")
    assert made is not None
    assert made.sql == "SELECT date_format(c0, c1), elt(c2, c3, c4) FROM given"
    assert made.tables == {"given": "SELECT DATE'2020-01-01' AS c0, 'yy' AS c1, 1 AS c2, 'a' AS c3, 'b' AS c4"}
    made = varied(spark, "SELECT max(x) FROM VALUES (1), (2) AS tab(x)")
    assert made is not None
    assert (made.sql, made.tables) == (
        "SELECT max(x) FROM values0 AS tab",
        {"values0": "SELECT * FROM VALUES (1), (2) AS tab(x)"},
    )
    assert varied(spark, "SELECT pi()") is None


def test_views_of_the_session(tmp_path: Path, spark: Any) -> None:
    """A definition may read temporary views: what they are made of becomes a part of it, and `check` knows it too."""
    spark.sql("CREATE OR REPLACE TEMP VIEW colours AS SELECT * FROM VALUES (1, 'red'), (2, 'blue') AS t(id, name)")
    with open_database(tmp_path, spark, "inproc") as db:
        db.sql("CREATE TABLE things (id INT, colour INT)")
        db.sql(
            "CREATE MATERIALIZED VIEW coloured AS SELECT t.id, c.name FROM things t JOIN colours c ON t.colour = c.id"
        )
        db.insert("things", [(1, 1), (2, 2), (3, 3)])
        spark.sql("CREATE OR REPLACE TEMP VIEW colours AS SELECT 3 AS id, 'green' AS name")
        assert sorted(db.table("coloured").rows()) == [(1, "red"), (2, "blue")]
        assert db.check("coloured").num_rows == 0
    spark.catalog.dropTempView("colours")


def test_what_no_column_can_hold(tmp_path: Path, spark: Any) -> None:
    with open_database(tmp_path, spark, "inproc") as db:
        db.sql("CREATE TABLE t (y INT, m INT)")
        with pytest.raises(UnsupportedQuery, match="months, days and seconds together"):
            db.create_view("v", "SELECT make_interval(y, m) AS i FROM t")
        with pytest.raises(UnsupportedQuery, match="inside of an array"):
            db.create_view("v", "SELECT array(make_ym_interval(y, m)) AS i FROM t")
        spark.sql("DECLARE OR REPLACE VARIABLE factor INT DEFAULT 5")
        with pytest.raises(UnsupportedQuery, match="variable of the session"):
            db.create_view("v", "SELECT y * factor AS y FROM t")


def test_intervals_of_months(tmp_path: Path, spark: Any) -> None:
    with open_database(tmp_path, spark, "inproc") as db:
        db.sql("CREATE TABLE t (y INT, m INT)")
        db.sql("CREATE TABLE i (x INTERVAL YEAR TO MONTH)")
        db.create_view("v", "SELECT make_ym_interval(y, m) AS i, count(*) AS n FROM t GROUP BY 1")
        db.create_view("w", "SELECT max(x) AS high, count(*) AS n FROM i")
        db.insert("t", [(1, 2), (-1, -1), (1, 2), (None, 1)])
        db.insert("i", spark.sql("SELECT INTERVAL '1-2' YEAR TO MONTH AS x UNION ALL SELECT INTERVAL '-3' MONTH"))
        assert sorted(db.table("v").rows(), key=repr) == [(-13, 1), (14, 2), (None, 1)]
        assert db.table("w").rows() == [(14, 2)]
        db.delete("t", [(1, 2)])
        assert db.check().num_rows == 0


def test_structs_that_are_null_although_their_fields_are_not(tmp_path: Path, spark: Any) -> None:
    with open_database(tmp_path, spark, "inproc") as db:
        db.sql("CREATE TABLE t (i INT, s STRUCT<x: INT, y: INT>)")
        db.create_view(
            "v", "SELECT i, if(i > 1, named_struct('x', i, 'a', array(named_struct('b', 1))), NULL) AS n, s FROM t"
        )
        db.insert("t", spark.sql("SELECT * FROM VALUES (1, named_struct('x', 1, 'y', 2)), (2, NULL) AS t(i, s)"))
        assert sorted(db.table("t").rows()) == [(1, {"x": 1, "y": 2}), (2, None)]
        assert db.check("v").num_rows == 0


def test_rows_without_columns_are_counted(tmp_path: Path, spark: Any) -> None:
    with open_database(tmp_path, spark, "inproc") as db:
        db.sql("CREATE TABLE t (x INT)")
        db.create_view("v", "SELECT regr_count(1, 2) AS n, listagg('x') AS xs FROM t")
        db.insert("t", [(1,), (2,)])
        assert db.check("v").num_rows == 0


def test_pivots_on_nested_values(tmp_path: Path, spark: Any) -> None:
    with open_database(tmp_path, spark, "inproc") as db:
        db.sql("CREATE TABLE t (x INT, y STRING, a ARRAY<INT>, n INT)")
        db.create_view("two", "SELECT * FROM t PIVOT (sum(n) FOR (x, y) IN ((1, 'a') AS p, (2, 'b') AS q))")
        db.create_view(
            "arrays", "SELECT * FROM (SELECT a, n FROM t) PIVOT (sum(n) FOR a IN (array(1) AS p, array(2) AS q))"
        )
        db.insert("t", [(1, "a", [1], 5), (2, "b", [2], 6), (1, "b", [], 7)])
        db.delete("t", [(1, "a", [1], 5)])
        assert db.check().num_rows == 0
