"""Sinks that a warehouse remembers, declared in SQL and in Python, sent by the command line."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest

import viewlet
from tests.kafka_cluster import Cluster
from tests.marks import STRING_VIEWS
from viewlet.cli.main import main
from viewlet.errors import InUse, NameTaken, SqlError, UnknownName


def rows_in(folder: Path) -> int:
    return sum(pq.ParquetFile(file).metadata.num_rows for file in folder.glob("*.parquet"))


def test_a_script_declares_a_sink_and_sends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, out = tmp_path / "shop.sql", tmp_path / "out"
    script.write_text(
        f"""CREATE TABLE IF NOT EXISTS t (id BIGINT);
        DROP SINK IF EXISTS files; CREATE SINK files FROM t TO FOLDER '{out}';
        INSERT INTO t VALUES (1), (2)""",
        encoding="utf-8",
    )
    for number in (1, 2):
        assert main(["--warehouse", str(tmp_path / "w"), "run", str(script)]) == 0
        assert "sink files: 1 epoch" in capsys.readouterr().out
        assert rows_in(out) == 2 * number
    assert main(["--warehouse", str(tmp_path / "w"), "status"]) == 0
    assert "files  folder  t   " in capsys.readouterr().out


@STRING_VIEWS
def test_every_kind_from_sql(tmp_path: Path, postgres: str, kafka: Cluster) -> None:
    catalog = f"'type' = 'sql', 'uri' = 'sqlite:///{tmp_path}/catalog.db', 'warehouse' = 'file://{tmp_path}/lake'"
    with viewlet.connect(tmp_path / "w") as db:
        db.sql("CREATE TABLE t (id BIGINT, x STRING, PRIMARY KEY (id))")
        db.sql(f"CREATE SINK a FROM t TO POSTGRES '{postgres}' TABLE 'copied'")
        db.sql(f"CREATE SINK b FROM t TO DELTA '{tmp_path}/delta' OPTIONS (key = 'id')")
        db.sql(f"CREATE SINK c FROM t TO ICEBERG 'lake' TABLE 'db.t' OPTIONS ({catalog})")
        db.sql(f"CREATE SINK d FROM t TO KAFKA '{kafka.servers}' TOPIC 't' OPTIONS (key = 'id')")
        db.insert("t", [(1, "a"), (2, None)])
        assert db.send_sinks() == {"a": 1, "b": 1, "c": 1, "d": 1}
    with viewlet.connect(tmp_path / "w") as db:
        db.upsert("t", [(1, "b")])
        epoch = db.status()["epoch"]
        assert db.send_sinks() == {"a": 1, "b": 1, "c": 1, "d": 1}
        assert db.send_sinks() == {"a": 0, "b": 0, "c": 0, "d": 0}
        assert {name: sink["epoch"] for name, sink in db.status()["sinks"].items()} == dict.fromkeys("abcd", epoch)
    with psycopg.connect(postgres) as session:
        assert Counter(session.execute("SELECT * FROM copied").fetchall()) == Counter([(1, "b"), (2, None)])
    events = [json.loads(value) for _, value in kafka.messages("t") if value is not None]
    assert Counter(event["op"] for event in events) == {"c": 2, "u": 1}


def test_what_is_refused(tmp_path: Path) -> None:
    with viewlet.connect(tmp_path / "w") as db:
        db.sql("CREATE TABLE t (id BIGINT)")
        db.create_sink("files", "t", _folder(tmp_path))
        with pytest.raises(NameTaken, match="a sink named Files"):
            db.create_sink("Files", "t", _folder(tmp_path))
        with pytest.raises(InUse, match="t has sinks: files"):
            db.sql("DROP TABLE t")
        with pytest.raises(UnknownName, match="no table or view named u"):
            db.sql("CREATE SINK s FROM u TO FOLDER 'x'")
        with pytest.raises(SqlError, match="TABLE is missing"):
            db.sql("CREATE SINK s FROM t TO POSTGRES 'dbname=x'")
        with pytest.raises(SqlError, match="a sink of kind delta has no option format"):
            db.sql("CREATE SINK s FROM t TO DELTA 'x' OPTIONS (format = 1)")
        with pytest.raises(UnknownName, match="no sink named nothing"):
            db.send_sinks("nothing")
        db.sql("DROP SINK files")
        db.sql("DROP TABLE t")


def _folder(tmp_path: Path) -> Any:
    from viewlet.sink.parquet_folder import ParquetFolder

    return ParquetFolder(tmp_path / "out")
