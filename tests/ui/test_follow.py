"""What the page is told: the graph, what there is to say of each node, epochs and changes as they come, failures."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

import pytest

import viewlet
from viewlet.errors import RejectedEpoch, UnknownName
from viewlet.store.limits import Limits
from viewlet.ui.server import Page
from viewlet.ui.watcher import Follower


@pytest.fixture
def db(tmp_path: Path) -> Iterator[viewlet.Database]:
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("orders", "id BIGINT, total DECIMAL(10, 2)", primary_key="id")
        db.create_table("readings", "machine STRING, at TIMESTAMP, mm DOUBLE")
        db.create_signal("smooth", db.signal("readings", by="machine", time="at", value="mm").sample("1 s"))
        db.insert("orders", [(1, "10.50"), (2, None)])
        yield db


@pytest.fixture
def page(db: viewlet.Database) -> Iterator[Page]:
    with db.ui() as page:
        yield page


def ask(page: Page, path: str) -> Any:
    with urlopen(page.url + path.lstrip("/")) as answer:
        return json.load(answer)


class Events:
    """What the server sends, event by event."""

    def __init__(self, page: Page, parameters: str, headers: dict[str, str] | None = None) -> None:
        address = urlsplit(page.url)
        self.connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=20)
        self.connection.request("GET", f"/api/events?{parameters}", headers=headers or {})
        self.answer = self.connection.getresponse()
        assert self.answer.getheader("content-type", "").startswith("text/event-stream")

    def next(self) -> tuple[str, Any, int]:
        lines: dict[str, str] = {}
        while line := self.answer.readline().decode().rstrip("\n") or ("" if lines else "…"):
            name, _, value = line.partition(": ")
            if name and name != "…":
                lines[name] = value
        return lines["event"], json.loads(lines["data"]), int(lines["id"])

    def __enter__(self) -> Events:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()


def test_the_graph_has_everything_and_says_how_fresh_it_is(db: viewlet.Database, page: Page) -> None:
    found = ask(page, "/api/overview")
    nodes = {node["id"]: node for node in found["nodes"]}
    assert {(n["id"], n["kind"]) for n in nodes.values()} == {
        ("orders", "table"),
        ("readings", "table"),
        ("smooth", "signal"),
    }
    assert found["edges"] == [["readings", "smooth"]]
    assert (nodes["orders"]["rows"], nodes["orders"]["changed"]) == (2, db.last_epoch)
    assert nodes["readings"]["changed"] is None
    assert nodes["smooth"]["at"][0] > nodes["readings"]["at"][0]
    assert found["may"] == {"write": False, "query": True}


def test_sources_flows_and_sinks_are_in_the_graph(db: viewlet.Database, tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    db.create_table("files", "a BIGINT", source=viewlet.folder(tmp_path / "landing", "csv"))
    db.deliver("orders", "crm", lambda epoch, changes: None)
    db.insert("orders", [(3, "1.00")])
    graph = db.graph()
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert nodes["source:files"]["type"] == "folder"
    assert ("source:files", "files") in graph["edges"]
    assert ("orders", "sink:crm:orders") in graph["edges"]
    assert nodes["sink:crm:orders"]["waiting"]
    db.deliver("orders", "crm", lambda epoch, changes: None)
    assert not db.describe("sink:crm:orders")["waiting"]


def test_a_declared_sink_is_in_the_graph_before_and_after_it_is_sent(db: viewlet.Database, tmp_path: Path) -> None:
    db.sql(f"CREATE SINK files FROM orders TO FOLDER '{tmp_path / 'out'}'")
    assert (db.describe("sink:files:orders")["delivered"], db.describe("sink:files:orders")["waiting"]) == (None, True)
    db.send_sinks()
    (node,) = [n for n in db.graph()["nodes"] if n["kind"] == "sink"]
    assert (node["name"], node["type"], node["waiting"]) == ("files", "folder", False)
    assert ("orders", "sink:files:orders") in db.graph()["edges"]


def test_a_node_says_how_it_is_kept(db: viewlet.Database, page: Page) -> None:
    found = ask(page, "/api/node?name=SMOOTH")
    assert (found["name"], found["reads"], found["readers"]) == ("smooth", ["readings"], [])
    assert "sample every" in found["explain"]
    assert found["maps_kept"]
    assert ask(page, "/api/node?name=orders")["primary_key"] == ["id"]
    with pytest.raises(UnknownName):
        db.describe("nothing")


def test_rows_are_texts_that_lose_nothing(db: viewlet.Database, page: Page) -> None:
    db.create_table("wide", "n BIGINT, b BINARY, a ARRAY<INT>")
    db.insert("wide", [(2**63 - 1, b"\x00\xff", [1, None])])
    found = ask(page, "/api/rows?name=wide")
    assert found["rows"] == [["9223372036854775807", "00ff", "[1, None]"]]
    assert [numeric for _, _, numeric in found["columns"]] == [True, False, False]
    orders = ask(page, "/api/rows?name=orders")
    assert sorted(map(tuple, orders["rows"]), key=str) == [("1", "10.50"), ("2", None)]


def test_epochs_and_changes_are_told_as_they_are_committed(db: viewlet.Database, page: Page) -> None:
    with Events(page, f"name=orders&since={db.last_epoch}") as events:
        number = db.upsert("orders", [(2, Decimal("7.25"))])
        kind, records, epoch = events.next()
        assert (kind, [r["epoch"] for r in records], epoch) == ("epochs", [number], number)
        assert records[0]["tables"] == {"orders": [1, 1]}
        kind, changes, _ = events.next()
        assert (kind, changes[0]["epoch"]) == ("changes", number)
        shown = {tuple(row[:3]) for row in changes[0]["rows"]}
        assert shown == {("2", None, "update_preimage"), ("2", "7.25", "update_postimage")}


def test_a_lost_connection_goes_on_where_it_was(db: viewlet.Database, page: Page) -> None:
    before = db.last_epoch
    missed = db.insert("orders", [(3, "1.00")])
    with Events(page, "since=0", {"Last-Event-ID": str(before)}) as events:
        assert [r["epoch"] for r in events.next()[1]] == [missed]


def test_history_comes_in_pages(db: viewlet.Database, page: Page) -> None:
    numbers = [db.insert("orders", [(i, "1.00")]) for i in range(10, 20)]
    first = ask(page, "/api/epochs?most=4&name=orders")
    assert [r["epoch"] for r in first["records"]] == numbers[:-5:-1]
    second = ask(page, f"/api/epochs?most=4&name=orders&before={numbers[-4]}")
    assert [r["epoch"] for r in second["records"]] == numbers[-5:-9:-1]
    assert first["total"] == len(db.history("orders"))


def test_the_page_keeps_epochs_that_the_warehouse_forgets(db: viewlet.Database) -> None:
    with viewlet.connect(db.path, read_only=True) as reader:
        reader._warehouse.store.limits = Limits(history_epochs=3)
        follower = Follower(reader)
        numbers = []
        for number in range(10, 20):
            numbers.append(db.insert("orders", [(number, "1.00")]))
            follower.catch_up()
        assert len(reader.history()) == 3
        assert [r["epoch"] for r in follower.records][-10:] == numbers


def test_a_failed_epoch_is_kept_with_its_reason(db: viewlet.Database, page: Page) -> None:
    with pytest.raises(RejectedEpoch):
        db.delete("orders", [(99,)])
    (failure,) = ask(page, "/api/failures")
    assert failure["error"] == "RejectedEpoch"
    assert "99" in failure["message"]
    assert failure["epoch"] == db.last_epoch + 1
    with viewlet.connect(db.path, read_only=True) as reader:  # another process sees it too
        assert reader.failures() == db.failures()


def test_failures_are_bounded(db: viewlet.Database) -> None:
    for number in range(205):
        with pytest.raises(RejectedEpoch):
            db.delete("orders", [(1_000 + number,)])
    found = db.failures()
    assert len(found) == 200
    assert "1204" in found[-1]["message"]


@pytest.mark.parametrize(
    ("path", "status"),
    [("/api/node?name=nothing", 404), ("/api/rows", 400), ("/api/epochs?before=x", 400), ("/api/nothing", 404)],
)
def test_what_is_not_there_is_a_clear_error(page: Page, path: str, status: int) -> None:
    address = urlsplit(page.url)
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=20)
    connection.request("GET", quote(path, safe="/?=&"))
    answer = connection.getresponse()
    assert (answer.status, bool(json.load(answer)["error"])) == (status, True)
    connection.close()
