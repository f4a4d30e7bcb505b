"""Inputs: matrices defined by tables, and their changes.

The labels of an axis are the keys of the wide matrices that have it, which must all have the same keys; without wide
matrices, they are the labels that occur in long ones. Fixed labels are columns of a wide matrix, or 0, 1, … up to a
number; a wide matrix must have a row for each of these, too. Entries missing from a long matrix are zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from viewlet.errors import RejectedEpoch
from viewlet.matrix.delta.factors import Array
from viewlet.matrix.refresh.buffers import Buffer
from viewlet.matrix.refresh.updates import Entries
from viewlet.matrix.tables.axes import Axis, AxisKind, Label, Move
from viewlet.matrix.tables.entries import Difference, missing, place_of, twice
from viewlet.matrix.tables.sources import Fixed, Long, Moments, Source, Wide


@dataclass(frozen=True)
class Input:
    """An input of a program: its source, and the axes of its rows and columns."""

    name: str
    source: Source
    axes: tuple[str, str]


@dataclass(frozen=True)
class InputStep:
    """The changes of axes and inputs in an epoch."""

    moves: Mapping[str, Move]
    differences: Mapping[str, Difference]
    updates: Mapping[str, Entries]


class Inputs:
    """The axes of a program's matrices, and the existing entries of long ones."""

    def __init__(self, inputs: tuple[Input, ...], kinds: Mapping[str, AxisKind]) -> None:
        self.inputs = {i.name: i for i in inputs}
        self.kinds = kinds
        self.axes = {name: Axis(kind.fixed or ()) for name, kind in kinds.items()}
        self._mentions: dict[str, Counter[Label]] = {name: Counter() for name in kinds}
        """By axis, how often each label occurs in long matrices."""
        self._rows: dict[str, set[Label]] = {
            i.name: set() for i in self._of(Wide) if kinds[i.axes[0]].fixed is not None
        }
        """The existing rows of wide matrices with fixed labels."""
        self._there = {i.name: Buffer(np.zeros(self._extent(i), dtype=np.bool_)) for i in self._of(Long)}

    def plan(self, differences: Mapping[str, Difference], order: Mapping[str, Axis] | None = None) -> InputStep:
        """Compute a step from changes of records, without applying it; `order`: axes that order new labels."""
        for name, difference in differences.items():
            self._refuse_strangers(self.inputs[name], difference)
        for name in self._rows:
            self._refuse_missing(self.inputs[name], differences.get(name) or _NOTHING)
        mentions = self._mentioned(differences)
        moves = {axis: self._move(axis, differences, mentions[axis], order or {}) for axis in self.axes}
        updates = {name: self._entries(self.inputs[name], differences.get(name), moves) for name in self.inputs}
        return InputStep(moves, differences, {name: u for name, u in updates.items() if u is not None})

    def apply(self, step: InputStep) -> dict[str, list[tuple[int, Label | None, Label | None]]]:
        """Apply a step; return the places of each axis whose label changes."""
        for name, there in self._there.items():
            update = step.updates.get(name)
            if update is not None:
                self._mark(there, self.inputs[name], update, step)
        for name, rows in self._rows.items():
            rows.update((step.differences.get(name) or _NOTHING).new)
        for axis, delta in self._mentioned(step.differences).items():
            self._mentions[axis].update(delta)
            for label in [label for label in delta if not self._mentions[axis][label]]:
                del self._mentions[axis][label]
        return {
            name: axis.apply(step.moves[name]) for name, axis in self.axes.items() if not step.moves[name].is_nothing
        }

    def arrays(self, step: InputStep, large: Collection[str] = ()) -> dict[str, Array]:
        """The matrices after a first step, except those in blocks."""
        found: dict[str, Array] = {}
        for name, given in self.inputs.items():
            if name in large:
                continue
            if isinstance(given.source, Fixed):
                found[name] = given.source.array
            elif not isinstance(given.source, Moments):
                found[name] = np.zeros([step.moves[axis].resize.common for axis in given.axes])
                if (update := step.updates.get(name)) is not None:
                    found[name][update.rows, update.columns] = update.values
        return found

    def places(self, name: str, step: InputStep, labels: Sequence[Label]) -> Array:
        """The places of rows of a matrix after a step, by their labels."""
        return self._places(self.inputs[name].axes[0], labels, step.moves)

    def _of(self, kind: type[Wide | Long]) -> list[Input]:
        return [i for i in self.inputs.values() if isinstance(i.source, kind)]

    def _extent(self, given: Input) -> tuple[int, int]:
        return len(self.axes[given.axes[0]]), len(self.axes[given.axes[1]])

    def _refuse_strangers(self, given: Input, difference: Difference) -> None:
        """Refuse new records that already exist, and deleted or replaced ones that do not."""
        assert isinstance(given.source, Wide | Long)
        for key in difference.new:
            if self._is_there(given, key):
                raise twice(given.name, given.source, key)
        for key in (*difference.replaced, *difference.gone):
            if not self._is_there(given, key):
                raise missing(given.name, given.source, key)

    def _refuse_missing(self, given: Input, difference: Difference) -> None:
        """Refuse a wide matrix with fixed labels that lacks a row for one, or has others."""
        assert isinstance(given.source, Wide)
        if self._rows[given.name] and not (difference.new or difference.gone):
            return
        labels, table, row = self.axes[given.axes[0]].places, given.source.table, given.source.row
        if strange := [key for key in difference.new if key not in labels]:
            raise RejectedEpoch(f"{table} has a row for {row} = {strange[0]!r}, which is not a row of {given.name}")
        there = {*self._rows[given.name], *difference.new} - set(difference.gone)
        if due := [label for label in labels if label not in there]:
            raise RejectedEpoch(f"{table} has no row for {row} = {due[0]!r}, and {given.name} needs it")

    def _is_there(self, given: Input, key: Any) -> bool:
        rows, columns = (self.axes[axis].places for axis in given.axes)
        if isinstance(given.source, Wide):
            return key in self._rows.get(given.name, rows)
        row, column = key
        return row in rows and column in columns and bool(self._there[given.name].array[rows[row], columns[column]])

    def _mentioned(self, differences: Mapping[str, Difference]) -> dict[str, Counter[Label]]:
        """By axis, the change of how often each label occurs in long matrices."""
        found: dict[str, Counter[Label]] = {axis: Counter() for axis in self.axes}
        for given in self._of(Long):
            if (difference := differences.get(given.name)) is not None:
                for side, axis in enumerate(given.axes):
                    found[axis].update(key[side] for key in _pairs(difference.new))
                    found[axis].subtract(key[side] for key in _pairs(difference.gone))
        return found

    def _move(
        self, name: str, differences: Mapping[str, Difference], mentions: Counter[Label], order: Mapping[str, Axis]
    ) -> Move:
        axis, kind = self.axes[name], self.kinds[name]
        coming, going = ([], []) if kind.fixed is not None else self._coming_and_going(name, differences, mentions)
        if name in order:
            coming.sort(key=order[name].places.__getitem__)
        move = axis.move(coming, going)
        left = set(going)
        for label, more in mentions.items():
            is_known = (label in axis.places and label not in left) or label in move.coming
            if not is_known and self._mentions[name][label] + more > 0:
                raise _stranger(name, label)
        return move

    def _coming_and_going(
        self, name: str, differences: Mapping[str, Difference], mentions: Counter[Label]
    ) -> tuple[list[Label], list[Label]]:
        wide = [i for i in self._of(Wide) if i.axes[0] == name]
        if not wide:
            counts = self._mentions[name]
            coming = [label for label, more in mentions.items() if more > 0 and not counts[label]]
            return coming, [label for label, more in mentions.items() if more < 0 and counts[label] + more == 0]
        first, *others = (differences.get(i.name) or _NOTHING for i in wide)
        for given, other in zip(wide[1:], others, strict=True):
            _refuse_uneven(wide[0], first, given, other)
        going = [*first.gone]
        still = [label for label in going if self._mentions[name][label] + mentions[label] > 0]
        if still:
            raise _stranger(name, still[0])
        return [*first.new], going

    def _entries(self, given: Input, difference: Difference | None, moves: Mapping[str, Move]) -> Entries | None:
        """The change of one matrix."""
        here = [moves[axis] for axis in given.axes]
        added, gone = tuple(len(m.added) for m in here), tuple(m.gone for m in here)
        resized = any(added) or any(gone)
        if (difference is None or difference.is_nothing) and not resized:
            return None
        rows, columns, values = _none() if difference is None else self._placed(given, difference, moves)
        return Entries(rows, columns, values, (added[0], added[1]), (gone[0], gone[1]))

    def _placed(self, given: Input, difference: Difference, moves: Mapping[str, Move]) -> tuple[Array, Array, Array]:
        """The places and entries of changed records."""
        found = {**difference.replaced, **difference.new}
        at = np.fromiter(found.values(), dtype=np.intp, count=len(found))
        if isinstance(given.source, Wide):
            width = difference.values.shape[1]
            rows = self._places(given.axes[0], found, moves)
            return np.repeat(rows, width), np.tile(np.arange(width), len(rows)), difference.values[at].ravel()
        sides = []
        for side, axis in enumerate(given.axes):
            zeroed = self._places(axis, (key[side] for key in _pairs(difference.gone)), None)
            sides.append(np.concatenate([zeroed, self._places(axis, (key[side] for key in _pairs(found)), moves)]))
        return sides[0], sides[1], np.concatenate([np.zeros(len(difference.gone)), difference.values[at, 0]])

    def _places(self, axis: str, labels: Any, moves: Mapping[str, Move] | None) -> Array:
        """The places of labels: before the epoch, or given its moves, also of new labels."""
        there, coming = self.axes[axis].places, {} if moves is None else moves[axis].coming
        return np.fromiter((coming[label] if label in coming else there[label] for label in labels), dtype=np.intp)

    def _mark(self, there: Buffer, given: Input, update: Entries, step: InputStep) -> None:
        moves = [step.moves[axis] for axis in given.axes]
        there.extend((moves[0].resize.common, moves[1].resize.common))
        difference = step.differences.get(given.name)
        if difference is not None:
            marks = np.ones(len(update.rows), dtype=np.bool_)
            marks[: len(difference.gone)] = False
            there.array[update.rows, update.columns] = marks
        for side, move in enumerate(moves):
            if move.gone:
                there.contract(side, move.resize)


_NOTHING = Difference({}, {}, [], np.zeros((0, 0)))


def _stranger(axis: str, label: Label) -> RejectedEpoch:
    return RejectedEpoch(
        f"a long matrix has an entry for {axis} {label!r}, which is not a label of {axis}",
        hint="where a wide matrix shares the axis, only its keys or columns are labels",
    )


def _none() -> tuple[Array, Array, Array]:
    return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0)


def _pairs(keys: Any) -> Iterator[tuple[Label, Label]]:
    """The keys of a long matrix."""
    return iter(keys)


def _refuse_uneven(first: Input, one: Difference, second: Input, other: Difference) -> None:
    """Refuse different row changes of two wide matrices that share their rows."""
    for which, (a, b) in (("gets", (one.new.keys(), other.new.keys())), ("loses", (set(one.gone), set(other.gone)))):
        if a != b:
            key = next(iter(a ^ b))
            gets, not_ = (first, second) if key in a else (second, first)
            assert isinstance(gets.source, Wide)
            raise RejectedEpoch(
                f"{gets.name} {which} the row {place_of(gets.source, key)} but {not_.name} does not",
                hint=f"both have {first.axes[0]} rows: change their tables in one epoch",
            )
