"""Views of a warehouse on S3, with Spark: in process, by Spark's tasks, and with the credentials of a session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import viewlet
from tests.storage.server import Bucket, Environ

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def url(bucket: Bucket) -> str:
    return f"s3://{bucket.name}/w"


def keep_read_and_check(url: str, spark: SparkSession, count: int) -> None:
    with viewlet.connect(url, spark=spark) as db:
        db.sql("CREATE TABLE items (id BIGINT, kind BIGINT, n BIGINT, PRIMARY KEY (id))")
        db.sql("CREATE MATERIALIZED VIEW totals AS SELECT kind, sum(n) AS n FROM items GROUP BY kind")
        db.insert("items", spark.range(count).selectExpr("id", "id % 7 AS kind", "1 AS n"))
        db.delete("items", [(0,), (1,)])
        assert db.check("totals").num_rows == 0
    with viewlet.connect(url, spark=spark, read_only=True) as db:
        assert sorted(db.table("totals").rows()) == sorted(
            (r.kind, r.n) for r in db.spark.sql("SELECT kind, count(*) AS n FROM items GROUP BY kind").collect()
        )
        assert db.table("items").spark().count() == count - 2


def test_views_are_kept_read_and_checked(url: str, spark: SparkSession) -> None:
    keep_read_and_check(url, spark, 1_000)


def test_credentials_are_those_of_the_session(
    url: str, bucket: Bucket, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name)
    session = spark.newSession()
    for name, value in {"access.key": "of-session", "secret.key": "hidden", "endpoint": bucket.server.url}.items():
        session.conf.set(f"spark.hadoop.fs.s3a.{name}", value)
    seen: set[str] = set()

    def look(environ: Environ) -> None:
        seen.add(environ["HTTP_AUTHORIZATION"].partition("Credential=")[2].partition("/")[0])

    bucket.server.fault = look
    viewlet.connect(url, spark=session).close()
    assert seen == {"of-session"}
    assert not any(b"of-session" in bucket.get(key) or b"hidden" in bucket.get(key) for key in bucket.names())


# A session of its own: tasks take their credentials from the environment that it was started in.
SCRIPT = """
import json, sys
import viewlet
from tests.conftest import small_session

spark = small_session()
with viewlet.connect(sys.argv[1], spark=spark, engine="spark") as db:
    db.sql("CREATE TABLE items (id BIGINT, kind BIGINT, n BIGINT, PRIMARY KEY (id))")
    db.sql("CREATE TABLE kinds (kind BIGINT, name STRING, PRIMARY KEY (kind))")
    db.sql("CREATE MATERIALIZED VIEW totals AS SELECT name, sum(n) AS n FROM items JOIN kinds USING (kind) GROUP BY name")
    db.insert("kinds", [(0, "even"), (1, "odd")])
    db.insert("items", [(i, i % 2, i) for i in range(1000)])
    db.delete("items", [(i,) for i in range(0, 1000, 3)])
    print(json.dumps([sorted(db.table("totals").rows()), db.check("totals").num_rows]))
spark.stop()
"""


FILES = """
import sys
from tests.conftest import small_session
from tests.storage.test_s3_spark import keep_read_and_check

spark = small_session()
keep_read_and_check(sys.argv[1], spark, 140_000)
spark.stop()
"""


def run_alone(script: str, url: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, url]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=300, check=True, env=os.environ)


@pytest.mark.slow
def test_files_of_a_large_table_are_read_by_tasks(url: str) -> None:
    run_alone(FILES, url)


@pytest.mark.slow
def test_tasks_read_and_write_runs(url: str) -> None:
    run = run_alone(SCRIPT, url)
    left = [i for i in range(1000) if i % 3]
    expected = [["even", sum(i for i in left if i % 2 == 0)], ["odd", sum(i for i in left if i % 2)]]
    assert json.loads(run.stdout.splitlines()[-1]) == [expected, 0]
