"""Calls the function of a stage, by group, once for all groups, or by row, and converts its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import pyarrow as pa

from viewlet.columns.arrays import from_numpy
from viewlet.columns.python_values import python_values
from viewlet.columns.rows import Rows
from viewlet.errors import FlowError, RejectedEpoch, shortened
from viewlet.flow.define.graph import Stage
from viewlet.flow.define.names import GROUP, STATE
from viewlet.flow.increments.groups import Grouped, Groups
from viewlet.flow.increments.python_rows import Row, python_rows, types_of
from viewlet.intake.to_columns import to_arrow
from viewlet.plan.types import Field

Written = dict[str, Rows]
"""The rows that a stage writes to each of its outputs and to its state."""


@dataclass(frozen=True, slots=True)
class Translated:
    """The output of a run, and the rows of the state that it replaces."""

    written: Written
    old: Rows | None

    def netted(self) -> Translated:
        """The same without unchanged rows of the state."""
        if self.old is None:
            return self
        gone, come = netted(self.old, self.written[STATE])
        return Translated({**self.written, STATE: come}, gone)

    def rows(self) -> int:
        """The number of rows."""
        return sum(map(len, self.written.values())) + len(self.old or ())


def netted(old: Rows, new: Rows) -> tuple[Rows, Rows]:
    """Two bags without the rows that they have in common."""
    net = Rows.concat([old.negated(), new]).consolidate()
    gone, come = net.filter(net.weights < 0), net.filter(net.weights > 0)
    return gone.negated().expanded(), come.expanded()


class Collected:
    """The results of the calls of one run so far."""

    def __init__(self, where: str, stage: Stage) -> None:
        self.where, self.stage = where, stage
        self.fields = stage.written_fields
        self.only = stage.outputs[0].flow if len(stage.outputs) == 1 and stage.state is None else None
        self.lists: dict[str, list[Any]] = {flow: [] for flow in self.fields}
        self.tables: dict[str, list[Any]] = {flow: [] for flow in self.fields}

    def take(self, given: Any) -> None:
        """Add the result of one call."""
        if given is None:
            return
        if isinstance(given, dict):
            for flow, rows in given.items():
                self._rows(self._known(flow), rows)
        elif self.only is not None:
            self._rows(self.only, given)
        else:
            for pair in given:
                if not isinstance(pair, tuple) or len(pair) != 2:
                    raise FlowError(f"{self.where} yields {shortened(pair)}", hint="yield (flow, row)")
                self.lists[self._known(pair[0])].append(pair[1])

    def _rows(self, flow: str, rows: Any) -> None:
        if hasattr(rows, "__arrow_c_stream__"):
            self.tables[flow].append(rows)
        else:
            self.lists[flow].extend(rows)

    def _known(self, flow: Any) -> str:
        if not isinstance(flow, str) or flow not in self.fields:
            there = ", ".join(self.fields) or "none"
            raise FlowError(f"{self.where} writes to {shortened(flow)}", hint=f"its outputs: {there}")
        return flow

    def written(self) -> Written:
        """The rows of each flow, in the declared types."""
        return {flow: self._typed(flow) for flow in self.fields}

    def _typed(self, flow: str) -> Rows:
        parts = [*self.tables[flow], *([self.lists[flow]] if self.lists[flow] else [])]
        if not parts:
            return Rows.empty(types_of(self.fields[flow]))
        try:
            return Rows.concat([Rows.of(to_arrow(flow, self.fields[flow], part)) for part in parts])
        except RejectedEpoch as error:
            raise FlowError(f"{self.where} writes an invalid row: {error.message}", hint=error.hint) from error


class _Noting:
    """Adds a note to exceptions that names the failing call."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.at: tuple[str, Any] | None = None
        """The key or row being processed."""

    def __enter__(self) -> _Noting:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None:
            place = "" if self.at is None else f", {self.at[0]} {shortened(self.at[1])}"
            error.add_note(f"raised in {self.where}{place}; nothing of the run was committed")


def translate_groups(where: str, stage: Stage, groups: Groups) -> Translated:
    """Call a stage that works on groups."""
    collected = Collected(where, stage)
    call = _call_once if stage.form == "arrow" else _call_each
    with _Noting(where) as noting:
        call(stage, groups, collected, noting)
    return Translated(collected.written(), None if groups.state is None else groups.state.rows)


def translate_rows(where: str, stage: Stage, rows: Rows) -> Written:
    """Call a stage that works row by row."""
    collected = Collected(where, stage)
    with _Noting(where) as noting:
        if stage.form == "rows":
            collected.take(stage.translate(rows.arrow()))
        else:
            for row in python_rows(where, stage.inputs[0].fields, rows):
                noting.at = "row", row
                collected.take(stage.translate(row))
    return collected.written()


def _call_each(stage: Stage, groups: Groups, collected: Collected, noting: _Noting) -> None:
    """One call for each group."""
    inputs = {i.flow: _slices(i.flow, i.fields, groups.inputs[i.flow], groups.count) for i in stage.inputs}
    state = None
    if stage.state is not None and groups.state is not None:
        table = stage.state.table
        state = _slices(table.name, table.fields, groups.state, groups.count)
    for number, key in enumerate(_python_keys(stage.key, groups)):
        noting.at = "key", key
        given = {flow: rows(number) for flow, rows in inputs.items()}
        collected.take(stage.translate(key, given, None if state is None else state(number)))


def _call_once(stage: Stage, groups: Groups, collected: Collected, noting: _Noting) -> None:
    """One call for all groups."""
    if not groups.count:
        return
    keys = pa.table(dict(zip([f.name for f in stage.key], groups.keys, strict=True)))
    inputs = {flow: _numbered(grouped) for flow, grouped in groups.inputs.items()}
    collected.take(stage.translate(keys, inputs, None if groups.state is None else _numbered(groups.state)))


def _numbered(grouped: Grouped) -> pa.Table:
    return pa.table({**grouped.rows.columns, GROUP: from_numpy(grouped.groups, pa.int64())})


def _slices(where: str, fields: Sequence[Field], grouped: Grouped, count: int) -> Callable[[int], list[Row]]:
    """A function that returns the rows of a group."""
    rows, bounds = python_rows(where, fields, grouped.rows), grouped.bounds(count).tolist()
    return lambda number: rows[bounds[number] : bounds[number + 1]]


def _python_keys(key: Sequence[Field], groups: Groups) -> Iterable[Any]:
    """The key of each group: a value if it is one column, else a tuple."""
    columns = [python_values("key", f, pa.chunked_array([c])) for f, c in zip(key, groups.keys, strict=True)]
    if len(columns) == 1:
        return columns[0]
    return list(zip(*columns, strict=True)) if columns else [()] * groups.count
