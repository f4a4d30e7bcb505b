"""AUTO CDC: what change events come to, in whichever order and portions they come; judged by a plain loop over them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.marks import rounds
from tests.source.folders import in_order
from viewlet.errors import ProjectError, RejectedEpoch
from viewlet.project.definitions import Definitions
from viewlet.project.statements import SqlFile

Event = dict[str, Any]
SPEC = "name: people\nstorage: file:///tmp/people\nlibraries:\n  - glob:\n      include: transformations/**\n"
PYTHON = """
from pyspark import pipelines as dp
from pyspark.sql import functions as sf

@dp.temporary_view
def changes():
    return spark.readStream.schema("id INT, name STRING, city STRING, n BIGINT, op STRING").json("landing")

dp.create_streaming_table("people")
dp.create_auto_cdc_flow(
    target="people", source="changes", keys=["id"], sequence_by=sf.col("n"),
    apply_as_deletes=sf.expr("op = 'D'"), except_column_list=["op", "n"],
)
dp.create_streaming_table("moves")
dp.create_auto_cdc_flow(
    "moves", "changes", [sf.col("id")], "n", "op = 'D'", ["id", "name", "city"], stored_as_scd_type="2", name="moving",
    track_history_column_list=["city"],
)
"""
SQL = """
CREATE STREAMING TABLE names;
CREATE FLOW naming AS AUTO CDC INTO names
FROM STREAM(changes) KEYS (id) APPLY AS DELETE WHEN op = 'D' SEQUENCE BY n
COLUMNS * EXCEPT (op, n) STORED AS SCD TYPE 2 TRACK HISTORY ON * EXCEPT (city);
CREATE STREAMING TABLE last_event FLOW AUTO CDC FROM changes KEYS (id) SEQUENCE BY struct(n, op);
CREATE MATERIALIZED VIEW cities AS SELECT city, count(*) AS n FROM people GROUP BY city;
"""


def events_of(rng: random.Random, count: int) -> list[Event]:
    """Events of a few keys; no two of a key have the same number."""
    made = [
        {
            "id": rng.randrange(4),
            "name": rng.choice(["ada", "bob", None]),
            "city": rng.choice(["bern", "zug"]),
            "n": n,
            "op": rng.choice("UUUD"),
        }
        for n in range(count)
    ]
    rng.shuffle(made)
    return made


def newest(events: list[Event], *, deletes: bool = True) -> dict[int, Event]:
    """The last event of each key that is there."""
    there: dict[int, Event] = {}
    for event in sorted(events, key=lambda e: e["n"]):
        there[event["id"]] = event
    return {key: event for key, event in there.items() if not deletes or event["op"] != "D"}


def history(events: list[Event], tracked: str) -> list[tuple[Any, ...]]:
    """A row for each stretch in which a column stays the same, with where it begins and ends."""
    rows: list[list[Any]] = []
    current: dict[int, list[Any]] = {}
    for event in sorted(events, key=lambda e: e["n"]):
        row = current.get(event["id"])
        values = [event["id"], event["name"], event["city"]]
        if row is not None and event["op"] != "D" and row[["id", "name", "city"].index(tracked)] == event[tracked]:
            row[:3] = values
            continue
        if row is not None:
            row[4] = event["n"]
            del current[event["id"]]
        if event["op"] != "D":
            rows.append(current.setdefault(event["id"], [*values, event["n"], None]))
    return in_order(map(tuple, rows))


def project(root: Path) -> Path:
    (root / "transformations").mkdir(parents=True)
    (root / "landing").mkdir()
    (root / "spark-pipeline.yml").write_text(SPEC, encoding="utf-8")
    (root / "transformations/people.py").write_text(PYTHON, encoding="utf-8")
    (root / "transformations/names.sql").write_text(SQL, encoding="utf-8")
    return root


def deliver(root: Path, name: str, events: list[Event]) -> None:
    text = "".join(json.dumps(event) + "\n" for event in events)
    (root / "landing" / f"{name}.json").write_text(text, encoding="utf-8")


@pytest.mark.spark
def test_events_that_come_out_of_order(tmp_path: Path, spark: Any) -> None:
    rng, root = random.Random(11), project(tmp_path / "people")
    portions = rounds(2, 3)
    events = events_of(rng, 10 * portions)
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        for portion in range(portions):
            deliver(root, str(portion), events[portion * 10 : portion * 10 + 10])
            db.run_project(root)
            seen = events[: portion * 10 + 10]
            people = [(e["id"], e["name"], e["city"]) for e in newest(seen).values()]
            assert in_order(db.table("people").rows()) == in_order(people)
            assert in_order(db.table("moves").rows()) == history(seen, "city")
            assert in_order(db.table("names").rows()) == history(seen, "name")
            last = [tuple(e.values()) for e in newest(seen, deletes=False).values()]
            assert in_order(db.table("last_event").rows()) == in_order(last)
            cities = [city for _, _, city in people]
            assert in_order(db.table("cities").rows()) == in_order((c, cities.count(c)) for c in {*cities})
        epoch = db.status()["epoch"]
        db.run_project(root)
        assert db.status()["epoch"] == epoch, "a run that finds nothing new changes nothing"
        assert db.check().num_rows == 0
        db.run_project(root, full_refresh=["moves"])
        assert in_order(db.table("moves").rows()) == history(events, "city")
        deliver(root, "bad", [{**events[0], "id": None}])
        with pytest.raises(RejectedEpoch, match=r"_events, row 1, column id: NULL in a NOT NULL"):
            db.run_project(root)


def definitions(tmp_path: Path, text: str) -> Definitions:
    path, found = tmp_path / "file.sql", Definitions()
    path.write_text(text, encoding="utf-8")
    SqlFile(path, found).read()
    found.check()
    return found


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("KEYS (id)", "expected SEQUENCE BY"),
        ("KEYS (id) SEQUENCE BY n STORED AS SCD TYPE 3", "expected 1 or 2, found 3"),
        ("KEYS (id) SEQUENCE BY n TRACK HISTORY ON (name)", "TRACK HISTORY needs SCD TYPE 2"),
        ("KEYS (id) IGNORE NULL UPDATES SEQUENCE BY n", "expected APPLY AS DELETE WHEN"),
        ("KEYS (id) SEQUENCE BY n APPLY AS TRUNCATE WHEN x", "expected APPLY AS DELETE WHEN"),
    ],
)
def test_clauses_that_are_refused(clauses: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match=rf"file\.sql:2: .*{message}"):
        definitions(tmp_path, f"CREATE STREAMING TABLE t;\nCREATE FLOW f AS AUTO CDC INTO t FROM STREAM s {clauses}")


def test_targets_that_are_refused(tmp_path: Path) -> None:
    flow = "AS AUTO CDC INTO t FROM STREAM s KEYS (id) SEQUENCE BY n"
    with pytest.raises(ProjectError, match="no streaming table t for AUTO CDC"):
        definitions(tmp_path, f"CREATE FLOW f {flow}")
    with pytest.raises(ProjectError, match="t has another flow"):
        definitions(tmp_path, f"CREATE STREAMING TABLE t; CREATE FLOW f {flow}; CREATE FLOW g {flow}")
    found = definitions(tmp_path, f"CREATE STREAMING TABLE t; CREATE FLOW f {flow}")
    assert [d.kind for d in found.datasets.values()] == ["streaming table", "streaming table"]
    assert found.datasets["t_events"].part_of == "t"
