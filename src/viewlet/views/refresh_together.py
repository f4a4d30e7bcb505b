"""Refreshing views on a cluster: as many as possible of those that an epoch reaches run as one distributed program.

Views that partly need Spark, and those that are recomputed, are refreshed one by one, after the views that do not
depend on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from viewlet.compile.distribute import distribute, why_not_distributed
from viewlet.compile.distribute.place import SMALL
from viewlet.engine.cluster.epoch_job import PreparedEpoch
from viewlet.program.distributed import Distributed
from viewlet.views.explain_distributed import facts_with_maps
from viewlet.views.placement import chosen_placement, stored_placement
from viewlet.views.refresh import estimate_refresh, refuse_other_spark, technique
from viewlet.warehouse.maintained import Begin
from viewlet.warehouse.refresh import Refresh

if TYPE_CHECKING:
    from viewlet.views.view import View


def refresh_views(views: Sequence[View], begin: Begin) -> Iterator[tuple[Refresh, dict[str, Any]]]:
    """Refresh views, together where possible; yield each run and its part of the record."""
    waiting = list(views)
    while waiting:
        if (run := begin(waiting[0])) is None:
            del waiting[0]
        elif together := _together(run, waiting, begin):
            yield from _refresh_together(run, together, begin)
            done = {view.name for view in together}
            waiting = [view for view in waiting if view.name not in done]
        else:
            yield run, waiting.pop(0).refresh(run)


def _refresh_together(first: Refresh, views: Sequence[View], begin: Begin) -> Iterator[tuple[Refresh, dict[str, Any]]]:
    for view in views:
        refuse_other_spark(first.warehouse, view.name, view.changing, view.spark)
        _ = view.ready  # refused if it runs code that is not trusted
    assert first.engine.cluster is not None
    first.engine.cluster.run_together(_plan(first, views), first.deltas, [view.name for view in views])
    first.deltas.done.update(bag for view in views for bag in view.bags)
    for view in views:
        if (run := begin(view)) is not None:
            run.started = first.started
            yield run, {"technique": technique(view.program), "weighed": estimate_refresh(view, run).record()}


def _together(first: Refresh, waiting: Sequence[View], begin: Begin) -> list[View]:
    """The views that can be part of a distributed program now and do not read any that cannot."""
    together: list[View] = []
    apart: set[str] = set()
    for view in waiting if first.engine.cluster is not None else ():
        if not apart.intersection(view.reads) and _can_join(view, begin(view), {v.name for v in together}):
            together.append(view)
        else:
            apart.add(view.name)
    return together


def _can_join(view: View, run: Refresh | None, together: set[str]) -> bool:
    """Whether a view is reached, directly or through views in `together`, and can run in the same program."""
    if why_not_distributed(view.program) is not None:
        return False
    if run is None:
        return bool(together.intersection(view.reads))
    return not run.deltas.done.intersection(view.bags) and not estimate_refresh(view, run).recompute


def _plan(run: Refresh, views: Sequence[View]) -> PreparedEpoch:
    """The distributed program of these views, cached by the tables that change and made again when sizes double."""
    cluster = run.engine.cluster
    assert cluster is not None
    changed = frozenset(bag for view in views for bag in view.reads if bag in run.deltas.changes)
    kept = {m.name for view in views for m in view.program.maps if m.stored}
    sizes = tuple(max(run.before(bag).rows, SMALL).bit_length() for bag in sorted(changed | kept))
    programs = [view.program for view in views]

    def make() -> Distributed:
        facts = facts_with_maps(run.warehouse)
        return distribute(programs, facts, changed=changed, placement=chosen_placement(run.warehouse, programs, facts))

    return cluster.plan(programs, (changed, sizes, stored_placement(run.warehouse)), make)
