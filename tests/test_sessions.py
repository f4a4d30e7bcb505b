"""Session windows: gathered as in a plain loop over all rows, and views of them against plain Spark SQL."""

from __future__ import annotations

import datetime as dt
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import viewlet
from tests.few_hashes import few_hashes
from tests.local_epoch import LocalEpoch
from tests.marks import THOROUGH, rounds, some
from viewlet.columns.rows import Rows
from viewlet.engine.terms import sessionize as gather
from viewlet.plan.types import BIGINT, TIMESTAMP, Field
from viewlet.program.terms import Sessionize
from viewlet.store.contents import Contents
from viewlet.store.runs.layout import Layout
from viewlet.store.runs.runs import Run
from viewlet.store.runs.write_runs import make_map_run

Span = tuple[int, int, int]
"""A key, a start and an end."""
NAMES = ("k", "a", "b", "first", "last")
KINDS = (pa.int64(), *[pa.timestamp("us", "UTC")] * 4)


class OneMap(LocalEpoch):
    """An epoch that knows a delta and the rows of one map."""

    def __init__(self, layout: Layout) -> None:
        self.delta, self.runs, self.layout = Rows.empty({}), list[Run](), layout

    def change(self, bag: str) -> Rows:
        return self.delta

    def old(self, bag: str) -> Contents:
        return Contents(self.layout, self.runs, dict(zip(NAMES, KINDS, strict=True)))


def gathered(spans: list[Span], by_key: bool) -> Counter[tuple[int, ...]]:
    """Every span with its session, in a loop."""
    found: list[list[Span]] = []
    for span in sorted(spans, key=lambda s: (s[0] if by_key else 0, s[1])):
        together = found and (found[-1][0][0] == span[0] or not by_key) and span[1] <= max(b for *_, b in found[-1])
        found[-1].append(span) if together else found.append([span])
    return Counter((*s, part[0][1], max(b for *_, b in part)) for part in found for s in part)


@st.composite
def histories(draw: st.DrawFn) -> list[list[tuple[Span, int]]]:
    """Batches of spans that come and go."""
    spans = st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(1, 6)).map(lambda s: (s[0], s[1], s[1] + s[2]))
    there: list[Span] = []
    batches = []
    for _ in range(draw(st.integers(1, 6))):
        there = draw(st.permutations(there))
        gone = [there.pop() for _ in range(draw(st.integers(0, min(len(there), 5))))]
        new = draw(st.lists(spans, max_size=12))
        there += new
        batches.append([(s, 1) for s in new] + [(s, -1) for s in gone])
    return batches


@pytest.mark.parametrize(("by_key", "hashes"), [(True, None), (True, 2), (True, 1), (False, None)])
@given(history=histories())
def test_sessions_are_those_of_all_rows(by_key: bool, hashes: int | None, history: Any) -> None:
    keys = ("k",) if by_key else ()
    fields = tuple(Field(n, BIGINT if n == "k" else TIMESTAMP) for n in NAMES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gather, "_MANY", float("inf"))
        if hashes is not None:
            few_hashes(patch, hashes)
        run = gather.compile_sessionize(Sessionize("m", keys, ("a", "b"), "t", fields))
        epoch, there = OneMap(Layout(NAMES, keys)), Counter[Span]()
        for batch in history:
            columns = zip(*(span for span, _ in batch), strict=True) if batch else [[], [], []]
            arrays = [pa.array(list(c), kind) for c, kind in zip(columns, KINDS, strict=False)]
            weights = np.array([w for _, w in batch], dtype=np.int64)
            epoch.delta = Rows(dict(zip(NAMES, arrays, strict=False)), weights).consolidate()
            if (changed := run(epoch)) is not None:
                epoch.runs += make_map_run(changed, epoch.layout)
            for span, weight in batch:
                there[span] += weight
            now = epoch.old("t").consolidated()
            plain = [now["k"].to_pylist(), *(now[n].cast(pa.int64()).to_pylist() for n in NAMES[1:])]
            found = Counter(dict(zip(zip(*plain, strict=True), now.weights.tolist(), strict=True)))
            assert found == gathered(list(there.elements()), by_key)


@pytest.mark.spark
def test_only_what_a_change_meets_is_read(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand sessions of one group, of which an epoch reads those that it touches."""
    read: list[int] = []
    inside = Contents.inside

    def noted(*given: Any) -> Any:
        found = inside(*given)
        read.append(len(found[1]))
        return found

    monkeypatch.setattr(Contents, "inside", noted)
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as db:
        db.sql("CREATE TABLE t (ts TIMESTAMP, x INT)")
        db.create_view("v", "SELECT session_window, sum(x) AS s FROM t GROUP BY session_window(ts, '1 minute')")
        db.insert("t", [(at(5 * i + j / 2), i) for i in range(1000) for j in range(3)])
        db.insert("t", [(at(5 * 77 + 3), 1), (at(-3), 1)])
        db.delete("t", [(at(5 * 500 + 0.5), 500)])
        assert read == [0, 3]
        assert db.check("v").num_rows == 0
        assert len(db.table("v")) == 1002


START = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)


def at(minutes: float) -> dt.datetime:
    return START + dt.timedelta(minutes=minutes)


BY = "session_window(ts, '5 minutes')"
GAP = "session_window(ts, CASE WHEN x = 1 THEN '1 minute' WHEN x = 2 THEN '0 minutes' WHEN x < 0 THEN '-3 minutes' WHEN x > 2 THEN '10 minutes' END)"
VIEWS = {
    "by_key": f"SELECT k, session_window.start AS a, session_window.end AS b, count(*) AS n, sum(d) AS s FROM t GROUP BY k, {BY}",
    "all_rows": f"SELECT session_window, count(*) AS n, sum(x) AS s FROM t GROUP BY {BY}",
    "dynamic": f"SELECT k, session_window, count(*) AS n, max(x) AS m FROM t GROUP BY k, {GAP}",
    "several": f"SELECT k, d, x % 2 AS odd, session_window, count(x) AS n FROM t GROUP BY 1, 2, 3, {BY}",
    "gap_column": "SELECT session_window, count(*) AS n FROM t GROUP BY session_window(ts, g)",
    "ntz": "SELECT k, session_window.end AS b, min(x) AS m, max(d) AS n FROM t GROUP BY k, session_window(n, '1 hour')",
    "month": "SELECT session_window.start AS a, count(*) AS n FROM t GROUP BY session_window(ts, '1 month')",
    "distinct": f"SELECT k, session_window, count(DISTINCT x) AS n FROM t GROUP BY k, {BY}",
    "distincts": f"SELECT session_window, count(DISTINCT x) AS n, count(DISTINCT k) AS m, sum(x) AS s FROM t GROUP BY {BY}",
    "lists": f"SELECT k, session_window, sort_array(collect_list(x)) AS l, percentile(x, 0.5) AS p FROM t GROUP BY k, {BY}",
    "texts": f"SELECT session_window, string_agg(k, ',') WITHIN GROUP (ORDER BY k) AS l FROM t GROUP BY {BY}",
    "having": f"SELECT k, session_window.start AS a, count(*) AS n FROM t GROUP BY k, {BY} HAVING count(*) > 1",
    "having_start": f"SELECT session_window, count(*) AS n FROM t GROUP BY {BY} HAVING session_window.start > TIMESTAMP'2024-05-01 00:30:00'",
    "no_functions": f"SELECT DISTINCT k, session_window FROM (SELECT * FROM t WHERE x > 0) GROUP BY k, {BY}",
    "arrays": f"SELECT session_window, count(*) AS n FROM t GROUP BY array(d), {BY}",
    "joined": f"SELECT a.k, a.a, a.n, t.x FROM (SELECT k, session_window.start AS a, session_window.end AS b, count(*) AS n FROM t GROUP BY k, {BY}) a JOIN t ON t.k = a.k AND t.ts = a.a",
    "over_join": "SELECT u.name, session_window, sum(t.x) AS s FROM t JOIN u ON t.k = u.k GROUP BY u.name, session_window(t.ts, '5 minutes')",
    "windowed": f"SELECT k, a, n, lag(n) OVER (PARTITION BY k ORDER BY a) AS before FROM (SELECT k, session_window.start AS a, count(*) AS n FROM t GROUP BY k, {BY})",
    "longest": f"SELECT k, max(b) AS m, count(*) AS n FROM (SELECT k, session_window.start AS a, session_window.end AS b FROM t GROUP BY k, {BY}) GROUP BY k",
    "again": f"SELECT session_window, count(*) AS n FROM (SELECT k, session_window FROM t GROUP BY k, {BY}) GROUP BY session_window",
    "later": "SELECT k, ts + INTERVAL '1' DAY AS a, ts - INTERVAL '90' MINUTES AS b, count(*) AS n FROM t GROUP BY ALL",
}
OVER = {
    "per_key": "SELECT k, sum(n) AS n, count(*) AS m, max(a) AS l FROM by_key GROUP BY k",
    "sessions_of_sessions": "SELECT session_window, sum(n) AS n FROM by_key GROUP BY session_window(a, '20 minutes')",
}
ON_SPARK = ("gap_column", "month", "texts", "arrays")
"""Views that ask Spark in every epoch, which takes its time."""
COLUMNS = "k STRING, ts TIMESTAMP, x INT, d DOUBLE, n TIMESTAMP_NTZ, g STRING"


def made_up(rng: random.Random) -> tuple[Any, ...]:
    """A row; times are a minute apart, so that many a session ends where another begins."""
    pick, time = rng.choice, at(rng.randrange(120))
    return (
        pick([None, "a", "a", "b"]),
        pick([None, *[time] * 9, time + dt.timedelta(microseconds=1)]),
        pick([None, -1, 1, 2, 3]),
        pick([None, 0.0, -0.0, 1.5, float("nan")]),
        pick([None, time.replace(tzinfo=None)]),
        pick([None, "2 minutes", "-1 minute", "30 seconds"]),
    )


def bag(table: pa.Table) -> Counter[str]:
    """Rows as text, so that NaN is NaN; −0.0 stands for the zeros that Spark takes for one."""
    return Counter(str(row).replace("-0.0", "0.0") for row in zip(*table.to_pydict().values(), strict=True))


def play(db: Any, spark: Any, rng: random.Random, epochs: int) -> None:
    """Rows come and go; in the end every view is what plain Spark SQL makes of the rows."""
    there: list[Any] = []
    for _ in range(epochs):
        gone = [there.pop(rng.randrange(len(there))) for _ in range(min(len(there), rng.choice([0, 1, 3, 6])))]
        new = [made_up(rng) for _ in range(rng.choice([1, 2, 10]))]
        new += rng.sample(new, 1) if rng.random() < 0.3 else []
        with db.epoch() as epoch:
            epoch.delete("t", gone)
            epoch.insert("t", new)
        there += new
    if THOROUGH:
        assert db.check().num_rows == 0
    compare(db, spark, there)


def compare(db: Any, spark: Any, there: list[Any]) -> None:
    """Every view beside the same query over plain tables."""
    views = db.status()["views"]
    spark.createDataFrame(there, COLUMNS).createOrReplaceTempView("plain_t")
    spark.createDataFrame([("a", "one"), ("b", "two")], "k STRING, name STRING").createOrReplaceTempView("plain_u")
    for name in views:
        query = re.sub(r"(FROM|JOIN) (t|u|by_key)\b", r"\1 plain_\2 AS \2", {**VIEWS, **OVER}[name])
        expected = spark.sql(query)
        # Stored, since Spark 4.3 errs on sessions of sessions in one query.
        spark.createDataFrame(expected.toArrow(), expected.schema).createOrReplaceTempView(f"plain_{name}")
        assert bag(db.table(name).arrow()) == bag(expected.toArrow()), name


@pytest.mark.spark
@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 12))])
def test_views_of_sessions(tmp_path: Path, spark: Any, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "_MANY", float("inf"))
    with viewlet.connect(tmp_path / "w", spark=spark, engine="inproc") as db:
        make_views(db, [*VIEWS, *OVER] if seed > 1 else some(2, [v for v in (*VIEWS, *OVER) if v not in ON_SPARK]))
        play(db, spark, random.Random(seed), rounds(3, 12))


@pytest.mark.spark
@pytest.mark.slow
def test_views_of_sessions_on_spark(tmp_path: Path, spark: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, engine="spark") as db:
        make_views(db, ["all_rows", "by_key", "dynamic", "distinct", "per_key"])
        play(db, spark, random.Random(5), 4)


def make_views(db: Any, names: list[str]) -> None:
    db.sql(f"CREATE TABLE t ({COLUMNS})")
    db.sql("CREATE TABLE u (k STRING, name STRING)")
    db.insert("u", [("a", "one"), ("b", "two")])
    for name in names:
        db.create_view(name, {**VIEWS, **OVER}[name])
