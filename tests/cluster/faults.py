"""Rounds of faults on a standalone cluster: something breaks at a random moment of an epoch, and every view is right after it.

    python -m tests.cluster.faults --rounds 5 --place s3 --results build/faults.jsonl --out docs/cluster-faults.md

adds rounds to those in the file of results, of the kinds that had the fewest so far, and writes the page.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.cluster.driver import Driver, Edit
from tests.cluster.reader import read
from tests.cluster.standalone import Cluster, standalone_cluster
from tests.cluster.trouble import SPECULATION, Trouble
from tests.cluster.worlds import Tpch
from tests.oracle.bags import difference
from tests.oracle.judge import Judge, judge_of
from tests.storage.server import Bucket, S3Server, credentials
from viewlet.errors import ViewletError

VIEWS = ("q03", "q13", "q18", "q22")


@dataclass(frozen=True)
class Round:
    """What happened in one round. Seconds are from the fault to the commit of the epoch that it fell into."""

    seed: int
    place: str
    kind: str
    moment: float
    """Seconds of the epoch when it happened."""
    recovered: float
    undisturbed: float
    """Seconds that an epoch takes here without faults: the median of those before."""
    tries: int
    """How often the epoch was applied until it was committed."""
    failed: int
    """Attempts of tasks that failed or were killed."""
    again: int
    """Stages that ran again."""


class Rounds:
    """A warehouse on a cluster, changed epoch by epoch, and the rows that it should hold."""

    def __init__(self, cluster: Cluster, server: S3Server, place: str, judge: Judge, seed: int) -> None:
        self.cluster, self.place, self.judge, self.seed = cluster, place, judge, seed
        self.rng = random.Random(seed)
        self.trouble = Trouble(cluster, server, self.rng)
        self.world = Tpch(seed, VIEWS)
        self.address = str(cluster.shared / uuid4().hex)
        if place == "s3":
            self.address = f"s3://{Bucket(server, f'b{uuid4().hex}').name}/w"
        self.calm: list[float] = []
        self._start()

    def _start(self) -> None:
        """Tables and views, and some epochs in which nothing happens."""
        self.driver = Driver(self.cluster, SPECULATION)
        self.driver("open", self.address)
        self.judge.begin(self.world.tables, {}, Path(tempfile.mkdtemp(dir=self.cluster.hidden)))
        for statement in self.world.statements:
            self.driver("sql", statement)
        for name, text in self.world.queries.items():
            self.driver("create_view", name, text)
            self.judge.create_view(name, text)
        self.epoch = self.driver("change", self.world.initial())
        for _ in range(3):
            self._undisturbed()
        self.compare()

    def _undisturbed(self) -> None:
        began = time.monotonic()
        self.epoch = self.driver("change", self.world.epoch())
        self.calm.append(time.monotonic() - began)

    def stop(self) -> None:
        self.driver.stop()

    def play(self, kind: str) -> Round:
        """Let something happen at a random moment of an epoch, and compare everything after it."""
        before, usual = self.driver("attempts"), statistics.median(self.calm)
        edits, moment = self._interrupted(usual)
        began = time.monotonic()
        end = self._begin(kind)
        tries, restarted = self._commit(edits)
        recovered = time.monotonic() - began
        end()
        self.compare()
        after = self.driver("attempts")
        lost = {name: after[name] - (0 if restarted else before[name]) for name in after}
        failed = lost["failed"] + lost["killed"]
        moment, recovered, usual = (round(seconds, 2) for seconds in (moment, recovered, usual))
        return Round(self.seed, self.place, kind, moment, recovered, usual, tries, failed, lost["stages again"])

    def _interrupted(self, usual: float) -> tuple[list[Edit], float]:
        """An epoch that is under way, and for how long it is; those that end before are past the fault."""
        while True:
            edits, moment = self.world.epoch(), self.rng.uniform(0, usual)
            self.driver.begin("change", edits, as_frames=self.rng.random() < 0.3)
            time.sleep(moment)
            if not self.driver.has_answered():
                return edits, moment
            self.epoch = self.driver.result()

    def _begin(self, kind: str) -> Any:
        if kind == "kill driver":
            self.driver.kill()
            return lambda: None
        return self.trouble.begin(kind)

    def _commit(self, edits: list[Edit]) -> tuple[int, bool]:
        """Go on until the epoch is committed, once: how many tries that took, and whether there is another driver."""
        tries, restarted = 1, False
        while True:
            try:
                found = self.driver.result()
            except EOFError:
                if not self.driver.was_killed:
                    raise
                self.driver, restarted = Driver(self.cluster, SPECULATION), True
                found = self.driver("open", self.address)
            except ViewletError as error:
                sys.stderr.write(f"  {error}\n")
                found = self.driver("epoch")
            assert found in (self.epoch, self.epoch + 1), f"epoch {found} after {self.epoch}"
            if found == self.epoch + 1:
                self.epoch = found
                return tries, restarted
            tries += 1
            self.driver.begin("change", edits)

    def compare(self) -> None:
        """Every table and view, as a fresh process reads it, is what the judge says."""
        epoch, found = read(self.address, {"VIEWLET_CACHE": str(self.cluster.hidden / "reader")})
        assert epoch == self.epoch, f"epoch {epoch} is read, {self.epoch} was committed"
        expected = {t.name: self.judge.put(t, self.world.rows(t)) for t in self.world.tables}
        expected |= {name: self.judge.answer(name) for name in self.world.queries}
        assert found.keys() == expected.keys()
        for name, rows in expected.items():
            wrong = difference(found[name], rows)
            assert not wrong, f"{name}: {wrong}"


@contextmanager
def rounds(spark: Any, folder: Path, place: str, seed: int) -> Iterator[Rounds]:
    """Rounds on a cluster of their own."""
    server = S3Server()
    os.environ.update(credentials(server))
    try:
        with standalone_cluster(folder, credentials(server)) as cluster:
            made = Rounds(cluster, server, place, judge_of(spark), seed)
            try:
                yield made
            finally:
                made.stop()
    finally:
        server.stop()


def rarest(kinds: list[str], done: list[Mapping[str, Any]], rng: random.Random) -> str:
    """A kind of which there were the fewest rounds."""
    counts = {kind: sum(entry["kind"] == kind for entry in done) for kind in kinds}
    return rng.choice([kind for kind in kinds if counts[kind] == min(counts.values())])


def page(played: list[Mapping[str, Any]]) -> str:
    """The rounds as a page of the documentation."""
    done = [entry for entry in played if "wrong" not in entry]
    wrong = [
        f"- {entry['place']}, seed {entry['seed']}, {entry['kind']}: {entry['wrong']}"
        for entry in played
        if "wrong" in entry
    ]
    lines = [
        "# Faults on a cluster",
        "",
        "Rounds of faults on a standalone cluster: a master, two workers with a core and a disk of their own each, and a",
        f"driver, which keep {len(VIEWS)} views of TPC-H on the Spark engine. In each round something breaks at a random",
        "moment of an epoch. Afterwards a fresh process reads every table and view, and compares them with the rows that",
        "were sent and with what Spark SQL returns for the views. `python -m tests.cluster.faults` plays them.",
        "",
        f"In {len(done)} of {len(played)} rounds, no epoch was lost, none was applied twice, and every view was right.",
        *wrong,
        "",
        "| fault | rounds | seconds to recover: median, longest | an epoch without faults | failed attempts | stages again | applied again |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for kind in sorted({entry["kind"] for entry in done}):
        mine = [entry for entry in done if entry["kind"] == kind]
        times, usual = ([entry[name] for entry in mine] for name in ("recovered", "undisturbed"))
        failed, again, tries = (sum(entry[name] for entry in mine) for name in ("failed", "again", "tries"))
        spent = f"{statistics.median(times):.1f}, {max(times):.1f} | {statistics.median(usual):.1f}"
        lines.append(f"| {NAMES[kind]} | {len(mine)} | {spent} | {failed} | {again} | {tries - len(mine)} |")
    return "\n".join([*lines, "", *_NOTES, "", *_each(done), ""])


NAMES = {
    "kill executor": "an executor is killed",
    "kill worker": "a worker is killed with its executor and its disk; another starts",
    "kill driver": "the driver is killed and started again",
    "fill disk": "the disk of an executor is full until the epoch ends",
    "delete cache": "the cache and the shuffle files of an executor are deleted",
    "run twice": "an executor's tasks stand still for seconds: copies run beside them",
    "store errors": "the object store is gone for 2 s, then slow, and fails every fifth request",
}
_NOTES = [
    "The time to recover is from the fault to the commit of the epoch that it fell into. A failed attempt is one that",
    "failed or was killed; an epoch is applied again if its driver is gone before the commit, or if it raised an error,",
    "which changes nothing. A new driver takes over the lease of an object store at once if the old one ran on the same",
    "machine, as here; elsewhere, when the lease has expired (30 s). All processes share two cores with other work:",
    "compare the times with the epochs beside them. The Spark settings are those of [scaling.md](scaling.md).",
    "",
    "## Each round",
]


def _each(done: list[Mapping[str, Any]]) -> Iterator[str]:
    yield "| warehouse | seed | fault | at second | of about | recovered after | failed attempts | stages again | applied |"
    yield "|---|---:|---|---:|---:|---:|---:|---:|---:|"
    for r in done:
        place = "folder" if r["place"] == "folder" else "S3"
        times = f"{r['moment']:.1f} | {r['undisturbed']:.1f} | {r['recovered']:.1f}"
        yield f"| {place} | {r['seed']} | {r['kind']} | {times} | {r['failed']} | {r['again']} | {r['tries']} |"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument("--place", choices=["folder", "s3"], default="folder")
    options.add_argument("--seed", type=int, default=None)
    options.add_argument("--results", type=Path, required=True)
    options.add_argument("--out", type=Path)
    options.add_argument("--seconds", type=float, default=1e9, help="begin no round after so many")
    given = options.parse_args()
    began, seed = time.monotonic(), given.seed if given.seed is not None else random.randrange(10**6)
    sys.stdout.write(f"seed {seed}, {given.place}\n")
    if given.rounds:
        play(given.results, given.place, seed, given.rounds, began + given.seconds)
    if given.out:
        given.out.write_text(page(_results(given.results)), encoding="utf-8")


def play(results: Path, place: str, seed: int, count: int, until: float) -> None:
    from tests.conftest import small_session

    spark = small_session()
    with tempfile.TemporaryDirectory() as folder, rounds(spark, Path(folder) / "c", place, seed) as playing:
        for _ in range(count):
            if time.monotonic() > until:
                break
            done = [entry for entry in _results(results) if entry["place"] == place]
            kind = rarest(playing.trouble.kinds(place), done, playing.rng)
            try:
                entry = asdict(playing.play(kind))
            except (AssertionError, EOFError, TimeoutError) as wrong:
                _record(results, {"seed": seed, "place": place, "kind": kind, "wrong": str(wrong)[:200]})
                raise
            _record(results, entry)
    spark.stop()


def _record(results: Path, entry: Mapping[str, Any]) -> None:
    with results.open("a") as out:
        out.write(json.dumps(entry) + "\n")
    sys.stdout.write(f"{entry}\n")
    sys.stdout.flush()


def _results(file: Path) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


if __name__ == "__main__":
    main()
