"""CREATE TABLE and CREATE MATERIALIZED VIEW."""

from __future__ import annotations

from dataclasses import replace

from viewlet.sql.columns import Columns, read_action, read_columns, resolve_key
from viewlet.sql.reader import Reader, unquoted
from viewlet.sql.statements import CreateSink, CreateTable, CreateView, FromSource, Policy

QUERY_STARTS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "(")
SOURCES = {
    "FOLDER": "the path of the folder",
    "POSTGRES": "the database",
    "KAFKA": "the servers",
    "DELTA": "the path of the table",
    "ICEBERG": "the catalog",
    "SPARK": "the format",
}
"""The kinds of sources, and the meaning of the text after each."""
_OPTIONS = ("append_only", "trusted", "static")


def read_create(reader: Reader) -> CreateTable | CreateView | CreateSink:
    """Parse the rest of a CREATE statement."""
    reader.expect("CREATE")
    or_replace = reader.accept("OR", "REPLACE")
    if reader.accept("TABLE"):
        return _table(reader, or_replace)
    if reader.accept("MATERIALIZED", "VIEW"):
        return _view(reader, or_replace)
    if reader.accept("SINK"):
        return _sink(reader)
    if reader.sees("VIEW") or reader.sees("TEMPORARY") or reader.sees("TEMP"):
        reader.refuse("a plain view has no result to keep fresh", hint="write CREATE MATERIALIZED VIEW")
    reader.fail("TABLE, MATERIALIZED VIEW or SINK")


def _if_not_exists(reader: Reader, or_replace: bool) -> bool:
    if not reader.accept("IF"):
        return False
    reader.expect("NOT", "EXISTS")
    if or_replace:
        reader.refuse("OR REPLACE and IF NOT EXISTS contradict each other", hint="keep one of them")
    return True


def _view(reader: Reader, or_replace: bool) -> CreateView:
    """`[IF NOT EXISTS] v [REFRESH POLICY p] [COMMENT '…'] AS query`"""
    if_not_exists = _if_not_exists(reader, or_replace)
    name = reader.name("the view")
    if reader.sees("("):
        reader.refuse("a view takes its column names from its query", hint="name them there: SELECT expression AS name")
    policy: Policy = "AUTO"
    while not reader.accept("AS"):
        if reader.accept("REFRESH"):
            policy = _policy(reader)
        elif reader.accept("COMMENT"):
            reader.string("the comment")
        else:
            reader.fail("AS and a query")
    return CreateView(name, _definition(reader), or_replace, if_not_exists, policy)


def _definition(reader: Reader) -> str:
    """The query of a view, or a loop, whose statements may end with semicolons."""
    if not reader.sees("INITIALIZE"):
        return reader.rest() if reader.sees("REPEAT") else read_query(reader)
    start = reader.word.start
    reader.until("RETURN")
    return reader.text[start : reader.word.start] + reader.rest()


def _policy(reader: Reader) -> Policy:
    reader.expect("POLICY")
    if reader.accept("AUTO"):
        return "AUTO"
    if reader.accept("FULL"):
        return "FULL"
    if reader.accept("INCREMENTAL"):
        return "INCREMENTAL STRICT" if reader.accept("STRICT") else "INCREMENTAL"
    reader.fail("AUTO, INCREMENTAL, INCREMENTAL STRICT or FULL")


def read_query(reader: Reader) -> str:
    """The query that is the rest of a statement, as text."""
    if reader.word.key not in QUERY_STARTS:
        reader.fail("a query", hint="it starts with SELECT, WITH, VALUES, FROM or TABLE")
    return reader.rest()


def _table(reader: Reader, or_replace: bool) -> CreateTable:
    """`[IF NOT EXISTS] t [(column …, PRIMARY KEY (…))] option … [AS query | FROM source …]`"""
    if_not_exists = _if_not_exists(reader, or_replace)
    name = reader.name("the table")
    columns = read_columns(reader) if reader.sees("(") else Columns()
    options, watermark = _options(reader)
    query = read_query(reader) if reader.accept("AS") else None
    source = _source(reader) if reader.accept("FROM") else None
    reader.end()
    if or_replace and query is None:
        reader.refuse("only a table AS a query can be replaced", hint="DROP TABLE it first; its rows go with it")
    if query is None and not columns.fields:
        reader.refuse(
            "a table needs at least one column", hint="CREATE TABLE t (id BIGINT), or CREATE TABLE t AS SELECT …"
        )
    if query is not None and columns.fields:
        reader.refuse("the columns of a table AS a query are the query's", hint="CAST and name them there")
    fields, key = resolve_key(reader, columns) if columns.fields else ((), columns.key)
    return CreateTable(
        name,
        fields,
        key,
        append_only=options["append_only"],
        trusted=options["trusted"],
        static=options["static"],
        watermark=watermark,
        if_not_exists=if_not_exists,
        or_replace=or_replace,
        defaults=tuple(columns.defaults),
        constraints=tuple(columns.constraints.items()),
        query=query,
        source=source,
    )


def _sink(reader: Reader) -> CreateSink:
    """`name FROM view TO kind 'place' [TABLE 'name' | TOPIC 'name'] [OPTIONS (name = value, …)]`"""
    name = reader.name("the sink")
    reader.expect("FROM")
    of = reader.name("a table or view")
    reader.expect("TO")
    to = _place(reader)
    reader.end()
    return CreateSink(name, of, to)


def _source(reader: Reader) -> FromSource:
    """A place, then `[ON BAD RECORD action]`"""
    found = _place(reader)
    if found.kind == "FOLDER" and found.format is None:
        reader.fail("FORMAT")
    action = _bad_record(reader) if reader.accept("ON", "BAD", "RECORD") else "FAIL EPOCH"
    return replace(found, on_bad=action)


def _place(reader: Reader) -> FromSource:
    """`kind 'place' [TABLE 'name' | TOPIC 'name'] [FORMAT f] [OPTIONS (name = value, …)]`"""
    if reader.word.key not in SOURCES:
        reader.fail(" or ".join(SOURCES))
    kind = reader.word.key
    reader.at += 1
    place = reader.string(SOURCES[kind])
    has_name = reader.accept("TABLE") or reader.accept("TOPIC")
    name = reader.string("the name of the table or topic") if has_name else None
    format = reader.name("the format") if reader.accept("FORMAT") else None
    options = read_options(reader) if reader.accept("OPTIONS") else ()
    return FromSource(kind, place, name, format, options)


def _bad_record(reader: Reader) -> str:
    """The action for bad records: one of those for constraints, or READ NULLS, as in Spark."""
    return "READ NULLS" if reader.accept("READ", "NULLS") else read_action(reader)


def read_options(reader: Reader) -> tuple[tuple[str, str], ...]:
    """`(header = true, 'sep' = ';', a.b = 1)`"""
    reader.expect("(")
    found = []
    while True:
        name = _take(reader)
        while reader.accept("."):
            name = f"{name}.{_take(reader)}"
        reader.expect("=")
        found.append((name, _take(reader)))
        if reader.accept(")"):
            return tuple(found)
        if not reader.accept(","):
            reader.fail(", or )")


def _take(reader: Reader) -> str:
    """Consume a word; return it without quotes."""
    word = _bare(reader)
    reader.at += 1
    return word


def _options(reader: Reader) -> tuple[dict[str, bool], tuple[str, str] | None]:
    """`APPEND ONLY`, `TRUSTED`, `STATIC`, or the same as properties; `WATERMARK column DELAY INTERVAL …`."""
    options, watermark = dict.fromkeys(_OPTIONS, False), None
    while reader.word.kind != "end" and not any(map(reader.sees, (";", "AS", "FROM"))):
        if reader.accept("APPEND"):
            reader.expect("ONLY")
            options["append_only"] = True
        elif reader.accept("TRUSTED"):
            options["trusted"] = True
        elif reader.accept("STATIC"):
            options["static"] = True
        elif reader.accept("WATERMARK"):
            watermark = _watermark(reader)
        elif reader.accept("COMMENT"):
            reader.string("the comment")
        elif reader.accept("WITH") or reader.accept("TBLPROPERTIES"):
            _properties(reader, options)
        else:
            hint = "Viewlet keeps tables in its own files" if reader.sees("USING") or reader.sees("LOCATION") else None
            reader.fail(
                "APPEND ONLY, TRUSTED, STATIC, WATERMARK, WITH (…), AS and a query, FROM and a source, or the end of the statement",
                hint=hint,
            )
    return options, watermark


def _watermark(reader: Reader) -> tuple[str, str]:
    """`column DELAY [OF] [INTERVAL] 10 MINUTES`, the delay in quotes or not."""
    column = reader.name("the column with the time of a row")
    reader.expect("DELAY")
    reader.accept("OF")
    reader.accept("INTERVAL")
    parts: list[str] = []
    while reader.word.kind in ("number", "string") or (parts and _is_number(parts[-1])):
        parts.append(_bare(reader))
        reader.at += 1
    if not parts:
        reader.fail("a delay", hint="such as DELAY INTERVAL 10 MINUTES")
    return column, " ".join(parts)


def _is_number(text: str) -> bool:
    return text.strip().isdigit()


def _properties(reader: Reader, options: dict[str, bool]) -> None:
    reader.expect("(")
    while True:
        name = _bare(reader).lower()
        if name not in _OPTIONS:
            reader.fail(" or ".join(_OPTIONS))
        reader.at += 1
        reader.expect("=")
        value = _bare(reader).lower()
        if value not in ("true", "false"):
            reader.fail(f"true or false for {name}")
        reader.at += 1
        options[name] = value == "true"
        if reader.accept(")"):
            return
        if not reader.accept(","):
            reader.fail(", or )")


def _bare(reader: Reader) -> str:
    """The current word without quotes."""
    return reader.word.text[1:-1] if reader.word.kind == "string" else unquoted(reader.word)
