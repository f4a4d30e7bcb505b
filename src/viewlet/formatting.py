"""Text for people: numbers, durations, aligned tables."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from html import escape
from typing import Any

import pyarrow as pa

MOST_ROWS = 40
WIDEST = 40
MOST_NAMES = 8


def duration(ms: float) -> str:
    """A time in the unit that suits it: `0.42 ms`, `12 ms`, `1.3 s`, `2 min 5 s`."""
    if ms < 10:
        return f"{ms:.2f} ms"
    if ms < 1_000:
        return f"{ms:.0f} ms"
    if ms < 60_000:
        return f"{ms / 1_000:.1f} s"
    return f"{int(ms // 60_000)} min {int(ms % 60_000 / 1_000)} s"


def size(count: float) -> str:
    """A number of bytes: `512 B`, `5.1 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1_000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1_000
    return f"{count:.1f} TB"


def plural(count: int, word: str) -> str:
    """`1 row`, `1,000 rows`."""
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def suggestion(name: str, known: Iterable[str]) -> str:
    """A hint for an unknown name: the most similar known names, or else the first few."""
    spelled = {str(n).lower(): str(n) for n in known}
    if near := get_close_matches(name.lower(), spelled):
        return f"did you mean {' or '.join(spelled[n] for n in near)}?"
    more = f" and {len(spelled) - MOST_NAMES} more" if len(spelled) > MOST_NAMES else ""
    return f"there are: {', '.join(list(spelled.values())[:MOST_NAMES]) or 'none yet'}{more}"


def aligned(headings: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Iterable[int] = ()) -> str:
    """Rows under headings, as aligned text; `right`: the columns to align right."""
    cells = [[*headings], *([_cell(v) for v in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headings))]
    to_right = set(right)
    lines = [
        "  ".join(_pad(c, w, i in to_right) for i, (c, w) in enumerate(zip(row, widths, strict=True))) for row in cells
    ]
    lines.insert(1, "  ".join("─" * w for w in widths))
    return "\n".join(line.rstrip() for line in lines)


def _pad(text: str, width: int, to_right: bool) -> str:
    return text.rjust(width) if to_right else text.ljust(width)


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        value = f"X'{value.hex().upper()}'"
    text = str(value).replace("\n", "⏎").replace("\r", "").replace("\t", " ")
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def table_text(table: pa.Table, *, most: int = MOST_ROWS) -> str:
    """An Arrow table as aligned text, with the number of its rows under it."""
    shown = table.slice(0, most)
    columns = [column.to_pylist() for column in shown.columns]
    right = [i for i, f in enumerate(table.schema) if is_number(f.type)]
    text = aligned(table.column_names, list(zip(*columns, strict=True)), right=right)
    more = f", the first {most} shown" if table.num_rows > most else ""
    return f"{text}\n{plural(table.num_rows, 'row')}{more}"


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def html_table(table: pa.Table, caption: str = "", *, most: int = 20) -> str:
    """The first rows of an Arrow table as HTML, with types under the names and the total number of rows."""
    columns = [column.to_pylist() for column in table.slice(0, most).columns]
    more = f", the first {most} shown" if table.num_rows > most else ""
    return html_rows(
        [(f.name, str(f.type)) for f in table.schema],
        list(zip(*columns, strict=True)),
        caption or f"{plural(table.num_rows, 'row')}{more}",
        right=[i for i, f in enumerate(table.schema) if is_number(f.type)],
    )


def html_rows(
    headings: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]], caption: str, *, right: Iterable[int] = ()
) -> str:
    """An HTML table for notebooks; each heading has a second, smaller line."""
    align = dict.fromkeys(right, "right")
    style = [f' style="text-align:{align.get(i, "left")}"' for i in range(len(headings))]
    head = "".join(
        f"<th{css}>{escape(name)}<br><small>{escape(below)}</small></th>"
        for (name, below), css in zip(headings, style, strict=True)
    )
    body = "".join(
        "<tr>" + "".join(f"<td{css}>{escape(_cell(v))}</td>" for v, css in zip(row, style, strict=True)) + "</tr>"
        for row in rows
    )
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def ago(timestamp: float | None) -> str:
    """How long ago something was: `now`, `12 s ago`, `3 h ago`."""
    if timestamp is None:
        return "never"
    seconds = max(0.0, time.time() - timestamp)
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit} ago"
    return f"{int(seconds)} s ago" if seconds >= 2 else "now"
