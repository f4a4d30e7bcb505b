"""Parses the columns of CREATE TABLE and ALTER TABLE: names, types, NOT NULL, defaults, the primary key."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from viewlet.errors import SqlError
from viewlet.formatting import suggestion
from viewlet.plan.types import Field, Type, parse_type
from viewlet.sql.reader import Reader

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
_NOT_KEPT = ("GENERATED", "UNIQUE", "REFERENCES", "FOREIGN")


@dataclass(slots=True)
class Columns:
    """The columns and constraints of CREATE TABLE parsed so far."""

    fields: list[Field] = field(default_factory=list)
    key: tuple[str, ...] = ()
    defaults: list[tuple[str, str]] = field(default_factory=list)
    constraints: dict[str, tuple[str, str]] = field(default_factory=dict)

    def declare_key(self, reader: Reader, names: tuple[str, ...]) -> None:
        if self.key:
            reader.refuse("a table has one primary key", hint="for a key of several columns write PRIMARY KEY (a, b)")
        self.key = names


def read_columns(reader: Reader) -> Columns:
    columns = Columns()
    reader.expect("(")
    while True:
        _column_or_key(reader, columns)
        if reader.accept(")"):
            return columns
        if not reader.accept(","):
            reader.fail(", or )")


def _column_or_key(reader: Reader, columns: Columns) -> None:
    name = reader.name("the constraint") if reader.accept("CONSTRAINT") else None
    if name is None and _is_column(reader):
        columns.fields.append(read_column(reader, columns))
    elif reader.accept("CHECK") or (name is not None and reader.accept("EXPECT")):
        read_check(reader, columns, name)
    elif reader.sees("PRIMARY", "KEY"):
        reader.expect("PRIMARY", "KEY")
        columns.declare_key(reader, reader.names("a key column"))
    elif name is not None or reader.word.key in _NOT_KEPT:
        _refuse_unkept(reader)
    else:
        columns.fields.append(read_column(reader, columns))


def read_check(reader: Reader, columns: Columns, name: str | None) -> None:
    """`(condition) [ON VIOLATION {FAIL EPOCH | DROP ROW | KEEP ASIDE}]`, after CHECK"""
    if not reader.sees("("):
        reader.fail("( and a condition")
    start = reader.word.end
    reader.skip()
    text = reader.text[start : reader.words[reader.at - 1].start].strip()
    action = read_action(reader) if reader.accept("ON", "VIOLATION") else "FAIL EPOCH"
    name = name or f"check_{len(columns.constraints) + 1}"
    if name.lower() in map(str.lower, columns.constraints):
        reader.refuse(f"the table has two constraints named `{name}`")
    columns.constraints[name] = (text, action)


def read_action(reader: Reader) -> str:
    for action in (("FAIL", "EPOCH"), ("FAIL", "UPDATE"), ("DROP", "ROW"), ("KEEP", "ASIDE")):
        if reader.accept(*action):
            return "FAIL EPOCH" if action[0] == "FAIL" else " ".join(action)
    reader.fail("FAIL EPOCH, DROP ROW or KEEP ASIDE")


def _is_column(reader: Reader) -> bool:
    """Whether a word such as `check` is the name of a column here, because a type follows."""
    is_key = reader.sees("FOREIGN", "KEY") or reader.sees("PRIMARY", "KEY")
    return reader.words[reader.at + 1].kind == "name" and not is_key


def _refuse_unkept(reader: Reader) -> None:
    reader.refuse(
        f"{reader.word.text.upper()} is not supported for tables",
        hint="tables support NOT NULL, DEFAULT, PRIMARY KEY and CHECK",
    )


def read_column(reader: Reader, columns: Columns) -> Field:
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
        elif reader.accept("CHECK"):
            read_check(reader, columns, None)
        elif reader.accept("DEFAULT"):
            columns.defaults.append((name, _default(reader, name)))
        elif reader.word.key in _NOT_KEPT:
            _refuse_unkept(reader)
        elif not reader.accept("NULL"):
            reader.fail(f"NOT NULL, PRIMARY KEY, DEFAULT, CHECK, COMMENT, the next column, or ) after `{name}`")
    return column


def _default(reader: Reader, column: str) -> str:
    """The expression after DEFAULT."""
    text = reader.until(",", ")", ";", "COMMENT", "PRIMARY", "CHECK", *(("NOT",) if not reader.sees("NOT") else ()))
    if not text:
        reader.fail(f"the default of `{column}`")
    return text


def _type(reader: Reader, column: str) -> Type:
    """Parse a type; comments may be inside."""
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


def resolve_key(reader: Reader, columns: Columns) -> tuple[tuple[Field, ...], tuple[str, ...]]:
    """The fields, with those of the key NOT NULL, and the key in the columns' spelling."""
    spelling = {f.name.lower(): f.name for f in columns.fields}
    if not spelling:
        reader.refuse("a table needs at least one column")
    for name in columns.key:
        if name.lower() not in spelling:
            reader.refuse(
                f"the primary key names `{name}`, which is not a column",
                hint=suggestion(name, spelling.values()),
            )
    key = tuple(spelling[name.lower()] for name in columns.key)
    if len(set(key)) < len(key):
        reader.refuse("the primary key names a column twice")
    fields = tuple(replace(f, nullable=f.nullable and f.name not in key) for f in columns.fields)
    return fields, key
