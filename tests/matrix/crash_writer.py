"""A process that changes a matrix until it is killed; it says on standard output which epochs were committed.

What epoch n does follows from n alone, so that whoever finds the warehouse can tell what must be in it.
"""

from __future__ import annotations

import sys

import numpy as np

import viewlet
from tests.kill_at_write import kill_at_write

Rows = dict[int, tuple[float, ...]]
WIDTH = 3


def changes(number: int, there: Rows) -> tuple[Rows, list[int]]:
    """The rows that an epoch puts in, new or changed, and those that it takes away."""
    random = np.random.default_rng(number)
    keys = sorted(there)
    gone = (
        [keys[i] for i in random.choice(len(keys), size=min(len(keys) - 5, 2), replace=False)] if len(keys) > 5 else []
    )
    put = [number * 10 + i for i in range(int(random.integers(1, 4)))] + [k for k in keys[:1] if k not in gone]
    return {k: tuple(random.normal(size=WIDTH).tolist()) for k in put}, gone


def replay(first: int, last: int, there: Rows) -> Rows:
    """The rows after some epochs."""
    for number in range(first, last + 1):
        put, gone = changes(number, there)
        there = {**{k: v for k, v in there.items() if k not in gone}, **put}
    return there


def write(path: str, epochs: int | None = None) -> None:
    with viewlet.connect(path) as db:
        there: Rows = {r[0]: r[1:] for r in db.table("items").rows()}
        while epochs is None or epochs > 0:
            epochs = None if epochs is None else epochs - 1
            number = db.status()["epoch"] + 1
            put, gone = changes(number, there)
            with db.epoch() as epoch:
                epoch.upsert("items", [(k, *v) for k, v in put.items()])
                epoch.delete("items", [(k,) for k in gone])
            there = {**{k: v for k, v in there.items() if k not in gone}, **put}
            sys.stdout.write(f"{epoch.number}\n")
            sys.stdout.flush()


def main(path: str, first: str, epochs: str = "", killed_at: str = "") -> None:
    """Until it is killed; or some epochs, and killed at one of their writes."""
    if killed_at:
        kill_at_write(int(killed_at))
    write(path, int(epochs) if epochs else None)


if __name__ == "__main__":
    main(*sys.argv[1:])
