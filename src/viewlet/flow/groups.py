"""Groupwise processing: the rows of some inputs and of the state, put together by their keys and in order (§2.2, §2.3).

Groups are numbered in the order in which their keys come: those of the inputs first, one input after the other; with
full outer grouping then those that only the state has, in the order of their keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions
from viewlet.columns.order import Key, ascending, why_not_order
from viewlet.columns.rows import Rows, group
from viewlet.flow.graph import Stage, StageInput, StageState
from viewlet.flow.python_rows import python_rows, types_of
from viewlet.flow.routing import Routed, route
from viewlet.plan.types import Field
from viewlet.store import Snapshot


@dataclass(frozen=True, slots=True)
class Grouped:
    """Rows of one flow, sorted by the number of their group, then as the flow is ordered."""

    rows: Rows
    groups: Positions

    def bounds(self, count: int) -> Positions:
        """Where each of `count` groups begins, and where the last one ends."""
        return self.groups.searchsorted(np.arange(count + 1))


@dataclass(frozen=True, slots=True)
class Groups:
    """Everything that one run of a stage works on."""

    keys: tuple[pa.Array, ...]
    count: int
    inputs: Mapping[str, Grouped]
    state: Grouped | None


def gather(stage: Stage, read: Mapping[str, Rows], snapshot: Snapshot) -> Groups:
    """Route the rows that a run reads, and find the state of their groups."""
    routed = {i.flow: _route(stage, i, read[i.flow]) for i in stage.inputs if i.flow in read}
    keys = [_joined(stage.key, [r.keys for r in routed.values()])]
    asked = sum(len(r.at) for r in routed.values())
    kept = None if stage.state is None else _candidates(stage.state, keys[0], asked, snapshot)
    if kept is not None and stage.state is not None:
        keys.append(tuple(kept[name] for name in stage.state.route_by))
    everything = _joined(stage.key, keys)
    first, numbers = group(everything, asked + len(kept or ()))
    given = int(numbers[:asked].max(initial=-1)) + 1
    count = len(first) if stage.state is not None and stage.state.grouping == "full outer" else given
    found = tuple(column.take(pa.array(first[:count])) for column in everything)
    inputs = dict(_placed(stage, routed, read, numbers, count))
    state = None if stage.state is None or kept is None else _state(stage.state, kept, numbers[asked:], count)
    return Groups(found, count, inputs, state)


def _route(stage: Stage, flow: StageInput, rows: Rows) -> Routed:
    return route(rows, flow.route_by, stage.key, lambda: python_rows(flow.flow, flow.fields, rows))


def _joined(key: Sequence[Field], parts: Sequence[tuple[pa.Array, ...]]) -> tuple[pa.Array, ...]:
    return tuple(pa.concat_arrays([part[at] for part in parts]) for at in range(len(key)))


def _placed(
    stage: Stage, routed: Mapping[str, Routed], read: Mapping[str, Rows], numbers: Positions, count: int
) -> Sequence[tuple[str, Grouped]]:
    """The rows of each input in their groups; those that go everywhere, in each."""
    result, begin = [], 0
    for flow in stage.inputs:
        if flow.flow not in routed:
            result.append((flow.flow, Grouped(Rows.empty(types_of(flow.fields)), np.zeros(0, dtype=np.int64))))
            continue
        found, rows = routed[flow.flow], read[flow.flow]
        everywhere = found.everywhere
        at = np.concatenate([found.at, np.tile(everywhere, count)])
        groups = np.concatenate([numbers[begin : begin + len(found.at)], np.repeat(np.arange(count), len(everywhere))])
        begin += len(found.at)
        order = np.lexsort((at, *(key[at] for key in _keys(rows, flow.order_by)), groups))
        result.append((flow.flow, Grouped(rows.take(at[order]), groups[order])))
    return result


def _candidates(state: StageState, keys: tuple[pa.Array, ...], count: int, snapshot: Snapshot) -> Rows:
    """The state's rows whose keys may be among some; all of them where each is visited, or has no key."""
    table = state.table
    if state.grouping == "full outer" or not state.route_by:
        rows = snapshot.contents(table.name).consolidated().select(table.names).expanded()
        return rows.take(np.lexsort(_by_contents(rows, state.route_by, table.fields)))
    assert table.index is not None
    probes = np.unique(Rows(dict(zip(state.route_by, keys, strict=True)), np.ones(count, np.int64)).hashes())
    _, found = snapshot.contents(table.index).lookup(state.route_by, probes)
    return found.select(table.names).consolidate().expanded()


def _state(state: StageState, kept: Rows, groups: Positions, count: int) -> Grouped:
    """The state's rows in their groups; those that only share a hash with a key are left out."""
    inside = np.flatnonzero(groups < count)
    rows, numbers = kept.take(inside), groups[inside]
    order = np.lexsort((*_by_contents(rows, state.order_by, state.table.fields), numbers))
    return Grouped(rows.take(order), numbers[order])


def _keys(rows: Rows, names: Sequence[str]) -> list[Key]:
    """The keys to sort by some columns, the least significant first."""
    return [key for name in reversed(names) for key in reversed(ascending(rows[name]))]


def _by_contents(rows: Rows, first: Sequence[str], fields: Sequence[Field]) -> tuple[Key, ...]:
    """The same for an order that depends on contents alone: some columns first, then the others, then the hash."""
    others = [f.name for f in fields if f.name not in first and why_not_order(f.type) is None]
    return rows.hashes(), *_keys(rows, [*first, *others])
