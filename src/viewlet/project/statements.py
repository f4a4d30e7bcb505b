"""Parses the statements of a project's SQL files, without Spark; queries stay text."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from viewlet.errors import ProjectError, SqlError
from viewlet.plan.words import split
from viewlet.project.auto_cdc_clauses import read_auto_cdc
from viewlet.project.definitions import Dataset, Definitions, Kind, Query
from viewlet.sql.create import read_options, read_query
from viewlet.sql.reader import Reader, unquoted

_KINDS: tuple[tuple[tuple[str, ...], Kind], ...] = (
    (("MATERIALIZED", "VIEW"), "materialized view"),
    (("STREAMING", "TABLE"), "streaming table"),
    (("GLOBAL", "TEMPORARY", "VIEW"), "temporary view"),
    (("TEMPORARY", "VIEW"), "temporary view"),
    (("TEMP", "VIEW"), "temporary view"),
    (("VIEW",), "view"),
)


@dataclass
class SqlFile:
    """Parses one file into definitions; settings and names hold from where they are set."""

    path: Path
    definitions: Definitions
    settings: dict[str, str] = field(default_factory=dict)

    def read(self) -> None:
        for line, text in split(self.path.read_text(encoding="utf-8")):
            where = f"{self.path}:{line}"
            try:
                self._statement(Reader(text), where)
            except SqlError as error:
                raise ProjectError(f"{where}: {error.args[0]}", hint=error.hint) from error

    def _statement(self, reader: Reader, where: str) -> None:
        if reader.accept("SET"):
            name, _, value = reader.rest().partition("=")
            self.settings[name.strip().strip("`")] = value.strip()
        elif reader.accept("USE"):
            self._use(reader)
        elif reader.accept("CREATE", "FLOW"):
            self._flow(reader, where)
        elif reader.accept("CREATE"):
            self._create(reader, where)
        else:
            reader.fail("CREATE, SET or USE")

    def _use(self, reader: Reader) -> None:
        any(map(reader.accept, ("CATALOG", "DATABASE", "SCHEMA", "NAMESPACE")))
        self.definitions.qualifiers |= {part.lower() for part in _parts(reader)}
        reader.end()

    def _create(self, reader: Reader, where: str) -> None:
        if reader.accept("OR"):
            reader.at += 1  # REPLACE or REFRESH, which a project's definitions always imply
        kind = next((kind for words, kind in _KINDS if reader.accept(*words)), None)
        if kind is None:
            reader.fail("MATERIALIZED VIEW, STREAMING TABLE, FLOW, TEMPORARY VIEW or VIEW")
        if reader.accept("IF"):
            reader.expect("NOT", "EXISTS")
        name = self._name(reader, where)
        columns = _columns(reader)
        properties = _clauses(reader)
        if kind == "streaming table" and reader.accept("FLOW"):
            reader.expect("AUTO", "CDC")
            self.definitions.add_auto_cdc(read_auto_cdc(reader, name, name, where, dict(self.settings)))
        query = read_query(reader) if reader.accept("AS") else None
        is_view = kind in ("view", "temporary view")
        if query is not None and is_view and columns:
            query = f"SELECT * FROM ({query}) AS {'v'}({columns})"
        self.definitions.add(Dataset(name, kind, where, None if is_view else columns, options=properties))
        if query is not None:
            self.definitions.add_query(Query(name, name, query, where, dict(self.settings)))

    def _flow(self, reader: Reader, where: str) -> None:
        """`name [COMMENT '…'] AS INSERT INTO target [BY NAME] query`, or `AS AUTO CDC INTO target FROM …`"""
        name = self._name(reader, where)
        if reader.accept("COMMENT"):
            reader.string("the comment")
        reader.expect("AS")
        if reader.accept("AUTO", "CDC", "INTO"):
            target = self._name(reader, where)
            self.definitions.add_auto_cdc(read_auto_cdc(reader, name, target, where, dict(self.settings)))
            return
        reader.expect("INSERT", "INTO")
        reader.accept("TABLE")
        target = self._name(reader, where)
        if reader.accept("BY"):
            reader.expect("NAME")
        self.definitions.add_query(Query(name, target, read_query(reader), where, dict(self.settings)))

    def _name(self, reader: Reader, where: str) -> str:
        return self.definitions.plain(".".join(_parts(reader)), where)


_STORAGE = (("PARTITIONED", "BY"), ("CLUSTERED", "BY"), ("CLUSTER", "BY"), ("OPTIONS",))
"""Clauses in parentheses about Spark's storage, which are ignored."""


def _clauses(reader: Reader) -> dict[str, str]:
    """The properties among the clauses between a name and its query; raise for unknown clauses."""
    properties: dict[str, str] = {}
    while not (any(map(reader.sees, ("AS", "FLOW", ";"))) or reader.word.kind == "end"):
        if reader.accept("TBLPROPERTIES"):
            properties.update(read_options(reader))
        elif reader.accept("COMMENT") or reader.accept("LOCATION"):
            reader.string("a text")
        elif reader.accept("USING") or reader.accept("DEFAULT", "COLLATION"):
            reader.name("a format or collation")
        elif any(reader.accept(*words) for words in _STORAGE):
            reader.skip()
        else:
            reader.fail("AS and a query, TBLPROPERTIES, COMMENT, USING, LOCATION, PARTITIONED BY or CLUSTER BY")
    return properties


def _parts(reader: Reader) -> list[str]:
    """The parts of a qualified name."""
    parts: list[str] = []
    while True:
        if reader.word.kind not in ("name", "quoted"):
            reader.fail("a name")
        parts.append(unquoted(reader.word))
        reader.at += 1
        if not reader.accept("."):
            return parts


def _columns(reader: Reader) -> str | None:
    """The text of a list of columns."""
    if not reader.sees("("):
        return None
    start = reader.word.end
    reader.skip()
    return reader.text[start : reader.words[reader.at - 1].start].strip()
