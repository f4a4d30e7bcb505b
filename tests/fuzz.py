"""The differential fuzzer: random views, rows and epochs for as long as one likes, each compared with Spark SQL.

    python -m tests.fuzz --minutes 60 --engine inproc,spark --seed 1

A case that fails is shrunk, written to tests/oracle/found (where tests/test_found.py replays it from then on), and the
run goes on. At the end stands what was seen: on the screen, and in docs/fuzz.md. The exit code is 1 if anything was
found.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from tests.conftest import small_session
from tests.oracle import found
from tests.oracle.cases import Case, cases
from tests.oracle.coverage import Coverage, report
from tests.oracle.play import Unplayable, play
from tests.oracle.reduce import reduced
from viewlet.engine.choose import EngineName

PAGE = Path(__file__).parent.parent / "docs" / "fuzz.md"
SHRINKING, EVERY = 90.0, 5.0
"""Seconds to shrink the queries of a finding, and again its rows; seconds between two lines of progress."""
FRESH = 2
"""Examples for each seed. Hypothesis begins with the simplest, which is played once in a run, and goes on with mutations
of the second: cases with a seed each have more to say."""
WEIGHTS: dict[EngineName, int] = {"inproc": 4, "spark": 1}
"""How many cases each engine gets in turn; one on Spark takes several times longer."""


WRONG = "AssertionError in play.compare"
"""The kind of a finding in which a view is not what Spark SQL says."""


class Finding(AssertionError):
    """A case in which Viewlet was wrong or gave up; `kind` says where."""

    def __init__(self, kind: str, about: str) -> None:
        super().__init__(about)
        self.kind = kind


@dataclass
class Run:
    """A run of the fuzzer: what it has played, seen and found."""

    spark: Any
    ends: float
    started: float = field(default_factory=time.monotonic)
    coverage: Coverage = field(default_factory=Coverage)
    counts: dict[str, int] = field(
        default_factory=lambda: {"cases": 0, "views": 0, "epochs": 0, "cases Spark cannot run": 0}
    )
    findings: dict[str, Path] = field(default_factory=dict)
    folder: Path = found.FOUND
    crashes: Counter[str] = field(default_factory=Counter)
    """How often each kind of finding came up that is not a wrong result; only the first is shrunk and kept."""
    passed: set[tuple[str, str]] = field(default_factory=set)
    """What was played without a finding, so that it is played once."""
    _said: float = 0.0

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self.ends

    def play(self, case: Case, engine: EngineName) -> None:
        """Play a case; whatever goes wrong is a finding."""
        self.counts["cases"] += 1
        self.counts["views"] += len(case.views)
        self.counts["epochs"] += len(case.epochs)
        self.say()
        try:
            with tempfile.TemporaryDirectory() as folder:
                play(case, Path(folder) / "w", self.spark, engine, self.coverage.add)
        except Unplayable:
            self.counts["cases Spark cannot run"] += 1
        except Exception as error:
            raise Finding(kind_of(error), str(error) or repr(error)) from error

    def knows(self, finding: Finding) -> bool:
        """Whether something like a finding is kept already; of wrong results each is its own."""
        if finding.kind == WRONG:
            return False
        self.crashes[finding.kind] += 1
        return self.crashes[finding.kind] > 1

    def say(self) -> None:
        now = time.monotonic()
        if now - self._said >= EVERY:
            self._said, passed = now, int(now - self.started)
            done = ", ".join(f"{n:,} {what}" for what, n in self.counts.items())
            print(f"{passed // 60:3}:{passed % 60:02}  {done}, {len(self.findings)} findings", flush=True)


def kind_of(error: Exception) -> str:
    """Where a case went wrong: the error, and the last line of Viewlet's own that it passed."""
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if "viewlet/" in f.filename or "oracle/" in f.filename
    ]
    place = f"{Path(frames[-1].filename).stem}.{frames[-1].name}" if frames else "?"
    return f"{type(error).__name__} in {place}"


@dataclass
class Search:
    """The case of a seed on one engine, and smaller ones if it fails.

    Outcomes are remembered, so that shrinking may end when it likes: what was not played by then passes.
    """

    run: Run
    engine: EngineName
    outcomes: dict[str, Finding | None] = field(default_factory=dict)
    first: Finding | None = None
    smallest: Case | None = None
    shrinks_until: float = 0.0

    def start(self, number: int, depth: int) -> None:
        """Play the case of a seed; a failure is shrunk and kept."""

        @seed(number)
        @settings(
            deadline=None, database=None, max_examples=FRESH, suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink], report_multiple_bugs=False, verbosity=Verbosity.quiet,
        )  # fmt: skip
        @given(case=cases(depth=depth))
        def check(case: Case) -> None:
            self.check(case)

        try:
            check()
        except Finding as finding:
            self.keep(finding)

    def check(self, case: Case) -> None:
        """Raise the finding that a case is, as it was the first time."""
        text = repr(case)
        if text not in self.outcomes:
            if (self.engine, text) in self.run.passed:
                return
            if time.monotonic() > (self.shrinks_until if self.first else self.run.ends):
                return
            self.outcomes[text] = self.outcome(case)
        finding = self.outcomes[text]
        if finding is not None:
            self.smallest = case
            raise finding

    def outcome(self, case: Case) -> Finding | None:
        """What playing a case finds; while one finding is shrunk, others do not count."""
        try:
            self.run.play(case, self.engine)
        except Finding as finding:
            if self.first is None and self.run.knows(finding):
                return None
            if self.first is None:
                self.first, self.shrinks_until = finding, time.monotonic() + SHRINKING
            return finding if finding.kind == self.first.kind else None
        self.run.passed.add((self.engine, repr(case)))
        return None

    def keep(self, finding: Finding) -> None:
        """Write down the smallest case that fails in this way."""
        assert self.smallest is not None
        self.shrinks_until = time.monotonic() + SHRINKING
        smallest = reduced(self.smallest, self.fails)
        about = f"{finding.kind}: {str(finding).splitlines()[0][:300]}"
        path = found.write(smallest, self.engine, about, self.run.folder)
        self.run.findings[path.stem] = path
        print(f"finding {path.stem} on {self.engine}: {about}\n{smallest}", flush=True)

    def fails(self, case: Case) -> bool:
        try:
            self.check(case)
        except Finding:
            return True
        return False


def engines(named: list[EngineName]) -> Iterator[EngineName]:
    """The engines in turn."""
    return itertools.cycle([e for e in named for _ in range(WEIGHTS[e])])


def summary(run: Run, options: argparse.Namespace) -> str:
    """The page about a run."""
    done = {what: f"{n:,}" for what, n in run.counts.items()}
    minutes = (time.monotonic() - run.started) / 60
    return "\n".join(
        [
            "# What the fuzzer has seen",
            "",
            f"`make fuzz` wrote this page. In {minutes:.0f} minutes it played {done['cases']} cases with {done['views']} views and "
            f"{done['epochs']} epochs (engines {options.engine}, seed {options.seed}, depth {options.depth}), compared every view with "
            f"Spark SQL after every epoch, and found {len(run.findings)} failures{again(run)}. Spark itself cannot run "
            f"{done['cases Spark cannot run']} of the cases.",
            "",
            "Operators of Spark's analysed plans, and the operators below each:",
            "",
            report(run.coverage),
        ]
    )  # fmt: skip


def again(run: Run) -> str:
    often = ", ".join(f"{kind}: {n} times" for kind, n in run.crashes.items() if n > 1)
    return f" ({often})" if often else ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Random views against Spark SQL.")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--engine", default="inproc,spark", help="inproc, spark, or both with a comma")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--depth", type=int, default=4, help="how deep queries are nested")
    parser.add_argument("--page", type=Path, default=PAGE, help="where the report goes")
    options = parser.parse_args()
    if unknown := set(options.engine.split(",")) - WEIGHTS.keys():
        parser.error(f"there is no engine {', '.join(sorted(unknown))}: inproc, spark, or inproc,spark")
    run = Run(small_session(), ends=time.monotonic() + 60 * options.minutes)
    for number, engine in zip(itertools.count(options.seed), engines(options.engine.split(",")), strict=False):
        if run.is_over:
            break
        Search(run, engine).start(number, options.depth)
    page = summary(run, options)
    options.page.write_text(page, encoding="utf-8")
    print(page)
    return 1 if run.findings else 0


if __name__ == "__main__":
    sys.exit(main())
