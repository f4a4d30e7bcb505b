"""A lexer for SQL text: names, strings, numbers, signs. Comments and spaces are skipped, positions are kept.

The rules are those of Spark's lexer: strings in single or double quotes with backslash escapes, names in backticks,
`--` comments, and bracketed comments that nest.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from viewlet.errors import SqlError

Kind = Literal["name", "quoted", "string", "number", "sign", "end"]

# Possessive repetitions (`*+`) prevent repeated scans of an unterminated string.
_WORD = re.compile(
    r"""
    (?P<space>  \s++ | --(?:\\\n|[^\r\n])*+ )
  | (?P<comment> /\* )
  | (?P<string> [rR](?:'[^']*+'|"[^"]*+") | '(?:[^'\\]++|\\.|'')*+' | "(?:[^"\\]++|\\.|"")*+" )
  | (?P<quoted> `(?:[^`]++|``)*+` )
  | (?P<number> (?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?(?:BD|bd|[LSYDFlsydf])?(?!\w) )
  | (?P<name>   \w++ )
  | (?P<sign>   <=>|<>|!=|<=|>=|==|\|\||::|->|=>|. )
    """,
    re.VERBOSE | re.DOTALL,
)
_UNCLOSED = {"'": "string", '"': "string", "`": "quoted name"}
_COMMENT_EDGE = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a statement and its position."""

    kind: Kind
    text: str
    start: int
    end: int
    line: int

    @property
    def key(self) -> str:
        """The word as a keyword; a quoted name is never one."""
        return self.text.upper() if self.kind in ("name", "sign") else ""

    @property
    def shown(self) -> str:
        """The word as an error message shows it."""
        if self.kind == "end":
            return "the end of the statement"
        return self.text if len(self.text) <= 40 else self.text[:37] + "..."


def read_words(text: str) -> list[Word]:
    """The words of a text, followed by one of kind `end`."""
    return list(_words(text))


def _words(text: str) -> Iterator[Word]:
    lines = [i for i, c in enumerate(text) if c == "\n"]
    at = 0
    while at < len(text):
        found = _WORD.match(text, at)
        assert found is not None  # `.` matches whatever is left
        line, end = bisect_left(lines, at) + 1, found.end()
        match found.lastgroup:
            case "space":
                pass
            case "comment":
                end = _comment_end(text, at, line)
            case "string" | "quoted" | "number" | "name" | "sign" as kind:
                if kind == "sign" and found[0] in _UNCLOSED:
                    raise SqlError(
                        f"line {line}: the {_UNCLOSED[found[0]]} that starts here has no end: {text[at : at + 20]}"
                    )
                yield Word(kind, found[0], at, end, line)
        at = end
    yield Word("end", "", len(text), len(text), bisect_left(lines, len(text.rstrip())) + 1)


def _comment_end(text: str, start: int, line: int) -> int:
    """The end of a bracketed comment, including nested ones."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    raise SqlError(f"line {line}: the comment that starts here has no end", hint="close it with */")


_LOOP = ("INITIALIZE", "ITERATE", "RETURN")
"""The keywords of a loop, in order: between the last two, `;` ends no statement of the script."""


def split(script: str) -> list[tuple[int, str]]:
    """The statements of a script, separated by `;`, each with its first line."""
    return [(first.line, script[first.start : end.start].rstrip()) for first, end in _statements(script)]


def split_finished(text: str) -> tuple[list[str], str]:
    """The statements that `;` ends, and the rest, in which a string or comment may still be open."""
    try:
        found = [(first, end) for first, end in _statements(text) if end.kind != "end"]
    except SqlError:
        return [], text
    rest = text[found[-1][1].end :] if found else text
    return [text[first.start : end.start].rstrip() for first, end in found], rest


def _statements(script: str) -> Iterator[tuple[Word, Word]]:
    """The first word of each statement, and the word that ends it: `;` or the end of the script."""
    first: Word | None = None
    depth, loop = 0, [*_LOOP]
    for word in _words(script):
        depth += (word.key in ("(", "[")) - (word.key in (")", "]"))
        if loop and word.key == loop[0] and depth <= 0:
            del loop[0]
        if word.kind == "end" or (word.key == ";" and depth <= 0 and len(loop) != 1):
            if first is not None:
                yield first, word
            first, depth, loop = None, 0, [*_LOOP]
        elif first is None:
            first = word


def quoted(name: str) -> str:
    """A name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def identifier(name: str) -> str:
    """A name, quoted only if Spark needs it."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", name) else quoted(name)


def quoted_text(text: str) -> str:
    """A text as an SQL string literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def option_text(value: object) -> str:
    """The value of an option or setting as Spark spells it: `true` for Python's `True`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def options_text(options: Mapping[str, str]) -> str:
    """The OPTIONS clause of CREATE TABLE; empty values are left out."""
    given = ", ".join(f"{name} = {quoted_text(value)}" for name, value in options.items() if value)
    return f" OPTIONS ({given})" if given else ""
