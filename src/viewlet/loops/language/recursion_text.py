"""Parses WITH RECURSIVE.

    WITH RECURSIVE [([ERROR | RETURN] AT RECURSION LIMIT n)]
      r [(column, …)] [USING KEY (column, …)] [MAX RECURSION LEVEL n] AS (query UNION [ALL] query), …
    query

A name is recursive if its query reads it, directly or through others. The other names that a query reads are added to
it as a WITH of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from viewlet.errors import SqlError
from viewlet.loops.language.syntax import Limit, LoopText, Merge, State
from viewlet.plan.words import Word, quoted, read_words
from viewlet.sql.reader import Reader, unquoted


@dataclass(frozen=True, slots=True)
class Definition:
    """A named query of a WITH."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    limit: Limit | None
    query: str
    line: int


def read_recursion(text: str) -> LoopText | None:
    """Parse WITH RECURSIVE; None if the query is not recursive."""
    reader = Reader(text)
    if not reader.accept("WITH", "RECURSIVE"):
        return None
    limit = _limit(reader)
    found = {d.name.lower(): d for d in _definitions(reader)}
    reads = {name: mentioned(d.query, found) for name, d in found.items()}
    recursive = [name for name in found if name in _reached(name, reads)]
    result = reader.rest()
    if not recursive:
        return None
    _refuse_strata(found, reads, recursive)
    states = tuple(_state(found[name], recursive, _preamble(name, found, reads, recursive)) for name in recursive)
    limits = [limit, *(found[name].limit for name in recursive)]
    others = [d for name, d in found.items() if name not in recursive]
    return LoopText(states, with_names(others, result), next((n for n in limits if n is not None), None))


def _limit(reader: Reader) -> Limit | None:
    """`([ERROR | RETURN] AT RECURSION LIMIT n)`"""
    if not reader.accept("("):
        return None
    is_error = not reader.accept("RETURN")
    if is_error:
        reader.accept("ERROR")
    reader.expect("AT", "RECURSION", "LIMIT")
    limit = Limit(whole_number(reader, "the limit"), is_error)
    reader.expect(")")
    return limit


def whole_number(reader: Reader, what: str) -> int:
    """A positive whole number."""
    if reader.word.kind != "number" or not reader.word.text.isdigit() or not int(reader.word.text):
        reader.fail(f"{what}, a whole number from 1 on")
    reader.at += 1
    return int(reader.words[reader.at - 1].text)


def _definitions(reader: Reader) -> Iterator[Definition]:
    while True:
        line, name = reader.word.line, reader.name("a query")
        columns = reader.names("a column") if reader.sees("(") else ()
        key: tuple[str, ...] = ()
        limit = None
        while not reader.accept("AS") and not reader.sees("("):
            if reader.accept("USING"):
                reader.expect("KEY")
                key = reader.names("a column of the key")
            else:
                reader.expect("MAX", "RECURSION", "LEVEL")
                limit = Limit(whole_number(reader, "the level") - 1)  # the last of Spark's steps returns nothing
        yield Definition(name, columns, key, limit, in_parentheses(reader), line)
        if not reader.accept(","):
            return


def in_parentheses(reader: Reader) -> str:
    """The text inside parentheses."""
    if not reader.sees("("):
        reader.fail("( and a query")
    start = reader.word.end
    reader.skip()
    return reader.text[start : reader.words[reader.at - 1].start].strip()


_ENDS_FROM = ("SELECT", "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "LIMIT", "WINDOW", "UNION", "EXCEPT", "INTERSECT")


def mentioned(query: str, names: Collection[str]) -> set[str]:
    """The names, in lower case, that a query reads as tables: after FROM, JOIN, or a comma in a FROM."""
    found: set[str] = set()
    inside = [False]  # for the whole query and each open parenthesis: whether it is in its FROM
    words = read_words(query)
    for last, word, following in zip((Word("sign", "", 0, 0, 0), *words), words, words[1:], strict=False):
        if word.key == "(":
            inside.append(False)
        elif word.key == ")" and len(inside) > 1:
            inside.pop()
        elif word.key in ("FROM", "JOIN", "TABLE", *_ENDS_FROM):
            inside[-1] = word.key not in _ENDS_FROM
        is_name = word.kind in ("name", "quoted") and following.key not in (".", "(")
        if is_name and inside[-1] and last.key in ("FROM", "JOIN", "TABLE", "LATERAL", ","):
            found.add(unquoted(word).lower())
    return found & set(names)


def _reached(name: str, reads: Mapping[str, set[str]]) -> set[str]:
    """The names that a query reads, directly or through others."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = reads[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def _refuse_strata(found: Mapping[str, Definition], reads: Mapping[str, set[str]], recursive: Sequence[str]) -> None:
    """Refuse a loop that reads the result of another: these must be two views."""
    for name in recursive:
        for other in recursive:
            if other in _reached(name, reads) and name not in _reached(other, reads):
                raise SqlError(
                    f"line {found[name].line}: `{found[name].name}` reads the result of the recursive `{found[other].name}`",
                    hint=f"make `{found[other].name}` a separate view, and read that",
                )


def _preamble(
    name: str, found: Mapping[str, Definition], reads: Mapping[str, set[str]], recursive: Sequence[str]
) -> list[Definition]:
    """The non-recursive queries that a recursive one reads, in order."""
    reached = _reached(name, reads)
    return [d for other, d in found.items() if other in reached and other not in recursive]


def with_names(definitions: Sequence[Definition], query: str) -> str:
    """A query with others as its WITH."""
    if not definitions:
        return query
    named = (
        f"{quoted(d.name)}{'(' + ', '.join(map(quoted, d.columns)) + ')' if d.columns else ''} AS ({d.query})"
        for d in definitions
    )
    return f"WITH {', '.join(named)} SELECT * FROM ({query})"


def _state(definition: Definition, recursive: Sequence[str], preamble: Sequence[Definition]) -> State:
    """Split a recursive query into its first rows, which read nothing recursive, and its step."""
    parts = list(_parts(definition.query))
    names = {*recursive, *(d.name.lower() for d in preamble if mentioned(d.query, recursive))}
    steps = [p for p in parts if mentioned(p[1], names)]
    initial = [p for p in parts if p not in steps]
    if not initial:
        raise SqlError(
            f"line {definition.line}: every part of `{definition.name}` reads what is recursive, so it holds nothing",
            hint="UNION it with a query that gives its first rows",
        )
    kinds = {connector for connector, _ in parts[1:]}
    if len(kinds) > 1:
        raise SqlError(
            f"line {definition.line}: `{definition.name}` mixes UNION and UNION ALL", hint="use one of them throughout"
        )
    connector = kinds.pop()
    merge: Merge = "key" if definition.key else "all" if connector == "UNION ALL" else "distinct"
    texts = [f" {connector} ".join(f"({query})" for _, query in some) for some in (initial, steps)]
    first, step = (with_names(preamble, text) for text in texts)
    return State(definition.name, definition.columns, first, step, merge, definition.key)


def _parts(query: str) -> Iterator[tuple[str, str]]:
    """The parts of a union, each with the operator before it."""
    reader = Reader(_without_parentheses(query))
    connector = ""
    while True:
        part = reader.until("UNION")
        yield connector, part
        if not reader.accept("UNION"):
            return
        connector = "UNION ALL" if reader.accept("ALL") else "UNION"
        reader.accept("DISTINCT")


def _without_parentheses(query: str) -> str:
    """A query without its outermost parentheses."""
    reader = Reader(query)
    if not reader.sees("("):
        return query
    reader.skip()
    return query if reader.word.kind != "end" else _without_parentheses(query.strip()[1:-1].strip())
