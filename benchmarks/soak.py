"""`viewlet watch` on a folder and a PostgreSQL table that change all the time: memory, disk and lag, minute by minute.

Another thread writes: files of orders come, are replaced and go; rows of PostgreSQL are put, updated and deleted; both
stay about as large as they are. In the end the view must be what the files and PostgreSQL give.

    python -m benchmarks.soak [--minutes 60] [--every 0.5] [--note TEXT] [--out docs/soak.md]
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
from tests.postgres_server import new_database, server

import viewlet
from benchmarks.measure import grid, say
from viewlet.formatting import size

FILES, LINES, CUSTOMERS = 40, 200, 500
VIEW = """SELECT c.region, count(*) AS n, sum(o.total) AS total
    FROM orders o JOIN customers c ON o.cust = c.id GROUP BY c.region"""
RETAINED = 200
"""Epochs whose changes are kept, so that the feeds end growing."""


@dataclass
class Writer:
    """Changes the folder and PostgreSQL's table, and knows what is in them."""

    folder: Path
    session: Any
    rng: random.Random
    files: dict[str, list[tuple[int, int, str]]] = field(default_factory=dict)
    changes: int = 0

    def step(self) -> None:
        """A file comes, is replaced or goes; a transaction changes some customers."""
        name = f"{self.rng.randrange(FILES)}.csv"
        if name in self.files and self.rng.random() < 0.3:
            (self.folder / name).unlink()
            del self.files[name]
        else:
            self._write(name)
        with self.session.transaction():
            for _ in range(self.rng.randrange(1, 20)):
                self._change_customer(self.rng.randrange(CUSTOMERS))

    def _write(self, name: str) -> None:
        rows = [(self.rng.randrange(10**9), self.rng.randrange(CUSTOMERS), self._total()) for _ in range(LINES)]
        hidden = self.folder / f".{name}"
        hidden.write_text("".join(f"{i},{c},{t}\n" for i, c, t in rows), encoding="utf-8")
        os.replace(hidden, self.folder / name)
        self.files[name] = rows
        self.changes += LINES

    def _total(self) -> str:
        return f"{self.rng.randrange(10**5) / 100:.2f}"

    def _change_customer(self, key: int) -> None:
        if self.rng.random() < 0.2:
            self.session.execute("DELETE FROM customers WHERE id = %s", (key,))
        else:
            put = "INSERT INTO customers VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET region = excluded.region"
            self.session.execute(put, (key, self.rng.randrange(8)))
        self.changes += 1

    def expected(self) -> Counter[tuple[Any, ...]]:
        """What the view must hold."""
        regions = dict(self.session.execute("SELECT id, region FROM customers").fetchall())
        counts, sums = Counter[int](), Counter[int]()
        for rows in self.files.values():
            for _, customer, total in rows:
                if customer in regions:
                    counts[regions[customer]] += 1
                    sums[regions[customer]] += int(Decimal(total) * 100)
        return Counter((region, n, Decimal(sums[region]) / 100) for region, n in counts.items())


def write_for(writer: Writer, seconds: float, every: float, ended: threading.Event) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not ended.wait(every):
        writer.step()


def memory_of(process: int) -> int:
    """The resident bytes of a process and of all that it started, the JVM among them."""
    children = {int(pid): int(parent) for pid, parent in _parents()}
    family, grown = {process}, True
    while grown:
        more = {pid for pid, parent in children.items() if parent in family} - family
        family, grown = family | more, bool(more)
    return sum(map(_resident, family))


def _parents() -> Iterator[tuple[str, str]]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            yield stat.parent.name, stat.read_text().rpartition(")")[2].split()[1]
        except OSError:  # it has ended
            continue


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def disk_of(folder: Path) -> int:
    return sum(map(_length, folder.rglob("*")))


def _length(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:  # merged away meanwhile
        return 0


@dataclass
class Sample:
    """One minute, or a part of it."""

    at: float
    memory: int
    disk: int
    epochs: int
    median: float | None = None
    """The lag of the epochs, in seconds; none if there was none."""
    greatest: float | None = None


def watched(warehouse: Path, seconds: float, every: float, sample: float) -> Iterator[Sample]:
    """Run `viewlet watch`, and look at it now and then."""
    command = [sys.executable, "-m", "viewlet", "--warehouse", str(warehouse), "watch"]
    command += ["--every", str(every), "--seconds", str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lags: list[float] = []
        thread = threading.Thread(target=_read_lags, args=(process.stdout, lags))
        thread.start()
        began, seen = time.monotonic(), 0
        while not _ends_within(process, sample):
            fresh, seen = lags[seen:], len(lags)
            lag = (statistics.median(fresh), max(fresh)) if fresh else (None, None)
            yield Sample(time.monotonic() - began, memory_of(process.pid), disk_of(warehouse), len(fresh), *lag)
        thread.join()
        assert process.returncode == 0, "viewlet watch failed"


def _ends_within(process: subprocess.Popen[str], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _read_lags(lines: Any, lags: list[float]) -> None:
    for line in lines:
        lags += [float(found) for found in re.findall(r"([\d.]+) s behind", line)]


def page(samples: list[Sample], minutes: float, changes: int, note: str = "") -> str:
    headings = ["minute", "memory", "disk", "epochs", "median lag (s)", "greatest lag (s)"]
    text = f"""# Watching for {minutes:g} minutes

`make soak`: `viewlet watch` reads a folder of CSV files and a PostgreSQL table that change all the time, twice a second
each, and keeps a join of the two, grouped, fresh. Files are added, replaced and deleted; rows are inserted, updated and deleted; both
keep about their size. The changes of the last {RETAINED} epochs are kept. {note}

{changes:,} changes; in the end the view was what the files and PostgreSQL gave. {_summary(samples)}

Memory is that of the process with its JVM. Lag is the time from a change to the epoch that has it in the view.
"""
    return f"{text}\n{grid(headings, [_row(s) for s in samples])}\n"


def _summary(samples: list[Sample]) -> str:
    """What changed from the first third to the last, once everything had started."""
    third = max(1, len(samples) // 3)
    first, last = samples[1 : third + 1] or samples, samples[-third:]
    memory, later = (size(round(statistics.median(s.memory for s in part))) for part in (first, last))
    most, lags = size(max(s.disk for s in samples)), [s.median for s in samples if s.median is not None]
    return (
        f"Memory: {memory} in the first third, {later} in the last (medians). Disk: {most} at most. "
        f"Lag: {statistics.median(lags):.1f} s in the median minute."
    )


def _row(sample: Sample) -> list[str]:
    lags = [sample.median, sample.greatest]
    shown = ["" if lag is None else f"{lag:.2f}" for lag in lags]
    return [f"{sample.at / 60:.1f}", size(sample.memory), size(sample.disk), str(sample.epochs), *shown]


def soak(minutes: float, every: float, sample: float, note: str) -> str:
    with (
        tempfile.TemporaryDirectory() as made,
        server() as running,
        new_database(running) as database,
        psycopg.connect(database, autocommit=True) as session,
    ):
        session.execute("CREATE TABLE customers (id int PRIMARY KEY, region int)")
        folder, warehouse = Path(made) / "landing", Path(made) / "w"
        folder.mkdir()
        writer = Writer(folder, session, random.Random(1))
        for _ in range(FILES):
            writer.step()
        make(warehouse, folder, database)
        samples = _write_and_watch(writer, warehouse, minutes * 60, every, sample)
        with viewlet.connect(warehouse) as db:
            db.read_sources()
            assert Counter(db.table("sales").rows()) == writer.expected(), "the view is not what its sources give"
    return page(samples, minutes, writer.changes, note)


def _write_and_watch(writer: Writer, warehouse: Path, seconds: float, every: float, sample: float) -> list[Sample]:
    say("writing and watching")
    ended, samples = threading.Event(), []
    thread = threading.Thread(target=write_for, args=(writer, seconds, every, ended))
    thread.start()
    try:
        for found in watched(warehouse, seconds, every, sample):
            samples.append(found)
            say(f"{size(found.memory)} of memory, {size(found.disk)} on disk, {found.epochs} epochs")
    finally:
        ended.set()
        thread.join()
    return samples


def make(warehouse: Path, folder: Path, database: str) -> None:
    with viewlet.connect(warehouse) as db:
        db.set_retention(epochs=RETAINED)
        db.create_table("orders", "id BIGINT, cust INT, total DECIMAL(12,2)", source=viewlet.folder(folder, "csv"))
        source = viewlet.postgres(database, "public.customers")
        db.create_table("customers", "id INT, region INT", primary_key="id", source=source)
        db.create_view("sales", VIEW)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--every", type=float, default=0.5, help="seconds between looks, and between changes")
    parser.add_argument("--sample", type=float, default=60, help="seconds between measurements")
    parser.add_argument("--note", default="", help="what a reader should know, such as what else the machine did")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    text = soak(given.minutes, given.every, given.sample, given.note)
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
