"""The layout of a bag: its columns, its sort key, its indexes, and the columns that add up.

A layout is an immutable value: it is stored with the bag, sent to tasks, and converts to JSON and back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from viewlet.columns.fresh_names import free_name

Form = Literal["map", "table"]
Names = tuple[str, ...]
ROW_HASH = "_hash"


@dataclass(frozen=True, slots=True)
class Layout:
    """A map is sorted by the hash of its key and may have indexes; a table is unsorted and has neither."""

    columns: Names
    key: Names
    indexes: tuple[Names, ...] = ()
    sums: Names = ()
    form: Form = "map"
    feed: bool = False
    fingerprints: bool = False
    """Whether a run stores each row's fingerprint, which identifies the row without reading it."""

    def __post_init__(self) -> None:
        for names in (self.key, *self.indexes, self.sums):
            strangers = set(names) - set(self.columns)
            assert not strangers, f"{sorted(strangers)} are no columns of {self.columns}"
        assert len(set(self.columns)) == len(self.columns), f"{self.columns} names a column twice"
        summed = set(self.sums).intersection(name for names in self.lookups for name in names)
        assert not summed, f"{sorted(summed)} add up and cannot be looked up"
        if self.form == "table":
            self._check_table()

    def _check_table(self) -> None:
        assert not self.indexes and not self.sums, "a table has neither indexes nor sums"
        assert not self.fingerprints, "the files of a table keep the hashes of its rows anyway"

    @property
    def row_hash(self) -> str:
        """The column of a table's files that holds the hash of each row."""
        return free_name(ROW_HASH, self.columns)

    @property
    def lookups(self) -> tuple[Names, ...]:
        """The column sets by which rows can be looked up: the key, then the indexes."""
        return (self.key, *self.indexes)

    def serves(self, other: Layout) -> bool:
        """Whether a bag of this layout can be used as one of `other`: it may only have additional look-ups."""
        if self == other:
            return True
        return replace(self, indexes=()) == replace(other, indexes=()) and set(other.indexes) <= set(self.indexes)

    def with_lookups(self, more: Iterable[Names]) -> Layout:
        """The same layout with further look-ups."""
        new = tuple(dict.fromkeys(names for names in more if names not in self.lookups))
        return replace(self, indexes=(*self.indexes, *new))

    @property
    def plain(self) -> Names:
        """The columns that identify rows: all but the sums."""
        return tuple(name for name in self.columns if name not in self.sums)

    @property
    def numbers(self) -> tuple[Names, ...]:
        """The sums grouped by number: the limbs of x_0 + 2³²·x_1 + … together, other sums alone."""
        found: dict[str, Names] = {}
        for name in self.sums:
            number, _, limb = name.rpartition("_")
            number = number if limb.isdigit() else name
            found[number] = (*found.get(number, ()), name)
        return tuple(found.values())

    def to_json(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "key": list(self.key),
            "indexes": [list(names) for names in self.indexes],
            "sums": list(self.sums),
            "form": self.form,
            "feed": self.feed,
            "fingerprints": self.fingerprints,
        }

    @staticmethod
    def from_json(document: dict[str, Any]) -> Layout:
        return Layout(
            columns=tuple(document["columns"]),
            key=tuple(document["key"]),
            indexes=tuple(tuple(names) for names in document["indexes"]),
            sums=tuple(document["sums"]),
            form=document["form"],
            feed=document["feed"],
            fingerprints=document["fingerprints"],
        )
