"""Tables that become matrices, kept twice: in a warehouse, and as plain dicts that the test changes itself."""

from __future__ import annotations

from typing import Any

import numpy as np

import viewlet

POINTS = "id BIGINT, note STRING, a DOUBLE, b DOUBLE, c DECIMAL(8,2)"
LINKS = "src STRING, dst STRING, w DOUBLE"
Points = dict[int, tuple[float, float, float]]
Links = dict[tuple[str, str], float]


class Tables:
    """Points, a row of a wide matrix each; and links, an entry of a long one each."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.points: Points = {i: self._point() for i in range(8)}
        names = "abcdef"
        self.links: Links = {(x, y): self._weight() for x in names for y in names if self.random.random() < 0.4}
        self._next = 100

    def create(self, db: viewlet.Database) -> None:
        db.create_table("points", POINTS, primary_key="id", rows=[self._row(i) for i in self.points])
        db.create_table("links", LINKS, primary_key=["src", "dst"], rows=self._entries(self.links))

    def change(self, db: viewlet.Database) -> None:
        """Rows and entries that come, go and change, in one epoch."""
        gone, lost = self._some(self.points, 2), self._some(self.links, 4)
        for i in gone[: max(0, len(self.points) - 4)]:
            del self.points[i]
        for at in lost:
            del self.links[at]
        put, linked = self._put(), self._link()
        self.points |= put
        self.links |= linked
        with db.epoch() as e:
            e.delete("points", [(i,) for i in gone if i not in self.points])
            e.upsert("points", [self._row(i) for i in put])
            e.delete("links", [at for at in lost if at not in linked])
            e.upsert("links", self._entries(linked))

    @property
    def x(self) -> Any:
        """The wide matrix, in the order of its keys."""
        return np.array([self.points[i] for i in sorted(self.points)])

    @property
    def names(self) -> list[str]:
        return sorted({name for at in self.links for name in at})

    @property
    def s(self) -> Any:
        """The long matrix, in the order of its labels."""
        return np.array([[self.links.get((x, y), 0.0) for y in self.names] for x in self.names])

    def _point(self) -> tuple[float, float, float]:
        a, b, c = self.random.normal(size=3)
        return float(a), float(b), round(float(c), 2)

    def _weight(self) -> float:
        return float(self.random.normal()) / 3

    def _put(self) -> Points:
        """Points that are new, and some that change; now and then nothing of a point that a matrix reads."""
        new = range(self._next, self._next + int(self.random.integers(0, 3)))
        self._next += len(new)
        kept = [i for i in self._some(self.points, 1) if i in self.points]
        changed = {i: self._point() if self.random.random() < 0.7 else self.points[i] for i in kept}
        return {**{i: self._point() for i in new}, **changed}

    def _link(self) -> Links:
        letters = "abcdefghijkl"
        pairs = {
            (x, y) for x, y in self.random.choice(list(letters), size=(int(self.random.integers(0, 5)), 2)).tolist()
        }
        return {at: self._weight() for at in sorted(pairs)} or ({} if self.links else {("a", "b"): 1.0})

    def _some(self, of: dict[Any, Any], most: int) -> list[Any]:
        keys = sorted(of)
        count = min(len(keys), int(self.random.integers(0, most + 1)))
        return [keys[i] for i in self.random.choice(len(keys), size=count, replace=False)] if count else []

    def _row(self, i: int) -> tuple[Any, ...]:
        a, b, c = self.points[i]
        return i, str(self.random.integers(9)), a, b, f"{c:.2f}"

    def _entries(self, links: Links) -> list[tuple[str, str, float]]:
        return [(*at, weight) for at, weight in links.items()]


def table_of(db: viewlet.Database, name: str) -> dict[Any, Any]:
    """A result: the value under each pair of labels, or the values under each label."""
    columns = db.table(name).columns
    labels = 2 if len(columns) == 3 and columns[0].endswith("_row") else 1
    rows = {row[:labels] if labels > 1 else row[0]: row[labels:] for row in db.table(name).rows()}
    assert len(rows) == len(db.table(name)), f"{name} has a row twice"
    return rows
