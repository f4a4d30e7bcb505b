"""A process that writes epochs of readings until it is killed; it says on standard output which were committed.

The readings after epoch n follow from n alone, so that whoever finds the warehouse can tell what must be in it.
"""

from __future__ import annotations

import sys

import numpy as np

import viewlet
from tests.signal.epochs import Readings, next_readings, touched


def replay(first: int, last: int) -> Readings:
    """The readings after some epochs."""
    readings: Readings = {}
    for number in range(first, last + 1):
        readings = after(number, first, readings)
    return readings


def after(number: int, first: int, readings: Readings) -> Readings:
    return next_readings(np.random.default_rng(number), readings, 100 * (number - first)) | {(9, number): 1.0}


def write(db: viewlet.Database, before: Readings, now: Readings) -> int:
    """One epoch, from readings to others; its number."""
    changed = touched(before, now)
    with db.epoch() as epoch:
        epoch.upsert("readings", [(*at, now[at]) for at in changed if at in now])
        epoch.delete("readings", [{"sensor": g, "at": t} for g, t in changed if (g, t) not in now])
    return epoch.number


def main(path: str, first: int) -> None:
    with viewlet.connect(path) as db:
        readings = {(r[0], r[1]): r[2] for r in db.table("readings").rows()}
        while True:
            number = db.status()["epoch"] + 1
            before, readings = readings, after(number, first, readings)
            sys.stdout.write(f"{write(db, before, readings)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
