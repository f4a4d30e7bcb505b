"""A process that changes a table and runs flows over it until it is killed; it says when an increment is done.

What increment n does follows from n and from what is there, so that whoever finds the warehouse can tell what it did.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from typing import Any

from examples.flows.people import PEOPLE, who_is_who

import viewlet
from viewlet import flow

Row = dict[str, Any]


def make(path: str) -> None:
    """The tables and the flows."""
    with viewlet.connect(path) as db:
        db.create_table("people", PEOPLE, primary_key="id")
        db.create_table("hops", "n BIGINT, k BIGINT, rounds BIGINT", append_only=True)
        db.create_flow(who_is_who())
        db.create_flow(hopping())


def hopping() -> flow.Flow:
    """Every row goes round as often as it says; each round is counted, each row is written down once, in pairs."""
    made = flow.Flow("hopping")
    made.source("hops")
    made.row_wise("hops", {"entered": "n BIGINT, k BIGINT, rounds BIGINT"}, name="enter")(enter)
    made.stage(
        inputs={"entered": flow.Input("k", framing=flow.by_count(2))},
        outputs={"log": flow.Output("n BIGINT, k BIGINT, rounds BIGINT", table="hop_log")},
        name="write_down",
    )(write_down)
    made.stage(
        inputs={"entered": "k", "again": "k"},
        outputs={"again": "n BIGINT, k BIGINT, rounds BIGINT"},
        state=flow.State("k BIGINT, rounds BIGINT", route_by="k"),
        runnable=flow.prefer("again", 2),
        name="hop",
    )(hop)
    return made


def enter(row: Row) -> list[Row]:
    return [{name: row[name] for name in ("n", "k", "rounds")}]


def write_down(key: int, inputs: dict[str, list[Row]], state: None) -> list[Row]:
    return inputs["entered"]


def hop(key: int, inputs: dict[str, list[Row]], state: list[Row]) -> Iterator[tuple[str, Any]]:
    rows = [*inputs["entered"], *inputs["again"]]
    yield "state", (key, sum(row["rounds"] for row in state) + len(rows))
    for row in rows:
        if row["rounds"]:
            yield "again", {**row, "k": (row["k"] + 1) % 5, "rounds": row["rounds"] - 1}


def increment(db: viewlet.Database, number: int) -> None:
    """One epoch of changes; the rows of `hops` tell how many there were."""
    rng = random.Random(number)
    there = sorted(row[0] for row in db.table("people").rows())
    gone = rng.sample(there, min(len(there), rng.choice([0, 2])))
    keys = rng.sample([key for key in range(40) if key not in gone], 4)
    with db.epoch() as e:
        e.insert("hops", [(number, rng.randrange(5), rng.randrange(4)) for _ in range(3)])
        e.delete("people", [(key,) for key in gone])
        e.upsert("people", [(key, "n", rng.choice([None, f"m{key % 9}"]), f"p{rng.randrange(30)}") for key in keys])


def main(path: str) -> None:
    with viewlet.connect(path) as db:
        db.run_flow("who")
        while True:
            db.run_flow("hopping")
            increment(db, len(db.table("hops")) // 3)
            db.run_flow("who")
            sys.stdout.write("done\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
