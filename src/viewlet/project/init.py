"""`viewlet init`: a new project that runs."""

from __future__ import annotations

from pathlib import Path

from viewlet.errors import ProjectError

FILES = {
    "spark-pipeline.yml": """\
name: {name}
storage: file://{root}/storage
libraries:
  - glob:
      include: transformations/**
""",
    "landing/orders/first.csv": """\
id,customer,total
1,ada,80.00
2,ada,40.00
3,bob,15.50
""",
    "transformations/orders.py": '''\
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.active()


@dp.table
def orders() -> DataFrame:
    """Every line of every file that comes into landing/orders."""
    return (
        spark.readStream.format("csv")
        .schema("id BIGINT, customer STRING, total DECIMAL(12,2)")
        .option("header", True)
        .load("landing/orders")
    )
''',
    "transformations/spend.sql": """\
CREATE MATERIALIZED VIEW spend AS
SELECT customer, count(*) AS orders, sum(total) AS total
FROM orders
GROUP BY customer;
""",
}


def init_project(root: Path) -> list[Path]:
    """Write the files of a new project to a new folder; return their paths."""
    if root.exists() and any(root.iterdir()):
        raise ProjectError(f"{root} is not empty", hint="name a new folder")
    written = []
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        values = {"name": root.name, "root": str(root.resolve())}
        path.write_text(text.format(**values) if name.endswith(".yml") else text, encoding="utf-8")
        written.append(path)
    return written
