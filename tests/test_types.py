"""Every Spark type as a column, a key and a value, through tables, views, both engines and a new opening."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import viewlet
from tests.oracle.bags import difference
from tests.oracle.cases import TableCase
from tests.oracle.judge import as_arrow
from tests.oracle.queries import Column
from tests.oracle.values import COLLATED, JSON, MAP, VARIANT
from tests.oracle.values import VALUES as SAMPLES

pytestmark = pytest.mark.spark

VALUES = {kind: values for kind, values in SAMPLES.items() if kind != JSON}
GROUPABLE = [kind for kind in VALUES if kind not in (MAP, VARIANT, COLLATED)]


@pytest.mark.slow  # test_all_types plays every type, too
@pytest.mark.parametrize("engine", ["inproc", "spark"])
def test_every_type_as_key_and_value(engine: Any, tmp_path: Path, spark: Any) -> None:
    """One table of all types; a view grouped by each, one that carries them all, one that joins on some."""
    columns = {f"c{i}": kind for i, kind in enumerate(VALUES)}
    rows = [
        (
            n,
            *(
                None if (n + i) % 4 == 3 else VALUES[kind][(n * 7 + i) % len(VALUES[kind])]
                for i, kind in enumerate(VALUES)
            ),
        )
        for n in range(24)
    ]
    some = [c for c, kind in columns.items() if kind in GROUPABLE][:: 5 if engine == "spark" else 1]
    with viewlet.connect(tmp_path / "w", spark=spark, engine=engine) as db:
        db.sql(f"CREATE TABLE t (n INT, {', '.join(f'{c} {kind}' for c, kind in columns.items())})")
        for c in some:
            db.create_view(f"by_{c}", f"SELECT {c}, count(*) AS n, sum(n) AS s FROM t GROUP BY {c}")
        db.create_view("all_columns", "SELECT * FROM t WHERE n % 2 = 0")
        for c in some[::3]:
            db.create_view(f"left_{c}", f"SELECT a.n, b.n AS m FROM t a LEFT JOIN t b ON a.{c} = b.{c} AND b.n < 5")
        db.insert("t", rows[:20])
        assert db.check().num_rows == 0
        with db.epoch() as e:
            e.delete("t", rows[3:12])
            e.insert("t", rows[20:] + rows[:2])
        assert db.check().num_rows == 0
    table = TableCase("t", (Column("n", "int"), *(Column(c, kind) for c, kind in columns.items())), has_key=False)
    expected = as_arrow(table, [*rows[:3], *rows[12:], *rows[:2]])
    with viewlet.connect(tmp_path / "w", spark=spark, engine=engine) as db:
        assert not difference(db.table("t").arrow(), expected)
        db.delete("t", rows[:2] + rows[:3] + rows[12:])
        assert db.table("all_columns").rows() == []
        assert db.check().num_rows == 0


@pytest.mark.parametrize(
    "kind", ["bigint", "string", "decimal(38,4)", "date", "timestamp", "double", "binary", "boolean"]
)
def test_primary_keys_of_every_kind(kind: str, tmp_path: Path) -> None:
    values = VALUES[kind]
    with viewlet.connect(tmp_path / "w") as db:
        db.sql(f"CREATE TABLE t (k {kind}, n INT, PRIMARY KEY (k))")
        distinct = [v for v in values if not (isinstance(v, float) and str(v) == "-0.0")]
        db.insert("t", [(v, 1) for v in distinct])
        db.upsert("t", [(v, 2) for v in distinct[:2]])
        if kind == "double":
            with pytest.raises(viewlet.RejectedEpoch, match="already exists"):
                db.insert("t", [(-0.0, 9)])
        db.delete("t", [{"k": v} for v in distinct[1:]])
        found = db.table("t").arrow()
        assert not difference(found, pa.Table.from_pylist([{"k": distinct[0], "n": 2}], found.schema))
