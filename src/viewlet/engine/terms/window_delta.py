"""Windows by affected ranges: only affected rows are recomputed.

    range = the rows that see a change,    context = the other rows that they see

If frames are bounded, the function runs over ranges and contexts, and its results for the contexts are dropped. If rows
see all rows before them, it runs over the ranges alone, and resumes from the row before each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions, from_numpy, valid_mask, values_of
from viewlet.columns.evaluate import compile_expr
from viewlet.columns.exact.digits import doubles_of
from viewlet.columns.exact.double_sums import ExactSums, running_doubles
from viewlet.columns.hash import hash_rows
from viewlet.columns.order import place_of
from viewlet.columns.rows import Rows
from viewlet.engine.groups import compile_plan
from viewlet.engine.terms.resume_window import compile_resume, double_sums
from viewlet.errors import EvaluationError
from viewlet.plan.expr import Expr
from viewlet.program.access import Nearby
from viewlet.program.terms import KEY, Regroup
from viewlet.store import AffectedRanges, Contents

if TYPE_CHECKING:
    from viewlet.engine.terms.compile_term import EpochReader

WindowDelta = Callable[["EpochReader", Rows], tuple[Rows, Mask] | None]


def compile_window_delta(term: Regroup, near: Nearby) -> WindowDelta:
    """The function from changes to the result's change, and which of them it covers; None if it cannot tell.

    It does not cover changes in partitions where the order column is NULL in some row.
    """
    evaluate = _compile_limited(term, near) if near.back is not None else _compile_running(term, near)
    before, after = _by_value(near, near.ahead, near.back)
    names = [f.name for f in term.columns]

    def run(epoch: EpochReader, changes: Rows) -> tuple[Rows, Mask] | None:
        ordered = Ordered.of(epoch.new(term.inputs[0].map), term, near)
        seen = ordered.have_values(changes)
        changes = changes.filter(seen)
        affected = ordered.affected_ranges(changes, before, after) if len(changes) else None
        if affected is None:
            return None
        groups = affected.hashes.view(np.int64) if term.is_keyed else np.zeros(len(affected), dtype=np.int64)
        target, there = epoch.old(term.target), affected.of(hash_rows([from_numpy(groups, pa.int64())], len(groups)))
        try:
            now = evaluate(ordered, affected, changes, target, there)
        except (EvaluationError, pa.ArrowInvalid):
            return None  # perhaps only because the context is incomplete: whole partitions decide
        if now is None:
            return None
        now = now.with_columns({KEY: from_numpy(groups[values_of(now[KEY], "i8")], pa.int64())})
        _, was = target.inside((KEY,), near.result, there)
        return Rows.concat([was.select(names).negated(), now.select(names)]).consolidate(), seen

    return run


def _by_value(near: Nearby, before: int | None, after: int | None) -> tuple[int | None, int | None]:
    """Numbers of rows before and after in a window's order, as numbers below and above by value."""
    return (after, before) if near.descending else (before, after)


@dataclass(frozen=True, slots=True)
class Ordered:
    """The input of a window, by partition and in the order of a column."""

    contents: Contents
    key: tuple[str, ...]
    order: str
    names: tuple[str, ...]

    @staticmethod
    def of(contents: Contents, term: Regroup, near: Nearby) -> Ordered:
        names = tuple(f.name for f in term.inputs[0].columns)
        return Ordered(contents, term.inputs[0].key, contents.layout.columns[names.index(near.order)], names)

    def have_values(self, changes: Rows) -> Mask:
        """Which changes are in partitions where no row's order column is NULL."""
        hashes = changes.hashes(self.key)
        without, _ = self.contents.without_value(self.key, self.order, hashes)
        gone = hashes[~valid_mask(changes[self.order])]
        return np.isin(hashes, np.concatenate([hashes[without], gone]), invert=True)

    def affected_ranges(self, changes: Rows, before: int | None, after: int | None) -> AffectedRanges | None:
        return self.contents.affected_ranges(self.key, self.order, changes, before, after)

    def inside(self, affected: AffectedRanges) -> Rows:
        """The rows of some ranges, numbered by range."""
        return self._numbered(*self.contents.inside(self.key, self.order, affected)).consolidate()

    def beside(self, affected: AffectedRanges, count: int, *, before: bool) -> Rows:
        """The rows next to some ranges, numbered by range."""
        return self._numbered(*self.contents.beside(self.key, self.order, affected, count, before=before))

    def count_outside(self, affected: AffectedRanges, changes: Rows, *, before: bool) -> Positions:
        """How many rows of its partition are before or after each range."""
        keys = [changes[name].take(from_numpy(affected.example, pa.int64())) for name in self.key]
        return self.contents.count_outside(self.key, self.order, affected, keys, before=before)

    def sums_outside(self, affected: AffectedRanges, argument: Expr, *, before: bool) -> ExactSums:
        """Sums over the rows of its partition before or after each range."""
        values = compile_expr(argument)

        def running(rows: Rows) -> ExactSums:
            named = Rows(dict(zip(self.names, rows.columns.values(), strict=False)), rows.weights)
            return running_doubles(doubles_of(values(named)), rows.weights)

        name = (self.names, argument)
        return self.contents.sums_outside(self.key, self.order, affected, name, running, before=before)

    def _numbered(self, which: Positions, rows: Rows) -> Rows:
        columns = dict(zip(self.names, rows.columns.values(), strict=False))
        return Rows({**columns, KEY: from_numpy(which, pa.int64())}, rows.weights)


Evaluate = Callable[[Ordered, AffectedRanges, Rows, Contents, AffectedRanges], Rows | None]


def _compile_limited(term: Regroup, near: Nearby) -> Evaluate:
    """The results of affected rows if frames are bounded; their context is read too."""
    function = compile_plan(term.function)
    before, after = _by_value(near, near.back, near.ahead)
    assert before is not None and after is not None

    def evaluate(
        rows: Ordered, affected: AffectedRanges, changes: Rows, target: Contents, there: AffectedRanges
    ) -> Rows:
        context = [rows.beside(affected, n, before=b) for n, b in ((before, True), (after, False)) if n]
        now = function([Rows.concat([rows.inside(affected), *context])])
        return now.filter(affected.hold(values_of(now[KEY], "i8"), place_of(now[near.result])))

    return evaluate


def _compile_running(term: Regroup, near: Nearby) -> Evaluate:
    """The results of affected rows that see all rows before them."""
    function, go_on = compile_plan(term.function), compile_resume(term.function)
    sums, first = double_sums(term.function), not near.descending

    def evaluate(
        rows: Ordered, affected: AffectedRanges, changes: Rows, target: Contents, there: AffectedRanges
    ) -> Rows | None:
        now = function([rows.inside(affected)])
        counts = rows.count_outside(affected, changes, before=first)
        ahead = {name: rows.sums_outside(affected, call.args[0], before=first) for name, call in sums}
        return go_on(now, counts, ahead, *target.beside((KEY,), near.result, there, 1, before=first))

    return evaluate
