"""Projects written for Spark alone, the files that they read, and what plain Spark SQL computes from these."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

from tests.source.folders import SCHEMA, in_order, rows_of, write

HERE = Path(__file__).parent
FORMATS = {
    "sql_shop": "parquet",
    "sql_reports": "parquet",
    "python_shop": "csv",
    "mixed_shop": "json",
    "window_shop": "json",
}
RUN_BY_SPARK = ("sql_reports", "python_shop", "mixed_shop", "window_shop")
"""Those that Spark's own runner takes; `sql_shop` reads files as a stream in SQL, which it does not."""
EXPECTED = {
    "sql_shop": {
        "orders": "SELECT id, cust, total, day FROM seen",
        "large": "SELECT id, total FROM seen WHERE total > 50",
        "customers": "SELECT DISTINCT cust FROM seen",
        "spend": "SELECT cust, count(*) AS n, sum(total) AS total FROM seen "
        "WHERE id NOT IN (SELECT id FROM seen WHERE total < 0) GROUP BY cust",
        "by_note": "SELECT note, count(*) AS n, max(total) AS top FROM files GROUP BY note",
        "best_customers": "SELECT cust, sum(total) AS total FROM seen "
        "WHERE id NOT IN (SELECT id FROM seen WHERE total < 0) GROUP BY cust ORDER BY total DESC, cust LIMIT 3",
    },
    "sql_reports": {
        "orders": "SELECT * FROM files",
        "spend": "SELECT cust, count(*) AS n, sum(total) AS total FROM files WHERE total >= 0 GROUP BY cust",
        "by_note": "SELECT note, count(*) AS n, max(total) AS top, min(day) AS first FROM files GROUP BY note",
        "ranked": "SELECT cust, id, rank() OVER (PARTITION BY cust ORDER BY total DESC) FROM files WHERE cust IS NOT NULL",
        "best_customers": "SELECT cust, sum(total) AS total FROM files WHERE total >= 0 GROUP BY cust "
        "ORDER BY total DESC, cust LIMIT 3",
    },
    "python_shop": {
        "orders": "SELECT * FROM seen",
        "spend": "SELECT cust, sum(total) AS total, count(*) AS n FROM seen GROUP BY cust",
        "notes": "SELECT upper(note) AS note, total FROM files WHERE total > 0",
        "audit": "SELECT id, 'large' AS why FROM seen WHERE total > 90 "
        "UNION ALL SELECT id, 'no customer' FROM seen WHERE cust IS NULL",
        "exported": "SELECT id, total FROM seen",
    },
    "mixed_shop": {
        "events": "SELECT * FROM seen",
        "spent": "SELECT cust, sum(total) AS total FROM seen GROUP BY cust",
        "enriched": "SELECT e.*, s.total AS spent FROM seen e "
        "JOIN (SELECT cust, sum(total) AS total FROM seen GROUP BY cust) s ON e.cust = s.cust",
        "named": "SELECT id, CASE cust WHEN 1 THEN 'ada' WHEN 2 THEN 'bob' END AS name FROM seen",
        "ranked": "SELECT id, total, percent_rank() OVER (ORDER BY total) AS share FROM seen WHERE total > 0",
    },
}
"""For each dataset a plain query: `files` are those that are there, `seen` all that ever were."""


DATASETS: dict[str, tuple[str, ...]] = {
    **{name: tuple(queries) for name, queries in EXPECTED.items()},
    "window_shop": ("tumbling", "sliding", "sessions", "by_time"),
}
"""What Spark's own runner is asked for; no plain query says which rows came before a window was closed."""


class Shop:
    """A copy of a project, its files, and all that it has ever been given."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.root, self.format = name, folder / name, FORMATS[name]
        shutil.copytree(HERE / name, self.root)
        self.landing = self.root / "landing" / "orders"
        self.archive = folder / "archive"
        self.landing.mkdir(parents=True)
        self.archive.mkdir()

    def deliver(self, file: str, rows: list[dict[str, Any]]) -> None:
        write(self.landing / f"{file}.{self.format}", self.format, rows)
        write(self.archive / f"{file}.{self.format}", self.format, rows)

    def expected(self, spark: Any) -> dict[str, list[tuple[Any, ...]]]:
        plain = spark.newSession()
        for view, folder in (("files", self.landing), ("seen", self.archive)):
            options = {"header": "true"} if self.format == "csv" else {}
            frame = plain.read.format(self.format).schema(SCHEMA).options(**options).load(str(folder))
            frame.createOrReplaceTempView(view)
        queries = EXPECTED[self.name]
        return {name: in_order(tuple(r) for r in plain.sql(text).collect()) for name, text in queries.items()}


def distinct(rng: random.Random, first: int, count: int) -> list[dict[str, Any]]:
    """Rows whose ids and totals are all different."""
    return [{**row, "id": first + at, "total": f"{first + at - 60}.25"} for at, row in enumerate(rows_of(rng, count))]
