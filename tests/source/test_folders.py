"""A table that a folder feeds holds what Spark reads from the folder, after every change of its files."""

from __future__ import annotations

import gzip
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import viewlet
from tests.source.folders import OPTIONS, SCHEMA, by_spark, in_order, rows_of, write
from viewlet.cli.main import main
from viewlet.errors import InUse, RejectedEpoch, SqlError
from viewlet.source.files.xml_records import Unclosed, split_records

VIEW = "SELECT cust, count(*) AS n, sum(total) AS total FROM sales GROUP BY cust"


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    folder = tmp_path / "landing"
    folder.mkdir()
    return folder


@pytest.mark.spark
@pytest.mark.parametrize("format", ["csv", "json", "xml", "parquet"])
def test_new_replaced_and_deleted_files(landing: Path, spark: Any, format: str) -> None:
    rng = random.Random(format)
    write(landing / f"a.{format}", format, rows_of(rng, 20))
    with viewlet.connect(landing.parent / "w", spark=spark) as db:
        db.create_table("sales", SCHEMA, source=viewlet.folder(landing, format, OPTIONS[format]))
        db.create_view("spend", VIEW)
        for step in range(4):
            for name in rng.sample("abcd", 2):
                path = landing / f"{name}.{format}"
                if path.exists() and rng.random() < 0.4:
                    path.unlink()
                else:
                    write(path, format, rows_of(rng, rng.choice([0, 1, 30])))
            db.read_sources()
            expected = by_spark(spark, landing, format)
            assert in_order(db.table("sales").rows()) == expected, step
            epoch = db.status()["epoch"]
            assert db.read_sources() == []
            assert db.status()["epoch"] == epoch
        assert db.check("spend").num_rows == 0
        assert db.status()["tables"]["sales"]["source"]["rows"] == len(expected)


@pytest.mark.spark
def test_a_file_that_only_loses_a_row_takes_one_row_away(landing: Path, spark: Any) -> None:
    rows = rows_of(random.Random(1), 50)
    write(landing / "a.json", "json", rows)
    with viewlet.connect(landing.parent / "w", spark=spark) as db:
        db.sql(f"CREATE TABLE sales ({SCHEMA}) FROM FOLDER '{landing}' FORMAT JSON")
        write(landing / "a.json", "json", rows[1:])
        (epoch,) = db.sql("REFRESH TABLE sales")
        assert db.history()[-1]["tables"]["sales"] == {"inserted": 0, "deleted": 1}
        assert db.history()[-1]["epoch"] == epoch


BAD = "id,cust,total,day,note\n1,2,3.50,2026-01-01,x\nseven,2,3.50,2026-01-01,y\n\n3,4\n4,1,9.00,2026-02-30,z\n"


@pytest.mark.spark
def test_bad_records_are_kept_aside_with_file_line_and_reason(landing: Path, spark: Any) -> None:
    (landing / "a.csv").write_text(BAD, encoding="utf-8")
    with viewlet.connect(landing.parent / "w", spark=spark) as db:
        source = f"FROM FOLDER '{landing}' FORMAT CSV OPTIONS (header = 'true') ON BAD RECORD KEEP ASIDE"
        db.sql(f"CREATE TABLE sales ({SCHEMA}) {source}")
        assert len(db.table("sales")) == 1
        assert in_order(db.table("sales_bad").rows()) == [
            ("a.csv", 3, "id: 'seven' is no BIGINT", "seven,2,3.50,2026-01-01,y"),
            ("a.csv", 5, "2 values for 5 columns", "3,4"),
            ("a.csv", 6, "day: '2026-02-30' is no DATE", "4,1,9.00,2026-02-30,z"),
        ]
        assert db.status()["tables"]["sales"]["source"]["bad"] == 3
        assert db.history()[-1]["source"]["bad"] == 3
        assert source in db.sql("SHOW CREATE TABLE sales")[0][0].as_py()
        (landing / "a.csv").write_text(BAD.replace("seven", "7"), encoding="utf-8")
        db.read_sources("sales")
        assert [line for _, line, _, _ in in_order(db.table("sales_bad").rows())] == [5, 6]
        (landing / "a.csv").unlink()
        db.read_sources("sales")
        assert (len(db.table("sales")), len(db.table("sales_bad"))) == (0, 0)
        db.drop("sales")
        assert db.tables == ()


XML = """<?xml version="1.0"?>
<orders>
  <!-- <order id="0"/> -->
  <order id="1" note="a > b"><total>3.50</total><order>inner</order></order>
  <order id="seven"><total>1.00</total></order>
  <orders_of_others/>
  <order id="3"
  ><total><![CDATA[</order>]]></total></order><order id="4"/>
  <order id="5"><total>1.00</order>
</orders>
"""


def test_records_of_xml() -> None:
    records = list(split_records(XML.replace("<total>1.00</order>", "<total>1.00</total></order>"), "order"))
    assert [line for line, _ in records] == [4, 5, 7, 8, 9]
    assert [int(found[1]) for _, text in records if (found := re.search(r'id="(\d)"', text))] == [1, 3, 4, 5]
    with pytest.raises(Unclosed, match="<order> of line 2 is not closed"):
        list(split_records("<orders>\n<order><order></order>", "order"))
    with pytest.raises(SqlError, match="needs the tag of its records"):
        viewlet.folder("landing", "xml")


@pytest.mark.spark
def test_bad_records_of_xml(landing: Path, spark: Any) -> None:
    (landing / "a.xml").write_text(XML, encoding="utf-8")
    (landing / "b.xml").write_text("<order><total>1</total>", encoding="utf-8")
    columns = "_id BIGINT, total DECIMAL(12,2), _note STRING"
    with viewlet.connect(landing.parent / "w", spark=spark) as db:
        source = f"FROM FOLDER '{landing}' FORMAT XML OPTIONS (rowTag = 'order') ON BAD RECORD KEEP ASIDE"
        db.sql(f"CREATE TABLE sales ({columns}) {source}")
        assert [(i, t and str(t), n) for i, t, n in in_order(db.table("sales").rows())] == [
            (1, "3.50", "a > b"),
            (4, None, None),
        ]
        bad = in_order(row[:3] for row in db.table("sales_bad").rows())
        assert bad[:2] == [
            ("a.xml", 5, "_id: 'seven' is no BIGINT"),
            ("a.xml", 7, "total: '</order>' is no DECIMAL(12,2)"),
        ]
        assert bad[2][:2] == ("a.xml", 9)
        assert bad[2][2].startswith("not XML: mismatched tag")
        assert bad[3] == ("b.xml", None, "<order> of line 1 is not closed")


@pytest.mark.spark
def test_bad_records_fail_the_epoch_or_are_dropped(landing: Path, spark: Any) -> None:
    (landing / "a.csv").write_text(BAD, encoding="utf-8")
    with viewlet.connect(landing.parent / "w", spark=spark) as db:
        with pytest.raises(RejectedEpoch, match=r"sales: .*a\.csv, line 3: id: 'seven' is no BIGINT"):
            db.create_table("sales", SCHEMA, source=viewlet.folder(landing, "csv", {"header": True}))
        assert len(db.table("sales")) == 0
        dropping = viewlet.folder(landing, "csv", {"header": True}, on_bad_record="drop row")
        db.create_table("others", SCHEMA, source=dropping)
        assert len(db.table("others")) == 1
        nulls = viewlet.folder(landing, "csv", {"header": True}, on_bad_record="READ NULLS")
        db.create_table("nulls", SCHEMA, source=nulls)
        assert in_order(db.table("nulls").rows()) == by_spark(spark, landing, "csv")
        assert db.status()["tables"]["others"]["source"]["bad"] == 3


@pytest.mark.spark
def test_what_else_can_be_wrong_with_a_file(landing: Path, spark: Any) -> None:
    (landing / "a.csv").write_text("cust,id\n1,2\n", encoding="utf-8")
    (landing / "b.csv.gz").write_bytes(gzip.compress(b"id,cust\n5,6\n,7\n"))
    (landing / "_hidden.csv").write_text("nonsense", encoding="utf-8")
    with viewlet.connect(landing.parent / "w", spark=spark) as db:
        source = viewlet.folder(landing, "csv", {"header": True}, on_bad_record="KEEP ASIDE")
        db.create_table("t", "id BIGINT NOT NULL, cust INT", source=source)
        assert db.table("t").rows() == [(5, 6)]
        assert {(file, reason) for file, _, reason, _ in db.table("t_bad").rows()} == {
            ("a.csv", "the header names cust, id; the columns are id, cust"),
            ("b.csv.gz", "id is NULL"),
        }
        db.create_table("p", "id BIGINT", source=viewlet.folder(landing, "parquet", on_bad_record="KEEP ASIDE"))
        assert len(db.table("p_bad")) == 2


@pytest.mark.spark
def test_an_append_only_table_counts_a_file_once(landing: Path, spark: Any) -> None:
    write(landing / "a.json", "json", rows_of(random.Random(1), 5))
    with viewlet.connect(landing.parent / "w", spark=spark) as db:
        db.create_table("sales", SCHEMA, append_only=True, source=viewlet.folder(landing, "json"))
        first = in_order(db.table("sales").rows())
        (landing / "a.json").unlink()
        assert db.read_sources() == []
        write(landing / "b.json", "json", rows_of(random.Random(2), 5))
        assert len(db.read_sources()) == 1
        assert len(db.table("sales")) == 10
        assert set(first) <= set(db.table("sales").rows())


@pytest.mark.spark
def test_nothing_else_changes_a_table_with_a_source(landing: Path, spark: Any) -> None:
    with viewlet.connect(landing.parent / "w", spark=spark) as db:
        db.create_table("t", "id BIGINT", source=viewlet.folder(landing, "json"))
        with pytest.raises(RejectedEpoch, match="t is fed by a folder"):
            db.insert("t", [(1,)])
        with pytest.raises(InUse, match="t is fed by a folder"):
            db.add_columns("t", "more INT")


def test_a_folder_says_what_it_does_not_know(tmp_path: Path) -> None:
    with pytest.raises(SqlError, match="avro is not a file format"):
        viewlet.folder(tmp_path, "avro")
    with pytest.raises(SqlError, match="no option headers"):
        viewlet.folder(tmp_path, "csv", {"headers": True})
    with pytest.raises(SqlError, match="bad records"):
        viewlet.folder(tmp_path, "csv", on_bad_record="ignore")
    with viewlet.connect(tmp_path / "w") as db, pytest.raises(RejectedEpoch, match="there is no folder"):
        db.create_table("t", "id INT", source=viewlet.folder(tmp_path / "nowhere", "json"))


@pytest.mark.spark
def test_watch_reports_epochs_and_lag(landing: Path, spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    warehouse = landing.parent / "w"
    with viewlet.connect(warehouse, spark=spark) as db:
        db.create_table("sales", SCHEMA, source=viewlet.folder(landing, "json"))
        db.create_view("spend", VIEW)
        write(landing / "a.json", "json", rows_of(random.Random(1), 5))
    assert main(["--warehouse", str(warehouse), "watch", "--every", "0.1", "--seconds", "0.3"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert "sales +5 −0 (1 file, " in line
    assert "s behind) → spend" in line


def _resident() -> float:
    """The memory of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.slow
def test_watching_takes_no_more_memory_the_longer_it_goes(landing: Path) -> None:
    rng = random.Random(5)
    with viewlet.connect(landing.parent / "w") as db:
        db.create_table("sales", SCHEMA, source=viewlet.folder(landing, "parquet"))
        sizes = []
        for number in range(600):
            write(landing / f"{number % 50}.parquet", "parquet", rows_of(rng, 200))
            assert len(db.read_sources()) == 1
            if number % 200 == 199:
                sizes.append(_resident())
        assert len(db.table("sales")) == 50 * 200
        assert sizes[-1] - sizes[0] < 40, sizes


def _run_and_kill(warehouse: Path, landing: Path, seconds: float) -> None:
    """Let another process read the folder, and kill it."""
    command = [sys.executable, "-m", "tests.source.folder_reader", str(warehouse)]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None
    reader.stdout.readline()
    rng = random.Random(seconds)
    for number in range(4):
        write(landing / f"{number}.parquet", "parquet", rows_of(rng, 300))
        time.sleep(seconds / 4)
    os.kill(reader.pid, signal.SIGKILL)
    reader.stdout.close()
    assert reader.wait() == -signal.SIGKILL, "the reader ended by itself"


def _kill_rounds(landing: Path, spark: Any, rounds: int) -> None:
    warehouse, rng = landing.parent / "w", random.Random(11)
    with viewlet.connect(warehouse, spark=spark) as db:
        db.create_table("sales", SCHEMA, source=viewlet.folder(landing, "parquet"))
        db.create_view("spend", VIEW)
    for _ in range(rounds):
        _run_and_kill(warehouse, landing, rng.uniform(0, 0.15))
        with viewlet.connect(warehouse, spark=spark) as db:
            db.read_sources()
            assert in_order(db.table("sales").rows()) == by_spark(spark, landing, "parquet")
            assert db.check("spend").num_rows == 0


@pytest.mark.spark
def test_killed_while_it_reads(landing: Path, spark: Any) -> None:
    _kill_rounds(landing, spark, 2)


@pytest.mark.spark
@pytest.mark.slow
def test_killed_while_it_reads_often(landing: Path, spark: Any) -> None:
    _kill_rounds(landing, spark, 20)
