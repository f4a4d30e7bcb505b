"""Statements are read as they were meant, or refused with line, word and what was expected."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewlet.errors import SqlError
from viewlet.plan.types import BIGINT, Field, Type, decimal, parse_type
from viewlet.sql import (
    AddColumns,
    CreateTable,
    CreateView,
    DeleteFrom,
    Describe,
    DescribeHistory,
    DescribeQuery,
    Drop,
    DropColumns,
    Explain,
    InsertInto,
    Merge,
    MergeClause,
    Refresh,
    Rename,
    RenameColumn,
    Select,
    Show,
    ShowColumns,
    ShowCreate,
    Statement,
    Update,
    literal_rows,
    parse,
    split,
)

INT, STRING = Type("int"), Type("string")
QUERY = "SELECT cust, sum(total) AS total FROM orders GROUP BY cust"

STATEMENTS: list[tuple[str, Statement]] = [
    ("ALTER TABLE t ADD COLUMN a INT", AddColumns("t", (Field("a", INT),))),
    (
        "alter table t add columns (a struct<x: int, y: string> COMMENT 'c', `b c` INT NOT NULL);",
        AddColumns("t", (Field("a", parse_type("struct<x: int, y: string>")), Field("b c", INT, False))),
    ),
    ("CREATE TABLE t (a INT)", CreateTable("t", (Field("a", INT),))),
    (
        "create table if not exists `my ``t` (id bigint, `x y` decimal(12, 2) not null, primary key (ID)) append only trusted;",
        CreateTable(
            "my `t",
            (Field("id", BIGINT, nullable=False), Field("x y", decimal(12, 2), nullable=False)),
            ("id",),
            append_only=True,
            trusted=True,
            if_not_exists=True,
        ),
    ),
    (
        "CREATE TABLE t (a INT PRIMARY KEY COMMENT 'it''s, (the) key', b STRING NULL) COMMENT 'x' WITH (append_only = true)",
        CreateTable("t", (Field("a", INT, nullable=False), Field("b", STRING)), ("a",), append_only=True),
    ),
    (
        "CREATE TABLE t (a INT, CONSTRAINT pk PRIMARY KEY (a)) TBLPROPERTIES ('trusted' = 'TRUE', append_only = false)",
        CreateTable("t", (Field("a", INT, nullable=False),), ("a",), trusted=True),
    ),
    (
        "CREATE TABLE t (m MAP<STRING, ARRAY<STRUCT<x: INT, y: DECIMAL(5,2)>>>, -- nested, and a comment)\n check INT)",
        CreateTable(
            "t", (Field("m", parse_type("map<string,array<struct<x:int,y:decimal(5,2)>>>")), Field("check", INT))
        ),
    ),
    (f"CREATE OR REPLACE TABLE t AS {QUERY}", CreateTable("t", (), query=QUERY, or_replace=True)),
    (f"CREATE MATERIALIZED VIEW v AS {QUERY};", CreateView("v", QUERY)),
    (f"CREATE OR REPLACE MATERIALIZED VIEW v AS {QUERY}", CreateView("v", QUERY, or_replace=True)),
    (f"CREATE MATERIALIZED VIEW IF NOT EXISTS v AS {QUERY}", CreateView("v", QUERY, if_not_exists=True)),
    (f"CREATE MATERIALIZED VIEW v REFRESH POLICY AUTO AS {QUERY}", CreateView("v", QUERY)),
    (f"CREATE MATERIALIZED VIEW v REFRESH POLICY FULL AS {QUERY}", CreateView("v", QUERY, policy="FULL")),
    (
        f"CREATE MATERIALIZED VIEW v COMMENT 'why' REFRESH POLICY INCREMENTAL AS {QUERY}",
        CreateView("v", QUERY, policy="INCREMENTAL"),
    ),
    (
        f"CREATE MATERIALIZED VIEW v REFRESH POLICY incremental strict AS /* ; */ {QUERY}",
        CreateView("v", QUERY, policy="INCREMENTAL STRICT"),
    ),
    ("DROP TABLE t", Drop("table", "t")),
    ("DROP TABLE IF EXISTS t CASCADE", Drop("table", "t", if_exists=True, cascade=True)),
    ("DROP MATERIALIZED VIEW v RESTRICT", Drop("view", "v")),
    ("DROP VIEW IF EXISTS v", Drop("view", "v", if_exists=True)),
    ("REFRESH MATERIALIZED VIEW v", Refresh("v")),
    ("REFRESH v FULL", Refresh("v", full=True)),
    ("EXPLAIN v", Explain("v")),
    ("EXPLAIN MATERIALIZED VIEW v", Explain("v")),
    (f"EXPLAIN CREATE MATERIALIZED VIEW v AS {QUERY}", Explain(CreateView("v", QUERY))),
    ("DESCRIBE HISTORY v", DescribeHistory("v")),
    ("DESC HISTORY v", DescribeHistory("v")),
    ("SHOW TABLES", Show("tables")),
    ("SHOW MATERIALIZED VIEWS", Show("views")),
    ("SHOW VIEWS", Show("views")),
    ("INSERT INTO t VALUES (1, ';'), (2, ')')", InsertInto("t", None, "VALUES (1, ';'), (2, ')')")),
    ("INSERT INTO TABLE t (a, `b c`) SELECT 1, 2", InsertInto("t", ("a", "b c"), "SELECT 1, 2")),
    ("INSERT INTO t (SELECT 1)", InsertInto("t", None, "(SELECT 1)")),
    ("INSERT INTO t BY NAME SELECT 1 AS a", InsertInto("t", None, "SELECT 1 AS a", by_name=True)),
    ("INSERT OVERWRITE TABLE t TABLE s", InsertInto("t", None, "TABLE s", overwrite=True)),
    ("CREATE TABLE t TRUSTED AS SELECT 1 AS a", CreateTable("t", (), trusted=True, query="SELECT 1 AS a")),
    (
        "CREATE TABLE t (a INT DEFAULT f(1, 2) NOT NULL COMMENT 'x', b STRING DEFAULT ')')",
        CreateTable("t", (Field("a", INT, False), Field("b", STRING)), defaults=(("a", "f(1, 2)"), ("b", "')'"))),
    ),
    (
        "CREATE TABLE t (a INT CHECK (a > 0), check INT, CONSTRAINT `c d` CHECK (f(a, ')') OR check) ON VIOLATION DROP ROW,"
        " CONSTRAINT e EXPECT (true) ON VIOLATION FAIL UPDATE, CHECK (a < 9) ON VIOLATION KEEP ASIDE)",
        CreateTable(
            "t",
            (Field("a", INT), Field("check", INT)),
            constraints=(
                ("check_1", ("a > 0", "FAIL EPOCH")),
                ("c d", ("f(a, ')') OR check", "DROP ROW")),
                ("e", ("true", "FAIL EPOCH")),
                ("check_4", ("a < 9", "KEEP ASIDE")),
            ),
        ),
    ),
    ("ALTER TABLE t DROP COLUMNS (a, b)", DropColumns("t", ("a", "b"))),
    ("ALTER TABLE t DROP COLUMN IF EXISTS a", DropColumns("t", ("a",), if_exists=True)),
    ("ALTER TABLE t RENAME COLUMN a TO `b c`", RenameColumn("t", "a", "b c")),
    ("ALTER MATERIALIZED VIEW v RENAME TO w", Rename("view", "v", "w")),
    ("DESC EXTENDED t", Describe("t", extended=True)),
    ("DESCRIBE WITH a AS (SELECT 1) SELECT * FROM a", DescribeQuery("WITH a AS (SELECT 1) SELECT * FROM a")),
    ("SHOW CREATE TABLE t", ShowCreate("table", "t")),
    ("SHOW COLUMNS FROM t", ShowColumns("t")),
    ("SHOW VIEWS LIKE 'a*'", Show("views", "a*")),
    (
        "MERGE INTO t a USING (SELECT 1 AS x) b ON a.x = b.x WHEN MATCHED AND CASE WHEN b.x THEN 1 END = 1 THEN DELETE"
        " WHEN NOT MATCHED THEN INSERT (x) VALUES (f(b.x, CASE WHEN 1 THEN 2 END)) WHEN MATCHED THEN UPDATE SET *",
        Merge(
            "t",
            "a",
            "(SELECT 1 AS x) b",
            "b",
            "a.x = b.x",
            (
                MergeClause("matched", "CASE WHEN b.x THEN 1 END = 1", "delete"),
                MergeClause("not matched", None, "insert", (("x", "f(b.x, CASE WHEN 1 THEN 2 END)"),)),
                MergeClause("matched", None, "update", None),
            ),
        ),
    ),
    ("DELETE FROM t", DeleteFrom("t")),
    ("DELETE FROM t WHERE a IN (1, 2);", DeleteFrom("t", "a IN (1, 2)")),
    (
        "UPDATE t SET a = f(a, 1), `b c` = CASE WHEN x THEN ',' END WHERE a = 1",
        Update("t", (("a", "f(a, 1)"), ("b c", "CASE WHEN x THEN ',' END")), "a = 1"),
    ),
    (
        "UPDATE t SET a = (SELECT max(x) FROM s WHERE x < 3)",
        Update("t", (("a", "(SELECT max(x) FROM s WHERE x < 3)"),)),
    ),
    ("SELECT 1", Select("SELECT 1")),
    ("  -- first\n WITH x AS (SELECT 1) SELECT * FROM x -- last\n;", Select("WITH x AS (SELECT 1) SELECT * FROM x")),
    ("FROM t", Select("FROM t")),
    ("VALUES (1)", Select("VALUES (1)")),
    ("(SELECT 1) UNION (SELECT 2)", Select("(SELECT 1) UNION (SELECT 2)")),
]


@pytest.mark.parametrize(("text", "statement"), STATEMENTS, ids=[text[:40] for text, _ in STATEMENTS])
def test_statement(text: str, statement: Statement) -> None:
    assert parse(text) == statement


REFUSALS = [
    ("", "line 1: expected a statement, found the end"),
    ("-- nothing\n", "line 1: expected a statement"),
    ("SELEC 1", "line 1: expected a statement such as CREATE, INSERT or SELECT, found SELEC"),
    ("MERGE INTO t USING s", "expected ON, found the end"),
    ("MERGE INTO t USING s ON t.a = s.a", "expected WHEN MATCHED or WHEN NOT MATCHED"),
    ("MERGE INTO t USING s ON a WHEN NOT MATCHED THEN DELETE", "expected INSERT, found DELETE"),
    ("MERGE INTO t USING s ON a WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1)", r"1 values for 2 columns \(a, b\)"),
    ("CREATE VIEW v AS SELECT 1", "hint: write CREATE MATERIALIZED VIEW"),
    ("CREATE OR REPLACE TEMP VIEW v AS SELECT 1", "hint: write CREATE MATERIALIZED VIEW"),
    ("CREATE FUNCTION f", "expected TABLE, MATERIALIZED VIEW or SINK, found FUNCTION"),
    ("CREATE OR REPLACE TABLE t (a INT)", "only a table AS a query can be replaced"),
    ("CREATE TABLE t (a INT) AS SELECT 1", "the columns of a table AS a query are the query's"),
    ("CREATE TABLE t", "at least one column.*or CREATE TABLE t AS SELECT"),
    ("CREATE TABLE t ()", r"expected the name of a column, found \)"),
    ("CREATE TABLE t (PRIMARY KEY (a))", "at least one column"),
    ("CREATE TABLE t (a)", "expected the type of column `a`"),
    ("CREATE TABLE t (a FOO)", "column `a`: `FOO` is not a data type"),
    ("CREATE TABLE t (\n a INT,\n b DECIMAL(50,2))", "line 3: column `b`: .*up to 38 digits"),
    ("CREATE TABLE t (a INT", "expected , or \\), found the end of the statement"),
    ("CREATE TABLE t (a INT, A STRING)", "two columns named `A`"),
    ("CREATE TABLE t (a INT, PRIMARY KEY (b))", "primary key names `b`.*hint: there are: a"),
    ("CREATE TABLE t (a INT, PRIMARY KEY (a, A))", "names a column twice"),
    ("CREATE TABLE t (a INT PRIMARY KEY, b INT PRIMARY KEY)", "one primary key"),
    ("CREATE TABLE t (a INT DEFAULT)", "expected the default of `a`"),
    ("CREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES b)", "FOREIGN is not supported"),
    ("CREATE TABLE t (a INT, CONSTRAINT c UNIQUE (a))", "UNIQUE is not supported"),
    ("CREATE TABLE t (a INT, CONSTRAINT c CHECK a > 0)", r"expected \( and a condition, found a"),
    (
        "CREATE TABLE t (a INT CHECK (a > 0) ON VIOLATION SIGH)",
        "expected FAIL EPOCH, DROP ROW or KEEP ASIDE, found SIGH",
    ),
    ("CREATE TABLE t (a INT, CONSTRAINT c CHECK (a > 0), CONSTRAINT C CHECK (a < 9))", "two constraints named `C`"),
    ("CREATE TABLE t (a INT) USING parquet", "found USING.*hint: Viewlet keeps tables in its own files"),
    ("CREATE TABLE t (a INT) WITH (color = true)", "expected append_only or trusted or static, found color"),
    ("CREATE TABLE t (a INT) WITH (trusted = maybe)", "expected true or false for trusted, found maybe"),
    ("CREATE TABLE a.t (x INT)", "expected one name for the table"),
    ("CREATE TABLE 'a' (x INT)", "expected the name of the table, found 'a'"),
    ("CREATE MATERIALIZED VIEW v (a) AS SELECT 1", "column names from its query"),
    ("CREATE MATERIALIZED VIEW v\nAS\nSELCT 1", "line 3: expected a query, found SELCT"),
    ("CREATE MATERIALIZED VIEW v AS", "expected a query, found the end of the statement"),
    ("CREATE MATERIALIZED VIEW v SELECT 1", "expected AS and a query, found SELECT"),
    ("CREATE MATERIALIZED VIEW v REFRESH POLICY DAILY AS SELECT 1", "expected AUTO, INCREMENTAL.*found DAILY"),
    ("CREATE OR REPLACE MATERIALIZED VIEW IF NOT EXISTS v AS SELECT 1", "contradict"),
    ("DROP t", "expected TABLE, MATERIALIZED VIEW or SINK, found t"),
    ("DROP TABLE t t2", "expected the end of the statement, found t2"),
    ("SHOW FUNCTIONS", "expected TABLES, VIEWS, COLUMNS IN or CREATE TABLE, found FUNCTIONS"),
    ("ALTER TABLE t CLUSTER BY (a)", "expected ADD COLUMN, DROP COLUMN, RENAME COLUMN or RENAME TO, found CLUSTER"),
    ("ALTER VIEW v AS SELECT 1", "CREATE OR REPLACE MATERIALIZED VIEW"),
    ("EXPLAIN SELECT 1", "EXPLAIN CREATE MATERIALIZED VIEW"),
    ("EXPLAIN CREATE TABLE t (a INT)", "only views can be explained"),
    ("INSERT OVERWRITE t PARTITION (a = 1) SELECT 1", "no partitions"),
    ("INSERT INTO t BY NAME (a) SELECT 1", "BY NAME takes the columns from the query"),
    ("INSERT INTO t (a, ) VALUES (1)", "expected the name of a column"),
    ("INSERT INTO t", "expected a query, found the end"),
    ("UPDATE t SET a", "expected =, found the end"),
    ("UPDATE t SET a = WHERE b", "expected the value of `a`, found WHERE"),
    ("DELETE FROM t WHERE", "expected a condition after WHERE"),
    ("SELECT 1; SELECT 2", "one statement at a time"),
    ("SELECT\n 'abc", "line 2: the string that starts here has no end: 'abc"),
    ("SELECT `abc", "the quoted name that starts here has no end"),
    ("SELECT 1 /* /* */", "the comment that starts here has no end"),
    ("SELECT (1, [2)", "never closed"),
]


@pytest.mark.parametrize(("text", "message"), REFUSALS, ids=[text[:40] for text, _ in REFUSALS])
def test_refusal(text: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        parse(text)


def test_script_is_split_at_semicolons_that_separate() -> None:
    script = "a;\n-- c;\n b ';' \";\" `;` /* ; /* ; */ */ ;\n\n(c;d);;\n-- the end;"
    assert split(script) == [(1, "a"), (3, "b ';' \";\" `;` /* ; /* ; */ */"), (5, "(c;d)")]
    assert split("") == []


PIECES = st.sampled_from(
    ["a", "'x;y'", '"--;"', "`;`", "(;)", "-- c;\n", "/* ; */", "1.5", "\n", " ", "\\", "é", "r'\\'", "'\\';'"]
)


@given(st.lists(st.lists(PIECES, min_size=1), min_size=1))
def test_splitting_loses_nothing(statements: list[list[str]]) -> None:
    texts = ["z " + " ".join(pieces) for pieces in statements]
    found = split(" ;\n".join(texts))
    assert len(found) == len(texts)
    for (_, piece), text in zip(found, texts, strict=True):
        assert text.startswith(piece)
        assert re.fullmatch(r"(\s|-- c;\n|/\* ; \*/)*", text.removeprefix(piece)), "nothing but comments is cut off"


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (parse, split):
        with suppress(SqlError):
            read(text)


def columns(*types: str) -> tuple[Field, ...]:
    return tuple(Field(f"c{i}", parse_type(t)) for i, t in enumerate(types))


NOON = datetime(2024, 2, 29, 12, 0, 0, 500_000)
LITERALS: list[tuple[str, str, Any]] = [
    ("NULL", "int", None),
    ("true", "boolean", True),
    ("-128", "tinyint", -128),
    ("+7", "int", 7),
    ("9223372036854775807", "bigint", 2**63 - 1),
    ("12", "double", 12.0),
    ("-0.0", "double", 0.0),
    ("1.5e3", "double", 1500.0),
    ("-2D", "double", -2.0),
    ("0.1", "double", 0.1),
    ("12", "decimal(12,2)", Decimal("12.00")),
    ("-1.5", "decimal(12,2)", Decimal("-1.50")),
    ("1.", "decimal(2,1)", Decimal("1.0")),
    (".05", "decimal(2,2)", Decimal("0.05")),
    ("12345678901234567890123456789012345678", "decimal(38,0)", Decimal("12345678901234567890123456789012345678")),
    ("'it''s'", "string", "it's"),
    ('"a ""b"""', "string", 'a "b"'),
    ("'é😀'", "string", "é😀"),
    ("DATE '2024-02-29'", "date", date(2024, 2, 29)),
    ("'0001-01-01'", "date", date(1, 1, 1)),
    ("TIMESTAMP '2024-02-29 12:00:00.5'", "timestamp", NOON.replace(tzinfo=UTC)),
    ("TIMESTAMP_NTZ '2024-02-29T12:00:00.500000'", "timestamp_ntz", NOON),
    ("'2024-02-29 12:00:00.5'", "timestamp_ntz", NOON),
    ("X'00fF'", "binary", b"\x00\xff"),
]


@pytest.mark.parametrize(("text", "kind", "value"), LITERALS)
def test_literal(text: str, kind: str, value: Any) -> None:
    rows = literal_rows(f"VALUES ({text}), (NULL)", columns(kind))
    assert rows == [(value,), (None,)]
    assert rows is not None
    assert repr(rows[0][0]) == repr(value)


LEFT_TO_SPARK = [
    ("1 + 1", "int"), ("128", "tinyint"), ("1.5", "int"), ("1.0", "int"), ("12L", "bigint"), ("1.555", "decimal(12,2)"),
    ("1000", "decimal(5,2)"), ("1e2", "decimal(5,2)"), ("1", "float"), ("1", "string"), ("'1'", "int"), ("true", "int"),
    ("'a' 'b'", "string"), ("'a\\nb'", "string"), ("r'a'", "string"), ("'${x}'", "string"), ("upper('a')", "string"),
    ("DATE '2023-02-29'", "date"), ("'2023-2-1'", "date"), ("DATE '2023-02-01'", "timestamp"), ("1e999", "double"),
    ("TIMESTAMP '2024-01-01 10:00:00+01:00'", "timestamp"), ("X'0'", "binary"), ("array(1)", "array<int>"),
    ("current_date", "date"), ("- 'a'", "int"), ("DEFAULT", "int"), ("(1)", "int"), ("1)x", "int"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind"), LEFT_TO_SPARK)
def test_what_is_no_plain_literal_is_left_to_spark(text: str, kind: str) -> None:
    assert literal_rows(f"VALUES ({text})", columns(kind)) is None


def test_values_of_several_shapes() -> None:
    assert literal_rows("values 1, 2;", columns("int")) == [(1,), (2,)]
    assert literal_rows("VALUES (1, 'a'),\n (2, NULL)", columns("int", "string")) == [(1, "a"), (2, None)]
    assert literal_rows("VALUES (1) AS t(a)", columns("int")) is None
    assert literal_rows("SELECT 1", columns("int")) is None


@pytest.mark.parametrize("text", ["VALUES (1, 2), (1)", "VALUES (1, 2), (1, 2, 3)", "VALUES (1, 2), 3"])
def test_row_of_the_wrong_length(text: str) -> None:
    with pytest.raises(SqlError, match=r"line 1: row 2 has .* values for 2 columns \(c0, c1\)"):
        literal_rows(text, columns("int", "int"))


@pytest.mark.spark
def test_literals_are_what_spark_makes_of_them(spark: Any) -> None:
    """Each literal, beside a NULL, cast to its column as an INSERT would."""
    texts = ", ".join(f"CAST({text} AS {kind}) AS c{i}" for i, (text, kind, _) in enumerate(LITERALS))
    found = spark.sql(f"SELECT {texts}").toArrow().to_pylist()[0]
    for i, (text, kind, value) in enumerate(LITERALS):
        assert repr(_plain(found[f"c{i}"])) == repr(_plain(value)), f"{text} as {kind}"


def _plain(value: Any) -> Any:
    """Times without the zone object that a library happens to use."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value
