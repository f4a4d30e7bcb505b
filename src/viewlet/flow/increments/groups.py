"""Groupwise processing: the rows of the inputs and of the state, joined by their keys and ordered (§2.2, §2.3).

Groups are numbered in the order in which their keys first occur: in the inputs, one after the other, then, with full
outer grouping, in the state, in the order of keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Positions
from viewlet.columns.hash import Hashes, hash_rows
from viewlet.columns.order import Key, ascending, why_not_order
from viewlet.columns.rows import Rows, group
from viewlet.flow.define.graph import Stage, StageInput, StageState
from viewlet.flow.execute.control import Bags
from viewlet.flow.increments.python_rows import python_rows, types_of
from viewlet.flow.increments.routing import Routed, route
from viewlet.plan.types import Field
from viewlet.store import Contents


@dataclass(frozen=True, slots=True)
class Grouped:
    """Rows of one flow, sorted by the number of their group, then in the flow's order."""

    rows: Rows
    groups: Positions

    def bounds(self, count: int) -> Positions:
        """The start of each of `count` groups, and the end of the last."""
        return self.groups.searchsorted(np.arange(count + 1))


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups that one run of a stage processes."""

    keys: tuple[pa.Array, ...]
    count: int
    inputs: Mapping[str, Grouped]
    state: Grouped | None

    def hashes(self) -> Hashes:
        """The distinct hashes of the keys, in order."""
        ordered = np.sort(hash_rows(self.keys, self.count))
        return ordered if (ordered[1:] != ordered[:-1]).all() else np.unique(ordered)

    def sizes(self) -> Positions:
        """The number of input rows of each group."""
        counts = [np.bincount(grouped.groups, minlength=self.count) for grouped in self.inputs.values()]
        return np.sum(counts, axis=0)


def gather(stage: Stage, read: Mapping[str, Rows], bags: Bags) -> Groups:
    """Route the rows that a run reads and look up the state of their groups."""
    if stage.state is None:
        return route_all(stage, read, None)
    everything = read_all(stage.state, bags) if reads_all(stage.state) else None
    visited = everything if stage.state.grouping == "full outer" else None
    groups = route_all(stage, read, visited)
    kept = look_up(stage.state, groups.hashes(), bags) if everything is None else everything
    return with_state(stage.state, groups, kept)


def reads_all(state: StageState) -> bool:
    """Whether a run reads all rows of its state: it visits every group, or there is only one."""
    return state.grouping == "full outer" or not state.route_by


def read_all(state: StageState, bags: Bags) -> Rows:
    """All rows of a state, in the order of their keys."""
    rows = _index(state, bags).consolidated().select(state.table.names).expanded()
    return rows.take(np.lexsort(_by_contents(rows, state.route_by, state.table.fields)))


def keys_of(state: StageState, bags: Bags) -> Rows:
    """The keys that have state, in order, without reading other columns."""
    keys = _index(state, bags).projected(state.route_by)
    return keys.take(np.lexsort(_keys(keys, state.route_by)))


def count_rows(state: StageState, groups: Groups, bags: Bags) -> Positions:
    """The approximate number of state rows of each group: replaced rows count until runs are merged."""
    return _index(state, bags).counts(state.route_by, hash_rows(groups.keys, groups.count))


def look_up(state: StageState, hashes: Hashes, bags: Bags) -> Rows:
    """The rows of a state whose keys have these hashes."""
    _, found = _index(state, bags).lookup(state.route_by, hashes)
    return found.select(state.table.names).consolidate().expanded()


def _index(state: StageState, bags: Bags) -> Contents:
    """The index of a state by key."""
    assert state.table.index is not None
    return bags.contents(state.table.index)


def route_all(stage: Stage, read: Mapping[str, Rows], visited: Rows | None) -> Groups:
    """The groups of the rows that a run reads, then those of `visited` keys, without the state of either."""
    routed = {i.flow: _route(stage, i, read[i.flow]) for i in stage.inputs if i.flow in read}
    parts = [r.keys for r in routed.values()]
    if visited is not None and stage.state is not None:
        parts.append(tuple(visited[name] for name in stage.state.route_by))
    length = sum(len(r.at) for r in routed.values()) + len(visited or ())
    keys = _joined(stage.key, parts)
    first, numbers = group(keys, length)
    return Groups(_taken(keys, first), len(first), _placed(stage, routed, read, numbers, len(first)), None)


def with_state(state: StageState, groups: Groups, kept: Rows) -> Groups:
    """Groups with their state; `kept` rows that only share a hash with a key are left out."""
    names = [groups.keys, tuple(kept[name] for name in state.route_by)]
    both = [pa.concat_arrays([part[at] for part in names]) for at in range(len(groups.keys))]
    _, numbers = group(both, groups.count + len(kept))  # groups come first, so they keep their numbers
    return replace(groups, state=_state(state, kept, numbers[groups.count :], groups.count))


def _taken(keys: tuple[pa.Array, ...], at: Positions) -> tuple[pa.Array, ...]:
    return tuple(column.take(pa.array(at)) for column in keys)


def _route(stage: Stage, flow: StageInput, rows: Rows) -> Routed:
    return route(rows, flow.route_by, stage.key, lambda: python_rows(flow.flow, flow.fields, rows))


def _joined(key: Sequence[Field], parts: Sequence[tuple[pa.Array, ...]]) -> tuple[pa.Array, ...]:
    return tuple(pa.concat_arrays([part[at] for part in parts]) for at in range(len(key)))


def _placed(
    stage: Stage, routed: Mapping[str, Routed], read: Mapping[str, Rows], numbers: Positions, count: int
) -> dict[str, Grouped]:
    """The rows of each input in their groups; those routed to all groups are repeated."""
    placed, begin = {}, 0
    for flow in stage.inputs:
        found = routed.get(flow.flow)
        if found is None:
            placed[flow.flow] = Grouped(Rows.empty(types_of(flow.fields)), np.zeros(0, dtype=np.int64))
            continue
        own, begin = numbers[begin : begin + len(found.at)], begin + len(found.at)
        at = np.concatenate([found.at, np.tile(found.everywhere, count)])
        groups = np.concatenate([own, np.repeat(np.arange(count), len(found.everywhere))])
        rows = read[flow.flow]
        order = _order(groups, count, [at, *(key[at] for key in _keys(rows, flow.order_by))])
        placed[flow.flow] = Grouped(rows.take(at[order]), groups[order])
    return placed


def _order(groups: Positions, count: int, keys: Sequence[Key]) -> Positions:
    """The order of rows by the number of their group, then by keys, of which the least significant is given first."""
    if len(keys) == 1 and bool((np.diff(keys[0]) > 0).all()):  # already in order: a stable sort suffices
        narrow = groups.astype(np.uint16) if count <= 1 << 16 else groups  # NumPy uses radix sort for these
        return np.argsort(narrow, kind="stable")
    return np.lexsort((*keys, groups))


def _state(state: StageState, kept: Rows, groups: Positions, count: int) -> Grouped:
    """The state's rows in their groups, ordered."""
    inside = np.flatnonzero(groups < count)
    rows, numbers = kept.take(inside), groups[inside]
    is_single = bool((np.bincount(numbers, minlength=1) < 2).all())  # single rows need no order
    order = np.lexsort((*(() if is_single else _by_contents(rows, state.order_by, state.table.fields)), numbers))
    return Grouped(rows.take(order), numbers[order])


def _keys(rows: Rows, names: Sequence[str]) -> list[Key]:
    """Sort keys for columns, least significant first."""
    return [key for name in reversed(names) for key in reversed(ascending(rows[name]))]


def _by_contents(rows: Rows, first: Sequence[str], fields: Sequence[Field]) -> tuple[Key, ...]:
    """Sort keys for an order that depends only on contents: by the `first` columns, then the others, then the hash."""
    others = [f.name for f in fields if f.name not in first and why_not_order(f.type) is None]
    return rows.hashes(), *_keys(rows, [*first, *others])
