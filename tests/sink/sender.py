"""A process that changes a table and sends what follows from it on, again and again, until it is killed."""

from __future__ import annotations

import importlib
import random
import sys
from typing import Any

import viewlet

VIEW = "SELECT g, count(*) AS n, sum(v) AS v FROM t GROUP BY g"


def make_table(db: viewlet.Database) -> None:
    db.sql("CREATE TABLE t (id BIGINT, g INT, v DECIMAL(10,2), note STRING, PRIMARY KEY (id))")


def make(db: viewlet.Database) -> None:
    make_table(db)
    db.create_view("sums", VIEW)


def change(db: viewlet.Database, rng: random.Random) -> None:
    there = [row[0] for row in db.table("t").rows()]
    with db.epoch() as epoch:
        for key in rng.sample(range(40), 6):
            if key in there and rng.random() < 0.4:
                epoch.delete("t", [(key,)])
            else:
                note = rng.choice([None, "", "tab\tand\nline", "\\N", 'a "quote"'])
                epoch.upsert("t", [(key, rng.choice([None, 1, 2, 3]), rng.randrange(9), note)])


def main(path: str, sink: str, *arguments: str) -> None:
    """`sink`: `module:function`, which gives the sinks of t and of sums, or what receives their changes."""
    module, _, function = sink.partition(":")
    sinks: list[tuple[str, Any]] = getattr(importlib.import_module(module), function)(*arguments)
    rng = random.Random()
    with viewlet.connect(path) as db:
        change_and_send(db, sinks, rng)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            change_and_send(db, sinks, rng)


def change_and_send(db: viewlet.Database, sinks: list[tuple[str, Any]], rng: random.Random) -> None:
    change(db, rng)
    for name, place in sinks:
        send(db, name, place)


def send(db: viewlet.Database, name: str, place: Any) -> None:
    """Bring a sink up to date, or hand on the changes that a receiver has not had."""
    if callable(place):
        db.deliver(name, "receiver", place)
    else:
        db.export(name, place)


if __name__ == "__main__":
    main(*sys.argv[1:])
