"""Results as tables: outputs of one shape side by side, with the labels of their rows and columns.

Long: a row for each entry, a column for each output. Wide: a row for each row of an output, a column for each of its
columns. Outputs that are numbers repeat in every row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import from_numpy, values_of
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.rows import Rows
from viewlet.matrix.delta.factors import Array, Indices
from viewlet.matrix.tables.axes import Axis, AxisKind, Label, Move
from viewlet.plan.types import DOUBLE, Field

STILL = Move(1, {}, (), ())
"""The axis with one place that never changes: the row of numbers, the column of column vectors."""
Values = Mapping[str, Any]
"""Outputs by name: matrices, columns and numbers."""


@dataclass(frozen=True)
class Results:
    """The form of the result table: outputs, the axes of their rows and columns, and the columns of labels."""

    outputs: tuple[str, ...]
    axes: tuple[str, ...]
    """No axis for numbers, one for column vectors, two for matrices."""
    labels: tuple[str, ...]
    is_wide: bool = False

    def fields(self, kinds: Mapping[str, AxisKind]) -> tuple[Field, ...]:
        """The columns of the table."""
        keys = [Field(n, kinds[a].type, nullable=False) for n, a in zip(self.labels, self.axes, strict=False)]
        return (*keys, *(Field(name, DOUBLE, nullable=False) for name in self.columns(kinds)))

    def columns(self, kinds: Mapping[str, AxisKind]) -> tuple[str, ...]:
        """The columns that hold values."""
        return tuple(map(str, kinds[self.axes[1]].fixed or ())) if self.is_wide else self.outputs


class ResultTable:
    """Computes the rows of a result table and their changes."""

    def __init__(self, results: Results, kinds: Mapping[str, AxisKind], axes: Mapping[str, Axis]) -> None:
        self.results = results
        self.kinds = kinds
        self.axes = axes

    def first(self, moves: Mapping[str, Move], values: Values) -> Rows:
        """All rows of a new table; the axes have not moved yet."""
        extent = [m.resize.new for m in self._here(moves)]
        return self._rows(np.ones(extent, dtype=np.bool_), values, self._after(moves))

    def change(self, moves: Mapping[str, Move], before: Values, after: Values) -> Rows:
        """The deleted and inserted rows, given old and new outputs; the axes have not moved yet."""
        here = self._here(moves)
        old, new = [np.arange(m.old) for m in here], [m.resize.staying for m in here]
        differs = _differs(
            [m.resize.common for m in here], self._shaped(before, old), self._shaped(after, new), old, new
        )
        for side, move in enumerate(here):
            differs[(slice(None),) * side + (list(move.renamed),)] = True
        gone = self._rows(differs[np.ix_(*old)], before, [self.axes[a].labels for a in self.results.axes])
        come = self._rows(differs[np.ix_(*new)], after, self._after(moves))
        return Rows.concat([gone.negated(), come])

    def values(self, rows: Rows) -> dict[str, Array]:
        """Decode the outputs from the rows of the table."""
        extent = [*(len(self.axes[a]) for a in self.results.axes), 1, 1][:2]
        at = [self._places(axis, rows[n]) for n, axis in zip(self.results.labels, self.results.axes, strict=False)]
        columns = {n: values_of(rows[n], "f8") for n in self.results.columns(self.kinds)}
        if self.results.is_wide:
            array = np.zeros(extent)
            array[at[0]] = np.column_stack(list(columns.values()))
            return {self.results.outputs[0]: array}
        index = tuple([*at, np.zeros(len(rows), dtype=np.intp), np.zeros(len(rows), dtype=np.intp)][:2])
        return {name: _placed(extent, index, values) for name, values in columns.items()}

    def _shaped(self, values: Values, places: Sequence[Indices]) -> list[Array]:
        """Outputs as doubles of one shape, with numbers repeated; −0.0 becomes 0.0, as bags distinguish them."""
        extent = tuple(map(len, places))
        shaped = (
            values[o] if len(self.results.axes) == 2 else np.reshape(values[o], (-1, 1)) for o in self.results.outputs
        )
        return [np.broadcast_to(value, extent).astype(np.float64) + 0.0 for value in shaped]

    def _here(self, moves: Mapping[str, Move]) -> list[Move]:
        """The moves of rows and columns."""
        return [*(moves[a] for a in self.results.axes), STILL, STILL][:2]

    def _after(self, moves: Mapping[str, Move]) -> list[list[Label]]:
        return [moves[a].after(self.axes[a].labels) for a in self.results.axes]

    def _rows(self, shown: Array, values: Values, labels: Sequence[Sequence[Label]]) -> Rows:
        """The table's rows for some places."""
        at = np.nonzero(shown.any(axis=1, keepdims=True) if self.results.is_wide else shown)
        types = [arrow_type(self.kinds[a].type) for a in self.results.axes]
        keys = [
            pa.array([known[i] for i in places.tolist()], kind)
            for known, places, kind, _ in zip(labels, at, types, self.results.labels, strict=False)
        ]
        arrays = self._shaped(values, [np.arange(size) for size in shown.shape])
        found = list(arrays[0][at[0]].T) if self.results.is_wide else [array[at] for array in arrays]
        names = [f.name for f in self.results.fields(self.kinds)]
        columns = [*keys, *(from_numpy(np.ascontiguousarray(v), pa.float64()) for v in found)]
        return Rows(dict(zip(names, columns, strict=True)), np.ones(len(at[0]), dtype=np.int64))

    def _places(self, axis: str, labels: pa.Array) -> Indices:
        places = self.axes[axis].places
        return np.fromiter((places[label] for label in labels.to_pylist()), dtype=np.intp, count=len(labels))


def _placed(extent: Sequence[int], index: tuple[Indices, ...], values: Array) -> Array:
    array = np.zeros(extent)
    array[index] = values
    return array


def _differs(
    common: Sequence[int], before: list[Array], after: list[Array], old: Sequence[Indices], new: Sequence[Indices]
) -> Array:
    """A mask, in the common frame, of places where values differ or exist on one side only."""
    was, now = np.zeros(common, dtype=np.bool_), np.zeros(common, dtype=np.bool_)
    was[np.ix_(*old)], now[np.ix_(*new)] = True, True
    differs = was != now
    for one, other in zip(before, after, strict=True):
        whole, fresh = np.zeros(common), np.zeros(common)
        whole[np.ix_(*old)], fresh[np.ix_(*new)] = one, other
        differs |= whole != fresh
    return differs
