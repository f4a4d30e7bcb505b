"""The stored state of a signal, and its use by a refresh.

name                        the result, by group and block of time
name.state_blocks           its directory: the blocks of each group
name.state_readings_1       the readings of the first source, by group and block of time
name.state_reading_blocks_1 their directory
name.state_checkpoints      the states of filters, by group
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import from_numpy, values_of
from viewlet.columns.fresh_names import free_name
from viewlet.columns.rows import Rows
from viewlet.plan.types import Field
from viewlet.signal.change.checkpoints import Checkpoints, Filters
from viewlet.signal.operators.scans import state_size
from viewlet.signal.plan.kinds import kind_of
from viewlet.signal.plan.nodes import Node, Scan, Source, in_order, sources
from viewlet.signal.samples.ragged import Ints, Ragged, Spans
from viewlet.signal.samples.series import Series
from viewlet.signal.stored.blocks import Blocks, found
from viewlet.signal.stored.readings import merged
from viewlet.signal.stored.sample_rows import Columns
from viewlet.store import Contents, Layout


@dataclass(frozen=True)
class Schema:
    """The bags of a signal, and the representation of samples and states as rows."""

    name: str
    node: Node
    by: tuple[Field, ...]
    time: Field
    block: int
    """The length of a block of readings in ticks."""
    result_block: int

    @cached_property
    def result(self) -> Columns:
        return Columns(self.by, self.time, kind_of(self.node), self.result_block)

    @cached_property
    def readings(self) -> dict[Source, Columns]:
        """The stored form of each source's readings; keys have the names of the first source's."""
        return {source: Columns(self.by, self.time, kind_of(source), self.block) for source in sources(self.node)}

    @cached_property
    def scans(self) -> tuple[Scan, ...]:
        """The operators with checkpoints, which store an operator's position in this tuple."""
        return tuple(one for one in in_order(self.node) if isinstance(one, Scan))

    @property
    def blocks(self) -> str:
        return f"{self.name}.state_blocks"

    @property
    def checkpoints(self) -> str:
        return f"{self.name}.state_checkpoints"

    def readings_of(self, source: Source) -> str:
        return f"{self.name}.state_readings_{self._number(source)}"

    def reading_blocks_of(self, source: Source) -> str:
        return f"{self.name}.state_reading_blocks_{self._number(source)}"

    def _number(self, source: Source) -> int:
        return list(self.readings).index(source) + 1

    @property
    def bags(self) -> tuple[str, ...]:
        own = [bag for source in self.readings for bag in (self.readings_of(source), self.reading_blocks_of(source))]
        return self.name, self.blocks, *own, *([self.checkpoints] if self.scans else [])

    @cached_property
    def state_names(self) -> tuple[str, str, str]:
        """The columns of checkpoints: filter, time, state."""
        which, time, state = (free_name(name, self.result.keys) for name in ("_filter", "_time", "_state"))
        return which, time, state

    @cached_property
    def checkpoints_layout(self) -> Layout:
        return Layout(columns=(*self.result.keys, *self.state_names), key=self.result.keys)

    def checkpoint_rows(self, keys: Rows, checkpoints: Mapping[Scan, Checkpoints], weight: int) -> Rows:
        """Checkpoints of groups as rows."""
        parts = [self._state_rows(keys, scan, checkpoints[scan].series, weight) for scan in checkpoints]
        return Rows.concat(parts or [self._state_rows(keys, one, Checkpoints(one).series, 1) for one in self.scans])

    def _state_rows(self, keys: Rows, scan: Scan, series: Series, weight: int) -> Rows:
        picked, count = keys.take(series.groups), len(series.times)
        ends = pa.array(np.arange(count + 1, dtype=np.int32) * series.values.shape[1])
        states = pa.ListArray.from_arrays(ends, from_numpy(series.values.ravel(), pa.float64()))
        numbers = np.full(count, self.scans.index(scan), dtype=np.int32)
        columns = (from_numpy(numbers, pa.int32()), from_numpy(series.times, pa.int64()), states)
        named = {
            **{name: picked[name] for name in self.result.keys},
            **dict(zip(self.state_names, columns, strict=True)),
        }
        return Rows(named, np.full(count, weight, dtype=np.int64))

    def checkpoints_of(self, contents: Contents, keys: Rows) -> dict[Scan, Checkpoints]:
        """The stored checkpoints of groups."""
        at, rows = found(contents, keys, self.result.keys)
        netted = rows.with_columns({"": pa.array(at)}).consolidate()
        which, times, states = (netted[name] for name in self.state_names)
        result = {}
        for number, scan in enumerate(self.scans):
            own = np.flatnonzero(values_of(which, "i4") == number)
            result[scan] = checkpoints = Checkpoints(scan)
            groups = netted[""].to_numpy(zero_copy_only=False)[own]
            numbers = values_of(states.take(pa.array(own)).flatten(), "f8").reshape(len(own), state_size(scan))
            if len(own):
                checkpoints.series = Series.sorted(groups, values_of(times, "i8")[own], numbers)
        return result


class Stored(Filters):
    """For the groups that change: the readings after an epoch, the result before it, and the checkpoints."""

    def __init__(self, schema: Schema, tolerance: float, keys: Rows, bags: Bags) -> None:
        super().__init__(schema.node, tolerance)
        self.schema, self.keys, self.bags = schema, keys, bags
        self.samples_read = 0
        if schema.scans:
            self.checkpoints = schema.checkpoints_of(bags.before(schema.checkpoints), keys)
        self._were = {scan: checkpoints.series for scan, checkpoints in self.checkpoints.items()}

    def read(self, source: Source, spans: Spans) -> Ragged:
        schema, columns = self.schema, self.schema.readings[source]
        as_series = partial(merged, source, self.keys, columns)
        contents = self.bags.after(schema.readings_of(source))
        directory = self.bags.after(schema.reading_blocks_of(source))
        result = Blocks(columns, self.keys, contents, directory, as_series).read(spans)
        self.samples_read += len(result.times)
        return result

    def result(self, spans: Spans) -> Ragged:
        columns = self.schema.result

        def as_series(rows: Rows, groups: Ints) -> Series:
            return Series.sorted(groups, columns.times(rows), columns.values(rows))

        contents, directory = self.bags.before(self.schema.name), self.bags.before(self.schema.blocks)
        return Blocks(columns, self.keys, contents, directory, as_series).read(spans)

    def changed_checkpoints(self) -> Rows:
        """The changes of checkpoints as rows."""
        were = {scan: Checkpoints(scan, series) for scan, series in self._were.items()}
        parts = [
            self.schema.checkpoint_rows(self.keys, were, -1),
            self.schema.checkpoint_rows(self.keys, self.checkpoints, 1),
        ]
        return Rows.concat(parts).consolidate()


class Bags(Protocol):
    """The bags before and after an epoch."""

    def before(self, bag: str) -> Contents: ...

    def after(self, bag: str) -> Contents: ...
