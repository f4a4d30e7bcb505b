"""Spark's documented examples: the queries that its own tests run, taken from its jar, as views.

Each is played as it is written. Where its values are constants, it is played once more with the constants in a table, so
that nothing can be computed beforehand: rows of VALUES become a table's rows; constants of a query without FROM become
columns of a table with one row. Which constants can be columns is for Spark's analyser to say: formats and field names,
for instance, have to be constants, and stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.types import StructField, StructType

from viewlet import Database
from viewlet.errors import EvaluationError, SqlError, UnknownName, UnsupportedQuery, ViewletError
from viewlet.program.chain import chain
from viewlet.program.program import Program
from viewlet.program.terms import Regroup, SparkRowwise
from viewlet.spark.session.jvm import class_of, items, quietly, walk, walk_plan
from viewlet.views.view import sql_view

SPARKS_OWN = (PySparkException, Py4JJavaError)
INLINE = ("UnresolvedInlineTable", "ResolvedInlineTable", "LocalRelation")


def functions(spark: Any) -> list[str]:
    """The names of all built-in functions."""
    return sorted(str(row[0]) for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect())


def examples(spark: Any, name: str) -> list[str]:
    """The example queries of a function."""
    return list(queries_in(_described(spark, name)))


def _described(spark: Any, name: str) -> str:
    if name in ("!=", "<>", "between", "case", "||"):  # parts of the grammar, with no entry in the registry
        return "\n".join(row[0] for row in spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect())
    identifier = spark._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name)
    return str(spark._jsparkSession.sessionState().catalog().lookupFunctionInfo(identifier).getExamples())


def queries_in(text: str) -> Iterator[str]:
    """The queries of a documentation: what stands between `>` and `;`."""
    for part in re.split(r"(?m)^\s*> ", text)[1:]:
        query, ended, _ = part.partition(";\n")
        if ended:
            yield query.strip()


@dataclass
class Varied:
    """A query over tables, and queries for the rows of each."""

    sql: str
    tables: dict[str, str] = field(default_factory=dict)


def varied(spark: Any, sql: str) -> Varied | None:
    """An example with its constants in a table; None where it has none that could be."""
    with quietly():
        parsed = spark._jsparkSession.sessionState().sqlParser().parsePlan(sql)
    inline = [node for node in walk_plan(parsed) if class_of(node) in INLINE]
    if inline:
        return _with_tables(sql, inline)
    if class_of(parsed) == "Project" and class_of(parsed.child()).startswith("OneRowRelation"):
        return _with_columns(spark, sql, parsed)
    return None


def _with_tables(sql: str, inline: list[Any]) -> Varied:
    """VALUES as tables."""
    made = Varied(sql)
    for number, (start, end) in sorted(enumerate(map(_place, inline)), key=lambda it: it[1], reverse=True):
        name, text = f"values{number}", sql[start:end]
        alias = re.search(r"\)\s*(?:AS\s+)?(\w+)\s*(?:\([\w\s,]*\))?\s*$", text, re.IGNORECASE)
        made.tables[name] = f"SELECT * FROM {text}"
        made.sql = f"{made.sql[:start]}{name}{f' AS {alias[1]}' if alias else ''}{made.sql[end:]}"
    return made


def _with_columns(spark: Any, sql: str, parsed: Any) -> Varied | None:
    """Constants as columns: all of them if Spark takes them so, else as many as it takes."""
    found = [e for root in items(parsed.expressions()) for e in walk(root) if class_of(e) == "Literal"]
    places = sorted({_place(e) for e in found if e.dataType().typeName() != "void" and _is_of(e, sql)})
    kept = places if _is_accepted(spark, _columns_of(sql, places)) else []
    for place in [] if kept else places:
        if _is_accepted(spark, _columns_of(sql, [*kept, place])):
            kept.append(place)
    return _columns_of(sql, kept) if kept else None


def _columns_of(sql: str, places: list[tuple[int, int]]) -> Varied:
    """Values at some places of a text as columns of `given`."""
    places = sorted(places)
    named = ", ".join(f"{sql[start:end]} AS c{i}" for i, (start, end) in enumerate(places))
    text = sql
    for i, (start, end) in reversed(list(enumerate(places))):
        text = f"{text[:start]}c{i}{text[end:]}"
    return Varied(f"{text} FROM given", {"given": f"SELECT {named}"})


def _is_of(node: Any, sql: str) -> bool:
    """Whether a node was made for this text: TRUE and FALSE are made once, wherever Spark first needed them."""
    text = node.origin().sqlText()
    return bool(text.isDefined()) and text.get() == sql


def _place(node: Any) -> tuple[int, int]:
    """Where a node of a parsed plan stands in the text."""
    origin = node.origin()
    return int(origin.startIndex().get()), int(origin.stopIndex().get()) + 1


def _is_accepted(spark: Any, made: Varied) -> bool:
    with quietly():
        try:
            for name, rows in made.tables.items():
                spark.sql(rows).createOrReplaceTempView(name)
            return bool(spark.sql(made.sql).columns)
        except SPARKS_OWN:
            return False
        finally:
            for name in made.tables:
                spark.catalog.dropTempView(name)


@dataclass(frozen=True)
class Outcome:
    """What became of an example: how its view is kept, or why there is none."""

    technique: str = ""
    where: str = ""
    refused: str = ""


def outcome_of(db: Database, sql: str) -> Outcome:
    """The view of a query, created and compared with Spark SQL, or refused for a reason with a name."""
    try:
        db.create_view("example", sql)
    except UnsupportedQuery as error:
        return Outcome(refused=error.args[0])
    except ViewletError as error:
        if not fails_in_spark(db, sql):
            raise
        named = "Spark does not take it" if isinstance(error, SqlError | UnknownName) else "it fails in Spark"
        return Outcome(refused=named)
    compare(db)
    program = sql_view(db._warehouse.catalog, "example").program
    return Outcome(db.history("example")[-1]["views"]["example"]["technique"], where(program))


def fails_in_spark(db: Database, sql: str) -> bool:
    """Whether Spark SQL itself rejects a query, or fails to run it."""
    try:
        with quietly():
            db._warehouse.reading.query(sql)._jdf.collect()
    except SPARKS_OWN:
        return True
    return False


def compare(db: Database) -> None:
    """The view equals what Spark SQL returns, but for what is left of doubles that cancel."""
    wrong = db.check("example").to_pylist()
    assert not wrong or _cancelled(wrong), f"{wrong[:6]}\n{db.explain('example')}"


def _cancelled(wrong: list[dict[str, Any]]) -> bool:
    """Whether two rows differ just by doubles that are nothing but what rounding leaves of zero."""
    if [row["_which"] for row in wrong] not in (["expected", "found"], ["found", "expected"]):
        return False
    a, b = wrong
    return all(
        a[name] == b[name] or all(isinstance(v, float) and abs(v) < 1e-12 for v in (a[name], b[name]))
        for name in a
        if name != "_which"
    )


def where(program: Program) -> str:
    """Whether Spark takes part in keeping a view."""
    parts = [part for step in program.steps for term in step.terms for part in chain(term)]
    on_spark = any(isinstance(p, SparkRowwise) or (isinstance(p, Regroup) and p.native is not None) for p in parts)
    return "Spark" if on_spark else "in process"


def play_constant(db: Database, sql: str) -> Outcome:
    """An example as it is written."""
    try:
        return outcome_of(db, sql)
    finally:
        db.drop("example", if_exists=True)


def play_varied(db: Database, made: Varied) -> Outcome | None:
    """An example over tables, which change; None where no table can have such columns."""
    rows = {name: db._warehouse.session.sql(query) for name, query in made.tables.items()}
    try:
        return _played(db, made, rows) if _filled(db, rows) else None
    finally:
        db.drop("example", if_exists=True)
        for name in rows:
            db.drop(name, if_exists=True)


def _filled(db: Database, rows: dict[str, Any]) -> bool:
    """Make a table for each of some DataFrames, unless a type forbids it."""
    for name, frame in rows.items():
        try:
            db.create_table(name, StructType([StructField(f.name, f.dataType) for f in frame.schema]))
        except SqlError:
            return False
        db.insert(name, frame)
    return True


def _played(db: Database, made: Varied, rows: dict[str, Any]) -> Outcome:
    """An example's view, through an epoch that inserts, and one that deletes."""
    outcome = outcome_of(db, made.sql)
    if outcome.refused:
        return outcome
    nulls = _insert(db, made, rows)
    with db.epoch() as epoch:
        for name, frame in rows.items():
            epoch.delete(name, frame)
            epoch.delete(name, nulls.get(name, []))
    compare(db)
    return outcome


def _insert(db: Database, made: Varied, rows: dict[str, Any]) -> dict[str, Any]:
    """All rows once more, and a row of NULLs; where a function fails on NULLs, it has to fail in Spark as well."""
    nulls = {name: [(None,) * len(frame.columns)] for name, frame in rows.items()}
    try:
        _insert_all(db, rows, nulls)
    except EvaluationError:
        assert _fails_over_nulls(db, made, rows), "an epoch fails that Spark can compute"
        nulls = {}
        _insert_all(db, rows, nulls)
    with suppress(
        EvaluationError
    ):  # Spark may meet an error that its optimizer spared the view, and the other way round
        compare(db)
    return nulls


def _insert_all(db: Database, rows: dict[str, Any], nulls: dict[str, Any]) -> None:
    with db.epoch() as epoch:
        for name, frame in rows.items():
            epoch.insert(name, frame)
            epoch.insert(name, nulls.get(name, []))


def _fails_over_nulls(db: Database, made: Varied, rows: dict[str, Any]) -> bool:
    """Whether Spark fails to run the query on tables with a row of NULLs each, which it cannot see beforehand."""
    other = db._warehouse.session.newSession()
    for name, query in made.tables.items():
        nulls = ", ".join(f"CAST(NULL AS {f.dataType.simpleString()})" for f in rows[name].schema)
        other.sql(f"{query} UNION ALL SELECT {nulls}").localCheckpoint().createOrReplaceTempView(name)
    try:
        with quietly():
            other.sql(made.sql)._jdf.collect()
    except SPARKS_OWN:
        return True
    return False
