"""The first rounds of a loop, run in memory, without reading or writing stored state."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.loops.gather.run import PreparedGathering
from viewlet.loops.graph.deltas import delta_of
from viewlet.loops.handlers.run import Handling, PreparedHandlers, as_rows
from viewlet.loops.relax.network import Network
from viewlet.loops.relax.run import PreparedRelaxation, Relaxing
from viewlet.loops.rounds.converge import Convergence
from viewlet.loops.rounds.rounds import Round, round_of
from viewlet.loops.rounds.working import WorkingMaps
from viewlet.loops.run.graph_run import gatherer
from viewlet.loops.run.prepared_loop import PreparedLoop
from viewlet.loops.run.run_loop import opened, rounds_of


def run_rounds(loop: PreparedLoop, rows: Mapping[str, Rows], number: int) -> Rows:
    """The result of a loop over some rows after `number` rounds, or fewer if it ends before."""
    maps = opened(loop, None, initial=True)
    if loop.relaxed is not None:
        states = _relaxed(loop, loop.relaxed, maps, rows, number)
    elif loop.gathered is not None:
        states = _gathered(loop, loop.gathered, maps, rows, number)
    elif loop.handled is not None:
        states = _handled(loop, loop.handled, maps, rows, number)
    elif loop.text.converges:
        steps = Convergence(loop.view, loop.states, maps, max(number, 1), until=loop.until, is_error=False)
        found = steps.run(rows, initial=True) if number else steps.first_rows(rows)
        states = {s.bag: found[s.name] for s in loop.states if s.name in found}
    else:
        histories = rounds_of(loop, (loop.view, loop.states, maps, loop.text.last_round))
        found = histories.run(rows, initial=True, stop=number)
        states = {s.bag: _up_to(loop, found[s.name], number) for s in loop.states if s.name in found}
    maps.begin_round()
    Round(maps, {**rows, **states}, initial=True).run(loop.result)
    return maps.added(loop.view)


def _relaxed(
    loop: PreparedLoop, state: PreparedRelaxation, maps: WorkingMaps, rows: Mapping[str, Rows], number: int
) -> dict[str, Rows]:
    relaxing = Relaxing(loop.view, state, loop.compiled.reads, maps)
    network = Network(state.compiled.offering)
    for _ in islice(network.follow(*relaxing.deltas(maps, rows, initial=True)), number + 1):
        pass
    return {state.compiled.bag: relaxing.visible(network.changes())}


def _gathered(
    loop: PreparedLoop, state: PreparedGathering, maps: WorkingMaps, rows: Mapping[str, Rows], number: int
) -> dict[str, Rows]:
    if not number:
        first = state.programs[-1]
        return {} if first is None else {state.compiled.bag: state.visible(delta_of(first, maps, rows, initial=True))}
    sums = gatherer(loop, maps, number).start(rows)
    return {state.compiled.bag: state.visible(sums.changes(sums.shown))}


def _handled(
    loop: PreparedLoop, state: PreparedHandlers, maps: WorkingMaps, rows: Mapping[str, Rows], number: int
) -> dict[str, Rows]:
    flow = state.dataflow()
    Handling(loop.view, state, maps, number, stops=True).run(flow, rows, initial=True)
    return {state.compiled.bag: as_rows(flow.row_changes(), state.compiled.fields)}


def _up_to(loop: PreparedLoop, history: Rows, number: int) -> Rows:
    """The rows of a history up to a round; for REPEAT only those of that round, relabelled as the last."""
    if loop.text.states[0].merge != "last" or loop.text.limit is None:
        return history.filter(round_of(history) <= number)
    own = history.filter(round_of(history) == min(number, loop.text.limit.rounds))
    last = pa.array([loop.text.limit.rounds] * len(own), type=pa.int64())
    return own.with_columns({history.names[-1]: last})
