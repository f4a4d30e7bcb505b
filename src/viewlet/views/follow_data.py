"""Recompiles views as their inputs grow or shrink, since the best maps to materialize depend on sizes.

Most views are created on empty tables, of which nothing is known. A view's plan is compiled again when one of its
inputs has grown or shrunk fourfold, and once rates of change are known. If this yields another program, its maps are
filled and one commit installs it. The commit is not an epoch: the view's rows, change feed and readers stay unchanged.
As sizes grow fourfold in between, filling maps costs a fraction of what filling the tables did.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from viewlet.columns.rows import Rows
from viewlet.compile import Facts, compile_view
from viewlet.engine.epoch import EpochDeltas
from viewlet.errors import ViewletError
from viewlet.formatting import plural
from viewlet.program.codec import from_json
from viewlet.program.program import Program
from viewlet.views.refresh import made_anew

if TYPE_CHECKING:
    from viewlet.views.view import View
    from viewlet.warehouse.warehouse import Warehouse

log = logging.getLogger("viewlet")

_FACTOR, _FEW = 4, 64
"""The factor by which a size must change, and the number of rows below which sizes count as equal."""
_RATED = 10
"""Epochs after which rates of change are known."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """The facts that a program was compiled with: sizes, and whether rates of change were known."""

    epoch: int = 0
    rows: Mapping[str, int] = field(default_factory=dict)
    rated: bool = False
    reason: str = ""
    """Why the program replaced an earlier one."""

    @staticmethod
    def of(facts: Facts, reads: Sequence[str]) -> Weighed:
        return Weighed(0, {bag: facts.rows[bag] for bag in reads if bag in facts.rows}, bool(facts.rates))

    def why_again(self, now: Weighed) -> str | None:
        """The reason to compile again, given the current facts; None if there is none."""
        for bag, count in now.rows.items():
            before = self.rows.get(bag, 0)
            low, high = sorted((max(before, _FEW), max(count, _FEW)))
            if high >= _FACTOR * low:
                return f"{bag} has {plural(count, 'row')}, and had {before:,}"
        return "the rates of change are known now" if now.rated and not self.rated else None


def follow_data(warehouse: Warehouse, view: View) -> None:
    """Compile a view again if its inputs have changed enough, and replace its program by a better one."""
    if view.plan is None:
        return
    store, seen = warehouse.store, warehouse.looked_at.get(view.name, view.weighed)
    rows = {bag: store.snapshot().contents(bag).rows for bag in view.reads}
    now = Weighed(store.epoch, rows, store.epoch - view.created >= _RATED)
    if (reason := seen.why_again(now)) is None:
        return
    warehouse.looked_at[view.name] = now
    try:
        _weigh_again(warehouse, view, replace(now, reason=reason))
    except ViewletError as error:
        log.warning("view %s keeps its program: %s", view.name, error)


def _weigh_again(warehouse: Warehouse, view: View, now: Weighed) -> None:
    facts, program = _compiled_again(warehouse, view)
    if program.steps == view.program.steps or not _can_replace(program, view):
        return
    rows = {bag: facts.rows[bag] for bag in program.reads}
    _put_in_place(warehouse, view, replace(view, program=program, weighed=replace(now, rows=rows)))


def _compiled_again(warehouse: Warehouse, view: View) -> tuple[Facts, Program]:
    """The program for the current data; sizes count only live rows."""
    from viewlet.views.define import ABILITIES, compile_context

    catalog, snapshot = warehouse.catalog, warehouse.store.snapshot()
    given = compile_context(warehouse.store, catalog, warehouse.rules, {view.name}, view.settings)
    live = {bag: snapshot.contents(bag).total() for bag in view.reads}
    facts = replace(given.facts, rows={**given.facts.rows, **live})
    program = compile_view(
        view.name,
        from_json(view.plan),
        view.program.columns,
        ABILITIES,
        rules=given.rules,
        facts=facts,
        known=given.maps(view.settings),
        taken=given.taken,
    )
    return facts, program


def _can_replace(program: Program, view: View) -> bool:
    """Whether a program stores the view's rows in the same layout and needs only fragments that are stored."""
    from viewlet.spark.fragments.spark_operators import fragment_name, spark_terms

    old, new = view.program, program
    kept = [(p.stored, p.steps[-1].map.columns, p.steps[-1].map.key, p.steps[-1].map.indexes) for p in (old, new)]
    return kept[0] == kept[1] and {fragment_name(term) for term in spark_terms(new)} <= set(view.fragments)


def _put_in_place(warehouse: Warehouse, view: View, better: View) -> None:
    """Fill the maps of a new program and install it, in one commit."""
    from viewlet.warehouse.fill import put_view
    from viewlet.warehouse.refresh import Refresh

    own = set(warehouse.catalog.own_bags(view)) - {view.name}
    with warehouse.store.begin() as transaction:
        for bag in own:
            transaction.drop(bag)
        runner, _ = warehouse.choose(sum(better.weighed.rows.values()), better.steps, work="fill")
        run = Refresh(warehouse, EpochDeltas(transaction), better, runner)
        shared = set(warehouse.catalog.bags(without={view.name}))
        differences: Rows = made_anew(better, run, shared)
        if len(differences):
            log.warning("view %s keeps its program: another one gives %d other rows", view.name, len(differences))
            return
        put_view(transaction, better)
        transaction.commit_unseen()
    log.info("view %s has another program: %s", view.name, better.weighed.reason)
