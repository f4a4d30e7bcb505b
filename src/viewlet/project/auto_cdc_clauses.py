"""The clauses of AUTO CDC in a project's SQL files, in any order: `FROM STREAM(s) KEYS (id) SEQUENCE BY n …`"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from viewlet.project.auto_cdc import AutoCdc, Columns
from viewlet.sql.reader import Reader

_STARTS = (
    ("APPLY", "AS"),
    ("SEQUENCE", "BY"),
    ("COLUMNS", "("),
    ("COLUMNS", "*"),
    ("STORED", "AS"),
    ("TRACK", "HISTORY"),
    ("KEYS", "("),
    (";",),
)
"""The words that end an expression."""


def read_auto_cdc(reader: Reader, name: str, target: str, where: str, settings: Mapping[str, str]) -> AutoCdc:
    """Parse the rest of an AUTO CDC statement."""
    reader.expect("FROM")
    is_stream = reader.sees("STREAM") or reader.sees("(")
    source = _expression(reader, "a stream")
    reader.expect("KEYS")
    keys = reader.names("a key")
    given: dict[str, Any] = {}
    while not reader.sees(";") and reader.word.kind != "end":
        given |= _clause(reader)
    if "sequence_by" not in given:
        reader.fail("SEQUENCE BY and what orders the events")
    if "tracked" in given and given.get("scd_type") != 2:
        reader.refuse("TRACK HISTORY needs SCD TYPE 2", hint="STORED AS SCD TYPE 2")
    reader.end()
    return AutoCdc(
        name, target, source if is_stream else f"STREAM {source}", keys, where=where, settings=settings, **given
    )


def _clause(reader: Reader) -> dict[str, Any]:
    if reader.accept("APPLY", "AS", "DELETE", "WHEN"):
        return {"deletes": _expression(reader, "a condition")}
    if reader.accept("SEQUENCE", "BY"):
        return {"sequence_by": _expression(reader, "what orders the events")}
    if reader.accept("COLUMNS"):
        return {"columns": _columns(reader)}
    if reader.accept("STORED", "AS", "SCD", "TYPE"):
        return {"scd_type": _scd_type(reader)}
    if reader.accept("TRACK", "HISTORY", "ON"):
        return {"tracked": _columns(reader)}
    reader.fail("APPLY AS DELETE WHEN, SEQUENCE BY, COLUMNS, STORED AS SCD TYPE 1 or 2, or TRACK HISTORY ON")


def _expression(reader: Reader, what: str) -> str:
    """The text up to the next clause."""
    start = reader.word.start
    while reader.word.kind != "end" and not any(reader.sees(*words) for words in _STARTS):
        reader.skip()
    if reader.word.start == start:
        reader.fail(what)
    return reader.text[start : reader.words[reader.at - 1].end]


def _columns(reader: Reader) -> Columns:
    """`(a, b)`, or `* EXCEPT (a, b)`"""
    if reader.accept("*"):
        return Columns(reader.names("a column")) if reader.accept("EXCEPT") else Columns()
    return Columns(reader.names("a column"), is_except=False)


def _scd_type(reader: Reader) -> Literal[1, 2]:
    reader.at += 1
    match reader.words[reader.at - 1].text:
        case "1":
            return 1
        case "2":
            return 2
    reader.at -= 1
    reader.fail("1 or 2")
