"""Views on a standalone cluster, whose executors share nothing with the driver but the warehouse: in a folder, and on S3.

The judge is plain Spark SQL in this process, over rows that the test keeps (`oracle/judge.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.cluster.driver import Driver
from tests.cluster.remote import RemoteDatabase
from tests.cluster.standalone import Cluster, is_isolated, standalone_cluster
from tests.cluster.worlds import OrderBook, Tpch
from tests.oracle.bags import difference
from tests.oracle.cases import Case
from tests.oracle.judge import Judge, judge_of
from tests.oracle.play import Game
from tests.storage.server import Bucket, S3Server, credentials
from tests.test_oracle import keep_playing

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.slow]

SETTINGS = {"spark.sql.session.timeZone": "UTC"}


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    running = S3Server()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def cluster(server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with (
        pytest.MonkeyPatch.context() as patch,
        standalone_cluster(tmp_path_factory.mktemp("cluster") / "c", credentials(server)) as running,
    ):
        for name, value in {**credentials(server), "VIEWLET_CACHE": str(running.folder / "reader")}.items():
            patch.setenv(name, value)
        yield running


@pytest.fixture(scope="module")
def driver(cluster: Cluster) -> Iterator[Driver]:
    running = Driver(cluster)
    yield running
    running.stop()


@pytest.fixture(params=["folder", "s3"])
def place(request: pytest.FixtureRequest, cluster: Cluster, server: S3Server) -> Callable[[], str]:
    """Addresses of new warehouses."""
    if request.param == "folder":
        return lambda: str(cluster.shared / uuid4().hex)
    bucket = Bucket(server, f"b{uuid4().hex}")
    return lambda: f"s3://{bucket.name}/{uuid4().hex}"


class Play:
    """A world, played by a driver and compared with the judge."""

    def __init__(self, world: Any, db: RemoteDatabase, judge: Judge, folder: Path) -> None:
        self.world, self.db, self.judge = world, db, judge
        self.seen: set[str] = set()
        judge.begin(world.tables, SETTINGS, folder)
        for statement in world.statements:
            db.sql(statement)

    def create_views(self) -> None:
        for name, text in self.world.queries.items():
            self.db.create_view(name, text)
            self.judge.create_view(name, text)

    def compare(self) -> None:
        """Every table and view, as another process reads it, is what the judge says."""
        for table in self.world.tables:
            expected = self.judge.put(table, self.world.rows(table))
            assert not difference(self.db.table(table.name).arrow(), expected), table.name
        for name in self.world.queries:
            found = self.db.table(name).arrow()
            wrong = difference(found, self.judge.answer(name))
            assert not wrong, f"{name}: {wrong}"
            if any(value is not None for row in found.to_pylist() for value in row.values()):
                self.seen.add(name)

    def compare_as_tasks_read(self) -> None:
        for name in self.world.queries:
            assert not difference(self.db.driver("read_by_tasks", name), self.judge.answer(name)), name
        assert self.db.driver("check") == []


@pytest.mark.parametrize("as_frames", [False, True], ids=["rows", "frames"])
def test_order_book(place: Callable[[], str], as_frames: bool, driver: Driver, spark: Any, tmp_path: Path) -> None:
    with RemoteDatabase(driver, place()) as db:
        play = Play(OrderBook(seed=3), db, judge_of(spark), tmp_path)
        play.create_views()
        for edits in (play.world.initial, play.world.epoch):
            driver("change", edits(), as_frames=as_frames)
            play.compare()
        assert play.seen == set(play.world.queries), "a view that never shows anything tests nothing"
        play.compare_as_tasks_read()


def test_tpch(place: Callable[[], str], driver: Driver, spark: Any, tmp_path: Path) -> None:
    with RemoteDatabase(driver, place()) as db:
        play = Play(Tpch(seed=55), db, judge_of(spark), tmp_path)
        play.create_views()
        for edits in (play.world.initial, play.world.epoch, play.world.epoch):
            driver("change", edits())
            play.compare()
        assert driver("jobs")[0]["shuffled_bytes"] > 0
        assert play.seen == set(play.world.queries), "a query that never finds anything tests nothing"


def test_generated_views(place: Callable[[], str], driver: Driver, spark: Any) -> None:
    judge = judge_of(spark)

    def play(case: Case, folder: Path) -> None:
        judge.begin(case.tables, case.settings, folder / "judge")
        with RemoteDatabase(driver, place(), case.settings) as db:
            Game(case, db, judge, every_epoch=False).play()
            assert driver("check") == []

    keep_playing(play, 200, examples=4, depth=2)


def test_executors_share_nothing_but_the_warehouse(cluster: Cluster, driver: Driver) -> None:
    (cluster.hidden / "mine").touch()
    with RemoteDatabase(driver, str(cluster.shared / uuid4().hex)) as db:
        db.sql("CREATE TABLE t (a BIGINT)")
        db.create_view("v", "SELECT a % 3 AS k, count(*) AS n FROM t GROUP BY a % 3")
        with db.epoch() as epoch:
            epoch.insert("t", [(a,) for a in range(100)])
    assert all(path.startswith("./viewlet-") and ".zip/" in path for path in driver("where")), "it was sent there"
    assert [len(worker.executors) for worker in cluster.workers] == [1, 1]
    if not is_isolated():
        pytest.fail("this needs `unshare`, which root or a user with namespaces may call", pytrace=False)
    for worker in cluster.workers:
        seen = Path(f"/proc/{worker.process.pid}/root{cluster.folder}")
        assert not list((seen / "driver").iterdir())
        assert [other.name for other in seen.glob("worker*") if any(other.iterdir())] == [worker.folder.name]
