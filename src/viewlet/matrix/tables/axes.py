"""Axes: the labels of rows and columns, and their places in matrices.

A size such as `n` is an axis: matrices that have it share its labels. New labels take the places of deleted ones,
lowest first; if more are deleted than added, the last labels move into the remaining gaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from viewlet.matrix.delta.resize import Resize
from viewlet.plan.types import Type

Label = Any
"""A value of the column that identifies rows."""


@dataclass(frozen=True)
class AxisKind:
    """The definition of an axis: the type of its labels, and the labels if they are fixed."""

    type: Type
    fixed: tuple[Label, ...] | None = None


@dataclass(frozen=True)
class Move:
    """A change of the labels of an axis, with places in the common frame."""

    old: int
    renamed: Mapping[int, Label]
    """Places where a new label replaces a deleted one."""
    added: tuple[Label, ...]
    gone: tuple[int, ...]

    @cached_property
    def coming(self) -> dict[Label, int]:
        """The place of each new label."""
        new = {label: self.old + i for i, label in enumerate(self.added)}
        return {**{label: place for place, label in self.renamed.items()}, **new}

    @cached_property
    def resize(self) -> Resize:
        return Resize(self.old, len(self.added), np.asarray(self.gone, dtype=np.intp), fills=bool(self.gone))

    def after(self, labels: Sequence[Label]) -> list[Label]:
        """The labels after the change."""
        if self.is_nothing:
            return list(labels)
        found = [*labels, *self.added]
        for place, label in self.renamed.items():
            found[place] = label
        return [found[place] for place in self.resize.staying.tolist()] if self.gone else found

    @property
    def is_nothing(self) -> bool:
        return not (self.renamed or self.added or self.gone)


class Axis:
    """The labels of an axis with their places."""

    def __init__(self, labels: Iterable[Label] = ()) -> None:
        self.labels = list(labels)
        self.places = {label: place for place, label in enumerate(self.labels)}

    def __len__(self) -> int:
        return len(self.labels)

    def move(self, coming: Sequence[Label], going: Sequence[Label]) -> Move:
        """The move for new and deleted labels; it either adds places or removes some, not both."""
        left = sorted(self.places[label] for label in going)
        renamed = dict(zip(left, coming, strict=False))
        return Move(len(self), renamed, tuple(coming[len(renamed) :]), tuple(left[len(renamed) :]))

    def apply(self, move: Move) -> list[tuple[int, Label | None, Label | None]]:
        """Apply a move; return the places whose label changes, with the old and the new label, or None for no label."""
        gaps, last = (side.tolist() for side in move.resize.moves)
        after = {place: label for label, place in move.coming.items()}
        after |= {gap: self.labels[place] for gap, place in zip(gaps, last, strict=True)}
        vanishing = range(move.resize.new, move.old)
        before = {place: self.labels[place] for place in (*after, *vanishing) if place < move.old}
        for label in before.values():
            del self.places[label]
        self.labels[move.resize.new :] = move.added
        for place, label in after.items():
            self.labels[place] = label
            self.places[label] = place
        return [(place, before.get(place), after.get(place)) for place in sorted({*before, *after})]
