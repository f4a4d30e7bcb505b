"""Runs a loop within an epoch: its rounds, then the query over their result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.loops.graph.deltas import Read
from viewlet.loops.rounds.checkpoints import Checkpoints
from viewlet.loops.rounds.converge import Convergence
from viewlet.loops.rounds.merged import MergedRounds
from viewlet.loops.rounds.rounds import PreparedState, Round, Rounds, TooMuch
from viewlet.loops.rounds.task_rounds import TaskRounds
from viewlet.loops.rounds.working import WorkingMaps
from viewlet.loops.run.graph_run import GraphRun
from viewlet.loops.run.prepared_loop import Graph, Outcome, PreparedLoop
from viewlet.store import Layout, Transaction
from viewlet.warehouse.declare.users_code import from_text


def run_loop(
    loop: PreparedLoop,
    transaction: Transaction,
    changes: Mapping[str, Rows],
    *,
    initial: bool = False,
    most: int | None = None,
    graph: Graph | None = None,
    before: Read | None = None,
    checkpoints: Checkpoints | None = None,
    tasks: TaskRounds | None = None,
) -> Outcome:
    """Refresh a loop with changes; `initial`: from scratch, ignoring stored state, with all rows as changes.

    Raises `TooMuch`, having stored nothing, if more than `most` rows must be handled. `graph`: the state in memory
    after the last epoch; if None, it is rebuilt from the rows `before` this one. `checkpoints`: where rounds are
    written. `tasks`: runs rounds of states with maps on a cluster if that is cheaper.
    """
    if loop.relaxed or loop.gathered or loop.handled:
        maps = WorkingMaps(transaction, anew=initial)
        return GraphRun(loop, maps, changes, graph, None if initial else before, checkpoints).run()
    maps = opened(loop, transaction, initial=initial)
    steps: Rounds | Convergence
    common: dict[str, Any] = {"most": most, "checkpoints": checkpoints, "tasks": tasks}
    what = loop.view, loop.states, maps, loop.text.last_round
    if loop.text.converges:
        is_error = loop.text.limit is None
        unread = {} if initial else _unread(loop, transaction)
        common |= {"until": loop.until, "is_error": is_error, "unread": unread, "diffuses": loop.text.diffuses}
        steps = Convergence(*what, **common)
    else:
        steps = rounds_of(loop, what, **common)
    found = steps.run(changes, initial=initial)
    maps.begin_round()
    states = {s.bag: found[s.name] for s in loop.states if s.name in found}
    Round(maps, {**changes, **states}, initial).run(loop.result)
    delta = maps.added(loop.view)
    maps.store(without=loop.view)
    held = None
    if isinstance(steps, Convergence):
        _store_unread(loop, transaction, steps.unread)
        held = {"rows": sum(map(len, steps.unread.values()))}
    return Outcome(delta, steps.sizes, resumed=steps.resumed, held=held)


def rounds_of(loop: PreparedLoop, what: Any, **common: Any) -> Rounds:
    """A runner of the rounds of states with a history."""
    state = loop.compiled.stepped[0]
    if state.code is None:
        return Rounds(*what, **common)
    names, key = [f.name.lower() for f in state.fields], loop.text.states[0].key
    common |= {
        "function": from_text(f"view {loop.view}", state.code),
        "key_at": tuple(names.index(k.lower()) for k in key),
    }
    return MergedRounds(*what, **common)


def opened(loop: PreparedLoop, transaction: Transaction | None, *, initial: bool) -> WorkingMaps:
    """The maps of a loop, open for its rounds."""
    maps = WorkingMaps(transaction, anew=initial)
    for ready in (*(s.ready for s in loop.states), loop.result):
        maps.open(ready)
    for state in loop.states:
        if state.compiled.keeps_feed:
            maps.open_bag(state.feed, _layout(state), state.ready.program.columns)
    return maps


def _layout(state: PreparedState) -> Layout:
    names = tuple(f.name for f in state.ready.program.columns)
    return Layout(columns=names, key=names)


def _unread(loop: PreparedLoop, transaction: Transaction) -> dict[str, Rows]:
    """The changes that the rounds of the last epoch left unread."""
    found = {s.name: transaction.contents(s.compiled.unread).consolidated() for s in loop.states}
    return {name: rows for name, rows in found.items() if len(rows)}


def _store_unread(loop: PreparedLoop, transaction: Transaction, unread: Mapping[str, Rows]) -> None:
    for state in loop.states:
        bag, layout = state.compiled.unread, _layout(state)
        types = {f.name: arrow_type(f.type) for f in state.ready.program.columns}
        now = unread.get(state.name, Rows.empty(types))
        if transaction.has(bag):
            now = Rows.concat([now, transaction.contents(bag).consolidated().negated()])
        transaction.append(bag, now, layout)


__all__ = ["TooMuch", "run_loop"]
