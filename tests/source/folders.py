"""Folders of files that change, as users change them, and what Spark says of them."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = "id BIGINT, cust INT, total DECIMAL(12,2), day DATE, note STRING"
OPTIONS = {"csv": {"header": "true"}, "json": {}, "xml": {"rowTag": "order"}, "parquet": {}}


def rows_of(rng: random.Random, count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": rng.randrange(1000),
            "cust": rng.choice([None, 1, 2, 3]),
            "total": f"{rng.randrange(-10_000, 10_000) / 100:.2f}",
            "day": f"2026-0{rng.randrange(1, 9)}-1{rng.randrange(9)}",
            "note": rng.choice([None, "a, quoted", 'with "quotes"', "plain"]),
        }
        for _ in range(count)
    ]


def write(path: Path, format: str, rows: list[dict[str, Any]]) -> None:
    """Put a file in its place at once, as careful writers do."""
    hidden = path.with_name(f".{path.name}")
    if format == "parquet":
        from datetime import date
        from decimal import Decimal

        types = {
            "id": pa.int64(),
            "cust": pa.int32(),
            "total": pa.decimal128(12, 2),
            "day": pa.date32(),
            "note": pa.string(),
        }
        typed = [{**r, "total": Decimal(r["total"]), "day": date.fromisoformat(r["day"])} for r in rows]
        pq.write_table(pa.Table.from_pylist(typed, pa.schema(list(types.items()))), hidden)
    elif format == "json":
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif format == "xml":
        hidden.write_text("\n".join(["<orders>", *map(_xml, rows), "</orders>"]), encoding="utf-8")
    else:
        hidden.write_text("\n".join(["id,cust,total,day,note", *map(_csv, rows)]) + "\n", encoding="utf-8")
    os.replace(hidden, path)


def _csv(row: dict[str, Any]) -> str:
    """A line with Spark's escape, a backslash."""
    cells = ["" if v is None else str(v).replace('"', '\\"') for v in row.values()]
    return ",".join(f'"{cell}"' if "," in cell or '"' in cell else cell for cell in cells)


def _xml(row: dict[str, Any]) -> str:
    """An element on several lines; values that are NULL are left out."""
    inside = "".join(f"\n  <{name}>{escape(str(v))}</{name}>" for name, v in row.items() if v is not None)
    return f"<order>{inside}\n</order>"


def by_spark(spark: Any, folder: Path, format: str) -> list[tuple[Any, ...]]:
    """What a plain session reads from the folder, sorted."""
    frame = spark.read.format(format).schema(SCHEMA).options(**OPTIONS[format]).load(str(folder))
    return in_order(tuple(row) for row in frame.collect())


def in_order(rows: Any) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)
