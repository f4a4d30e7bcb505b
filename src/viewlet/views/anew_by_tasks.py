"""Filling or recomputing a view by tasks: one job over its tables, whose files the tasks read in place.

The job runs the program of an epoch in which all rows of the inputs are new. The driver only sees names of runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from viewlet.compile.distribute import distribute_fill, why_not_distributed
from viewlet.engine.cluster.driver_site import Anew
from viewlet.engine.epoch import EpochDeltas, WrittenChange
from viewlet.engine.whole_bag import Source
from viewlet.program.distributed import Distributed
from viewlet.views.explain_distributed import facts_with_maps
from viewlet.views.placement import chosen_placement, stored_placement
from viewlet.warehouse.refresh import Refresh

if TYPE_CHECKING:
    from viewlet.views.view import View


def can_run_as_job(view: View, run: Refresh) -> bool:
    """Whether tasks can fill or recompute a view."""
    return run.engine.cluster is not None and bool(view.reads) and why_not_distributed(view.program) is None


def fill_by_tasks(view: View, run: Refresh, sources: Mapping[str, Source]) -> None:
    """Fill a view, whose maps exist; they count as empty, whatever they held before this epoch."""
    _run(view, run, run.deltas, sources, Anew(_kept(view)))


def recompute_by_tasks(view: View, run: Refresh) -> None:
    """Recompute a view and record the difference as its change."""
    deltas, transaction, kept = EpochDeltas(run.transaction), run.transaction, _kept(view)
    sources = run.sources()
    for name in kept - {view.name}:
        there = transaction.before(name)
        transaction.drop(name)
        transaction.create(name, there.layout, there.types)
    _run(view, run, deltas, sources, Anew(kept, frozenset({view.name})))
    if view.name in deltas.changes.written:
        run.deltas.changes.written[view.name] = deltas.changes.written[view.name]
    elif (delta := deltas.changes.get(view.name)) is not None:
        run.deltas.changes[view.name] = delta
    run.deltas.jobs += deltas.jobs


def _kept(view: View) -> frozenset[str]:
    """The stored maps of a view, including its result."""
    return frozenset(step.map.name for step in view.ready.steps if step.map.stored)


def _run(view: View, run: Refresh, deltas: EpochDeltas, sources: Mapping[str, Source], anew: Anew) -> None:
    cluster = run.engine.cluster
    assert cluster is not None
    for bag, source in sources.items():
        deltas.changes.written[bag] = WrittenChange(source.contents, source.contents.rows, 0, is_net=False)
    rows = sum(source.contents.rows for source in sources.values())

    def make() -> Distributed:
        facts = facts_with_maps(run.warehouse)
        return distribute_fill(view.program, facts, chosen_placement(run.warehouse, [view.program], facts))

    plan = cluster.plan([view.program], ("anew", rows.bit_length(), stored_placement(run.warehouse)), make)
    cluster.run_together(plan, deltas, [view.name], anew)
