"""The incremental data cube of §3.2 with queries that go first (figure 5).

    rows → split → cube update ─updates→ data cube ─answers→ result
    queries → query preprocessor ─points──↗

Rows have a day, an hour and an amount; every cuboid keeps the count and the sum of each group. A query asks one cuboid
for the groups in a range of days and hours, and is taken apart into questions for single groups.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import viewlet
from viewlet import flow

Row = dict[str, Any]
DAYS, HOURS = 7, 24
GROUP = "cuboid STRING, day INT, hour INT"
BY_GROUP = ("cuboid", "day", "hour")


def data_cube(*, backpressure: bool = True, runnable: flow.Runnable | None = None) -> flow.Flow:
    """The flow; both its sources are given their increments, tables `cube` and `results` hold what comes of them."""
    cube = flow.Flow("cubes", backpressure=backpressure)
    cube.source("rows", schema="day INT, hour INT, amount BIGINT")
    cube.source("queries", schema="query BIGINT, cuboid STRING, days ARRAY<INT>, hours ARRAY<INT>")
    cube.row_wise("rows", {"split_rows": f"{GROUP}, amount BIGINT"})(split)
    cube.row_wise("queries", {"points": f"{GROUP}, query BIGINT"})(points_of)
    cube.stage(
        inputs={"split_rows": BY_GROUP}, outputs={"updates": f"{GROUP}, n BIGINT, total BIGINT"}, name="cube_update"
    )(add_up)
    cube.stage(
        inputs={"points": BY_GROUP, "updates": BY_GROUP},
        outputs={"answers": "query BIGINT, n BIGINT, total BIGINT"},
        state=flow.State(f"{GROUP}, n BIGINT, total BIGINT", route_by=BY_GROUP, table="cube"),
        runnable=runnable or flow.prefer("points", 4),
        name="data_cube",
    )(update_and_answer)
    results = flow.Output("query BIGINT, n BIGINT, total BIGINT", table="results")
    cube.stage(inputs={"answers": "query"}, outputs={"results": results}, name="result")(add_answers)
    return cube


def split(row: Row) -> Iterator[Row]:
    """A row counts in each of the 2ⁿ cuboids."""
    for cuboid in ("", "day", "hour", "day,hour"):
        parts = cuboid.split(",")
        group = {name: row[name] if name in parts else None for name in ("day", "hour")}
        yield {"cuboid": cuboid, **group, "amount": row["amount"]}


def add_up(key: tuple[str, int | None, int | None], inputs: dict[str, list[Row]], state: None) -> list[Any]:
    amounts = [row["amount"] for row in inputs["split_rows"]]
    return [(*key, len(amounts), sum(amounts))]


def points_of(query: Row) -> Iterator[Row]:
    """A range query as questions for single groups."""
    parts = query["cuboid"].split(",")
    days = query["days"] if "day" in parts else [None]
    hours = query["hours"] if "hour" in parts else [None]
    for day in days:
        for hour in hours:
            yield {"cuboid": query["cuboid"], "day": day, "hour": hour, "query": query["query"]}


def update_and_answer(key: Any, inputs: dict[str, list[Row]], state: list[Row]) -> Iterator[tuple[str, Any]]:
    n, total = (state[0]["n"], state[0]["total"]) if state else (0, 0)
    for row in inputs["points"]:
        yield "answers", (row["query"], n, total)
    n += sum(row["n"] for row in inputs["updates"])
    total += sum(row["total"] for row in inputs["updates"])
    if n:
        yield "state", (*key, n, total)


def add_answers(query: int, inputs: dict[str, list[Row]], state: None) -> list[Any]:
    answers = inputs["answers"]
    return [(query, sum(row["n"] for row in answers), sum(row["total"] for row in answers))]


def main() -> None:
    """Two increments of rows, and a query before, between and after them."""
    rows = [(day, hour, day * 10 + hour) for day in range(3) for hour in range(4)]
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
        db.create_flow(data_cube())
        for number, more in enumerate((rows[::2], rows[1::2], [])):
            db.run_flow("cubes", {"queries": [(number, "day", [1, 2], [])]})
            db.run_flow("cubes", {"rows": more})
        for number, n, total in sorted(db.table("results").rows()):
            print(f"query {number}: {n} rows on days 1 and 2, {total} in all")


if __name__ == "__main__":
    main()
