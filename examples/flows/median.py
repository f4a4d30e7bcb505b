"""The incremental median of §3.1, with one copy of the data and a cycle (figure 4).

    numbers → histogram ─counts→ locate
                  ↑ ↓               │
             medians └──location────┘

The histogram keeps the numbers by bucket. The locator knows how many each bucket has, and in which one the median is,
at which place; only the histogram knows the number that is there. It may not take in further numbers before it has
answered, since the location is that of the numbers so far.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

import viewlet
from viewlet import flow

Row = dict[str, Any]
WIDTH = 10


def median_flow() -> flow.Flow:
    """The flow; its source `numbers` is given each increment, and table `medians` has the median after each."""
    median = flow.Flow("median")
    median.source("numbers", schema="value BIGINT")
    median.stage(
        inputs={"numbers": lambda row: row["value"] // WIDTH, "location": "bucket"},
        outputs={
            "counts": "bucket BIGINT, n BIGINT",
            "medians": flow.Output("increment BIGINT, value BIGINT", table="medians", primary_key="increment"),
        },
        state=flow.State("bucket BIGINT, value BIGINT, n BIGINT", route_by="bucket", order_by="value"),
        runnable=answer_first,
    )(histogram)
    median.stage(
        inputs={"counts": ()},
        outputs={"location": "increment BIGINT, bucket BIGINT, place BIGINT"},
        state=flow.State("bucket BIGINT, n BIGINT, increment BIGINT", order_by="bucket"),
    )(locate)
    return median


def answer_first(waiting: Mapping[str, flow.Waiting], asked: bool | None) -> flow.Decision | None:
    """Numbers are taken in unless the median of those before is yet to be told."""
    if waiting["location"].length:
        both = [name for name, found in waiting.items() if found.length]
        return flow.Decision.of(both, state="numbers" in both)
    return flow.Decision.of(["numbers"], state=True) if waiting["numbers"].length and not asked else None


def histogram(bucket: int, inputs: dict[str, list[Row]], state: list[Row]) -> Iterator[tuple[str, Any]]:
    for asked in inputs["location"]:
        ends = accumulate(row["n"] for row in state)
        value = next(row["value"] for row, end in zip(state, ends, strict=True) if end > asked["place"])
        yield "medians", (asked["increment"], value)
    counts = {row["value"]: row["n"] for row in state}
    for row in inputs["numbers"]:
        counts[row["value"]] = counts.get(row["value"], 0) + 1
    for value, n in counts.items():
        yield "state", (bucket, value, n)
    if inputs["numbers"]:
        yield "counts", (bucket, sum(counts.values()))


def locate(key: tuple[()], inputs: dict[str, list[Row]], state: list[Row]) -> Iterator[tuple[str, Any]]:
    counts = {row["bucket"]: row["n"] for row in state} | {row["bucket"]: row["n"] for row in inputs["counts"]}
    increment = max((row["increment"] for row in state), default=0) + 1
    place = (sum(counts.values()) - 1) // 2
    for bucket, n in sorted(counts.items()):
        yield "state", (bucket, n, increment)
        if 0 <= place < n:
            yield "location", (increment, bucket, place)
        place -= n


def main() -> None:
    """The median after each of some increments."""
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
        db.create_flow(median_flow())
        for numbers in ([7, 95, 42], [1, 2], [60, 61, 62, 63]):
            runs = db.run_flow("median", {"numbers": [(n,) for n in numbers]})
            print(f"with {numbers}: median {max(db.table('medians').rows())[1]}, runs {runs}")


if __name__ == "__main__":
    main()
