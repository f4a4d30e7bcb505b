"""Parses ITERATE and REPEAT.

    INITIALIZE t [(column, …)] AS (query), …
    ITERATE SET t = query; LET u = query; …
    UNTIL {FIXPOINT | condition over new.x and old.x ON t BY (column, …) [HOLD CHANGES WHERE condition]}
    [MAX n [DIFFUSE]] [RESTART] RETURN query

    REPEAT t = query STEP query LIMIT n [RETURN query]

Statements run in order: those after SET t = … read the new t. Tables of INITIALIZE that no SET changes are the same in
every round. With RESTART, every epoch starts from the first rows instead of the last result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from viewlet.loops.language.recursion_text import Definition, in_parentheses, mentioned, whole_number, with_names
from viewlet.loops.language.syntax import Limit, LoopText, State, Until
from viewlet.plan.words import quoted
from viewlet.sql.reader import Reader

_WORDS = ("SET", "LET", "UNTIL", ";")


@dataclass(frozen=True, slots=True)
class Assignment:
    """`SET name = query` or `LET name = query`."""

    name: str
    query: str
    is_let: bool

    @property
    def named(self) -> Definition:
        return Definition(self.name, (), (), None, self.query, 0)


def read_iteration(text: str) -> LoopText | None:
    """Parse INITIALIZE … or REPEAT …; None if a text begins with neither."""
    reader = Reader(text)
    if reader.accept("REPEAT"):
        return _repeat(reader)
    if reader.accept("INITIALIZE"):
        return _iterate(reader)
    return None


def _repeat(reader: Reader) -> LoopText:
    name = reader.name("what is repeated")
    reader.expect("=")
    initial = _query(reader, "STEP")
    reader.expect("STEP")
    step = _query(reader, "LIMIT")
    reader.expect("LIMIT")
    limit = Limit(whole_number(reader, "the number of rounds"), is_error=False)
    result = reader.rest() if reader.accept("RETURN") else f"SELECT * FROM {quoted(name)}"
    reader.end()
    return LoopText((State(name, (), initial, step, "last"),), result, limit)


def _iterate(reader: Reader) -> LoopText:
    first = {d.name.lower(): d for d in _initialized(reader)}
    reader.expect("ITERATE")
    assigned = list(_assignments(reader, first))
    reader.expect("UNTIL")
    until = _until(reader, assigned)
    limit = Limit(whole_number(reader, "the number of rounds"), is_error=False) if reader.accept("MAX") else None
    diffuses = limit is not None and reader.accept("DIFFUSE")
    restarts = reader.accept("RESTART")
    reader.expect("RETURN")
    result = reader.rest()
    changed = {a.name.lower() for a in assigned}
    constants = [d for name, d in first.items() if name not in changed]
    kept = _kept(assigned, result, until)
    lets = [a.named for a in assigned if a.name.lower() not in kept]
    states = tuple(
        _state(assignment, first.get(assignment.name.lower()), constants, assigned[:at])
        for at, assignment in enumerate(assigned)
        if assignment.name.lower() in kept
    )
    if diffuses and (until is None or len(states) > 1):
        reader.refuse(
            "DIFFUSE needs a condition ON the only table of the loop", hint="UNTIL … ON t BY key MAX n DIFFUSE"
        )
    return LoopText(states, with_names([*constants, *lets], result), limit, until, restarts, diffuses)


def _initialized(reader: Reader) -> Iterator[Definition]:
    """`t [(column, …)] AS (query), …`"""
    while True:
        line, name = reader.word.line, reader.name("a table of the loop")
        columns = reader.names("a column") if reader.sees("(") else ()
        reader.expect("AS")
        yield Definition(name, columns, (), None, in_parentheses(reader), line)
        if not reader.accept(","):
            return


def _assignments(reader: Reader, first: Mapping[str, Definition]) -> Iterator[Assignment]:
    seen: set[str] = set()
    while not reader.sees("UNTIL"):
        is_let = reader.accept("LET")
        if not is_let:
            reader.expect("SET")
        name = reader.name("a table of the loop")
        if name.lower() in seen or (is_let and name.lower() in first):
            reader.refuse(f"`{name}` has a query already", hint="give each table of the loop one SET or LET")
        seen.add(name.lower())
        reader.expect("=")
        yield Assignment(name, _query(reader, *_WORDS), is_let)
        reader.accept(";")
    if not seen:
        reader.fail("SET and a table of the loop")


def _query(reader: Reader, *stops: str) -> str:
    """The text of a query up to one of these words."""
    text = reader.until(*stops)
    if not text:
        reader.fail("a query")
    return text


def _until(reader: Reader, assigned: Sequence[Assignment]) -> Until | None:
    """`FIXPOINT`, or `condition ON t BY column`"""
    if reader.accept("FIXPOINT"):
        return None
    condition = reader.until("ON")
    reader.expect("ON")
    table = reader.name("the table that the condition is about")
    if not any(a.name.lower() == table.lower() and not a.is_let for a in assigned):
        reader.refuse(f"no SET changes `{table}`", hint="UNTIL … ON a table that the loop changes")
    reader.expect("BY")
    key = reader.names("a column of its key") if reader.sees("(") else (reader.name("a column of its key"),)
    held = reader.until("MAX", "RESTART", "RETURN") if reader.accept("HOLD", "CHANGES", "WHERE") else None
    return Until(condition, table, key, held)


def _kept(assigned: Sequence[Assignment], result: str, until: Until | None) -> set[str]:
    """The tables that rounds keep: those read before they are set, those returned, and the condition's."""
    read: set[str] = set() if until is None else {until.state.lower()}
    named = {a.name.lower() for a in assigned if not a.is_let}
    read |= mentioned(result, named)
    for at, assignment in enumerate(assigned):
        read |= mentioned(assignment.query, named - {a.name.lower() for a in assigned[:at]})
    return read


def _state(
    assignment: Assignment, first: Definition | None, constants: Sequence[Definition], before: Sequence[Assignment]
) -> State:
    step = with_names([*constants, *(a.named for a in before)], assignment.query)
    if first is None:
        return State(assignment.name, (), None, step, "replace")
    others = [d for d in constants if d is not first]
    return State(assignment.name, first.columns, with_names(others, first.query), step, "replace")
