"""Converts rows of a table or view to readings: ticks and doubles.

A row without a time, or with a value that is NULL, NaN or infinite, is not a reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import from_numpy, valid_mask, values_of
from viewlet.columns.rows import Rows, Weights, group
from viewlet.errors import RejectedEpoch, UnknownName, UnsupportedQuery
from viewlet.formatting import suggestion
from viewlet.plan.types import INTEGRAL, Field
from viewlet.signal.plan.durations import Clock
from viewlet.signal.plan.nodes import Source
from viewlet.signal.samples.payload import doubles, is_array, is_finite, is_payload, other_lengths
from viewlet.signal.samples.ragged import LATEST, Ints
from viewlet.signal.samples.series import Series
from viewlet.signal.stored.sample_rows import Columns


def readings(source: Source, columns: Columns, rows: Rows) -> Rows:
    """The readings among a source's rows, in stored form, with their weights."""
    picked = rows.select(dict.fromkeys((*source.by, source.time, *source.values, *filter(None, [source.until]))))
    times = picked[source.time]
    numbers = [doubles(picked[name], source.width) for name in source.values]
    if source.width is not None:
        _refuse_lengths(source, picked, numbers, source.width)
    kept = np.logical_and.reduce([valid_mask(times), *(is_finite(n, source.width) for n in numbers)])
    ticks = values_of(pc.cast(times, pa.int64()), "i8")
    if source.until is not None:
        until = picked[source.until]
        lasts = values_of(pc.cast(until, pa.int64()), "i8") - ticks
        kept &= valid_mask(until) & (lasts > 0)
        numbers.append(pa.array(lasts.astype(np.float64)))
    _refuse_far(source, ticks[kept])
    named = [picked[name] for name in source.by]
    stored = [*named, from_numpy(ticks, columns.time_type), *numbers]
    made = Rows(dict(zip(columns.names, stored, strict=True)), rows.weights).filter(kept)
    return made.with_columns({columns.block: pa.array(columns.times(made) // columns.span)})


def _refuse_lengths(source: Source, rows: Rows, columns: Sequence[pa.Array], width: int) -> None:
    for name, column in zip(source.values, columns, strict=True):
        if len(found := other_lengths(column, width)):
            at = int(found[0])
            where = _place({key: rows[key][at].as_py() for key in source.by}, rows[source.time][at].as_py())
            raise RejectedEpoch(
                f"{source.table}.{name} has an array of {len(column[at])} numbers for {where}",
                hint=f"the signal was made of arrays of {width}",
            )


def _place(keys: Mapping[str, object], time: object) -> str:
    return f"{', '.join(f'{k} = {v!r}' for k, v in keys.items())} at {time}"


def _refuse_far(source: Source, ticks: Ints) -> None:
    if len(ticks) and int(np.abs(ticks).max()) >= LATEST:
        raise RejectedEpoch(f"{source.table}: a {source.time} of {int(ticks[np.abs(ticks).argmax()])} is out of range")


@dataclass(frozen=True, slots=True)
class Keyed:
    """Rows by group: the key of each group, and the group of each row."""

    keys: Rows
    groups: Ints

    @staticmethod
    def of(columns: Columns, parts: Sequence[Rows]) -> Keyed:
        """The groups of readings, whose key columns must be the same."""
        rows = Rows.concat([part.select(columns.keys) for part in parts])
        first, groups = group([rows[name] for name in columns.keys], len(rows), rows.hashes())
        return Keyed(rows.take(first), groups)


def merged(source: Source, keys: Rows, columns: Columns, rows: Rows, groups: Ints) -> Series:
    """Readings of groups, at most one for each time: several are merged as the source specifies, or refused."""
    times, values = columns.times(rows), columns.values(rows)
    order = np.lexsort((times, groups))
    series = Series(groups[order], times[order], values[order])
    weights = rows.weights[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (np.diff(series.times) != 0) | (np.diff(series.groups) != 0)
    if source.until is not None:
        new[1:] &= (np.diff(series.times) >= series.values[:-1, -1]) | (np.diff(series.groups) != 0)
    if new.all() and (weights == 1).all():
        return series
    if source.merge == "error":
        _refuse(source, keys, columns, series, np.flatnonzero(~new | (weights > 1)))
    return _merge(source.merge, series, weights, np.flatnonzero(new))


def _merge(how: str, series: Series, weights: Weights, starts: Ints) -> Series:
    if how in ("min", "max"):
        merge = np.minimum if how == "min" else np.maximum
        values = merge.reduceat(series.values, starts, axis=0)
    else:
        each = weights.reshape(-1, *(1,) * (series.values.ndim - 1))
        values = np.add.reduceat(series.values * each, starts, axis=0)
        values = values / np.add.reduceat(each, starts, axis=0) if how == "mean" else values
    return Series(series.groups[starts], series.times[starts], values)


def _refuse(source: Source, keys: Rows, columns: Columns, series: Series, several: Ints) -> None:
    if not len(several):
        return
    at = several[0]
    of_group = {name: keys[name][int(series.groups[at])].as_py() for name in columns.keys}
    time = from_numpy(series.times[at : at + 1], columns.time_type)[0].as_py()
    where = _place(of_group, time)
    if source.until is not None:
        raise RejectedEpoch(
            f"{source.table} has overlapping readings of {where}", hint="end one before the next begins"
        )
    raise RejectedEpoch(
        f"{source.table} has several readings of {where}",
        hint="combine them: merge='mean', 'sum', 'min' or 'max'",
    )


def source_of(
    table: str,
    fields: tuple[Field, ...],
    by: tuple[str, ...],
    time: str,
    values: tuple[str, ...],
    is_complex: bool,
    merge: str,
    until: str | None,
    width: int | None,
) -> Source:
    """Validate a user's description of a source."""
    known = {f.name.lower(): f for f in fields}
    found = {name: _column(table, known, name) for name in (*by, time, *values, *filter(None, [until]))}
    clock = _clock(table, found[time])
    if until is not None and (found[until].type != found[time].type or is_complex or merge != "error"):
        raise UnsupportedQuery(
            f"{table}.{until} is {found[until].type}, and {time} {found[time].type}",
            hint="both must have the same type; values must be real, and not merged",
        )
    for name in values:
        _refuse_value(table, found[name], width, until)
    for name in by:
        if found[name].type.has_floats or found[name].type.is_nested:
            raise UnsupportedQuery(
                f"{table}.{name} is {found[name].type}, which cannot be a group's key", hint="cast it"
            )
    names = tuple(tuple(found[name].name for name in part) for part in (by, (time,), values))
    ends = None if until is None else found[until].name
    return Source(table, names[0], names[1][0], clock, names[2], is_complex, merge, ends, width)  # type: ignore[arg-type]


def _refuse_value(table: str, value: Field, width: int | None, until: str | None) -> None:
    if not is_payload(value.type):
        raise UnsupportedQuery(f"{table}.{value.name} is {value.type}, but a signal consists of numbers")
    if is_array(value.type) and width is None:
        raise UnsupportedQuery(
            f"{table}.{value.name} has arrays without a fixed length", hint="declare their length: width=…"
        )
    if width is not None and (until is not None or not is_array(value.type)):
        raise UnsupportedQuery(
            f"{table}.{value.name} is {value.type}, and width is {width}",
            hint="with a width, all values are arrays, and readings have no until",
        )


def _column(table: str, known: Mapping[str, Field], name: str) -> Field:
    if name.lower() not in known:
        raise UnknownName(f"{table} has no column {name}", hint=suggestion(name, [f.name for f in known.values()]))
    return known[name.lower()]


def _clock(table: str, time: Field) -> Clock:
    if time.type.name in ("timestamp", "timestamp_ntz"):
        return "timestamp"
    if time.type.name in INTEGRAL:
        return "number"
    raise UnsupportedQuery(f"{table}.{time.name} is {time.type}, not a time", hint="a timestamp or a whole number")
