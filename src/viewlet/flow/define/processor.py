"""A `StatefulProcessor` of Spark's as a stage: the same methods, called for the rows of an increment.

Its value, list and map states and its timers are rows of the stage's table, with values as JSON. A run corresponds to a
micro-batch in Spark: first the rows of every key, then the timers that are due.
"""

from __future__ import annotations

import copy
import datetime as dt
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from viewlet.flow.define.names import GROUP, STATE
from viewlet.flow.define.processor_states import Handle, States, TimerInfo, TimerValues

TimeMode = Literal["none", "processing time", "event time"]
COLUMNS = "kind STRING, variable STRING, position BIGINT, item STRING, value STRING, expires_ms BIGINT"
"""The columns of the stage's table after the key; it has a row for each value, element, entry and timer."""
Key = tuple[Any, ...]


@dataclass
class ProcessorStage:
    """Calls a processor as a vectorized stage."""

    processor: Any
    input: str
    output: str
    key: tuple[str, ...]
    """The columns of the grouping key."""
    time_mode: TimeMode = "none"
    event_time: str | None = None
    delay: dt.timedelta = dt.timedelta(0)
    clock: Callable[[], float] = time.time
    __name__: str = field(default="", init=False)

    @property
    def keeps_time(self) -> bool:
        """Whether all groups have one time."""
        return self.time_mode != "none"

    def __call__(self, keys: pa.Table, inputs: dict[str, pa.Table], state: pa.Table) -> dict[str, list[Any]]:
        """One run."""
        names = list(zip(*(keys[name].to_pylist() for name in self.key), strict=True))
        rows = _by_group(inputs[self.input])
        states = States.read(names, state.to_pylist(), now=int(self.clock() * 1_000))
        written = list(self._process(names, rows, states))
        return {self.output: written, STATE: states.rows(self.key)}

    def _process(self, names: Sequence[Key], rows: dict[int, list[dict[str, Any]]], states: States) -> Iterator[Any]:
        processor, handle = copy.copy(self.processor), Handle(states)
        processor.init(handle)
        for number, given in rows.items():
            handle.key = names[number]
            yield from _listed(processor.handleInputRows(handle.key, iter(_as_rows(given)), self._times(states)))
        if self.time_mode != "none":
            self._advance(states, rows.values())
            yield from self._expire(processor, handle, states)
        processor.close()

    def _expire(self, processor: Any, handle: Handle, states: States) -> Iterator[Any]:
        """Expire the timers that are due, earliest first; timers that they register wait for the next run."""
        due = states.watermark if self.time_mode == "event time" else states.now
        for at, key in sorted(states.timers(), key=lambda timer: timer[0]):
            if at <= due and at in states.of(key).timers:
                handle.key = key
                states.of(key).timers.discard(at)
                yield from _listed(processor.handleExpiredTimer(key, self._times(states), TimerInfo(at)))

    def _advance(self, states: States, groups: Iterable[list[dict[str, Any]]]) -> None:
        """Advance the watermark by the rows of a run."""
        if self.event_time is not None:
            times = [row[self.event_time] for rows in groups for row in rows if row[self.event_time] is not None]
            seen = max((_milliseconds(at) for at in times), default=0) - self.delay // dt.timedelta(milliseconds=1)
            states.watermark = max(states.watermark, seen)

    def _times(self, states: States) -> TimerValues:
        return TimerValues(states.now, states.watermark)


def _by_group(table: pa.Table) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        found.setdefault(row.pop(GROUP), []).append(row)
    return found


def _as_rows(rows: list[dict[str, Any]]) -> list[Any]:
    """Spark's `Row`s if PySpark is loaded; otherwise dicts whose columns are attributes, too."""
    spark = sys.modules.get("pyspark.sql.types")
    return [_NamedRow(row) if spark is None else spark.Row(**row) for row in rows]


class _NamedRow(dict[str, Any]):
    """A row whose columns are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error


def _listed(given: Iterable[Any] | None) -> Iterable[Any]:
    return () if given is None else given


def _milliseconds(at: dt.datetime) -> int:
    aware = at if at.tzinfo is not None else at.replace(tzinfo=dt.UTC)
    return int((aware - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(milliseconds=1))
