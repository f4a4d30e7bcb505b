"""Cases as small files, so that what the fuzzer found is replayed from then on: SQL of tables and views, rows as JSON."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql.types import VariantVal

from tests.oracle.cases import Case, Change, TableCase
from tests.oracle.queries import Column, Query
from viewlet.engine.choose import EngineName

FOUND = Path(__file__).parent / "found"
_COLUMN = re.compile(r"(\w+) (.+)")


def write(case: Case, engine: EngineName, about: str, folder: Path) -> Path:
    """Keep a case; the name of the file follows from what is in it."""
    document = {
        "about": about,
        "engine": engine,
        "settings": dict(case.settings),
        "tables": {t.name: {"columns": [f"{c.name} {c.type}" for c in t.columns], "key": t.has_key} for t in case.tables},
        "views": {name: query.text for name, query in case.views},
        "epochs": [[_change(c) for c in changes] for changes in case.epochs],
    }  # fmt: skip
    text = _shown(document)
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:10]}.json"
    folder.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def read(path: Path) -> tuple[Case, EngineName]:
    """A case, and the engine that it was found on."""
    document = json.loads(path.read_text(encoding="utf-8"))
    tables = [TableCase(n, tuple(map(_column, t["columns"])), t["key"]) for n, t in document["tables"].items()]
    views = [(name, Query(text)) for name, text in document["views"].items()]
    epochs = [tuple(_read_change(c) for c in changes) for changes in document["epochs"]]
    return Case(tuple(tables), tuple(views), tuple(epochs), document.get("settings", {})), document["engine"]


def _column(text: str) -> Column:
    found = _COLUMN.fullmatch(text)
    assert found, text
    return Column(found[1], found[2])


def _change(change: Change) -> dict[str, Any]:
    rows = [[_encoded(v) for v in row] for row in change.rows]
    return {"table": change.table, "kind": change.kind, **({"rows": rows} if rows else {"picks": list(change.picks)})}


def _read_change(document: dict[str, Any]) -> Change:
    rows = tuple(tuple(map(_decoded, row)) for row in document.get("rows", ()))
    return Change(document["table"], document["kind"], rows, tuple(document.get("picks", ())))


def _encoded(value: Any) -> Any:
    """A value as JSON; what JSON has no word for is an object with one `$name`."""
    match value:
        case float() if not math.isfinite(value) or (value == 0 and math.copysign(1, value) < 0):
            return {"$double": repr(value)}
        case Decimal():
            return {"$decimal": str(value)}
        case dt.datetime():
            return {"$timestamp": value.isoformat()}
        case dt.timedelta():
            return {"$interval": value // dt.timedelta(microseconds=1)}
        case VariantVal():
            return {"$variant": value.toJson()}
        case dt.time():
            return {"$time": value.isoformat()}
        case dt.date():
            return {"$date": value.isoformat()}
        case bytes():
            return {"$binary": base64.b64encode(value).decode()}
        case list():
            return [_encoded(v) for v in value]
        case dict():
            return {k: _encoded(v) for k, v in value.items()}
    return value


_READ: dict[str, Callable[[Any], Any]] = {
    "$double": float, "$decimal": Decimal, "$timestamp": dt.datetime.fromisoformat, "$date": dt.date.fromisoformat,
    "$time": dt.time.fromisoformat, "$binary": base64.b64decode, "$variant": VariantVal.parseJson, "$interval": lambda micros: dt.timedelta(microseconds=micros),
}  # fmt: skip


def _decoded(value: Any) -> Any:
    if isinstance(value, dict):
        name = next(iter(value), "")
        return _READ[name](value[name]) if name in _READ else {k: _decoded(v) for k, v in value.items()}
    return [_decoded(v) for v in value] if isinstance(value, list) else value


def _shown(document: dict[str, Any]) -> str:
    """JSON with a line for each view and each row."""
    text = json.dumps(document, indent=1, ensure_ascii=False)
    return re.sub(r"\[\n {5,}[^\]\[]*?\]", lambda m: re.sub(r"\s*\n\s*", " ", m[0]), text) + "\n"
