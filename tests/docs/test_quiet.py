"""What Viewlet leaves alone: files, ports and addresses that nobody named."""

from __future__ import annotations

import ipaddress
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import viewlet
from tests.docs.blocks import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SESSION = """
import sys

opened = []
sys.addaudithook(lambda event, args: opened.append(event) if event in ("socket.connect", "socket.bind") else None)

import viewlet

with viewlet.connect("warehouse") as db:
    db.create_table("t", "id BIGINT, v DOUBLE, at TIMESTAMP", primary_key="id")
    db.subscribe("t", lambda changes: None)
    with db.epoch() as e:
        e.insert("t", [(i, i / 7, None) for i in range(50_000)])
    db.delete("t", [(1,)])
    db.table("t").changes().num_rows, db.history(), db.status(), db.graph(), repr(db), db.table("t")._repr_html_()
with viewlet.connect("warehouse", read_only=True, trust=False) as db:
    print(len(db.table("t")), opened)
"""


def test_nothing_is_opened_but_the_warehouse(tmp_path: Path) -> None:
    """A process without Spark, with a home, a cache and a temporary folder of its own: they stay empty."""
    places = {name: tmp_path / name for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "here")}
    for place in places.values():
        place.mkdir()
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, sys.path)])
    own = {name: str(place) for name, place in places.items()}
    environment = {**os.environ, **own, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", SESSION]
    done = subprocess.run(command, cwd=places["here"], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("49999 []\n", "")
    assert [file.relative_to(tmp_path).parts[:2] for place in places.values() for file in place.iterdir()] == [
        ("here", "warehouse")
    ]


@pytest.mark.spark
def test_spark_is_spoken_to_on_this_machine_only(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    connect = socket.socket.connect

    def note(self: socket.socket, address: Any) -> None:
        asked.append(address)
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", note)
    with viewlet.connect(tmp_path / "w", spark=spark) as db:
        db.create_table("t", "g INT, v INT", rows=[(1, 2), (1, 3)])
        db.create_view("v", "SELECT g, sum(v) AS s FROM t GROUP BY g")
        db.insert("t", [(2, 4)])
        assert db.sql("SELECT * FROM v").num_rows == 2
        assert db.check().num_rows == 0
    hosts = {address[0] for address in asked if isinstance(address, tuple)}
    assert all(host == "localhost" or ipaddress.ip_address(host).is_loopback for host in hosts), hosts
