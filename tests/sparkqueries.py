"""Spark's own query tests as views: what of a checkout's `sql-tests/inputs` Viewlet takes, refuses and gets wrong.

    python -m tests.sparkqueries FOLDER [--engine inproc] [--like subquery]

A file's temporary views and tables become tables of a warehouse, so that its queries have something to be kept fresh
over; those whose columns no table can have stay temporary views. Each query becomes a view, is compared with Spark SQL,
and compared again after half of the rows of all tables went away, and came back. What Spark itself does not accept, or
fails to run, does not count. What is refused is listed with the reason. The exit code is 1 if anything crashed or differs.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql.types import StructField, StructType

from tests.conftest import small_session
from tests.spark_examples import SPARKS_OWN, compare, fails_in_spark
from viewlet import Database
from viewlet.engine.choose import EngineName
from viewlet.errors import RejectedEpoch, SqlError, UnknownName, UnsupportedQuery, ViewletError
from viewlet.spark.session.jvm import quietly
from viewlet.sql import split

QUERY = re.compile(r"\(|(SELECT|WITH|FROM|VALUES|TABLE|MAP|REDUCE)\b", re.IGNORECASE)
NAMED = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:(?:GLOBAL\s+)?TEMP(?:ORARY)?\s+)?(?:VIEW|TABLE)\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)",
    re.IGNORECASE,
)
SETTING = re.compile(r"(?m)^--SET\s+(\S+?)\s*=\s*(\S+)\s*$")


@dataclass
class Report:
    """What became of the queries, and what was wrong with some."""

    counts: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        yield ", ".join(f"{n} {what}" for what, n in sorted(self.counts.items())) or "no queries"
        yield from (f"refused {n} times: {reason}" for reason, n in self.refused.most_common())
        yield from self.wrong


def run_file(path: Path, spark: Any, engine: EngineName, report: Report) -> None:
    """All statements of a file, in a warehouse and a session of their own."""
    text, session = path.read_text(encoding="utf-8"), spark.newSession()
    for name, value in SETTING.findall(text):
        session.conf.set(name, value)
    with (
        tempfile.TemporaryDirectory() as folder,
        Database(Path(folder) / "w", spark=session, engine=engine) as db,
    ):
        for line, statement in _statements(text):
            if QUERY.match(statement):
                run_query(db, f"{path.name}:{line}", statement, report)
            else:
                prepare(db, statement)
        _clear(db)


def _statements(text: str) -> list[tuple[int, str]]:
    try:
        return split(text)
    except SqlError:  # some files test what is no text at all
        return []


def prepare(db: Database, statement: str) -> None:
    """A statement that sets something up, run by Spark; what it makes becomes a table of the warehouse."""
    made = NAMED.match(statement)
    if made and db._warehouse.catalog.known(made[1]):
        db.drop(made[1])
    with quietly():
        try:
            db._warehouse.session.sql(statement)
            if made:
                take_in(db, made[1])
        except SPARKS_OWN:
            return


def take_in(db: Database, name: str) -> None:
    """A table of the warehouse with the rows of a temporary view, unless its columns do not allow one."""
    frame = db._warehouse.session.table(name)
    try:
        db.create_table(name, StructType([StructField(f.name, f.dataType) for f in frame.schema]))
    except (SqlError, UnknownName):
        return
    try:
        db.insert(name, frame)
    except RejectedEpoch:
        db.drop(name)


def run_query(db: Database, place: str, query: str, report: Report) -> None:
    """A query as a view: taken, refused by name, no query for Spark either, or wrong."""
    try:
        outcome = played(db, query, report)
    except Exception as error:
        outcome = "crashed or differ"
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "viewlet" in f.filename]
        at = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        report.wrong.append(f"{place} {type(error).__name__} at {at}: {str(error)[:400]}\n    {query}")
    finally:
        db.drop("example", if_exists=True)
    report.counts[outcome] += 1


def played(db: Database, query: str, report: Report) -> str:
    try:
        db.create_view("example", query)
    except UnsupportedQuery as error:
        report.refused[re.sub(r"`[^`]*`", "`…`", error.args[0])] += 1
        return "refused"
    except ViewletError as error:
        if "RECURSION_LEVEL_LIMIT" in str(error):
            report.refused[str(error.hint)] += 1
            return "refused"
        if fails_in_spark(db, query):
            return "not for Spark either"
        raise
    compare(db)
    with db.epoch() as epoch:
        rows = {name: db.table(name).rows() for name in db._warehouse.catalog.tables}
        for name, there in rows.items():
            epoch.delete(name, there[::2])
    compare(db)
    with db.epoch() as epoch:
        for name, there in rows.items():
            epoch.insert(name, there[::2])
    compare(db)
    return "well"


def _clear(db: Database) -> None:
    """Persistent tables and views of the file, which outlive its session."""
    with quietly():
        lasting = [row.tableName for row in db._warehouse.session.sql("SHOW TABLES").collect() if not row.isTemporary]
        for kind in ("VIEW", "TABLE"):
            for name in lasting:
                with suppress(*SPARKS_OWN):
                    db._warehouse.session.sql(f"DROP {kind} IF EXISTS `{name}`")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sparkqueries", description="Spark's query tests as views.")
    parser.add_argument("folder", type=Path, help="sql/core/src/test/resources/sql-tests/inputs of a checkout of Spark")
    parser.add_argument("--engine", default="inproc", choices=("inproc", "spark"))
    parser.add_argument("--like", default="", help="only files whose path contains this")
    options = parser.parse_args()
    spark, report = small_session(), Report()
    for path in sorted(options.folder.rglob("*.sql")):
        if options.like in str(path.relative_to(options.folder)):
            before = len(report.wrong)
            run_file(path, spark, options.engine, report)
            print(f"{path.relative_to(options.folder)}: {len(report.wrong) - before} wrong", flush=True)
    print(*report.lines(), sep="\n")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
