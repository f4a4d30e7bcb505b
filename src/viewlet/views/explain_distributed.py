"""`explain` for a cluster: where a view's maps are placed, and the jobs and stages of an epoch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from viewlet.compile import Facts
from viewlet.compile.distribute import NONE, distribute, why_not_distributed, why_not_placed
from viewlet.engine.choose import EngineCosts, crossing_point
from viewlet.formatting import plural
from viewlet.program.program import Program
from viewlet.program.show_distributed import show_blocks, show_counts, show_jobs, show_places
from viewlet.views.placement import chosen_placement, read_placement
from viewlet.warehouse.maintained import Placement

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


def explain_distributed(
    warehouse: Warehouse, program: Program, given: Placement | None = None, *, verbose: bool = False
) -> str:
    """The placement of a program's maps, and the jobs of an epoch of this view and of all views together."""
    title = f"view {program.view} on a cluster"
    if (why := why_not_placed(program)) is not None:
        return f"{title}\n  the Spark engine runs each step as a separate job: {why}"
    facts = facts_with_maps(warehouse)
    tags = chosen_placement(warehouse, [program], facts) | read_placement(program, facts, given or {})
    after = distribute([program], facts, placement=tags)
    before = distribute([program], facts, placement=tags, options=NONE)
    own = {m.name: after.maps[m.name] for m in program.maps if m.name in after.maps}
    lines = [title, "maps", *show_places(own)]
    lines += [
        f"an epoch that changes {_tables(program, facts)}: {show_counts(after)}",
        f"  before optimization: {show_blocks(before)}",
        f"  after: {show_blocks(after)}",
    ]
    lines.append(f"  {_crossing(warehouse, program)}")
    if (why := why_not_distributed(program)) is not None:
        lines.append(f"  the Spark engine runs each step as a separate job instead: {why}")
    return "\n".join([*lines, *show_jobs(after, verbose=verbose), *_all_views(warehouse, facts)])


def facts_with_maps(warehouse: Warehouse) -> Facts:
    """Facts about tables, views and stored maps."""
    from viewlet.views.define import facts_of

    facts = facts_of(warehouse.store, warehouse.catalog)
    snapshot = warehouse.store.snapshot()
    sizes = {bag: snapshot.contents(bag).rows for program in _programs(warehouse) for bag in _stored(program)}
    return replace(facts, rows={**sizes, **facts.rows})


def _programs(warehouse: Warehouse) -> list[Program]:
    """The programs of all SQL views."""
    from viewlet.views.view import View

    return [view.program for view in warehouse.catalog.views.values() if isinstance(view, View)]


def _stored(program: Program) -> list[str]:
    return [m.name for m in program.maps if m.stored]


def _crossing(warehouse: Warehouse, program: Program) -> str:
    """From which size on epochs run on Spark if the engine is chosen by cost."""
    steps, cores = len(program.steps), warehouse.sessions.cores
    rows = crossing_point(steps, cores, warehouse.costs or EngineCosts())
    if rows is None:
        return f'with engine="auto", all epochs run in process: {plural(cores, "core")} cannot make up for exchanges'
    return f'with engine="auto", epochs of {rows:,} changed rows or more run here, on {plural(cores, "core")}'


def _tables(program: Program, facts: Facts) -> str:
    return ", ".join(table for table in program.reads if table not in facts.static) or "nothing"


def _all_views(warehouse: Warehouse, facts: Facts) -> list[str]:
    """The jobs of an epoch of all views together."""
    programs = [program for program in _programs(warehouse) if why_not_placed(program) is None]
    if len(programs) < 2:
        return []
    together = distribute(programs, facts, placement=chosen_placement(warehouse, programs, facts))
    return [f"all {plural(len(programs), 'view')} together: {show_counts(together)}"]
