"""A process that writes epochs until it is killed; it says on standard output which ones were committed.

What epoch n does follows from n alone, so that whoever finds the warehouse can tell what must be in it.
"""

from __future__ import annotations

import random
import sys
from decimal import Decimal
from typing import Any

import viewlet

Rows = dict[int, tuple[int, int, Decimal, float]]


def changes(number: int, there: Rows) -> tuple[list[Any], list[int], list[Any]]:
    """What an epoch inserts, deletes and upserts, given the rows that are there."""
    rng = random.Random(number)
    ids = sorted(there)
    gone = rng.sample(ids, min(len(ids), rng.choice([0, 1, 5]))) if ids else []
    kept = [i for i in ids if i not in gone]
    changed = rng.sample(kept, min(len(kept), rng.choice([0, 2])))
    new = [number * 1000 + i for i in range(rng.choice([1, 3, 40, 400]))]
    return [_row(rng, i) for i in new], gone, [_row(rng, i) for i in changed]


def _row(rng: random.Random, key: int) -> tuple[int, int, Decimal, float]:
    return key, rng.randrange(7), Decimal(rng.randrange(-1000, 1000)).scaleb(-2), rng.choice([0.5, 1.25, -8.0])


def replay(first: int, last: int) -> Rows:
    """The rows after some epochs."""
    there: Rows = {}
    for number in range(first, last + 1):
        inserted, gone, changed = changes(number, there)
        there = {i: r for i, r in there.items() if i not in gone}
        there |= {r[0]: r for r in (*changed, *inserted)}
    return there


def main(path: str, first: int) -> None:
    with viewlet.connect(path) as db:
        there = {r[0]: r for r in db.table("items").rows()}
        while True:
            number = db.status()["epoch"] + 1
            inserted, gone, changed = changes(number, there)
            with db.epoch() as epoch:
                epoch.insert("items", inserted)
                epoch.delete("items", [{"id": i} for i in gone])
                epoch.upsert("items", changed)
            there = {i: r for i, r in there.items() if i not in gone} | {r[0]: r for r in (*changed, *inserted)}
            sys.stdout.write(f"{epoch.number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
