"""The demonstration from beginning to end."""

from __future__ import annotations

import shutil
import statistics
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from viewlet.database import connect
from viewlet.demo.days import SIZES, ShopEpoch, make_stream
from viewlet.demo.definitions import TABLES, VIEWS
from viewlet.demo.recompute import recompute_times
from viewlet.demo.retail import make_retail
from viewlet.errors import StoreError
from viewlet.formatting import aligned, duration, plural
from viewlet.progress import track
from viewlet.store.location import locate

if TYPE_CHECKING:
    from viewlet.database import Database

MARK = "demo"
"""A file that says: this folder is the demonstration's, and may be made anew."""
WHOLE = "the whole epoch"
Times = dict[str, dict[int, list[float]]]


def run_demo(folder: str | Path, *, lines: int = 1_000_000, sizes: tuple[int, ...] = SIZES, rounds: int = 3) -> bool:
    """Run the demonstration in a folder; whether every view was right at the end."""
    start = time.perf_counter()
    _make_room(locate(folder))
    with connect(folder) as db:
        (db.path / MARK).touch()
        retail = make_retail(lines)
        _load(db, retail.tables)
        _define(db)
        times = _apply(db, make_stream(retail, sizes, rounds))
        _compare(db, times, sizes)
        print("\nHow one of them is kept fresh:\n")
        print(db.explain("segment_by_category"))
        right = _check(db)
    print(f"\n{duration((time.perf_counter() - start) * 1_000)} in all. The warehouse is still there; look around:")
    for command in ("status", "explain top_products", "check"):
        print(f"  viewlet --warehouse {folder} {command}")
    return right


def _make_room(folder: Path) -> None:
    """Remove an earlier demonstration; a folder that holds something else is left alone."""
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise StoreError(
            f"`{folder}` was not created by the demonstration", hint="name another folder: --warehouse DIR"
        )
    shutil.rmtree(folder, ignore_errors=True)


def _load(db: Database, tables: dict[str, object]) -> None:
    """Create the tables and fill them, in one epoch."""
    for statement in TABLES.values():
        db.sql(statement)
    start = time.perf_counter()
    with db.epoch() as epoch:
        for name, rows in tables.items():
            epoch.insert(name, rows)
    counts = ", ".join(f"{len(rows):,} {name}" for name, rows in tables.items())  # type: ignore[arg-type]
    print(f"loaded {counts} in {_since(start)}")


def _define(db: Database) -> None:
    for name, query in track(list(VIEWS.items()), "creating views "):
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")


def _apply(db: Database, epochs: list[ShopEpoch]) -> Times:
    """Apply the stream; the milliseconds that each view and the whole epoch took, by the size of the epoch."""
    times: Times = defaultdict(lambda: defaultdict(list))
    for epoch in track(epochs, "applying epochs"):
        start = time.perf_counter()
        with db.epoch() as e:
            for change in epoch.changes:
                getattr(e, change.action)(change.table, change.rows)
        times[WHOLE][epoch.size].append((time.perf_counter() - start) * 1_000)
        for name, record in db.history()[-1]["views"].items():
            times[name][epoch.size].append(record["ms"])
    return times


def _compare(db: Database, times: Times, sizes: tuple[int, ...]) -> None:
    """Print the refresh times beside those of recomputing with Spark SQL, in the same run."""
    again = recompute_times(db, track(list(VIEWS), "recomputing    "))
    again[WHOLE] = sum(again.values())
    headings = ["view", "rows", *(f"{size:,} rows" for size in sizes), "recompute", f"at {sizes[1]:,} rows"]
    rows = [[name, _count(db, name), *_costs(times[name], again[name], sizes)] for name in (*VIEWS, WHOLE)]
    print("\nRefreshing a view after an epoch (median), beside recomputing it with Spark SQL (best of 3):\n")
    print(aligned(headings, rows, right=range(1, len(headings))))
    print(f"\n{WHOLE}: checked, all views refreshed, written and synced; beside recomputing all views.")


def _count(db: Database, name: str) -> str:
    return "" if name == WHOLE else f"{len(db.table(name)):,}"


def _costs(by_size: dict[int, list[float]], again: float, sizes: tuple[int, ...]) -> list[str]:
    """Median times by size, the time to recompute, and how the two compare at the second size."""
    medians = [statistics.median(by_size[size]) for size in sizes]
    return [*map(duration, medians), duration(again), f"{again / medians[1]:,.0f} × faster"]


def _check(db: Database) -> bool:
    """Compare every view with what Spark SQL computes from scratch."""
    print()
    wrong: dict[str, int] = {}
    for name in track(list(VIEWS), "checking views "):
        wrong[name] = db.check(name).num_rows
    print(summary(wrong))
    return not any(wrong.values())


def summary(wrong: dict[str, int]) -> str:
    """What a check found, in a line for each view that is wrong, or in one line."""
    bad = [f"{name}: {plural(count, 'row')} differ from Spark SQL" for name, count in wrong.items() if count]
    return "\n".join(bad or [f"{plural(len(wrong), 'view')} equal to what Spark SQL computes from scratch"])


def _since(start: float) -> str:
    return duration((time.perf_counter() - start) * 1_000)
