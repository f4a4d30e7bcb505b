"""Refreshing a view: from an epoch's deltas, or from scratch if the epoch changes most of its inputs."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from viewlet.columns.rows import Rows
from viewlet.engine.choose import Chosen
from viewlet.engine.epoch import EpochDeltas
from viewlet.engine.program_run import ProgramRun
from viewlet.errors import EvaluationError, StoreError
from viewlet.program.program import Program, costliest_tier
from viewlet.progress import report
from viewlet.spark.fragments.spark_operators import OnSparkSession
from viewlet.spark.session.versions import changed_between
from viewlet.views.anew_by_tasks import can_run_as_job, fill_by_tasks, recompute_by_tasks

if TYPE_CHECKING:
    from viewlet.views.view import View
    from viewlet.warehouse.refresh import Refresh
    from viewlet.warehouse.warehouse import Warehouse


def refresh_program(view: View, run: Refresh) -> dict[str, Any]:
    """Refresh a view in the cheaper way; return its part of the record."""
    refuse_other_spark(run.warehouse, view.name, view.changing, view.spark)
    estimate = estimate_refresh(view, run)
    how = _recompute(view, run) if estimate.recompute else _increment(view, run)
    return {"technique": how, "weighed": estimate.record()}


def fill_program(view: View, run: Refresh) -> dict[str, Any]:
    """Fill a view, treating all rows of its inputs as one delta; return its part of the record."""
    refuse_other_spark(run.warehouse, view.name, view.changing, view.spark)
    sources = run.sources()
    rows_in = {bag: source.contents.total() for bag, source in sources.items()}
    reading = ", ".join(f"{count:,} rows of {bag}" for bag, count in rows_in.items())
    report(f"view {view.name}", f"computing from {reading or 'nothing'}")
    program = ProgramRun(run.deltas, view.ready, _on_spark(view, run), initial=True, sources=sources)
    if sources and not run.deltas.done and can_run_as_job(view, run):
        fill_by_tasks(view, run, sources)
    else:
        _run(view, run, program)
    return {"technique": technique(view.program), "rows_in": rows_in}


def refuse_other_spark(warehouse: Warehouse, view: str, changing: Sequence[str], spark: str) -> None:
    """Raise if the view calls a function whose meaning changed since the version of Spark that it was defined with."""
    if changing and (changed := changed_between(changing, spark, now := warehouse.sessions.version)):
        raise StoreError(
            f"view {view} was made with Spark {spark}, and this is Spark {now}, "
            f"where {', '.join(changed)} means something else",
            hint="create it again: CREATE OR REPLACE MATERIALIZED VIEW …",
        )


CHANGED: dict[Chosen, float] = {"inproc": 0.4, "spark": 0.5}
"""The cost of a changed row on each engine, in rows of a rebuild: measured break-even points of Q3, Q17 and Q18 of
TPC-H (docs/scaling.md)."""
GROWN = 1 / 3
"""The cost of a row in a rebuild from tables without deletions, which need no netting."""
_FEW = 1000
"""Rows below which a rebuild is not considered."""


@dataclass(frozen=True, slots=True)
class RefreshEstimate:
    """The estimate of whether to refresh a view incrementally or from scratch, by the rows that either handles."""

    changed: int
    there: int
    engine: Chosen
    is_shared: bool = False

    @property
    def increment(self) -> int:
        """The cost of the changed rows, in rows of a rebuild."""
        return math.ceil(CHANGED[self.engine] * self.changed)

    @property
    def is_worth_a_rebuild(self) -> bool:
        return self.increment > self.there + _FEW

    @property
    def recompute(self) -> bool:
        return self.is_worth_a_rebuild and not self.is_shared

    def record(self) -> dict[str, int]:
        return {"increment": self.increment, "recompute": self.there}


def estimate_refresh(view: View, run: Refresh) -> RefreshEstimate:
    """Estimate from how many rows of the view's inputs the epoch changes, and how many there are after it."""
    changes, engine = run.deltas.changes, run.engine.name
    changed_bags = [bag for bag in view.reads if bag in changes]
    changed = sum(map(changes.rows, changed_bags))
    read = [run.before(bag) for bag in view.reads]
    rows = sum(contents.rows for contents in read)  # including deleted rows that are not netted yet
    there = rows + changed
    if RefreshEstimate(changed, math.ceil(GROWN * (rows - changed)), engine).is_worth_a_rebuild:
        counted = [changes.counts(bag) for bag in changed_bags]
        before, deleted = sum(contents.total() for contents in read), sum(c["deleted"] for c in counted)
        there = before + sum(c["inserted"] for c in counted) - deleted
        if before == rows and not deleted:
            there = math.ceil(GROWN * there)
    estimate = RefreshEstimate(changed, there, engine)
    if not estimate.is_worth_a_rebuild:
        return estimate
    own = run.warehouse.catalog.own_bags(view)
    return replace(estimate, is_shared=len(own) < len(view.bags))


def _increment(view: View, run: Refresh) -> str:
    _run(view, run, ProgramRun(run.deltas, view.ready, _on_spark(view, run)))
    return technique(view.program)


def _recompute(view: View, run: Refresh) -> str:
    """Recompute a view and record the difference as its change."""
    if can_run_as_job(view, run):
        recompute_by_tasks(view, run)
    elif len(delta := made_anew(view, run)):
        run.deltas.add(view.name, delta, view.layout)
    return "recompute: the epoch changes most of what it reads"


def made_anew(view: View, run: Refresh, shared: Collection[str] = ()) -> Rows:
    """Refill a view's maps, except `shared` ones, and return the change of its rows."""
    anew = EpochDeltas(run.transaction)
    _run(view, run, ProgramRun.anew(anew, view.ready, _on_spark(view, run), run.sources(), shared))
    before = run.before(view.name).consolidated().negated()
    now = anew.changes.get(view.name)
    return (before if now is None else Rows.concat([before, now.select(before.names)])).consolidate()


def _on_spark(view: View, run: Refresh) -> OnSparkSession:
    return OnSparkSession(run.warehouse.sessions, view)


def _run(view: View, run: Refresh, program: ProgramRun) -> None:
    try:
        run.engine.run(program)
    except EvaluationError as error:
        error.view = view.name
        raise


def technique(program: Program) -> str:
    """The costliest tier among a program's operators."""
    return costliest_tier(program.notes) or "ring"
