"""A list of failed epochs, with the reason and the row at fault: a file beside the log, for people to read."""

from __future__ import annotations

import json
import logging
import os
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from time import time as clock
from typing import Any

from viewlet.errors import EndlessLoop, EvaluationError, RejectedEpoch, ViewletError, shortened

log = logging.getLogger("viewlet")
FILE = "failures"
CAUSED_BY_ROWS = (RejectedEpoch, EvaluationError, EndlessLoop)
"""Errors caused by data; others are wrong calls, which their callers see."""
_MOST = 200


def note_failure(root: Path, epoch: int, error: ViewletError) -> None:
    """Record an error that stopped an epoch. Failing to do so must not hide the error."""
    kept = [*read_failures(root)[1 - _MOST :], _document(epoch, error)]
    hidden = root / f".{FILE}"
    try:
        hidden.write_text("".join(json.dumps(f) + "\n" for f in kept), encoding="utf-8")
        os.replace(hidden, root / FILE)
    except OSError as problem:
        log.warning("the failure of epoch %d could not be noted: %s", epoch, problem)


def read_failures(root: Path) -> list[dict[str, Any]]:
    """The last failures, newest last."""
    try:
        text = (root / FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.splitlines()]


def _document(epoch: int, error: ViewletError) -> dict[str, Any]:
    found: dict[str, Any] = {"timestamp": clock(), "epoch": epoch, "error": error.kind}
    found |= {"message": error.message, "hint": error.hint, "view": "", "table": "", "row": {}, "rows": []}
    if isinstance(error, EvaluationError):
        found |= {"view": error.view, "expression": error.expression, "values": _texts(error.values)}
        found |= {"table": error.table, "row": _texts(error.row)}
    if isinstance(error, EndlessLoop):
        found |= {"rows": [_texts(row) for row in error.rows]}
    return found


def _texts(values: dict[str, Any]) -> dict[str, str | None]:
    return {name: None if value is None else _text(value) for name, value in values.items()}


def _text(value: Any) -> str:
    return str(value) if isinstance(value, Decimal | date | time) else shortened(value).strip("'\"")
