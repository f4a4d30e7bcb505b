"""CREATE TABLE and CREATE MATERIALIZED VIEW."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from viewlet.errors import SqlError
from viewlet.plan.types import Field, Type, parse_type
from viewlet.sql.reader import Reader, unquoted
from viewlet.sql.statements import AddColumns, CreateTable, CreateView, Policy

QUERY_STARTS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "(")
_AFTER_TYPE = (
    ",",
    ")",
    ";",
    "NOT",
    "NULL",
    "PRIMARY",
    "COMMENT",
    "DEFAULT",
    "GENERATED",
    "UNIQUE",
    "REFERENCES",
    "CHECK",
)
_NOT_KEPT = ("DEFAULT", "GENERATED", "UNIQUE", "REFERENCES", "CHECK", "FOREIGN")
_OPTIONS = ("append_only", "trusted", "static")


def read_create(reader: Reader) -> CreateTable | CreateView:
    """A statement that starts with CREATE."""
    reader.expect("CREATE")
    or_replace = reader.accept("OR", "REPLACE")
    if reader.accept("TABLE"):
        if or_replace:
            reader.refuse("a table cannot be replaced", hint="DROP TABLE it first; its rows go with it")
        return _table(reader)
    if reader.accept("MATERIALIZED", "VIEW"):
        return _view(reader, or_replace)
    if reader.sees("VIEW") or reader.sees("TEMPORARY") or reader.sees("TEMP"):
        reader.refuse("a plain view has no result to keep fresh", hint="write CREATE MATERIALIZED VIEW")
    reader.fail("TABLE or MATERIALIZED VIEW")


def read_alter(reader: Reader) -> AddColumns:
    """`ALTER TABLE t ADD {COLUMN | COLUMNS} column type, …`, the columns in parentheses or not"""
    reader.expect("ALTER")
    if not reader.accept("TABLE"):
        reader.fail("TABLE", hint="a view is changed by CREATE OR REPLACE MATERIALIZED VIEW")
    name = reader.name("the table")
    if not (reader.accept("ADD", "COLUMNS") or reader.accept("ADD", "COLUMN")):
        reader.fail("ADD COLUMN", hint="for other changes, create another table and INSERT INTO it")
    columns, closed = _Columns(), reader.accept("(")
    columns.fields.append(_column(reader, columns))
    while reader.accept(","):
        columns.fields.append(_column(reader, columns))
    if closed:
        reader.expect(")")
    reader.end()
    if columns.key:
        reader.refuse("a table that is there gets no primary key", hint="create another table with it")
    return AddColumns(name, tuple(columns.fields))


def _if_not_exists(reader: Reader) -> bool:
    if not reader.accept("IF"):
        return False
    reader.expect("NOT", "EXISTS")
    return True


def _view(reader: Reader, or_replace: bool) -> CreateView:
    """`[IF NOT EXISTS] v [REFRESH POLICY p] [COMMENT '…'] AS query`"""
    if_not_exists = _if_not_exists(reader)
    if or_replace and if_not_exists:
        reader.refuse("OR REPLACE and IF NOT EXISTS contradict each other", hint="keep one of them")
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
    return CreateView(name, read_query(reader), or_replace, if_not_exists, policy)


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
    """The query that makes up the rest of a statement, as text."""
    if reader.word.key not in QUERY_STARTS:
        reader.fail("a query", hint="it starts with SELECT, WITH, VALUES, FROM or TABLE")
    return reader.rest()


@dataclass(slots=True)
class _Columns:
    """What the parentheses of CREATE TABLE have said so far."""

    fields: list[Field] = field(default_factory=list)
    key: tuple[str, ...] = ()

    def declare_key(self, reader: Reader, names: tuple[str, ...]) -> None:
        if self.key:
            reader.refuse("a table has one primary key", hint="for a key of several columns write PRIMARY KEY (a, b)")
        self.key = names


def _table(reader: Reader) -> CreateTable:
    """`[IF NOT EXISTS] t (column …, PRIMARY KEY (…)) option …`"""
    if_not_exists = _if_not_exists(reader)
    name = reader.name("the table")
    if reader.accept("AS") or not reader.sees("("):
        hint = "create it with its columns, then INSERT INTO it" if reader.word.key in QUERY_STARTS else None
        reader.fail("( and the columns of the table", hint=hint)
    columns = _columns(reader)
    fields, key = _resolve_key(reader, columns)
    options, watermark = _options(reader)
    reader.end()
    return CreateTable(name, fields, key, **options, watermark=watermark, if_not_exists=if_not_exists)


def _columns(reader: Reader) -> _Columns:
    columns = _Columns()
    reader.expect("(")
    while True:
        _column_or_key(reader, columns)
        if reader.accept(")"):
            return columns
        if not reader.accept(","):
            reader.fail(", or )")


def _column_or_key(reader: Reader, columns: _Columns) -> None:
    if reader.accept("CONSTRAINT"):
        reader.name("the constraint")
        if not reader.sees("PRIMARY"):
            _refuse_unkept(reader)
    if reader.sees("PRIMARY", "KEY"):
        reader.expect("PRIMARY", "KEY")
        columns.declare_key(reader, reader.names("a key column"))
    elif reader.word.key in _NOT_KEPT and not _is_column(reader):
        _refuse_unkept(reader)
    else:
        columns.fields.append(_column(reader, columns))


def _is_column(reader: Reader) -> bool:
    """Whether a word such as `check` names a column here: then a type follows."""
    return reader.words[reader.at + 1].kind == "name" and not reader.sees("FOREIGN", "KEY")


def _refuse_unkept(reader: Reader) -> None:
    reader.refuse(
        f"{reader.word.text.upper()} is not something that tables keep", hint="tables know NOT NULL and PRIMARY KEY"
    )


def _column(reader: Reader, columns: _Columns) -> Field:
    name = reader.name("a column")
    if any(f.name.lower() == name.lower() for f in columns.fields):
        reader.refuse(f"the table has two columns named `{name}`")
    column = Field(name, _type(reader, name))
    while not (reader.sees(",") or reader.sees(")") or reader.sees(";") or reader.word.kind == "end"):
        if reader.accept("NOT", "NULL"):
            column = replace(column, nullable=False)
        elif reader.accept("PRIMARY", "KEY"):
            columns.declare_key(reader, (name,))
        elif reader.accept("COMMENT"):
            reader.string("the comment")
        elif reader.word.key in _NOT_KEPT:
            _refuse_unkept(reader)
        elif not reader.accept("NULL"):
            reader.fail(f"NOT NULL, PRIMARY KEY, COMMENT, the next column, or ) after `{name}`")
    return column


def _type(reader: Reader, column: str) -> Type:
    """The words up to the end of the type, as a type; comments may stand between them."""
    line, parts, depth = reader.word.line, list[str](), 0
    while reader.word.kind != "end" and (depth or reader.word.key not in _AFTER_TYPE):
        sign = reader.word.text if reader.word.kind == "sign" else ""
        depth += sign.count("(") + sign.count("<") - sign.count(")") - sign.count(">")
        parts.append(reader.word.text)
        reader.at += 1
    if not parts:
        reader.fail(f"the type of column `{column}`")
    try:
        return parse_type(" ".join(parts))
    except ValueError as error:
        hint = "use one of Spark's types, such as BIGINT, DECIMAL(12,2), STRING, DATE"
        raise SqlError(f"line {line}: column `{column}`: {error}", hint=hint) from error


def _resolve_key(reader: Reader, columns: _Columns) -> tuple[tuple[Field, ...], tuple[str, ...]]:
    """The fields with those of the key NOT NULL, and the key in the columns' own spelling."""
    spelling = {f.name.lower(): f.name for f in columns.fields}
    if not spelling:
        reader.refuse("a table needs at least one column")
    for name in columns.key:
        if name.lower() not in spelling:
            reader.refuse(
                f"the primary key names `{name}`, which is no column",
                hint=f"the columns are {', '.join(spelling.values())}",
            )
    key = tuple(spelling[name.lower()] for name in columns.key)
    if len(set(key)) < len(key):
        reader.refuse("the primary key names a column twice")
    fields = tuple(replace(f, nullable=f.nullable and f.name not in key) for f in columns.fields)
    return fields, key


def _options(reader: Reader) -> tuple[dict[str, bool], tuple[str, str] | None]:
    """`APPEND ONLY`, `TRUSTED`, `STATIC`, or the same as properties; `WATERMARK column DELAY INTERVAL …`."""
    options, watermark = dict.fromkeys(_OPTIONS, False), None
    while reader.word.kind != "end" and not reader.sees(";"):
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
            reader.fail("APPEND ONLY, TRUSTED, STATIC, WATERMARK, WITH (…) or the end of the statement", hint=hint)
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
    """The word at the place without its quotes."""
    return reader.word.text[1:-1] if reader.word.kind == "string" else unquoted(reader.word)
