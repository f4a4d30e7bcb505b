"""What an extra installs and is missing: one error, which names the extra."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import viewlet
from viewlet import loops
from viewlet.cli.main import main
from viewlet.errors import MissingExtra
from viewlet.extras import needed
from viewlet.monitor.metrics import serve_metrics
from viewlet.monitor.openlineage_events import Lineage

FOR_DEVELOPERS = {"all", "bench", "test", "docs", "dev"}
Use = Callable[[viewlet.Database], object]
CATALOG = {"type": "sql", "uri": "sqlite://"}
USES: list[tuple[str, str, Use]] = [
    ("postgres", "psycopg", lambda db: viewlet.postgres("dbname=x", "t")),
    ("postgres", "psycopg", lambda db: db.export("t", viewlet.postgres_table("dbname=x", "t"))),
    ("kafka", "confluent_kafka", lambda db: db.create_table("k", "a INT", source=viewlet.kafka("x:1", "k"))),
    ("kafka", "confluent_kafka", lambda db: db.deliver("t", "k", viewlet.kafka_topic("x:1", "k", key="id"))),
    ("delta", "deltalake", lambda db: db.create_table("d", "a INT", source=viewlet.delta("nowhere"))),
    ("delta", "deltalake", lambda db: db.export("t", viewlet.delta_table("nowhere", key="id"))),
    ("iceberg", "pyiceberg", lambda db: db.create_table("i", "a INT", source=viewlet.iceberg("c", "a.b"))),
    (
        "iceberg",
        "pyiceberg",
        lambda db: db.export("t", viewlet.iceberg_table("c", "a.b", properties=CATALOG, key="id")),
    ),
    ("s3", "boto3", lambda db: viewlet.connect("s3://somewhere/w")),
    ("gs", "gcsfs", lambda db: viewlet.connect("gs://somewhere/w")),
    ("azure", "adlfs", lambda db: viewlet.connect("abfs://somewhere/w")),
    ("ui", "starlette", lambda db: db.ui()),
    ("ui", "uvicorn", lambda db: db.ui()),
    ("metrics", "prometheus_client", lambda db: serve_metrics(db, 0)),
    ("lineage", "openlineage", lambda db: Lineage(db)),
    ("plot", "matplotlib", lambda db: loops.plot(_with_rounds(db), "v")),
]


def _with_rounds(db: viewlet.Database) -> Any:
    class History:
        def history(self, view: str) -> list[dict[str, Any]]:
            return [{"epoch": 1, "views": {view: {"rounds": {"1": 3}}}}]

    return History()


def without(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a package be missing, with all modules of it that were loaded before."""
    loaded = [name for name in sys.modules if name.startswith(f"{package}.")]
    for name in (package, *loaded):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize(("extra", "package", "use"), USES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_missing_extra_is_named(
    extra: str, package: str, use: Use, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with viewlet.connect(tmp_path / "w") as db:
        db.create_table("t", "id BIGINT", primary_key="id")
        without(package, monkeypatch)
        with pytest.raises(MissingExtra) as raised:
            use(db)
    assert str(raised.value) == f"{package} is not installed (hint: pip install 'viewlet[{extra}]')"


@pytest.mark.parametrize("extra", ["delta", "iceberg"])
def test_an_extra_that_needs_a_newer_pyarrow_says_so(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pa, "__version__", "17.0.0")
    with pytest.raises(MissingExtra) as raised:
        needed("json", extra)
    said = f"the extra {extra} needs PyArrow 18 or newer, not 17.0.0 (hint: pip install 'viewlet[{extra}]')"
    assert str(raised.value) == said
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "pyarrow>=18" in project["optional-dependencies"][extra]


def test_every_extra_of_users_is_tried() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(project["optional-dependencies"]) - FOR_DEVELOPERS
    assert {extra for extra, _, _ in USES} == extras
    (everything,) = project["optional-dependencies"]["all"]
    assert set(everything.removeprefix("viewlet[").removesuffix("]").split(",")) == extras


def test_the_command_line_says_it_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    viewlet.connect(tmp_path / "w").close()
    without("uvicorn", monkeypatch)
    assert main(["--warehouse", str(tmp_path / "w"), "ui"]) == 1
    said = capsys.readouterr().err
    assert said == "viewlet: error: uvicorn is not installed (hint: pip install 'viewlet[ui]')\n"
