"""An installed Viewlet works: its command line, and a small warehouse with Spark.

`make test-wheel` runs this with `python -I`, so that nothing is found but what the wheel brought.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path

import viewlet

SCRIPT = """
CREATE TABLE orders (id BIGINT, cust BIGINT, total DECIMAL(12,2), PRIMARY KEY (id));
CREATE MATERIALIZED VIEW spend AS SELECT cust, sum(total) AS total, max(id) AS latest FROM orders GROUP BY cust;
INSERT INTO orders VALUES (1, 7, 80.00), (2, 7, 40.00), (3, 9, 15.50);
"""
EXTRAS = {
    "postgres": "POSTGRES 'dbname=x' TABLE 't'",
    "kafka": "KAFKA 'localhost:9092' TOPIC 't'",
    "delta": "DELTA 'lake'",
    "iceberg": "ICEBERG 'lake' TABLE 'db.t'",
}


def run(*arguments: object) -> str:
    """What the installed command prints."""
    command = Path(sys.executable).parent / "viewlet"
    return subprocess.run([command, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def main(folder: Path) -> None:
    package = Path(viewlet.__file__).parent
    assert package.parent.name == "site-packages", package
    assert (package / "py.typed").exists()
    assert viewlet.__version__ == version("viewlet")
    assert viewlet.__version__ in run("--version")
    script, warehouse = folder / "shop.sql", folder / "warehouse"
    script.write_text(SCRIPT)
    run("run", script, "--warehouse", warehouse)
    with viewlet.connect(warehouse) as db:
        with db.epoch() as e:
            e.upsert("orders", [(3, 9, "150.50")])
            e.delete("orders", [(2,)])
        assert sorted(db.table("spend")) == [(7, Decimal("80.00"), 1), (9, Decimal("150.50"), 3)]
        assert db.check().num_rows == 0
        for extra, place in EXTRAS.items():
            assert f"pip install 'viewlet[{extra}]'" in refusal(db, f"CREATE TABLE {extra} (id INT) FROM {place}")
    run("init", folder / "project")
    assert "flow orders appended 3 rows" in run("run", folder / "project")
    assert "× faster" in run("demo", "--warehouse", folder / "demo")


def refusal(db: viewlet.Database, statement: str) -> str:
    """What is said of a statement that needs a package which is not there."""
    try:
        db.sql(statement)
    except viewlet.MissingExtra as error:
        return str(error)
    raise AssertionError(f"the environment is not empty: {statement}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(made))
